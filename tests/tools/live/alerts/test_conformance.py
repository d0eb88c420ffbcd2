"""Both sources of alerts keep what every backend keeps."""

import json
from abc import abstractmethod
from typing import Any

import pytest
from pydantic import SecretStr
from typing_extensions import override

from tests.tools.live.alerts.payloads import LABELS, active, gettable, rules
from tests.tools.live.conformance import LIMIT, TOKEN, HttpConformance, ask, serving, whole
from tools.base import EvidenceTool, IncidentContext
from tools.frozen.selectors import resolve
from tools.live.alerts.settings import AlertmanagerSettings, PrometheusAlertsSettings
from tools.live.alerts.tools import tools_of
from tools.live.source import Source
from tools.vocabulary import Evidence


async def siblings(service: str, _: IncidentContext) -> None:
    """What the metrics would say: which services there are."""
    resolve(service, {"payment", "ledger-service", "order"}, field="service")


class AlertsConformance(HttpConformance):
    """The same question to both backends; each says how it tells of alerts."""

    @override
    def arguments(self) -> dict[str, Any]:
        return {"service": "Payment"}

    @override
    def tool_over(self, source: Any) -> EvidenceTool:
        (tool,) = tools_of({"alerts": source}, siblings)
        return tool

    @abstractmethod
    def some(self) -> object:
        """The answer of a server that holds an alert of payment."""

    @abstractmethod
    def none(self) -> object:
        """The answer of a server that holds no alert."""

    @abstractmethod
    def damaged(self) -> object:
        """The answer of a server that holds one that can be read and one that can't."""

    async def answered(self, document: object, service: str = "payment") -> Evidence:
        body = json.dumps(document).encode()
        async with serving(whole(body)) as url:
            source = self.source_at(url)
            try:
                return await ask(self.tool_over(source), {"service": service})
            finally:
                await source.close()

    @override
    async def found(self) -> Evidence:
        return await self.answered(self.some())

    @override
    async def empty(self) -> Evidence:
        return await self.answered(self.none(), "order")

    @override
    async def unknown(self) -> Evidence:
        return await self.answered(self.some(), "paymnet")

    @override
    async def partial(self) -> Evidence:
        return await self.answered(self.damaged())

    async def test_entries_that_cannot_be_read_are_no_absence(self) -> None:
        with pytest.raises(Exception, match="SOURCE_UNREADABLE"):
            await self.answered(self.unreadable())

    def unreadable(self) -> object:
        """The answer of a server whose only alert can't be read."""
        raise NotImplementedError

    @pytest.mark.parametrize("document", [{}, [[]], "alerts", {"status": "error"}, {"data": {"groups": []}}])
    async def test_json_of_another_shape_is_unreadable(self, document: object) -> None:
        with pytest.raises(Exception, match="SOURCE_UNREADABLE"):
            await self.answered(document)


class TestAlertmanager(AlertsConformance):
    """Alertmanager, API v2."""

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        settings = AlertmanagerSettings(
            url=url, token=SecretStr(TOKEN), max_bytes=LIMIT, timeout_seconds=timeout_seconds
        )
        return settings.open("alerts")

    @override
    def some(self) -> object:
        return [gettable(), gettable({**LABELS, "service": "order"})]

    @override
    def none(self) -> object:
        return []

    @override
    def damaged(self) -> object:
        return [gettable(), {"labels": None}]

    @override
    def unreadable(self) -> object:
        return [{"labels": None}]


class TestPrometheusAlerts(AlertsConformance):
    """The rules of Prometheus."""

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        settings = PrometheusAlertsSettings(
            url=url, token=SecretStr(TOKEN), max_bytes=LIMIT, timeout_seconds=timeout_seconds
        )
        return settings.open("alerts")

    @override
    def some(self) -> object:
        return rules(active())

    @override
    def none(self) -> object:
        return rules()

    @override
    def damaged(self) -> object:
        return rules(active(), {"labels": None})

    @override
    def unreadable(self) -> object:
        return rules({"labels": None})
