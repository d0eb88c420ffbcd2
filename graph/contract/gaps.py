"""What is missing from a fallback, by rule, with one query to paste for each gap.

Source: contract, "Release" ("A FALLBACK helps").
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from graph.contract.records import VerifiedRecord
from graph.contract.snapshot import bounded_scope
from graph.contract.vocabulary import ChangeKind, EvidenceKind, EvidenceStatus, GapReason, Provenance, RelevanceLevel
from tools.vocabulary import ChangeRef, Evidence, Scope

MAX_GAPS = 12
MAX_QUERY_CHARS = 1_000
"""A longer query is left out: one that is cut finds something else, or nothing."""
MAX_CHANGES = 20

CheckedScope = tuple[EvidenceKind, Scope, str]
"""A scope of a kind of evidence, and the query that a person can paste to ask it by hand."""


class Gap(BaseModel):
    """A question without an answer: its kind of evidence, its scope, why it's open, and the query to paste, if any."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: EvidenceKind
    scope: dict[str, Any]
    reason: GapReason
    query: str


class UnprovenChange(BaseModel):
    """A change recorded in the window. It stands in a fallback for the reader to look at: nothing was proven of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ChangeKind
    change_id: str
    service: str | None
    at: datetime
    proven: bool = False


@dataclass(frozen=True)
class Asked:
    """What became of the questions of a run: verified answers, and the scopes whose source failed."""

    answered: Sequence[VerifiedRecord]
    failed: Sequence[CheckedScope]
    suggested: Sequence[CheckedScope]
    pastes: Mapping[str, str]
    """Call id to the query that asks its scope by hand."""


def find_gaps(asked: Asked) -> tuple[Gap, ...]:
    """Return the gaps of a run, bounded: what failed, came back cut or empty, and the kinds nobody asked for.

    `asked.suggested` holds one question for each kind of evidence that the run has a source for.
    """
    known = {record.kind for record in asked.answered} | {kind for kind, _, _ in asked.failed}
    answered = {(record.kind, _frozen(record.scope)) for record in asked.answered}
    gaps = [
        _gap(kind, scope, GapReason.UNAVAILABLE, query)
        for kind, scope, query in asked.failed
        if (kind, _frozen(scope)) not in answered
    ]
    for record in asked.answered:
        if record.evidence.truncated:
            gaps.append(_gap(record.kind, record.scope, GapReason.TRUNCATED, asked.pastes[record.call_id]))
        elif record.evidence.status is EvidenceStatus.NO_EVIDENCE:
            gaps.append(_gap(record.kind, record.scope, GapReason.EMPTY, asked.pastes[record.call_id]))
    gaps += [_gap(*rest) for rest in _unasked(asked.suggested, known)]
    unique: dict[tuple[EvidenceKind, str], Gap] = {}
    for gap in gaps:
        unique.setdefault((gap.kind, _frozen(gap.scope)), gap)
    return tuple(unique.values())[:MAX_GAPS]


def _unasked(
    suggested: Sequence[CheckedScope], known: set[EvidenceKind]
) -> Iterable[tuple[EvidenceKind, Scope, GapReason, str]]:
    kinds = dict.fromkeys(kind for kind, _, _ in suggested if kind not in known)
    for wanted in kinds:
        kind, scope, query = next(item for item in suggested if item[0] is wanted)
        yield kind, scope, GapReason.UNASKED, query


def _gap(kind: EvidenceKind, scope: Scope, reason: GapReason, query: str) -> Gap:
    whole = query if len(query) <= MAX_QUERY_CHARS else ""
    return Gap(kind=kind, scope=bounded_scope(scope), reason=reason, query=whole)


def _frozen(scope: Scope) -> str:
    return repr(sorted(scope.items()))


def measured_onset(records: Sequence[VerifiedRecord]) -> datetime | None:
    """Return the earliest onset (UTC) that DIRECT, MEASURED evidence found, or None."""
    return min((found.onset for found in _measured(records) if found.onset), default=None)


def measured_first_failing(records: Sequence[VerifiedRecord]) -> str | None:
    """Return the component that DIRECT, MEASURED evidence saw failing first, by the earliest onset, or None."""
    found = [
        (evidence.onset.timestamp() if evidence.onset else float("inf"), evidence.first_failing)
        for evidence in _measured(records)
        if evidence.first_failing
    ]
    return min(found)[1] if found else None


def _measured(records: Sequence[VerifiedRecord]) -> list[Evidence]:
    found = [record.evidence for record in records]
    return [e for e in found if e.provenance is Provenance.MEASURED and e.relevance is RelevanceLevel.DIRECT]


def changes_in_window(records: Sequence[VerifiedRecord]) -> tuple[UnprovenChange, ...]:
    """Return the changes that the run's evidence recorded, in the order of their times, each once, bounded."""
    refs: dict[tuple[str, str], ChangeRef] = {}
    for record in records:
        for change in record.evidence.changes:
            refs.setdefault((change.kind, change.change_id), change)
    ordered = sorted(refs.values(), key=lambda change: (change.at, change.change_id))
    return tuple(
        UnprovenChange(kind=c.kind, change_id=c.change_id, service=c.service, at=c.at) for c in ordered[:MAX_CHANGES]
    )
