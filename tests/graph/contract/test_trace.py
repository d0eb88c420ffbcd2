"""The trace: numbered, bounded, of closed words; what reconciles is counted, never estimated."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from graph.contract.trace import MAX_EVENT_BYTES, MAX_EVENTS, NEVER_DROPPED, TraceEvent, TraceLog, reconcile
from graph.contract.vocabulary import DraftViolationCode, TraceEventType

AT = "2026-06-18T15:00:00.000+00:00"
types = st.sampled_from(TraceEventType)


def logged(kinds: list[TraceEventType]) -> TraceLog:
    log = TraceLog()
    for kind in kinds:
        log = log.record(run_id="run", type=kind, at=AT)
    return log


@settings(max_examples=20)
@given(st.lists(types, max_size=30), st.integers(0, 520))
def test_events_are_numbered_bounded_and_the_important_ones_kept(kinds: list[TraceEventType], full: int) -> None:
    whole = [TraceEventType.INFORMATION_GAIN] * full + kinds
    log = logged(whole)
    numbers = [event["seq"] for event in log.events]
    assert numbers == sorted(set(numbers))
    assert len(log.events) + log.dropped == len(whole)
    important = [kind for kind in whole if kind in NEVER_DROPPED]
    assert [event["type"] for event in log.events if event["type"] in NEVER_DROPPED] == important
    assert len(log.events) <= MAX_EVENTS + len(important)


def test_recording_leaves_the_log_before_as_it_was() -> None:
    before = logged([TraceEventType.RUN_OPENED])
    before.record(run_id="run", type=TraceEventType.RELEASE, at=AT)
    assert len(before.events) == 1


TEXTS = ["two words", "密码", "a\nb", "a" * 65, "{}", ""]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("field", sorted(set(TraceEvent.model_fields) - {"seq", "at", "type"}))
def test_no_field_takes_free_text(field: str, text: str) -> None:
    with pytest.raises(ValidationError):
        TraceEvent.model_validate({"seq": 0, "run_id": "run", "type": "RELEASE", "at": AT, field: text})


@pytest.mark.parametrize("field", ["prompt", "arguments", "scope", "text", "error"])
def test_no_other_field_is_taken(field: str) -> None:
    with pytest.raises(ValidationError):
        TraceLog().record(run_id="run", type=TraceEventType.RELEASE, at=AT, **{field: "x"})


def test_the_fullest_event_is_within_its_bound() -> None:
    name = "n" * 64
    violations = sorted(DraftViolationCode, key=len)[-16:]
    log = TraceLog().record(
        run_id=name, type=TraceEventType.EVIDENCE_GUARD, at=AT, passed=False, violations=tuple(violations)
    )
    assert len(str(log.events[0]).encode()) <= MAX_EVENT_BYTES


usages = st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))), max_size=10)


def audited(counts: list[tuple[int, int] | None]) -> list[dict[str, Any]]:
    log = logged([TraceEventType.RUN_OPENED])
    for number, count in enumerate(counts, start=1):
        read, written = count or (None, None)
        log = log.record(
            run_id="run",
            type=TraceEventType.MODEL_TOKEN_USAGE,
            at=AT,
            component_round=number,
            usage_available=count is not None,
            input_tokens=read,
            output_tokens=written,
        )
    return list(log.events)


@given(usages, st.integers(0, 3))
def test_tokens_reconcile_where_all_are_known_and_add_up(counts: list[tuple[int, int] | None], missing: int) -> None:
    total = sum(sum(count) for count in counts if count)
    sums = reconcile(audited(counts), total + missing)
    assert sums.audited_tokens == total
    assert sums.usage_unavailable == counts.count(None)
    assert sums.reconciled is (missing == 0 and None not in counts)
