"""A trace that is too large keeps its failures and those who called them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tools.live.traces.source import MAX_SPANS, bounded, within_bounds


def span(number: int, parent: int | None, failed: bool) -> dict[str, Any]:
    return {"trace_id": "t", "span_id": str(number), "parent_id": None if parent is None else str(parent),
            "start": f"{number:016d}", "duration_ms": number % 7, "status": "ERROR" if failed else "OK"}  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=60), st.integers(0, 70))
def test_no_more_than_there_is_room_for_and_nothing_twice(shape: list[tuple[int, bool]], room: int) -> None:
    spans = [span(at, min(up, at - 1) if at else None, failed) for at, (up, failed) in enumerate(shape)]
    kept = bounded(spans, room)
    assert len(kept) == min(room, len(spans))
    assert len({one["span_id"] for one in kept}) == len(kept)


def test_a_failure_deep_in_a_large_trace_is_kept_with_its_callers() -> None:
    spans = [span(at, at - 1 if at else None, failed=at == 90) for at in range(91)]
    spans += [span(at, 0, failed=False) for at in range(91, 500)]
    kept = {one["span_id"] for one in bounded(spans, 100)}
    assert {str(at) for at in range(91)} <= kept


def test_a_circle_of_parents_ends() -> None:
    spans = [span(0, 1, failed=True), span(1, 0, failed=True), span(2, 0, failed=False)]
    assert len(bounded(spans, 2)) == 2


def test_the_first_traces_have_their_room_first() -> None:
    large = [span(at, None, failed=False) for at in range(MAX_SPANS)]
    told, cut = within_bounds([[span(0, None, failed=True)], large])
    assert told[0]["status"] == "ERROR"
    assert len(told) == MAX_SPANS
    assert cut
