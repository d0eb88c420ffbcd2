"""Which traces are read of a window: the first failure among them, whatever the backend gives first."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.live.traces.asking import END, START, question
from tools.live.traces.sampling import Brief, Finder, Look, Looked, Wanted, merged, sampled

LIMIT = 5


def backend(failing: Sequence[float], fine: Sequence[float] = (), slow: Sequence[float] = ()) -> Finder:
    """A backend that gives the latest of what it holds: times are seconds after the window's start."""
    told = [*((at, 50.0, True) for at in failing), *((at, 10.0, False) for at in fine)]
    told += [(at, 90.0, False) for at in slow]

    async def find(look: Look) -> Looked:
        briefs = [
            Brief(f"{at}:{took}:{failed}", START + timedelta(seconds=at), took)
            for at, took, failed in told
            if look.start <= START + timedelta(seconds=at) < look.end
            and (failed or look.wanted is not Wanted.FAILED)
            and took >= look.at_least_ms
        ]
        briefs.sort(key=lambda brief: brief.at, reverse=True)
        return Looked(tuple(briefs[: look.limit]), len(briefs) >= look.limit)

    return find


seconds = st.integers(0, int((END - START).total_seconds()) - 1)


@given(st.lists(seconds, min_size=1, max_size=60, unique=True))
async def test_the_earliest_failure_is_found_or_said_to_be_unsure(failing: list[int]) -> None:
    sample = await sampled(backend(failing), question(), LIMIT)
    told = sample.failing[0].at
    assert told - (sample.unsure or timedelta()) <= START + timedelta(seconds=min(failing)) <= told


@given(st.lists(seconds, max_size=4, unique=True), st.lists(seconds, max_size=2, unique=True))
async def test_a_window_that_holds_little_is_read_whole(failing: list[int], fine: list[int]) -> None:
    few = [at for at in fine if at not in failing]
    sample = await sampled(backend(failing, few), question(), 20)
    assert sample.complete
    assert len(sample.trace_ids) == len(failing) + len(few)
    assert sample.notes == ()


async def test_a_window_that_holds_more_than_is_read_says_so() -> None:
    sample = await sampled(backend([9000], range(0, 11_000, 100)), question(), LIMIT)
    assert not sample.complete
    assert sample.notes == (f"SAMPLED_TRACES:{len(sample.trace_ids)}",)
    assert sample.failing[0].at == START + timedelta(seconds=9000)


async def test_slow_traces_are_looked_for_by_what_is_usual_before() -> None:
    sample = await sampled(backend([], range(0, 8_000, 50), range(8_000, 11_000, 50)), question(), LIMIT)
    slow = [brief for brief in sample.others if brief.duration_ms == 90]
    usual = [brief for brief in sample.others if brief.duration_ms == 10]
    assert len(slow) >= LIMIT
    assert len(usual) == LIMIT


async def test_dense_failures_leave_the_first_one_unsure_by_what_is_left() -> None:
    dense = [5_000 + at / 10 for at in range(15_000)]
    sample = await sampled(backend(dense), question(), LIMIT)
    assert sample.failing[0].at - START < timedelta(seconds=5_010)
    (_, note) = sample.notes
    code, _, unsure = note.partition(":")
    assert code == "FIRST_FAILURE_MAY_BE_EARLIER_BY_SECONDS"
    assert 0 < int(unsure) < 10


async def test_of_several_samples_the_failing_traces_lead_in_order_of_time() -> None:
    first = await sampled(backend([300, 900], [10]), question(), LIMIT)
    second = await sampled(backend([200], [5]), question(), LIMIT)
    both = merged([first, second])
    assert [(brief.at - START).total_seconds() for brief in both.failing] == [200, 300, 900]
    assert both.complete
    assert len(both.trace_ids) == 5


@pytest.mark.parametrize("failing", [[], [100]])
async def test_a_complete_look_is_not_followed_by_others(failing: list[float]) -> None:
    looks: list[Look] = []
    find = backend(failing)

    async def counting(look: Look) -> Looked:
        looks.append(look)
        return await find(look)

    await sampled(counting, question(), LIMIT)
    assert [look.wanted for look in looks] == [Wanted.FAILED, Wanted.ANY, Wanted.ANY]
