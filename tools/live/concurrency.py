"""Several questions to one backend at once, but not too many."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AT_ONCE = 4
"""How many questions of one kind a backend is asked at the same time."""


async def in_turns(ask: Callable[[Item], Awaitable[Result]], items: Iterable[Item]) -> list[Result]:
    """Return what `ask` gives for each item, in order, at most four at once.

    The first failure cancels what is under way and is raised; so does a cancellation.
    """
    room = asyncio.Semaphore(AT_ONCE)

    async def asked(item: Item) -> Result:
        async with room:
            return await ask(item)

    tasks = [asyncio.ensure_future(asked(item)) for item in items]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
