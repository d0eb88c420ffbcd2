# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""The alert that opened an incident, and notices of the platform's status feed where there is one."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import Field

from tools.base import Arguments, EvidenceTool, IncidentContext, SourceFailure
from tools.canonical import fold
from tools.frozen.database import Database
from tools.frozen.layout import expected, read_alerts, read_notices
from tools.frozen.lines import Page, field, fields, moment, number, unit, with_text
from tools.frozen.scopes import named
from tools.frozen.selectors import resolve
from tools.frozen.services import known_services
from tools.frozen.sql import literal
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope, SourceError

_MILLISECONDS = 100_000_000_000
_TOLD = frozenset(
    {"service", "metric", "threshold", "observed", "fired_at", "severity", "monitor", "summary", "detail"}
)


class AlertsArguments(Arguments):
    """What may be asked for; null leaves a field open."""

    service: str | None = Field(description="服务名；不限时填 null")


class AlertsTool(EvidenceTool):
    """Tells the alerts of the incident. TEXT (summaries quote the application), DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |

    A service that any source of the incident knows and that has no alert is an absence (NO_EVIDENCE); one that none
    knows is UNKNOWN_SELECTOR. Without a service, notices of the provider's status feed follow (`notice` lines).
    """

    name = "get_alerts"
    description = "查询本次事件的告警：服务、指标、阈值、观测值、触发时间与摘要。"
    kind = EvidenceKind.ALERTS
    arguments = AlertsArguments

    def __init__(self, directory: Path, others: Sequence[tuple[str, Database]]) -> None:
        self._directory = directory
        self._others = others
        self._path = expected(directory, "alert")

    def normalize(self, arguments: AlertsArguments, incident: IncidentContext) -> Scope:
        return named(service=arguments.service)

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        alerts = await asyncio.to_thread(_alerts, self._directory)
        if alerts is None:
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        asked = scope.get("service")
        chosen = [alert for alert in alerts if asked is None or fold(str(alert.get("service", ""))) == asked]
        if not chosen and asked is not None:
            own = {str(alert["service"]) for alert in alerts if alert.get("service")}
            resolve(asked, own | await known_services(self._others, incident.zone), field="service")
        notices = await asyncio.to_thread(read_notices, self._directory) if asked is None else []
        return told_alerts(chosen, notices, scope, incident.zone)

    def suggest(self, incident: IncidentContext) -> Scope | None:
        return named(service=None)

    def paste(self, scope: Scope) -> str:
        where = f" WHERE lower(service) = {literal(scope['service'])}" if "service" in scope else ""
        return f"SELECT * FROM {literal(str(self._path))}{where};"


def _alerts(directory: Path) -> list[dict[str, Any]] | None:
    """Return the alerts, None where they can't be read. Raises SourceFailure(SOURCE_MISSING)."""
    try:
        alerts = read_alerts(directory)
    except (ValueError, OSError, RecursionError):
        return None
    if alerts is None:
        raise SourceFailure(SourceError.SOURCE_MISSING)
    return alerts


def told_alerts(
    alerts: Sequence[Mapping[str, Any]], notices: Sequence[Mapping[str, Any]], scope: Scope, zone: str
) -> Evidence:
    """Return alerts and notices, each in the form of docs/incident-format.md, as the evidence of a scope.

    Times that name no zone are in `zone` (IANA). No alert and no notice is an absence.
    """
    if not alerts and not notices:
        return Evidence(
            status=EvidenceStatus.NO_EVIDENCE,
            provenance=Provenance.TEXT,
            summary=f"no alert for {scope.get('service', 'any service')}",
        )
    page = Page()
    for alert in alerts:
        page.add(_alert(alert, zone))
    for notice in notices:
        page.add(_notice(notice, zone), optional=True)
    assumed = any(_zoneless(alert.get("fired_at")) for alert in alerts)
    return Evidence(
        status=EvidenceStatus.EVIDENCE,
        provenance=Provenance.TEXT,
        content=tuple(page.lines),
        summary="; ".join(_sentence(alert, zone) for alert in alerts[:4]) or "no alert; notices of the status feed",
        truncated=page.truncated,
        components=tuple(dict.fromkeys(str(alert["service"]) for alert in alerts if alert.get("service"))),
        notes=(f"ZONE_ASSUMED:{zone}",) if assumed else (),
    )


def _alert(alert: Mapping[str, Any], zone: str) -> list[str]:
    values = {
        "service": alert.get("service"),
        "metric": alert.get("metric"),
        "threshold": _quantity(alert.get("threshold")),
        "observed": _quantity(alert.get("observed")),
        "fired_at": _when(alert.get("fired_at"), zone),
        "severity": alert.get("severity"),
        "monitor": alert.get("monitor"),
    }
    rest = [f"{key}={field(value)}" for key, value in alert.items() if key not in _TOLD and _is_plain(value)]
    text = "\n".join(str(alert[key]) for key in ("summary", "detail") if alert.get(key))
    return with_text(fields("alert", values), "\n".join([text, *rest]))


def _notice(notice: Mapping[str, Any], zone: str) -> list[str]:
    values = {
        "service": notice.get("service"),
        "region": notice.get("region"),
        "status": notice.get("status"),
        "started_at": _when(notice.get("started_at"), zone),
        "resolved_at": _when(notice.get("resolved_at"), zone),
    }
    text = "\n".join(str(notice[key]) for key in ("title", "detail") if notice.get(key))
    return with_text(fields("notice", values), text)


def _sentence(alert: Mapping[str, Any], zone: str) -> str:
    """Return what is known of an alert; its monitor names it where no metric does."""
    metric = str(alert.get("metric") or "")
    observed, threshold = _quantity(alert.get("observed")), _quantity(alert.get("threshold"))
    units = f" {unit(metric)}" if unit(metric) else ""
    named = " ".join(field(one) for one in (alert.get("service"), metric or alert.get("monitor")) if _is_said(one))
    fired_at = _when(alert.get("fired_at"), zone)
    told = [
        f"{named or 'an alert'} observed {field(observed)}{units}" if _is_said(observed) else named or "an alert",
        *([f"threshold {field(threshold)}{units}"] if _is_said(threshold) else []),
        *([f"fired at {fired_at}"] if fired_at else []),
    ]
    return ", ".join(told)


def _is_said(value: object) -> bool:
    return value is not None and field(value) != "-"


def _quantity(value: object) -> object:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) and value != ""


def _read(value: object) -> datetime | None:
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def _zoneless(value: object) -> bool:
    at = _read(value)
    return at is not None and at.tzinfo is None


def _when(value: object, zone: str) -> str | None:
    at = _read(value)
    if at is None:
        return None
    return moment((at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC))
