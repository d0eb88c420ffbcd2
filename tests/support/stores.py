"""Stores that remember what was written, fail, or take the process down with them."""

import asyncio
from typing import Any

from langgraph.store.base import Item
from langgraph.store.memory import InMemoryStore
from typing_extensions import override


class NotingStore(InMemoryStore):
    """Remembers each write as (call id, status)."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[tuple[str, str]] = []

    @override
    async def aput(self, *args: Any, **kwargs: Any) -> None:
        value = args[2]
        self.writes.append((value["call_id"], value["status"]))
        await super().aput(*args, **kwargs)


class DyingStore(NotingStore):
    """Stands still right behind each write of the given statuses, so that a test can kill the run there."""

    def __init__(self, *statuses: str) -> None:
        super().__init__()
        self.deaths = list(statuses)
        self.reached = asyncio.Event()

    @override
    async def aput(self, *args: Any, **kwargs: Any) -> None:
        await super().aput(*args, **kwargs)
        if self.deaths and self.writes[-1][1] == self.deaths[0]:
            self.deaths.pop(0)
            self.reached.set()
            await asyncio.Event().wait()


class RaisingStore(InMemoryStore):
    """Fails where it is told to, with a text that must reach nobody. `broken` may name `aput` and `aget`."""

    def __init__(self, *broken: str, text: str = "store at STOREHOST is gone") -> None:
        super().__init__()
        self.broken = set(broken)
        self.text = text

    @override
    async def aput(self, *args: Any, **kwargs: Any) -> None:
        if "aput" in self.broken:
            raise OSError(self.text)
        await super().aput(*args, **kwargs)

    @override
    async def aget(self, *args: Any, **kwargs: Any) -> Item | None:
        if "aget" in self.broken:
            raise OSError(self.text)
        return await super().aget(*args, **kwargs)
