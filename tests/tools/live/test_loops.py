"""A source may be asked from one event loop after another, and holds nothing of those that have ended."""

import asyncio
import gc
import weakref

from tools.live.loops import PerLoop


class Line:
    """Stands for a connection, which keeps its loop alive."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()


def test_each_loop_has_its_own_and_an_ended_one_keeps_nothing() -> None:
    lines: PerLoop[Line] = PerLoop()
    seen: list[weakref.ref[Line]] = []

    async def ask() -> None:
        line = lines.ensure(Line)
        assert lines.ensure(Line) is line is lines.get()
        assert line.loop is asyncio.get_running_loop()
        seen.append(weakref.ref(line))

    for _ in range(3):
        asyncio.run(ask())
    gc.collect()
    assert [line() is None for line in seen] == [True, True, False]


async def test_what_is_taken_is_held_no_more() -> None:
    lines: PerLoop[int] = PerLoop()
    assert lines.take() is None
    assert lines.put(1) == 1
    assert lines.take() == 1
    assert lines.get() is None
