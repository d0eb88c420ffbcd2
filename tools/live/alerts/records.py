"""Alerts as Prometheus, Alertmanager and Grafana write them, brought into the form of an incident's `alert.json`."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tools.live.alerts.expressions import Comparison, expression_of, read_comparison
from tools.live.labels import SERVICE_LABELS, service_of
from tools.live.reading import moment

_METRIC = ("metric", "metric_name", "__name__")
_THRESHOLD = ("threshold", "limit")
_OBSERVED = ("observed", "value", "current_value", "current", "actual")
_SEVERITY = ("severity", "priority", "level")
_SUMMARY = ("summary", "message", "title")
_DETAIL = ("description", "detail", "details")
_OWN = frozenset(
    {"service", "metric", "threshold", "observed", "fired_at", "severity", "monitor", "summary", "detail", "expression"}
)
_FORM = ("service", "metric", "monitor", "fired_at", "summary")
"""What tells an alert that is in our own form already."""
_MAX_LABELS = 20


@dataclass(frozen=True)
class Alert:
    """An alert of a live backend. `record` has the fields of `alert.json`; `labels` are what makes it that alert, also
    where another server tells of it, too; `suppressed`: silenced or inhibited; `fired_at` is aware UTC."""

    record: Mapping[str, Any]
    labels: frozenset[tuple[str, str]]
    fired_at: datetime | None = None
    suppressed: bool = False
    resolved: bool = False

    @property
    def service(self) -> str | None:
        """The service that the alert is about, as its labels spell it."""
        return self.record.get("service")


def alert_of(payload: object, service_labels: Iterable[str] = SERVICE_LABELS) -> dict[str, Any]:
    """Return the alert of an incident, in the form of `alert.json` (docs/incident-format.md), that a payload tells of.

    `payload` is parsed JSON: what Alertmanager's or Grafana's webhook sends, one alert of `/api/v2/alerts` or a list of
    them, or an alert in our form, which is returned as it is. Of several alerts, a firing one counts before a silenced
    and a resolved one, then the one that fired first. Raises ValueError where there is none in it.
    """
    if isinstance(payload, Mapping) and "labels" not in payload and "alerts" not in payload:
        if any(payload.get(name) for name in _FORM):
            return dict(payload)
        raise ValueError("alert")
    alerts, _ = read_alerts(_listed(payload), service_labels)
    if not alerts:
        raise ValueError("alert")
    return dict(min(alerts, key=lambda one: (one.resolved, one.suppressed, *_moment_first(one))).record)


def _listed(payload: object) -> Sequence[object]:
    if isinstance(payload, Mapping):
        payload = payload.get("alerts", [payload])
    return payload if isinstance(payload, list) else []


def _moment_first(alert: Alert) -> tuple[bool, float]:
    return alert.fired_at is None, alert.fired_at.timestamp() if alert.fired_at else 0.0


def read_alerts(
    given: Sequence[object], service_labels: Iterable[str] = SERVICE_LABELS, *, now: datetime | None = None
) -> tuple[list[Alert], int]:
    """Return the alerts of a webhook's or of `/api/v2/alerts`' list, and how many of its entries are none.

    `now` (aware) is the server's clock: an alert that ended before it is resolved. Source: Alertmanager API v2,
    `gettableAlert`; the webhook's `alerts` have `status` as a text and no `updatedAt`.
    """
    names = tuple(service_labels)
    alerts = [alert for one in given if (alert := _alert(one, names, now)) is not None]
    return alerts, len(given) - len(alerts)


def _alert(given: object, service_labels: Sequence[str], now: datetime | None) -> Alert | None:
    if not isinstance(given, Mapping) or not isinstance(given.get("labels"), Mapping):
        return None
    ended, state = moment(given.get("endsAt")), given.get("status")
    over = state == "resolved" or (now is not None and ended is not None and ended <= now)
    shared: Mapping[str, Any] = state if isinstance(state, Mapping) else {}
    told = alert_record(
        given["labels"],
        given.get("annotations"),
        service_labels,
        fired_at=moment(given.get("startsAt")),
        expression=expression_of(str(given.get("generatorURL") or "")),
        observed=_sole_value(given.get("values")),
        extra={"silenced": _yes(shared.get("silencedBy")), "inhibited": _yes(shared.get("inhibitedBy"))},
    )
    return replace(told, suppressed=shared.get("state") == "suppressed", resolved=over)


def alert_record(
    labels: Mapping[str, Any],
    annotations: object,
    service_labels: Sequence[str],
    *,
    fired_at: datetime | None,
    expression: str | None = None,
    observed: float | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Alert:
    """Return an alert from a rule's labels and annotations.

    Metric and threshold are what labels or annotations say, else what the rule's `expression` (PromQL) compares; the
    observed value is what they say, else `observed`. Labels that say something else are kept beside, under their names.
    """
    said = {str(key): str(value) for key, value in labels.items() if isinstance(value, str | int | float)}
    noted = annotations if isinstance(annotations, Mapping) else {}
    words = {**{str(key): str(value) for key, value in noted.items() if isinstance(value, str | int | float)}, **said}
    rule = read_comparison(expression) if expression else Comparison()
    record = {
        "service": service_of(said, service_labels),
        "metric": _first(words, _METRIC) or rule.metric,
        "threshold": _number(_first(words, _THRESHOLD), rule.threshold),
        "observed": _number(_first(words, _OBSERVED), observed),
        "fired_at": fired_at.astimezone(UTC).isoformat(timespec="seconds") if fired_at else None,
        "severity": _first(words, _SEVERITY),
        "monitor": said.get("alertname"),
        "summary": _first(words, _SUMMARY),
        "detail": _first(words, _DETAIL),
        "expression": expression,
        **_others(said, service_labels),
        **(extra or {}),
    }
    kept = {key: value for key, value in record.items() if value is not None}
    return Alert(kept, frozenset(said.items()), fired_at)


def _others(labels: Mapping[str, str], service_labels: Sequence[str]) -> dict[str, str]:
    """Return the labels that say where and what else: pod, namespace, route."""
    told = {"alertname", *_METRIC, *_THRESHOLD, *_OBSERVED, *_SEVERITY, *_SUMMARY, *_DETAIL}
    service = service_of(labels, service_labels)
    rest = {
        name: value
        for name, value in sorted(labels.items())
        if name not in told | _OWN and not (name in service_labels and value.strip() == service)
    }
    return dict(list(rest.items())[:_MAX_LABELS])


def _first(words: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((words[name].strip() for name in names if words.get(name, "").strip()), None)


def _number(said: str | None, otherwise: float | None) -> float | str | None:
    if said is None:
        return otherwise
    try:
        value = float(said)
    except ValueError:
        return said
    return value if math.isfinite(value) else said


def _sole_value(values: object) -> float | None:
    """Return what Grafana measured, where its `values` hold one number."""
    found = list(values.values()) if isinstance(values, Mapping) else []
    numbers = [float(one) for one in found if isinstance(one, int | float) and not isinstance(one, bool)]
    return numbers[0] if len(numbers) == 1 and math.isfinite(numbers[0]) else None


def _yes(by: object) -> str | None:
    return "yes" if by else None
