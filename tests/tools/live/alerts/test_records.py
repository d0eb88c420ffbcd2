"""Alerts of Alertmanager, Prometheus and Grafana in the form of an incident's alert.json."""

from datetime import UTC, datetime
from typing import Any

import pytest

from graph.nodes.open_run import incident_time
from tests.tools.live.alerts.payloads import ANNOTATIONS, LABELS, gettable, notified, silenced, webhook
from tools.live.alerts.records import alert_of, read_alerts

FIRED = datetime(2026, 9, 8, 7, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "payload",
    [webhook(notified()), notified(), [notified()], gettable(startsAt="2026-09-08T07:01:30Z")],
    ids=["webhook", "one alert", "a list", "api"],
)
def test_every_form_of_an_alert_is_the_same_alert(payload: object) -> None:
    alert = alert_of(payload)
    assert alert == {
        "service": "payment",
        "metric": "error_ratio",
        "threshold": 0.05,
        "observed": 0.4213,
        "fired_at": "2026-09-08T07:01:30+00:00",
        "severity": "critical",
        "monitor": "PaymentErrors",
        "summary": ANNOTATIONS["summary"],
        "detail": ANNOTATIONS["description"],
        "expression": 'error_ratio{service="payment"} > 0.05',
        "instance": LABELS["instance"],
        "job": "payment-api",
    }
    assert incident_time(alert, "UTC") == FIRED


def test_an_alert_in_our_own_form_stays_as_it_is() -> None:
    own = {"service": "shop", "metric": "http_5xx_ratio", "fired_at": "2026-03-04T12:00:00Z", "detail": "as it was"}
    assert alert_of(own) == own


def test_of_several_alerts_a_firing_one_counts_first_then_the_earliest() -> None:
    late = notified(labels={**LABELS, "service": "late"}, startsAt="2026-09-08T07:05:00Z")
    early = notified(labels={**LABELS, "service": "early"}, startsAt="2026-09-08T07:02:00Z")
    over = notified("resolved", labels={**LABELS, "service": "over"}, startsAt="2026-09-08T06:00:00Z")
    assert alert_of(webhook(over, late, early))["service"] == "early"
    assert alert_of([silenced({**LABELS, "service": "silenced"}), late])["service"] == "late"
    assert alert_of(webhook(over))["service"] == "over"


@pytest.mark.parametrize("payload", [{}, [], None, "alert", 3, {"alerts": []}, {"alerts": [1]}, [{}], {"labels": 1}])
def test_what_holds_no_alert_is_refused(payload: object) -> None:
    with pytest.raises(ValueError, match="alert"):
        alert_of(payload)


@pytest.mark.parametrize(
    ("labels", "service"),
    [
        ({"service": "a", "job": "b"}, "a"),
        ({"service_name": "a", "job": "b"}, "a"),
        ({"app_kubernetes_io_name": "a", "app": " "}, "a"),
        ({"destination_canonical_service": "a"}, "a"),
        ({"job": " b "}, "b"),
        ({"job": "shop/b"}, "b"),
        ({"service": "b.shop.svc.cluster.local"}, "b"),
        ({"pod": "a-1"}, None),
    ],
)
def test_the_most_telling_label_names_the_service(labels: dict[str, str], service: str | None) -> None:
    assert alert_of({"labels": labels, "status": "firing"}).get("service") == service


def test_the_settings_may_name_the_label_of_the_service() -> None:
    assert alert_of({"labels": {"team_app": "a", "service": "b"}}, ["team_app"])["service"] == "a"


def test_words_of_labels_and_annotations_come_before_what_the_rule_compares() -> None:
    told = notified(annotations={"threshold": "2%", "metric": "failure_ratio", "current_value": "43.5%"})
    alert = alert_of(told)
    assert (alert["metric"], alert["threshold"], alert["observed"]) == ("failure_ratio", "2%", "43.5%")


def test_what_grafana_measured_is_the_observed_value_where_it_is_one() -> None:
    plain: dict[str, Any] = {"annotations": {}, "generatorURL": "http://grafana.example/alerting/1"}
    assert alert_of(notified(values={"B": 12.5}, **plain))["observed"] == 12.5
    assert "observed" not in alert_of(notified(values={"A": 1, "B": 12.5}, **plain))


def test_labels_that_nobody_reads_are_kept_and_bounded() -> None:
    many = {f"label_{number:02}": "x" for number in range(50)}
    alert = alert_of({"labels": {**many, "service": "a"}})
    assert sum(key.startswith("label_") for key in alert) == 20


def test_an_alert_that_ended_before_the_servers_clock_is_resolved() -> None:
    now = datetime(2026, 9, 8, 7, 10, tzinfo=UTC)
    alerts, broken = read_alerts([gettable(), gettable(endsAt="2026-09-08T07:12:00Z"), 17], now=now)
    assert [alert.resolved for alert in alerts] == [True, False]
    assert broken == 1


def test_a_silenced_alert_says_so() -> None:
    (alert,), _ = read_alerts([silenced()])
    assert alert.suppressed
    assert alert.record["silenced"] == "yes"
    assert "inhibited" not in alert.record
