"""Questions to one backend go out together, but not too many, and none outlives the asking."""

import asyncio

import pytest

from tools.live.concurrency import AT_ONCE, in_turns


async def test_results_come_in_the_order_of_the_items() -> None:
    async def ask(item: int) -> int:
        for _ in range(10 - item):
            await asyncio.sleep(0)
        return item * 2

    assert await in_turns(ask, range(10)) == [item * 2 for item in range(10)]


async def test_no_more_than_a_few_are_under_way() -> None:
    under_way: set[int] = set()
    most = 0

    async def ask(item: int) -> None:
        nonlocal most
        under_way.add(item)
        most = max(most, len(under_way))
        await asyncio.sleep(0)
        under_way.discard(item)

    await in_turns(ask, range(20))
    assert most == AT_ONCE


async def test_the_first_failure_ends_the_others() -> None:
    ended: list[int] = []

    async def ask(item: int) -> None:
        if item == 1:
            raise ValueError("one")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    with pytest.raises(ValueError, match="one"):
        await in_turns(ask, range(3))
    await asyncio.sleep(0)
    assert ended == [0, 2]
