"""Payloads in the form of the documentation of Alertmanager, Prometheus and Grafana."""

from typing import Any

LINK = "http://prometheus.example:9090/graph?g0.expr=error_ratio%7Bservice%3D%22payment%22%7D+%3E+0.05&g0.tab=1"
LABELS = {
    "alertname": "PaymentErrors",
    "service": "payment",
    "job": "payment-api",
    "instance": "10.0.0.7:8080",
    "severity": "critical",
}
ANNOTATIONS = {"summary": "payment fails", "description": "More than 5 % fail.\nLook at the bank.", "value": "0.4213"}


def gettable(
    labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **fields: Any
) -> dict[str, Any]:
    """An alert as `GET /api/v2/alerts` gives it."""
    return {
        "labels": LABELS if labels is None else labels,
        "annotations": ANNOTATIONS if annotations is None else annotations,
        "startsAt": "2026-09-08T07:01:30.500Z",
        "endsAt": "2026-09-08T07:06:30Z",
        "updatedAt": "2026-09-08T07:02:00Z",
        "fingerprint": "d1f0a5b1c7e93a55",
        "generatorURL": LINK,
        "receivers": [{"name": "on-call"}],
        "status": {"state": "active", "silencedBy": [], "inhibitedBy": []},
        **fields,
    }


def silenced(labels: dict[str, str] | None = None) -> dict[str, Any]:
    """The same, silenced by somebody."""
    return gettable(labels, status={"state": "suppressed", "silencedBy": ["4f1b2c"], "inhibitedBy": []})


def notified(status: str = "firing", **fields: Any) -> dict[str, Any]:
    """One alert of a webhook's list."""
    return {
        "status": status,
        "labels": LABELS,
        "annotations": ANNOTATIONS,
        "startsAt": "2026-09-08T07:01:30Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": LINK,
        "fingerprint": "d1f0a5b1c7e93a55",
        **fields,
    }


def webhook(*alerts: dict[str, Any]) -> dict[str, Any]:
    """What Alertmanager posts to a receiver."""
    return {
        "version": "4",
        "groupKey": '{}:{alertname="PaymentErrors"}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "on-call",
        "groupLabels": {"alertname": "PaymentErrors"},
        "commonLabels": LABELS,
        "commonAnnotations": ANNOTATIONS,
        "externalURL": "http://alertmanager.example:9093",
        "alerts": list(alerts),
    }


def rules(*alerts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """What Prometheus answers to `GET /api/v1/rules?type=alert`."""
    errors = {
        "name": "PaymentErrors",
        "type": "alerting",
        "query": 'error_ratio{service="payment"} > 0.05',
        "duration": 30,
        "labels": {"severity": "critical", "service": "payment"},
        "annotations": ANNOTATIONS,
        "state": "firing" if alerts else "inactive",
        "health": "ok",
        "alerts": list(alerts),
    }
    quiet = {**errors, "name": "LedgerLag", "labels": {"service": "ledger"}, "state": "inactive", "alerts": []}
    groups = [{"name": "shop", "file": "shop.yml", "interval": 5, "rules": [errors, quiet]}]
    return {"status": "success", "data": {"groups": groups}, **fields}


def active(state: str = "firing") -> dict[str, Any]:
    """One alert of a rule."""
    return {
        "labels": LABELS,
        "annotations": {"summary": "payment fails"},
        "state": state,
        "activeAt": "2026-09-08T07:01:00Z",
        "value": "4.213e-01",
    }
