"""What a source holds open belongs to the event loop that it was opened in; a source may be asked from several."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

Held = TypeVar("Held")


class PerLoop(Generic[Held]):
    """Holds one thing for each event loop that runs."""

    def __init__(self) -> None:
        self._held: dict[asyncio.AbstractEventLoop, Held] = {}

    def get(self) -> Held | None:
        """Return what the running loop holds, None where it holds nothing."""
        return self._held.get(asyncio.get_running_loop())

    def put(self, held: Held) -> Held:
        """Hold `held` for the running loop, and return it.

        Connections keep their loop alive, so that what an ended loop held is dropped here, not by the collector.
        """
        for ended in [loop for loop in self._held if loop.is_closed()]:
            del self._held[ended]
        self._held[asyncio.get_running_loop()] = held
        return held

    def ensure(self, make: Callable[[], Held]) -> Held:
        """Return what the running loop holds, made now where it holds nothing."""
        held = self.get()
        return self.put(make()) if held is None else held

    def take(self) -> Held | None:
        """Return what the running loop held, and hold it no more."""
        return self._held.pop(asyncio.get_running_loop(), None)
