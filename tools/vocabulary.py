"""The words in which evidence is described, shared by the tools and the contract.

Sources: spec `diagnosis-information-gain-stop-contract`, requirement "Harness SHALL assign only deterministic no-gain
signals" (`EvidenceStatus`, `RelevanceLevel`); the decided contract, "Answers of tools" (`Provenance`, `SourceError`).
"""

from enum import StrEnum


class EvidenceStatus(StrEnum):
    """Whether a completed (READY) query found anything in the scope that it asked about."""

    EVIDENCE = "EVIDENCE"
    """The scope exists and holds something."""
    NO_EVIDENCE = "NO_EVIDENCE"
    """The scope exists and holds nothing."""


class RelevanceLevel(StrEnum):
    """Whether evidence speaks of this incident or only of incidents in general."""

    DIRECT = "DIRECT"
    """Recorded in the incident's own systems and window."""
    REFERENCE = "REFERENCE"
    """Runbooks, past cases, manuals: it can guide a question, it cannot prove what happened."""


class Provenance(StrEnum):
    """Who wrote the evidence down."""

    MEASURED = "MEASURED"
    """Metrics, spans, resource states, change records: written by machines that an attacker of the application
    doesn't control."""
    TEXT = "TEXT"
    """Log lines, messages, annotations, documents: whoever reaches the application can write into them."""


class EvidenceKind(StrEnum):
    """The kinds of evidence that an on-call engineer looks at; a gap names one of them."""

    ALERTS = "alerts"
    METRICS = "metrics"
    LOGS = "logs"
    TRACES = "traces"
    CHANGES = "changes"
    RESOURCES = "resources"
    DATABASE = "database"
    RUNBOOKS = "runbooks"


class ChangeKind(StrEnum):
    """What sort of change a record tells of."""

    COMMIT = "COMMIT"
    DEPLOY = "DEPLOY"
    FLAG = "FLAG"


class SourceError(StrEnum):
    """Why a source gave no answer. An error is never evidence, and never an absence."""

    BACKEND_UNAVAILABLE = "BACKEND_UNAVAILABLE"
    BACKEND_TIMEOUT = "BACKEND_TIMEOUT"
    QUERY_REJECTED = "QUERY_REJECTED"
    UNKNOWN_SELECTOR = "UNKNOWN_SELECTOR"
    SOURCE_MISSING = "SOURCE_MISSING"
    SOURCE_UNREADABLE = "SOURCE_UNREADABLE"
    LEDGER_UNAVAILABLE = "LEDGER_UNAVAILABLE"
    INTERRUPTED = "INTERRUPTED"
    INTERNAL_ERROR = "INTERNAL_ERROR"
