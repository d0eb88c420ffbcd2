"""`get_alerts` over live backends."""

import shlex
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from typing_extensions import override

from tools.base import EvidenceTool, IncidentContext
from tools.canonical import fold
from tools.frozen.alerts import AlertsArguments, told_alerts
from tools.frozen.scopes import named
from tools.live.alerts.firing import AlertSource, Firing
from tools.live.alerts.records import Alert
from tools.live.fanout import Gathered, ask_all
from tools.live.pasting import lines
from tools.live.vouching import ServiceCheck, require_vouched
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Scope
from tools.windows import LOOK_AHEAD, LOOK_BACK

CURRENT_ONLY = "CURRENT_ALERTS_ONLY"
"""Remark: the incident is past, and what has been resolved since isn't told here."""
_HEARTBEATS = frozenset({"watchdog", "deadmansswitch", "deadmanssnitch"})
"""Alerts that always fire, to show that alerts arrive (kube-prometheus' Watchdog)."""


def tools_of(
    sources: Mapping[str, AlertSource], known_elsewhere: ServiceCheck | None = None
) -> tuple[EvidenceTool, ...]:
    """Return `get_alerts` over the opened sources; nothing where there are none.

    `known_elsewhere` asks the other kinds of sources about a service: where they know it, its silence is an absence.
    """
    return (LiveAlertsTool(sources, known_elsewhere),) if sources else ()


class LiveAlertsTool(EvidenceTool):
    """Tells the alerts that fire now. TEXT (annotations quote the application), DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |

    Alerts that began within three hours of the incident come first, silenced and inhibited ones behind the others;
    resolved ones and those that began more than 15 minutes after the incident aren't told. An alert that several
    servers hold is one.

    A source of alerts keeps no list of services: one that has no alert is an absence (NO_EVIDENCE) where an alerting
    rule or another kind of source knows it, else UNKNOWN_SELECTOR. Of an incident in the past, the absence is marked
    as truncated: what fired then and has been resolved since is told by no one.
    """

    name = "get_alerts"
    description = "查询本次事件的告警：服务、指标、阈值、观测值、触发时间与摘要。"
    kind = EvidenceKind.ALERTS
    arguments = AlertsArguments

    def __init__(self, sources: Mapping[str, AlertSource], known_elsewhere: ServiceCheck | None = None) -> None:
        self._sources = sources
        self._known_elsewhere = known_elsewhere

    @override
    def normalize(self, arguments: AlertsArguments, incident: IncidentContext) -> Scope:
        return named(service=arguments.service)

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        gathered = await ask_all(self._sources, lambda source: source.firing())
        asked = scope.get("service")
        alerts = _merged(gathered)
        chosen = [one for one in alerts if asked is None or fold(one.service or "") == asked]
        begun = [one for one in chosen if not _later(one, incident)]
        if not begun:
            gathered.absence()
            await self._known(asked, alerts, gathered, incident)
        ordered = sorted(begun, key=lambda one: _order(one, incident))
        evidence = told_alerts([one.record for one in ordered], [], scope, incident.zone)
        return _remarked(evidence, gathered, incident)

    @override
    def suggest(self, incident: IncidentContext) -> Scope | None:
        return named(service=None)

    @override
    def paste(self, scope: Scope) -> str:
        # Whichever label names the service, and however: it stands in the line.
        of = f" | grep -i -F -e {shlex.quote(scope['service'])}" if "service" in scope else ""
        return lines(f"{source.command}{of}" for source in self._sources.values())

    async def _known(
        self, asked: str | None, alerts: Sequence[Alert], gathered: Gathered[Firing], incident: IncidentContext
    ) -> None:
        """Raise SourceFailure(UNKNOWN_SELECTOR) where nobody knows the service that was asked about."""
        if asked is None:
            return
        known = {one.service for one in alerts if one.service}
        known |= {service for firing in gathered.answers.values() for service in firing.services}
        if any(fold(service) == asked for service in known):
            return
        await require_vouched(self._known_elsewhere, asked, incident, known=known)


def _merged(gathered: Gathered[Firing]) -> list[Alert]:
    """Return each alert once: servers of one cluster tell the same, and Prometheus tells what its Alertmanager holds.

    Of several tellings the one with most fields is kept, and its silence by any of them.
    """
    found: dict[frozenset[tuple[str, str]], Alert] = {}
    for alert in (one for firing in gathered.answers.values() for one in firing.alerts):
        earlier = found.get(alert.labels)
        found[alert.labels] = alert if earlier is None else _fuller(earlier, alert)
    return list(found.values())


def _fuller(one: Alert, other: Alert) -> Alert:
    first, second = (one, other) if len(one.record) >= len(other.record) else (other, one)
    marks = {key: second.record[key] for key in ("silenced", "inhibited") if key in second.record}
    return Alert(
        {**first.record, **marks}, first.labels, first.fired_at, suppressed=first.suppressed or second.suppressed
    )


def _later(alert: Alert, incident: IncidentContext) -> bool:
    return alert.fired_at is not None and alert.fired_at > incident.as_of + LOOK_AHEAD


def _order(alert: Alert, incident: IncidentContext) -> tuple[object, ...]:
    at = alert.fired_at
    recent = at is not None and at >= incident.as_of - LOOK_BACK
    heartbeat = fold(str(alert.record.get("monitor") or "")) in _HEARTBEATS
    return (alert.suppressed, heartbeat, not recent, at.timestamp() if at else 0.0)


def _remarked(evidence: Evidence, gathered: Gathered[Firing], incident: IncidentContext) -> Evidence:
    answers = gathered.answers.values()
    broken = sum(firing.broken for firing in answers)
    past = any(firing.moment - incident.as_of > LOOK_AHEAD + timedelta(minutes=1) for firing in answers)
    partial = bool(broken or gathered.failures or any(firing.warned for firing in answers))
    notes = (
        *evidence.notes,
        *gathered.notes,
        *([f"BROKEN_RECORDS:{broken}"] if broken else []),
        *(["PARTIAL_RESPONSE"] if any(firing.warned for firing in answers) else []),
        *([CURRENT_ONLY] if past else []),
    )
    absent = evidence.status is EvidenceStatus.NO_EVIDENCE
    truncated = evidence.truncated or partial or (past and absent)
    return evidence.model_copy(update={"notes": notes, "truncated": truncated})
