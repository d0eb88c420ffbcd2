"""The release: what the world gets, decided by one table.

Source: spec "Fail-closed release policy", "Information stop reasons SHALL remain distinct from release outcomes";
contract, "Release".
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from graph.contract.draft import Draft
from graph.contract.gaps import Gap, UnprovenChange
from graph.contract.records import VerifiedRecord
from graph.contract.snapshot import Limitation, ObservedFact, bounded_scope
from graph.contract.vocabulary import (
    Ending,
    FallbackType,
    MissingInfo,
    Provenance,
    ReleaseOutcome,
    RelevanceLevel,
    StopReason,
)

Locale = Literal["zh", "en"]
Decision = tuple[ReleaseOutcome, FallbackType | None]

_INSUFFICIENT: Decision = (ReleaseOutcome.FALLBACK, FallbackType.INSUFFICIENT_EVIDENCE)
_MISSING: Decision = (ReleaseOutcome.FALLBACK, FallbackType.MISSING_REQUIRED_CONTEXT)
_FAILED: Decision = (ReleaseOutcome.FAILED, None)

WITH_FACTS: Mapping[Ending, Decision] = MappingProxyType(
    {
        Ending.VERIFIED: (ReleaseOutcome.SUCCESS, None),
        Ending.EVIDENCE_REFUSED: (ReleaseOutcome.FALLBACK, FallbackType.EVIDENCE_VALIDATION_FAILED),
        Ending.SEMANTIC_UNSUPPORTED: (ReleaseOutcome.FALLBACK, FallbackType.SEMANTIC_UNSUPPORTED),
        Ending.SEMANTIC_UNAVAILABLE: (ReleaseOutcome.FALLBACK, FallbackType.SEMANTIC_UNAVAILABLE),
        Ending.NO_CONCLUSION: _INSUFFICIENT,
        Ending.SATURATED: _INSUFFICIENT,
        Ending.PROTOCOL_STOPPED: _INSUFFICIENT,
        Ending.BUDGET_STOPPED: _INSUFFICIENT,
        Ending.DRAFT_UNREADABLE: _INSUFFICIENT,
        Ending.MODEL_FAILED: _INSUFFICIENT,
        Ending.INTERNAL_ERROR: _INSUFFICIENT,
        Ending.NOT_A_DIAGNOSIS: _MISSING,
        Ending.CANCELLED: (ReleaseOutcome.CANCELLED, None),
    }
)
"""The release of a run that has at least one verified fact, by how it ended."""

WITHOUT_FACTS: Mapping[Ending, Decision] = MappingProxyType(
    {
        **WITH_FACTS,
        Ending.VERIFIED: _FAILED,
        Ending.PROTOCOL_STOPPED: _FAILED,
        Ending.BUDGET_STOPPED: _FAILED,
        Ending.DRAFT_UNREADABLE: _FAILED,
        Ending.MODEL_FAILED: _FAILED,
        Ending.INTERNAL_ERROR: _FAILED,
    }
)
"""The same without a fact. A verified draft without a fact can't be: it fails closed."""


ENDING_BY_STOP: Mapping[StopReason, Ending] = MappingProxyType(
    {
        StopReason.INFORMATION_SATURATED: Ending.SATURATED,
        StopReason.PROGRESS_PROTOCOL_VIOLATED: Ending.PROTOCOL_STOPPED,
        StopReason.BUDGET_LIMIT_REACHED: Ending.BUDGET_STOPPED,
    }
)
"""How a run ended that a stop ended."""


class VerifiedSource(BaseModel):
    """A record that the draft cites and that was verified: what was asked, what kind of proof it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool_call_id: str
    source: str
    scope: dict[str, Any]
    result: str
    provenance: Provenance
    relevance_level: RelevanceLevel
    truncated: bool = False


class Release(BaseModel):
    """The one thing that a run leaves. `draft` stands at SUCCESS only; no model prose in any fallback.

    `text` is the fixed published text in `locale`. `onset` (UTC), `first_failing` and `unproven_changes` help the
    reader of a fallback on. `model` names the model that diagnosed, None where none did.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    outcome: ReleaseOutcome
    fallback_type: FallbackType | None = None
    locale: Locale = "zh"
    text: str
    draft: Draft | None = None
    observed_facts: tuple[ObservedFact, ...] = ()
    limitations: tuple[Limitation, ...] = ()
    gaps: tuple[Gap, ...] = ()
    missing_info: tuple[MissingInfo, ...] = ()
    verified_sources: tuple[VerifiedSource, ...] = ()
    onset: datetime | None = None
    first_failing: str | None = None
    unproven_changes: tuple[UnprovenChange, ...] = ()
    model: str | None = None


def decide_release(ending: Ending, *, facts: int, missing_info: tuple[MissingInfo, ...]) -> Decision:
    """Return the outcome and the fallback type of a run by the contract's release table.

    `facts` is the number of verified facts in the snapshot, `missing_info` what a no-conclusion draft asked for.
    """
    if facts:
        return WITH_FACTS[ending]
    if ending is Ending.NO_CONCLUSION and missing_info:
        return _MISSING
    return WITHOUT_FACTS[ending]


def verified_source(record: VerifiedRecord) -> VerifiedSource:
    """Return the publishable form of a cited, verified record."""
    return VerifiedSource(
        tool_call_id=record.call_id,
        source=record.tool_name,
        scope=bounded_scope(record.scope),
        result=record.evidence.summary,
        provenance=record.evidence.provenance,
        relevance_level=record.evidence.relevance,
        truncated=record.evidence.truncated,
    )


def cited_sources(draft: Draft, records: Mapping[str, VerifiedRecord]) -> tuple[VerifiedSource, ...]:
    """Return the verified records that a draft's analyses cite, each once, in the order of their citation."""
    cited = dict.fromkeys(call_id for analysis in draft.analyses for call_id in analysis.tool_call_ids)
    return tuple(verified_source(records[call_id]) for call_id in cited if call_id in records)
