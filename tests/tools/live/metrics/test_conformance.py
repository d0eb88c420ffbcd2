"""Both metrics tools keep what every backend of live evidence keeps."""

from typing import Any

from tests.tools.live.conformance import LIMIT, TOKEN, HttpConformance, ask
from tests.tools.live.metrics.answering import Answering, every
from tools.base import EvidenceTool
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.settings import PrometheusSettings
from tools.live.metrics.tools import tools_of
from tools.live.source import Source
from tools.vocabulary import Evidence

SERIES = [{"__name__": "shop_orders_open", "service": "shop", "pod": "shop-1"}]


class _MetricsConformance(HttpConformance):
    position: int

    def tool_over(self, source: Any) -> EvidenceTool:
        return tools_of({"server": source})[self.position]

    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        return PrometheusSettings.model_validate(
            {"url": url, "token": TOKEN, "max_bytes": LIMIT, "timeout_seconds": timeout_seconds}
        ).open("server")

    async def over(self, server: Answering, **arguments: Any) -> Evidence:
        source: Prometheus = server.source()
        return await ask(self.tool_over(source), {**self.arguments(), **arguments}, self.incident)

    async def found(self) -> Evidence:
        return await self.over(Answering(SERIES, every(60, lambda at: 3.0)))

    async def empty(self) -> Evidence:
        return await self.over(Answering(SERIES))

    async def partial(self) -> Evidence:
        return await self.over(Answering(SERIES, every(60, lambda at: 3.0), extra={"warnings": ["store is down"]}))


class TestByName(_MetricsConformance):
    position = 0

    def arguments(self) -> dict[str, Any]:
        return {"service": "shop", "metric": "shop_orders_open", "start": None, "end": None}

    async def unknown(self) -> Evidence:
        return await self.over(Answering(SERIES), metric="shop_order_open")


class TestByQuery(_MetricsConformance):
    position = 1

    def arguments(self) -> dict[str, Any]:
        return {"query": 'shop_orders_open{service="shop"}', "start": None, "end": None}

    async def unknown(self) -> Evidence:
        return await self.over(Answering(SERIES), query="shop_order_open")
