"""Both trace backends keep what every backend keeps."""

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr
from typing_extensions import override

from tests.live.servers.jaeger import JaegerStore, serving_jaeger
from tests.live.servers.skywalking import SkyWalkingStore, serving_skywalking
from tests.live.servers.told_spans import Told, checkout
from tests.tools.live.conformance import LIMIT, TOKEN, HttpConformance, ask
from tools.base import EvidenceTool, SourceFailure
from tools.live.source import Source
from tools.live.traces.settings import JaegerSettings, SkyWalkingSettings
from tools.live.traces.tools import tools_of
from tools.vocabulary import Evidence, EvidenceStatus, SourceError

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
    def serving(
        self, spans: Sequence[Told], *, services: Sequence[str] = (), trouble: bool = False
    ) -> AbstractContextManager[str]:
        """Serve a backend that holds spans and knows `services` besides; with `trouble`, one that can't tell all."""

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

    async def test_a_failure_is_followed_to_its_origin_and_its_edges_are_told(self) -> None:
        evidence = await self._of(self.serving(SPANS), service="Web")
        assert evidence.first_failing == "stock"
        assert evidence.onset == datetime(2026, 9, 8, 7, 1, 0, 20_000, tzinfo=UTC)
        assert "edge caller=web callee=cart calls=2 errors=1 max_ms=4020" in evidence.content
        assert "edge caller=stock callee=stock-db calls=2 errors=0 max_ms=5" in evidence.content
        assert any(line.endswith("| PoolTimeout: pool exhausted after 4000ms") for line in evidence.content)
        assert not evidence.truncated

    async def test_of_many_failures_the_first_is_found_although_the_latest_come_first(self) -> None:
        spans = [one for at in range(90) for one in checkout(f"ok{at}", -9000 + 60 * at)]
        spans += [one for at in range(90) for one in checkout(f"bad{at}", -900 + 10 * at, broken=True)]
        evidence = await self._of(self.serving(spans))
        assert evidence.onset == datetime(2026, 9, 8, 6, 45, 0, 20_000, tzinfo=UTC)
        assert evidence.truncated
        assert any(note.startswith("SAMPLED_TRACES:") for note in evidence.notes)

    async def test_an_operation_narrows_and_an_unknown_one_has_near_names(self) -> None:
        spans = [*checkout("t1", 0), Told("t9", "z", "web", "GET /health", start=5)]
        evidence = await self._of(self.serving(spans), operation="get /HEALTH")
        assert evidence.content == ("healthy spans=1 errors=0 max_ms=20",)
        with pytest.raises(SourceFailure) as failure:
            await self._of(self.serving(spans), operation="POST /chekout")
        assert (failure.value.code, failure.value.field) == (SourceError.UNKNOWN_SELECTOR, "operation")
        assert failure.value.near_names == ("POST /checkout",)

    async def test_a_known_service_without_spans_is_an_absence(self) -> None:
        evidence = await self._of(self.serving(SPANS, services=["billing"]), service="billing")
        assert (evidence.status, evidence.truncated) == (EvidenceStatus.NO_EVIDENCE, False)

    async def test_the_probe_tells_the_server_s_clock_and_how_many_services_there_are(self) -> None:
        with self.serving(SPANS) as url:
            source = self.source_at(url)
            probe = await source.probe()
            await source.close()
        assert probe.sample == "3 services"
        assert probe.server_time is not None
        assert probe.server_time.tzinfo is not None


class TestJaeger(TracesConformance):
    """Jaeger's query service."""

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        settings = JaegerSettings(url=url, token=SecretStr(TOKEN), timeout_seconds=timeout_seconds, max_bytes=LIMIT)
        return settings.open("traces")

    @override
    def serving(
        self, spans: Sequence[Told], *, services: Sequence[str] = (), trouble: bool = False
    ) -> AbstractContextManager[str]:
        told = [{"code": 500, "msg": "a shard is away"}] if trouble else []
        return serving_jaeger(JaegerStore(spans, services, trouble=told, token=TOKEN))


class TestSkyWalking(TracesConformance):
    """SkyWalking's OAP server."""

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        settings = SkyWalkingSettings(url=url, token=SecretStr(TOKEN), timeout_seconds=timeout_seconds, max_bytes=LIMIT)
        return settings.open("traces")

    @override
    def serving(
        self, spans: Sequence[Told], *, services: Sequence[str] = (), trouble: bool = False
    ) -> AbstractContextManager[str]:
        told = "queryTrace:t1" if trouble else None
        return serving_skywalking(SkyWalkingStore(spans, services, trouble=told, token=TOKEN))
