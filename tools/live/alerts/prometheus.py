"""Prometheus' own alerting rules: https://prometheus.io/docs/prometheus/latest/querying/api/#rules"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

from typing_extensions import override

from tools.base import SourceFailure
from tools.live.alerts.firing import AlertSource, Firing, unreadable
from tools.live.alerts.records import Alert, alert_record
from tools.live.labels import service_of
from tools.live.reading import mapping, moment, some
from tools.vocabulary import SourceError


class PrometheusAlerts(AlertSource):
    """The rules of one Prometheus. They carry what Alertmanager isn't told: the expression and the value."""

    command: ClassVar[str] = """promtool query instant "$PROMETHEUS_URL" 'ALERTS{alertstate="firing"}'"""

    @override
    async def firing(self) -> Firing:
        answer = await self._transport.answer("GET", "/api/v1/rules", params={"type": "alert"})
        given = answer.json()
        if not isinstance(given, dict) or given.get("status") != "success":
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        alerts: list[Alert] = []
        broken = 0
        services: set[str] = set()
        for rule in _rules(given.get("data")):
            services |= {found} if (found := service_of(mapping(rule.get("labels")), self._service_labels)) else set()
            given_alerts = rule.get("alerts")
            for one in given_alerts if isinstance(given_alerts, list) else []:
                alert = self._alert(one, rule)
                alerts += [alert] if alert is not None else []
                broken += alert is None
        unreadable(alerts, broken)
        fired = [one for one in alerts if not one.resolved]
        return Firing(fired, answer.date, frozenset(services), broken, warned=bool(given.get("warnings")))

    def _alert(self, given: object, rule: Mapping[str, Any]) -> Alert | None:
        """Return an alert; one that is still pending counts as not firing, like a resolved one."""
        if not isinstance(given, Mapping) or not isinstance(given.get("labels"), Mapping):
            return None
        begun, held = moment(given.get("activeAt")), rule.get("duration")
        waited = timedelta(seconds=held) if isinstance(held, int | float) and 0 <= held < 10**7 else timedelta(0)
        told = alert_record(
            given["labels"],
            given.get("annotations"),
            self._service_labels,
            fired_at=begun + waited if begun else None,
            expression=str(rule["query"]) if rule.get("query") else None,
            observed=_value(given.get("value")),
        )
        return replace(told, resolved=given.get("state") != "firing")


def _rules(data: object) -> Iterator[Mapping[str, Any]]:
    """Yield the alerting rules; raises SourceFailure(SOURCE_UNREADABLE) where there is no list of groups."""
    groups = data.get("groups") if isinstance(data, dict) else None
    if not isinstance(groups, list):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    for group in groups:
        yield from (rule for rule in some(mapping(group).get("rules")) if rule.get("type", "alerting") == "alerting")


def _value(text: object) -> float | None:
    try:
        value = float(text) if isinstance(text, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None
