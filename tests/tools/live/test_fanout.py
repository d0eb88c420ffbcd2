"""Several sources answer as one, and an absence needs all of them."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.base import SourceFailure
from tools.live.fanout import ask_all
from tools.vocabulary import SourceError

Outcome = int | SourceError

OUTCOMES = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]), st.one_of(st.integers(0, 9), st.sampled_from(SourceError)), min_size=1
)


async def _said(outcome: object) -> int:
    if isinstance(outcome, SourceError):
        raise SourceFailure(outcome, near_names=(outcome.value,))
    assert isinstance(outcome, int)
    return outcome


@given(OUTCOMES)
async def test_answers_and_failures_are_told_by_source(outcomes: dict[str, Outcome]) -> None:
    answers = {name: one for name, one in outcomes.items() if not isinstance(one, SourceError)}
    grave = [
        one for one in outcomes.values() if isinstance(one, SourceError) and one is not SourceError.UNKNOWN_SELECTOR
    ]
    if not answers:
        with pytest.raises(SourceFailure) as caught:
            await ask_all(outcomes, _said)
        assert caught.value.code is (grave[0] if grave else SourceError.UNKNOWN_SELECTOR)
        return
    gathered = await ask_all(outcomes, _said)
    assert gathered.answers == answers
    assert [failure.code for failure in gathered.failures.values()] == grave
    assert gathered.notes == tuple(f"SOURCE_FAILED:{name}" for name in gathered.failures)


async def test_a_failed_source_forbids_to_speak_of_an_absence() -> None:
    gathered = await ask_all({"a": 0, "b": SourceError.BACKEND_TIMEOUT}, _said)
    with pytest.raises(SourceFailure) as caught:
        gathered.absence()
    assert caught.value.code is SourceError.BACKEND_TIMEOUT
    (await ask_all({"a": 0, "b": SourceError.UNKNOWN_SELECTOR}, _said)).absence()


async def test_a_name_that_no_source_knows_has_the_near_names_of_all() -> None:
    async def unknown(names: tuple[str, ...]) -> int:
        raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=names, field="service")

    with pytest.raises(SourceFailure) as caught:
        await ask_all({"a": ("payment",), "b": ("payment", "payments")}, unknown)
    assert caught.value.near_names == ("payment", "payments")
    assert caught.value.field == "service"


async def test_a_defect_in_one_source_is_no_answer_of_it() -> None:
    async def defective(one: int) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await ask_all({"a": 1}, defective)


async def test_cancelling_who_asks_cancels_every_question() -> None:
    gone: list[int] = []
    started = asyncio.Barrier(3)

    async def endless(one: int) -> int:
        try:
            await started.wait()
            await asyncio.Event().wait()
        finally:
            gone.append(one)
        return one

    task = asyncio.ensure_future(ask_all({"a": 1, "b": 2}, endless))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(gone) == [1, 2]
