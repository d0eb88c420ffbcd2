"""One way to ask a trace backend in these tests, over the network or over a wire that a test holds."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx

from tests.tools.live.conformance import ask
from tools.live.source import HttpSource, Source
from tools.live.traces.jaeger import Jaeger
from tools.live.traces.skywalking import SkyWalking
from tools.live.traces.source import TraceQuestion
from tools.live.traces.tools import tools_of
from tools.live.transport import Transport
from tools.vocabulary import Evidence

START, END = datetime(2026, 9, 8, 4, 2, tzinfo=UTC), datetime(2026, 9, 8, 7, 17, tzinfo=UTC)
WINDOW = {"start": None, "end": None}


def question(service: str | None = None, operation: str | None = None) -> TraceQuestion:
    """The question of the default window."""
    return TraceQuestion(service, operation, START, END)


async def answered(*settings: HttpSource, service: str | None = None, operation: str | None = None) -> Evidence:
    """Ask the tool over sources, which are closed afterwards; they are called `source0`, `source1`, …"""
    sources: dict[str, Any] = {f"source{at}": one.open(f"source{at}") for at, one in enumerate(settings)}
    (tool,) = tools_of(sources)
    try:
        return await ask(tool, {"service": service, "operation": operation, **WINDOW})
    finally:
        for source in sources.values():
            await source.close()


Wire = Callable[[httpx.Request], httpx.Response]


@asynccontextmanager
async def jaeger_over(wire: Wire) -> AsyncIterator[Jaeger]:
    """A Jaeger source whose requests `wire` answers."""
    access = HttpSourceAt(url="http://jaeger.test/base").access()
    source = Jaeger("jaeger", Transport(access, wire=httpx.MockTransport(wire)), patience=5)
    yield source
    await source.close()


@asynccontextmanager
async def skywalking_over(wire: Wire) -> AsyncIterator[SkyWalking]:
    """A SkyWalking source whose requests `wire` answers."""
    access = HttpSourceAt(url="http://oap.test:12800").access()
    source = SkyWalking("skywalking", Transport(access, wire=httpx.MockTransport(wire)), patience=5)
    yield source
    await source.close()


def sent(request: httpx.Request) -> dict[str, Any]:
    """The JSON that a request carries."""
    content: dict[str, Any] = json.loads(request.content)
    return content


class HttpSourceAt(HttpSource):
    """Settings that nobody opens: where a wire is."""

    type: str = "wire"

    def open(self, name: str) -> Source:
        raise NotImplementedError
