"""The words in which evidence is described, shared by the tools and the contract.

Sources: spec `diagnosis-information-gain-stop-contract`, requirement "Harness SHALL assign only deterministic no-gain
signals" (`EvidenceStatus`, `RelevanceLevel`); the decided contract, "Answers of tools" (`Provenance`, `SourceError`).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from pydantic import AwareDatetime, BaseModel, ConfigDict


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
    ACCESS_DENIED = "ACCESS_DENIED"
    """The source is there, and doesn't let these credentials in."""
    ANSWER_TOO_LARGE = "ANSWER_TOO_LARGE"
    """The answer is beyond the bound; a narrower question is wanted."""
    QUERY_REJECTED = "QUERY_REJECTED"
    UNKNOWN_SELECTOR = "UNKNOWN_SELECTOR"
    SOURCE_MISSING = "SOURCE_MISSING"
    SOURCE_UNREADABLE = "SOURCE_UNREADABLE"
    LEDGER_UNAVAILABLE = "LEDGER_UNAVAILABLE"
    INTERRUPTED = "INTERRUPTED"
    INTERNAL_ERROR = "INTERNAL_ERROR"


Scope: TypeAlias = Mapping[str, Any]
"""What is asked, of whom, in which window: plain JSON values, normalized, so that equal questions are equal."""


class ChangeRef(BaseModel):
    """A change that a source recorded. `at` is an aware UTC time; `service` is None where the record names none."""

    model_config = ConfigDict(frozen=True)

    kind: ChangeKind
    change_id: str
    service: str | None = None
    at: AwareDatetime


class Evidence(BaseModel):
    """One bounded answer of a READY query, in the words that the model, the guards and the fallback all read.

    `content` is a tuple of lines. A line of fields is logfmt: `key=value key=value`, values without blanks; free text
    of the source, which is hostile, stands last, behind ` | `, or on further lines that begin with two blanks; so no
    text of a source ever stands at the start of a line.
    """

    model_config = ConfigDict(frozen=True)

    status: EvidenceStatus
    relevance: RelevanceLevel = RelevanceLevel.DIRECT
    provenance: Provenance
    content: tuple[str, ...] = ()
    summary: str
    """Objective: entity, value, unit, baseline and onset where there are such; no line of the source's text."""
    truncated: bool = False
    components: tuple[str, ...] = ()
    """The services, pods, hosts that wrote or are measured here; two TEXT records of different ones are independent."""
    onset: AwareDatetime | None = None
    """When the measured behaviour left its baseline (aware, UTC)."""
    first_failing: str | None = None
    """The component that failed first, where it was measured (metrics, spans)."""
    changes: tuple[ChangeRef, ...] = ()
    """The changes recorded in the scope."""
    notes: tuple[str, ...] = ()
    """Bounded remarks on the source's quality, in codes: `BROKEN_LINES:3`, `ZONE_ASSUMED:Asia/Shanghai`."""
