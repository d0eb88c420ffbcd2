"""The one bounded projection of what a run checked and found.

Source: spec "Tool loop completion SHALL project bounded progress once"; contract, "Ledger" and "Release".
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict

from graph.contract.records import InvocationKey, VerifiedRecord
from graph.contract.vocabulary import FailureCode, LimitationCode, SourceError, StopReason

MAX_FACTS = 24
MAX_LIMITATIONS = 24
MAX_RESULT_CHARS = 400
MAX_SCOPE_CHARS = 200

QUALITY_BY_REMARK: Mapping[str, LimitationCode] = MappingProxyType(
    {
        "BROKEN_LINES": LimitationCode.BROKEN_LINES,
        "ZONE_ASSUMED": LimitationCode.ZONE_ASSUMED,
        "SOURCE_FAILED": LimitationCode.SOURCE_INCOMPLETE,
        "PARTIAL": LimitationCode.SOURCE_INCOMPLETE,
        SourceError.SOURCE_MISSING: LimitationCode.SOURCE_INCOMPLETE,
        SourceError.SOURCE_UNREADABLE: LimitationCode.SOURCE_INCOMPLETE,
    }
)
"""The remarks of `Evidence.notes` that a reader has to know of."""

LimitationWord = LimitationCode | SourceError | FailureCode | StopReason


class ObservedFact(BaseModel):
    """A completed check: its source, the scope that was really asked, and the objective result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    scope: dict[str, Any]
    result: str
    truncated: bool = False


class Limitation(BaseModel):
    """What could not be known, by code; `source` is the tool where one is meant."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: LimitationWord
    source: str | None = None


class ProgressSnapshot(BaseModel):
    """The facts in the order of their execution, the limitations, and why collection ended (None at a draft)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    observed_facts: tuple[ObservedFact, ...] = ()
    limitations: tuple[Limitation, ...] = ()
    stop_reason: StopReason | None = None


def project_snapshot(
    keys: Sequence[InvocationKey],
    checked: Mapping[str, VerifiedRecord | LimitationCode | SourceError],
    *,
    stop_reason: StopReason | None,
    failures: Sequence[LimitationWord] = (),
) -> ProgressSnapshot:
    """Return the bounded snapshot of a run.

    `keys` are the run's canonical keys in execution order, `checked` what verifying each call id's record gave.
    `failures` are the run's own (an unreadable draft, an endpoint that is down).
    """
    facts: list[ObservedFact] = []
    limitations = [Limitation(code=code) for code in failures]
    for key in keys:
        found = checked.get(key.call_id, LimitationCode.RECORD_MISSING)
        if isinstance(found, VerifiedRecord):
            facts.append(observed_fact(found))
            limitations += [Limitation(code=code, source=key.tool_name) for code in _quality(found)]
        else:
            limitations.append(Limitation(code=found, source=key.tool_name))
    if not keys:
        limitations.append(Limitation(code=LimitationCode.NOTHING_CHECKED))
    return ProgressSnapshot(
        observed_facts=tuple(facts[:MAX_FACTS]),
        limitations=tuple(dict.fromkeys(limitations))[:MAX_LIMITATIONS],
        stop_reason=stop_reason,
    )


def _quality(record: VerifiedRecord) -> list[LimitationCode]:
    """What a source remarked of its own quality, as far as it limits what its answer says."""
    remarks = [note.partition(":")[0] for note in record.evidence.notes]
    return [QUALITY_BY_REMARK[remark] for remark in remarks if remark in QUALITY_BY_REMARK]


def observed_fact(record: VerifiedRecord) -> ObservedFact:
    """Return the publishable form of a verified record: no line of the source's text."""
    return ObservedFact(
        source=record.tool_name,
        scope=bounded_scope(record.scope),
        result=_shortened(record.evidence.summary, MAX_RESULT_CHARS),
        truncated=record.evidence.truncated,
    )


def bounded_scope(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scope whose text values are cut at `MAX_SCOPE_CHARS`."""
    return {
        key: _shortened(value, MAX_SCOPE_CHARS) if isinstance(value, str) else value for key, value in scope.items()
    }


def _shortened(text: str, limit: int) -> str:
    """Return at most `limit` characters; a cut shows, and leaves no half of a number or an id that reads as a whole."""
    kept = text[: limit - 1]
    return text if len(text) <= limit else (kept.rpartition(" ")[0] or kept) + "…"
