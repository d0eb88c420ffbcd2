"""The audit trace of a run: typed, bounded events that hold no payload.

Source: spec "Model token audit SHALL be component-scoped and reconcilable", "Rejected Tool requests SHALL remain
observable without payload disclosure"; contract, "Trace and audit".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from graph.contract.vocabulary import (
    BudgetKind,
    CollectionState,
    DraftViolationCode,
    EvidenceStatus,
    FailureCode,
    FallbackType,
    InformationGain,
    InvocationStatus,
    ModelComponent,
    RejectionCode,
    ReleaseOutcome,
    SemanticVerdict,
    SourceError,
    StopReason,
    TraceEventType,
    ViolationType,
)

MAX_EVENTS = 500
MAX_EVENT_BYTES = 1024
UNSUPPORTED_TOOL_NAME = "UNSUPPORTED"
"""What a trace says for a tool that isn't registered: its name is the model's text."""

NEVER_DROPPED = frozenset(
    {
        TraceEventType.MODEL_TOKEN_USAGE,
        TraceEventType.STOP_REASON_SET,
        TraceEventType.STOP_REQUIRED_DELIVERED,
        TraceEventType.CONTROLLED_STOP,
        TraceEventType.TOKEN_RECONCILIATION,
        TraceEventType.RELEASE,
    }
)

Name = Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Za-z0-9_.\-]+$")]
"""A call id that Zhizhi made, or a registered tool's name."""
Count = Annotated[int, Field(ge=0)]


class TraceEvent(BaseModel):
    """One event. Every field beside `seq, run_id, type, at` is a closed word, a count, a made id or a registered name.

    `at` is an ISO 8601 time in UTC. Absent fields are left out of the stored form.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: Count
    run_id: Name
    type: TraceEventType
    at: Annotated[str, StringConstraints(max_length=40, pattern=r"^[0-9T:.+Z\-]+$")]
    call_id: Name | None = None
    tool_name: Name | None = None
    code: RejectionCode | SourceError | FailureCode | None = None
    violation_type: ViolationType | None = None
    status: InvocationStatus | None = None
    evidence_status: EvidenceStatus | None = None
    information_gain: InformationGain | None = None
    decided_by_rule: bool | None = None
    collection_state: CollectionState | None = None
    stop_reason: StopReason | None = None
    budget: BudgetKind | None = None
    component: ModelComponent | None = None
    component_round: Count | None = None
    usage_available: bool | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    passed: bool | None = None
    violations: tuple[DraftViolationCode, ...] | None = Field(default=None, max_length=16)
    verdict: SemanticVerdict | None = None
    facts: Count | None = None
    limitations: Count | None = None
    concluded: bool | None = None
    audited_tokens: Count | None = None
    budget_tokens: Count | None = None
    usage_unavailable: Count | None = None
    reconciled: bool | None = None
    dropped_events: Count | None = None
    outcome: ReleaseOutcome | None = None
    fallback_type: FallbackType | None = None

    def stored(self) -> dict[str, Any]:
        """Return the event as JSON values, absent fields left out."""
        return self.model_dump(mode="json", exclude_none=True)


@dataclass(frozen=True)
class TraceLog:
    """The events of a run so far, as stored, and how many were dropped at the bound."""

    events: tuple[dict[str, Any], ...] = ()
    dropped: int = 0

    def record(self, *, run_id: str, type: TraceEventType, at: str, **fields: Any) -> "TraceLog":
        """Return the log with one more event; past `MAX_EVENTS` only those of `NEVER_DROPPED` are kept.

        Raises ValueError where the event is over `MAX_EVENT_BYTES` or a field isn't of its closed type.
        """
        event = TraceEvent(seq=len(self.events) + self.dropped, run_id=run_id, type=type, at=at, **fields)
        if len(event.model_dump_json(exclude_none=True).encode()) > MAX_EVENT_BYTES:
            raise ValueError("trace event over its bound")
        if len(self.events) >= MAX_EVENTS and type not in NEVER_DROPPED:
            return TraceLog(self.events, self.dropped + 1)
        return TraceLog((*self.events, event.stored()), self.dropped)


@dataclass(frozen=True)
class Reconciliation:
    """Whether the tokens that were audited call by call add up to the run's budget total."""

    audited_tokens: int
    budget_tokens: int
    usage_unavailable: int

    @property
    def reconciled(self) -> bool:
        """False where a sum differs or any usage is unavailable: a gap is shown, never estimated."""
        return self.audited_tokens == self.budget_tokens and self.usage_unavailable == 0


def reconcile(events: Sequence[dict[str, Any]], budget_tokens: int) -> Reconciliation:
    """Return the reconciliation of a run's stored usage events with the total that its budget counted."""
    usages = [event for event in events if event["type"] == TraceEventType.MODEL_TOKEN_USAGE]
    audited = sum(event.get("input_tokens", 0) + event.get("output_tokens", 0) for event in usages)
    unavailable = sum(not event["usage_available"] for event in usages)
    return Reconciliation(audited, budget_tokens, unavailable)
