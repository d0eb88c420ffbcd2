"""Several requests to one backend, a few at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")
AT_ONCE = 4


async def all_of(question: Callable[[Asked], Awaitable[Answered]], about: Iterable[Asked]) -> list[Answered]:
    """Return the answers in order, at most four asked at once; the first failure, or a cancellation, ends the rest."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(thing: Asked) -> Answered:
        async with room:
            return await question(thing)

    tasks = [asyncio.ensure_future(one(thing)) for thing in about]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
