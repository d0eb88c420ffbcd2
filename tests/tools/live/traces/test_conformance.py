"""Both trace backends keep what every backend keeps."""

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from pydantic import SecretStr
from typing_extensions import override

from tests.live.servers.jaeger import JaegerStore, serving_jaeger
from tests.live.servers.skywalking import SkyWalkingStore, serving_skywalking
from tests.live.servers.told_spans import Told, checkout
from tests.tools.live.conformance import LIMIT, TOKEN, HttpConformance, ask
from tools.base import EvidenceTool
from tools.live.source import Source
from tools.live.traces.settings import JaegerSettings, SkyWalkingSettings
from tools.live.traces.tools import tools_of
from tools.vocabulary import Evidence

SPANS = [*checkout("t1", 0), *checkout("t2", 60, broken=True)]


class TracesConformance(HttpConformance):
    """The same question of the same spans to both backends."""

    @override
    def arguments(self) -> dict[str, Any]:
        return {"service": "web", "operation": None, "start": None, "end": None}

    @override
    def tool_over(self, source: Any) -> EvidenceTool:
        (tool,) = tools_of({"traces": source})
        return tool

    @abstractmethod
    def serving(self, spans: Sequence[Told], *, trouble: bool = False) -> AbstractContextManager[str]:
        """Serve a backend that holds spans; with `trouble`, one that can't tell all of them."""

    async def _of(self, serving: AbstractContextManager[str], **arguments: Any) -> Evidence:
        with serving as url:
            source = self.source_at(url)
            try:
                return await ask(self.tool_over(source), self.arguments() | arguments)
            finally:
                await source.close()

    @override
    async def found(self) -> Evidence:
        return await self._of(self.serving(SPANS))

    @override
    async def empty(self) -> Evidence:
        return await self._of(self.serving(SPANS), start="2026-09-08T06:00:00Z", end="2026-09-08T06:30:00Z")

    @override
    async def unknown(self) -> Evidence:
        return await self._of(self.serving(SPANS), service="stokc")

    @override
    async def partial(self) -> Evidence:
        return await self._of(self.serving(SPANS, trouble=True))


class TestJaeger(TracesConformance):
    """Jaeger's query service."""

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        settings = JaegerSettings(url=url, token=SecretStr(TOKEN), timeout_seconds=timeout_seconds, max_bytes=LIMIT)
        return settings.open("traces")

    @override
    def serving(self, spans: Sequence[Told], *, trouble: bool = False) -> AbstractContextManager[str]:
        told = [{"code": 500, "msg": "a shard is away"}] if trouble else []
        return serving_jaeger(JaegerStore(spans, trouble=told, token=TOKEN))


class TestSkyWalking(TracesConformance):
    """SkyWalking's OAP server."""

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        settings = SkyWalkingSettings(url=url, token=SecretStr(TOKEN), timeout_seconds=timeout_seconds, max_bytes=LIMIT)
        return settings.open("traces")

    @override
    def serving(self, spans: Sequence[Told], *, trouble: bool = False) -> AbstractContextManager[str]:
        return serving_skywalking(SkyWalkingStore(spans, trouble="queryTrace:t1" if trouble else None, token=TOKEN))
