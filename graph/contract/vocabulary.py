"""The closed vocabularies of the contract. Everything else in `graph.contract` speaks in these words.

Sources are the two spec documents and the decided contract; each class names its requirement.
"""

from enum import StrEnum

from tools.vocabulary import (
    ChangeKind,
    EvidenceKind,
    EvidenceStatus,
    Provenance,
    RelevanceLevel,
    SourceError,
)

__all__ = [
    "AnalysisKind",
    "BudgetKind",
    "ChangeKind",
    "CollectionState",
    "DraftViolationCode",
    "Ending",
    "EvidenceKind",
    "EvidenceStatus",
    "FailureCode",
    "FallbackType",
    "GapReason",
    "InformationGain",
    "InvocationStatus",
    "LimitationCode",
    "MissingInfo",
    "ModelComponent",
    "Provenance",
    "RejectionCode",
    "ReleaseOutcome",
    "RelevanceLevel",
    "SemanticVerdict",
    "SourceError",
    "StopReason",
    "TraceEventType",
    "ViolationType",
]


class InformationGain(StrEnum):
    """Whether an observation changed the picture. Spec: "Harness SHALL track binary information gain per Run"."""

    GAINED = "GAINED"
    NO_GAIN = "NO_GAIN"


class CollectionState(StrEnum):
    """Whether collection may go on. Spec: same requirement."""

    COLLECTING = "COLLECTING"
    SATURATED = "SATURATED"


class StopReason(StrEnum):
    """Why collection ended. Spec: "Information stop reasons SHALL remain distinct from release outcomes"."""

    INFORMATION_SATURATED = "INFORMATION_SATURATED"
    BUDGET_LIMIT_REACHED = "BUDGET_LIMIT_REACHED"
    PROGRESS_PROTOCOL_VIOLATED = "PROGRESS_PROTOCOL_VIOLATED"


class ReleaseOutcome(StrEnum):
    """What the world is told. Spec: same requirement."""

    SUCCESS = "SUCCESS"
    FALLBACK = "FALLBACK"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class FallbackType(StrEnum):
    """Why a fallback was published. Spec: "Fail-closed release policy"."""

    EVIDENCE_VALIDATION_FAILED = "EVIDENCE_VALIDATION_FAILED"
    SEMANTIC_UNSUPPORTED = "SEMANTIC_UNSUPPORTED"
    SEMANTIC_UNAVAILABLE = "SEMANTIC_UNAVAILABLE"
    INSUFFICIENT_EVIDENCE = "INSUFFICIENT_EVIDENCE"
    MISSING_REQUIRED_CONTEXT = "MISSING_REQUIRED_CONTEXT"


class RejectionCode(StrEnum):
    """Why a tool request got no business observation. Spec: "Rejected Tool requests SHALL remain observable"."""

    INVALID_PROGRESS_PROTOCOL = "INVALID_PROGRESS_PROTOCOL"
    DUPLICATE_SCOPE = "DUPLICATE_SCOPE"
    STOP_REQUIRED = "STOP_REQUIRED"
    CONTROLLED_STOP = "CONTROLLED_STOP"
    BUDGET_LIMIT_REACHED = "BUDGET_LIMIT_REACHED"
    INVALID_TOOL_ARGUMENTS = "INVALID_TOOL_ARGUMENTS"
    UNSUPPORTED_TOOL = "UNSUPPORTED_TOOL"
    PARALLEL_TOOL_REQUEST = "PARALLEL_TOOL_REQUEST"
    ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"


class ViolationType(StrEnum):
    """What was wrong with `previous_observation`. Contract, "The envelope and the gate"."""

    MISSING_PREVIOUS_OBSERVATION = "MISSING_PREVIOUS_OBSERVATION"
    OUT_OF_ORDER_PREVIOUS_OBSERVATION = "OUT_OF_ORDER_PREVIOUS_OBSERVATION"
    INVALID_INFORMATION_GAIN = "INVALID_INFORMATION_GAIN"


class AnalysisKind(StrEnum):
    """What an analysis claims. Spec: "Deterministic Draft and evidence validation"."""

    OBSERVATION = "OBSERVATION"
    NEGATIVE_OBSERVATION = "NEGATIVE_OBSERVATION"
    INFERENCE = "INFERENCE"


class MissingInfo(StrEnum):
    """What a query would have to name before a bounded question is possible. Spec: "Diagnosis Prompt SHALL license
    bounded abandonment", first scenario."""

    ENTERPRISE = "enterprise"
    SERVICE = "service"
    ENVIRONMENT = "environment"
    TIME = "time"
    ERROR = "error"
    OTHER = "other"


class InvocationStatus(StrEnum):
    """The life of a canonical record. Contract, "Ledger"."""

    STARTED = "STARTED"
    READY = "READY"
    ERROR = "ERROR"


class BudgetKind(StrEnum):
    """The six budgets. Contract, "Budgets"."""

    MODEL_CALLS = "model_calls"
    TOOL_CALLS = "tool_calls"
    TOOL_REQUESTS = "tool_requests"
    TOKENS = "tokens"
    OBSERVATION_BYTES = "observation_bytes"
    SECONDS = "seconds"
    STEPS = "steps"
    """Not one of the six: the super-steps that the caller's own recursion limit leaves."""


class ModelComponent(StrEnum):
    """Which part of the application calls a model. Spec: "Model token audit SHALL be component-scoped"."""

    ROUTER = "router"
    DIAGNOSIS = "diagnosis"
    EVIDENCE_REPAIR = "evidence_repair"
    SEMANTIC_GUARD = "semantic_guard"


class SemanticVerdict(StrEnum):
    """The second model's word on a draft. Spec: "Fail-closed release policy"."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class GapReason(StrEnum):
    """Why a kind of evidence is missing from a fallback. Contract, "Release"."""

    UNASKED = "unasked"
    UNAVAILABLE = "unavailable"
    EMPTY = "empty"
    TRUNCATED = "truncated"


class Ending(StrEnum):
    """How a run ended, the row of the release table. Contract, "Release"."""

    VERIFIED = "VERIFIED"
    """A concluded draft that both guards passed."""
    EVIDENCE_REFUSED = "EVIDENCE_REFUSED"
    SEMANTIC_UNSUPPORTED = "SEMANTIC_UNSUPPORTED"
    SEMANTIC_UNAVAILABLE = "SEMANTIC_UNAVAILABLE"
    NO_CONCLUSION = "NO_CONCLUSION"
    SATURATED = "SATURATED"
    PROTOCOL_STOPPED = "PROTOCOL_STOPPED"
    BUDGET_STOPPED = "BUDGET_STOPPED"
    DRAFT_UNREADABLE = "DRAFT_UNREADABLE"
    MODEL_FAILED = "MODEL_FAILED"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    NOT_A_DIAGNOSIS = "NOT_A_DIAGNOSIS"
    """The router found that the request asks for something else, or says nothing to look for."""
    CANCELLED = "CANCELLED"


class FailureCode(StrEnum):
    """Why a run could not go on. A code, never an exception's text."""

    MODEL_UNREACHABLE = "MODEL_UNREACHABLE"
    MODEL_REFUSED = "MODEL_REFUSED"
    MODEL_REPLY_INVALID = "MODEL_REPLY_INVALID"
    INTERNAL_ERROR = "INTERNAL_ERROR"


class LimitationCode(StrEnum):
    """What keeps a snapshot from saying more. Bounded codes beside the `SourceError` and `FailureCode` ones."""

    RECORD_MISSING = "RECORD_MISSING"
    RECORD_EXPIRED = "RECORD_EXPIRED"
    RECORD_INCOMPLETE = "RECORD_INCOMPLETE"
    RECORD_NOT_OWNED = "RECORD_NOT_OWNED"
    RECORD_ALTERED = "RECORD_ALTERED"
    DRAFT_UNREADABLE = "DRAFT_UNREADABLE"
    NOTHING_CHECKED = "NOTHING_CHECKED"
    BROKEN_LINES = "BROKEN_LINES"
    ZONE_ASSUMED = "ZONE_ASSUMED"
    SOURCE_INCOMPLETE = "SOURCE_INCOMPLETE"


class DraftViolationCode(StrEnum):
    """What the EvidenceGuard holds against a draft. The repair model reads these; the world doesn't."""

    ANALYSIS_ID_BLANK = "ANALYSIS_ID_BLANK"
    ANALYSIS_ID_DUPLICATE = "ANALYSIS_ID_DUPLICATE"
    ANALYSIS_KIND_UNKNOWN = "ANALYSIS_KIND_UNKNOWN"
    TEXT_BLANK = "TEXT_BLANK"
    TOOL_CALL_ID_MISSING = "TOOL_CALL_ID_MISSING"
    TOOL_CALL_ID_UNRESOLVED = "TOOL_CALL_ID_UNRESOLVED"
    ANALYSIS_REFERENCE_MISSING = "ANALYSIS_REFERENCE_MISSING"
    ANALYSIS_REFERENCE_UNKNOWN = "ANALYSIS_REFERENCE_UNKNOWN"
    NO_EVIDENCE_CITED_AS_OBSERVATION = "NO_EVIDENCE_CITED_AS_OBSERVATION"
    EVIDENCE_CITED_AS_NEGATIVE = "EVIDENCE_CITED_AS_NEGATIVE"
    NEGATIVE_SCOPE_NOT_COVERED = "NEGATIVE_SCOPE_NOT_COVERED"
    INFERENCE_WITHOUT_EVIDENCE = "INFERENCE_WITHOUT_EVIDENCE"
    PROVENANCE_TOO_WEAK = "PROVENANCE_TOO_WEAK"
    COMPONENT_NOT_IN_EVIDENCE = "COMPONENT_NOT_IN_EVIDENCE"
    CHANGE_NOT_IN_EVIDENCE = "CHANGE_NOT_IN_EVIDENCE"
    QUOTE_MISSING = "QUOTE_MISSING"
    QUOTE_NOT_FOUND = "QUOTE_NOT_FOUND"
    VALUE_NOT_IN_QUOTE = "VALUE_NOT_IN_QUOTE"
    VALUE_NOT_DERIVED = "VALUE_NOT_DERIVED"
    ACTION_NAMES_UNKNOWN = "ACTION_NAMES_UNKNOWN"
    COMMAND_NOT_IN_RUNBOOK = "COMMAND_NOT_IN_RUNBOOK"


class TraceEventType(StrEnum):
    """The events of a trace. Contract, "Trace and audit"."""

    RUN_OPENED = "RUN_OPENED"
    RUN_CLASSIFIED = "RUN_CLASSIFIED"
    MODEL_TOKEN_USAGE = "MODEL_TOKEN_USAGE"
    MODEL_HANDED_OVER = "MODEL_HANDED_OVER"
    TOOL_INVOCATION = "TOOL_INVOCATION"
    TOOL_REQUEST_REJECTED = "TOOL_REQUEST_REJECTED"
    INFORMATION_GAIN = "INFORMATION_GAIN"
    STOP_REASON_SET = "STOP_REASON_SET"
    STOP_REQUIRED_DELIVERED = "STOP_REQUIRED_DELIVERED"
    CONTROLLED_STOP = "CONTROLLED_STOP"
    COLLECTION_CLOSED = "COLLECTION_CLOSED"
    EVIDENCE_GUARD = "EVIDENCE_GUARD"
    EVIDENCE_REPAIR = "EVIDENCE_REPAIR"
    SEMANTIC_GUARD = "SEMANTIC_GUARD"
    RUN_FAILURE = "RUN_FAILURE"
    TOKEN_RECONCILIATION = "TOKEN_RECONCILIATION"
    RELEASE = "RELEASE"
