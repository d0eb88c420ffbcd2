"""What is missing from a fallback: each question once, with its reason and a query, bounded."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.contract.gaps import (
    MAX_CHANGES,
    MAX_GAPS,
    MAX_QUERY_CHARS,
    Asked,
    CheckedScope,
    changes_in_window,
    find_gaps,
    measured_first_failing,
    measured_onset,
)
from graph.contract.records import VerifiedRecord
from graph.contract.vocabulary import ChangeKind, EvidenceKind, EvidenceStatus, GapReason, Provenance, RelevanceLevel
from tests.support.scripted import evidence
from tools.vocabulary import ChangeRef

NOON = datetime(2026, 6, 18, 12, tzinfo=UTC)
kinds = st.sampled_from(EvidenceKind)
services = st.sampled_from("abc")


def record(call_id: str, kind: EvidenceKind, service: str, **found: Any) -> VerifiedRecord:
    return VerifiedRecord(call_id, "probe", kind, {"service": service}, evidence(["x"], **found))


def scoped(kind: EvidenceKind, service: str) -> CheckedScope:
    return kind, {"service": service}, f"ask {kind} of {service}"


def asked(
    answered: list[VerifiedRecord],
    failed: list[CheckedScope] | None = None,
    suggested: list[CheckedScope] | None = None,
) -> Asked:
    pastes = {found.call_id: f"ask {found.kind} of {found.scope['service']}" for found in answered}
    return Asked(answered, failed or [], suggested or [], pastes)


@given(
    st.lists(st.tuples(kinds, services, st.booleans(), st.sampled_from(EvidenceStatus)), max_size=12),
    st.lists(st.tuples(kinds, services), max_size=12),
    st.lists(st.tuples(kinds, services), max_size=8),
)
def test_each_open_question_stands_once_with_its_query(
    answers: list[tuple[EvidenceKind, str, bool, EvidenceStatus]],
    failures: list[tuple[EvidenceKind, str]],
    suggestions: list[tuple[EvidenceKind, str]],
) -> None:
    answered = [
        record(f"r1c{number}", kind, service, truncated=cut, status=status)
        for number, (kind, service, cut, status) in enumerate(answers)
    ]
    gaps = find_gaps(asked(answered, [scoped(*f) for f in failures], [scoped(*s) for s in suggestions]))
    told = [(gap.kind, gap.scope["service"]) for gap in gaps]
    assert len(set(told)) == len(told) <= MAX_GAPS
    assert [gap.query for gap in gaps] == [f"ask {kind} of {service}" for kind, service in told]
    known = {kind for kind, *_ in answers} | {kind for kind, _ in failures}
    given_answers = {(kind, service) for kind, service, *_ in answers}
    for gap, question in zip(gaps, told, strict=True):
        if gap.reason is GapReason.UNAVAILABLE:
            assert question in failures
            assert question not in given_answers
        elif gap.reason is GapReason.UNASKED:
            assert gap.kind not in known
            assert question in suggestions
        else:
            cut = gap.reason is GapReason.TRUNCATED
            found = (c for k, s, c, status in answers if (k, s) == question and (c or status == "NO_EVIDENCE"))
            assert next(found) is cut


def test_failures_come_first_in_the_order_of_their_questions() -> None:
    failed = [scoped(EvidenceKind.LOGS, "a"), scoped(EvidenceKind.LOGS, "b"), scoped(EvidenceKind.LOGS, "a")]
    empty = record("r1c1", EvidenceKind.METRICS, "c", status=EvidenceStatus.NO_EVIDENCE)
    gaps = find_gaps(asked([empty], failed, [scoped(EvidenceKind.TRACES, "a")]))
    assert [(gap.kind, gap.scope["service"], gap.reason) for gap in gaps] == [
        ("logs", "a", GapReason.UNAVAILABLE),
        ("logs", "b", GapReason.UNAVAILABLE),
        ("metrics", "c", GapReason.EMPTY),
        ("traces", "a", GapReason.UNASKED),
    ]


def test_a_failure_that_a_later_try_answered_is_no_gap() -> None:
    answered = record("r1c2", EvidenceKind.LOGS, "a")
    assert find_gaps(asked([answered], [scoped(EvidenceKind.LOGS, "a")])) == ()


@pytest.mark.parametrize(("length", "kept"), [(MAX_QUERY_CHARS, MAX_QUERY_CHARS), (MAX_QUERY_CHARS + 1, 0)])
def test_a_query_is_whole_or_left_out(length: int, kept: int) -> None:
    (gap,) = find_gaps(asked([], [(EvidenceKind.LOGS, {"service": "a"}, "q" * length)]))
    assert gap.query == "q" * kept


def test_the_onset_is_the_earliest_that_was_measured_directly() -> None:
    later = NOON + timedelta(minutes=5)
    records = [
        record("r1c1", EvidenceKind.LOGS, "a", onset=NOON - timedelta(hours=1), provenance=Provenance.TEXT),
        record("r1c2", EvidenceKind.METRICS, "a", onset=NOON - timedelta(hours=2), relevance=RelevanceLevel.REFERENCE),
        record("r1c3", EvidenceKind.METRICS, "a", onset=later, first_failing="late"),
        record("r1c4", EvidenceKind.METRICS, "b", onset=NOON, first_failing="early"),
        record("r1c5", EvidenceKind.METRICS, "c", first_failing="unknown"),
    ]
    assert measured_onset(records) == NOON
    assert measured_first_failing(records) == "early"
    assert measured_first_failing(records[-1:]) == "unknown"
    assert (measured_onset(records[:2]), measured_first_failing(records[:2])) == (None, None)


@given(st.lists(st.tuples(st.sampled_from(ChangeKind), st.integers(0, 30), st.integers(0, 59)), max_size=40))
def test_changes_stand_once_in_order_unproven_and_bounded(found: list[tuple[ChangeKind, int, int]]) -> None:
    refs = [
        ChangeRef(kind=kind, change_id=f"c{number}", at=NOON + timedelta(minutes=minute))
        for kind, number, minute in found
    ]
    records = [record(f"r1c{i}", EvidenceKind.CHANGES, "a", changes=(ref,)) for i, ref in enumerate(refs)]
    changes = changes_in_window(records)
    assert len(changes) == min(MAX_CHANGES, len({(kind, number) for kind, number, _ in found}))
    assert [change.at for change in changes] == sorted(change.at for change in changes)
    assert not any(change.proven for change in changes)
