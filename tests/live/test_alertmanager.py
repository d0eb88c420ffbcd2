"""A scraped metric makes a rule of a real Prometheus fire through to a real Alertmanager, and get_alerts tells it."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typing_extensions import override

from examples.live import watching
from examples.live.processes import fetch, free_port, until
from tests.live.pasted import run
from tests.live.servers.alertmanager import Gauge, start_alertmanager, start_gauge
from tests.live.servers.prometheus import needs
from tests.tools.live.conformance import Conformance, ask
from tools.base import IncidentContext, SourceFailure
from tools.frozen.selectors import resolve
from tools.live.alerts.firing import AlertSource
from tools.live.alerts.settings import AlertmanagerSettings, PrometheusAlertsSettings
from tools.live.alerts.tools import tools_of
from tools.live.metrics.settings import PrometheusSettings
from tools.live.services import service_check
from tools.vocabulary import Evidence, EvidenceStatus, SourceError

ALERT = "QueueTooLong"
THRESHOLD = 100
RULES = f"""
groups:
  - name: queue
    rules:
      - alert: {ALERT}
        expr: queue_length > {THRESHOLD}
        for: 1s
        labels: {{severity: warning, service: stock}}
        annotations: {{summary: "{{{{ $value }}}} orders wait", value: "{{{{ $value }}}}"}}
      - alert: LedgerLags
        expr: absent(queue_length)
        labels: {{severity: critical, service: ledger}}
"""
LET_IN = "basic_auth_users:\n  on-call: $2b$04$rIyZJBIe1rE0p5/wTOVkzeRHpULG.itcJSMkO8di1GCZR0Uf8yH0u\n"
"""Lets in `on-call` with the password `alerts-password`."""


@dataclass(frozen=True)
class Watched:
    """A gauge of the service `stock`, and the addresses of what watches it."""

    gauge: Gauge
    prometheus: str
    alertmanager: str

    def sources(self, *kinds: str) -> dict[str, AlertSource]:
        """Return the opened sources of the kinds named, `alertmanager` and `prometheus`."""
        every: dict[str, AlertSource] = {
            "alertmanager": AlertmanagerSettings(url=self.alertmanager).open("alertmanager"),
            "prometheus": PrometheusAlertsSettings(url=self.prometheus).open("prometheus"),
        }
        return {kind: every[kind] for kind in kinds}

    async def ask(self, service: str | None, *kinds: str, **more: AlertSource) -> Evidence:
        """Ask get_alerts, as of now, over the sources of the kinds named, and others."""
        sources = self.sources(*kinds) | more
        (tool,) = tools_of(sources, siblings)
        try:
            return await ask(tool, {"service": service}, now())
        finally:
            for source in sources.values():
                await source.close()


async def siblings(service: str, _: IncidentContext) -> None:
    """What the metrics would say: which services there are."""
    resolve(service, {"stock", "order"}, field="service")


def now() -> IncidentContext:
    return IncidentContext(as_of=datetime.now(UTC), zone="UTC")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """The alert fires already."""
    home = tmp_path_factory.mktemp("alerts")
    program = needs("prometheus", "prometheus")
    with ExitStack() as stack:
        gauge = stack.enter_context(start_gauge("queue_length", 170.5))
        alertmanager = stack.enter_context(start_alertmanager(home / "alertmanager"))
        scraping = watching.prometheus(
            home, program, targets={"stock-metrics": gauge.port}, rules=RULES, alertmanager_url=alertmanager
        )
        prometheus = stack.enter_context(scraping)
        watching.until_firing(alertmanager, ALERT)
        yield Watched(gauge, prometheus, alertmanager)


async def test_a_rule_that_fires_is_told_with_metric_threshold_and_value(watched: Watched) -> None:
    evidence = await watched.ask("Stock", "alertmanager")
    begun = evidence.content[0].partition(" fired_at=")[2].partition(" ")[0]
    assert evidence.content[0] == (
        f"alert service=stock metric=queue_length threshold=100 observed=170.5 fired_at={begun} severity=warning "
        f"monitor={ALERT} | 170.5 orders wait"
    )
    assert timedelta(0) <= datetime.now(UTC) - datetime.fromisoformat(begun) < timedelta(minutes=5)
    assert evidence.components == ("stock",)
    assert evidence.notes == ()


async def test_prometheus_itself_tells_the_same_alert(watched: Watched) -> None:
    own = await watched.ask(None, "prometheus")
    alertmanagers = await watched.ask(None, "alertmanager")
    head, _, _ = own.content[0].partition(" | ")
    assert head.split(" fired_at=")[0] == alertmanagers.content[0].split(" fired_at=")[0]
    moments = [datetime.fromisoformat(one.content[0].split("fired_at=")[1].split()[0]) for one in (own, alertmanagers)]
    assert abs(moments[0] - moments[1]) <= timedelta(seconds=3)


@pytest.mark.parametrize("service", [None, "stock", "sTock"])
async def test_what_is_pasted_finds_the_alert_in_either_server(watched: Watched, service: str | None) -> None:
    scope = {} if service is None else {"service": service}
    for kind in ("alertmanager", "prometheus"):
        sources = watched.sources(kind)
        (tool,) = tools_of(sources)
        told = run(tool.paste(scope), ALERTMANAGER_URL=watched.alertmanager, PROMETHEUS_URL=watched.prometheus)
        assert ALERT in told
        await sources[kind].close()


async def test_of_both_servers_the_alert_is_told_once(watched: Watched) -> None:
    evidence = await watched.ask("stock", "prometheus", "alertmanager")
    assert sum(line.startswith("alert ") for line in evidence.content) == 1


async def test_a_service_that_only_metrics_know_has_no_alert_and_a_misspelt_one_is_unknown(
    watched: Watched,
) -> None:
    metrics = PrometheusSettings(url=watched.prometheus).open("metrics")
    source = watched.sources("alertmanager")
    (tool,) = tools_of(source, service_check({**source, "metrics": metrics}))
    try:
        absence = await ask(tool, {"service": "Stock-Metrics"}, now())
        with pytest.raises(SourceFailure) as caught:
            await ask(tool, {"service": "stok-metrics"}, now())
    finally:
        await metrics.close()
        await source["alertmanager"].close()
    assert absence.status is EvidenceStatus.NO_EVIDENCE
    assert caught.value.code is SourceError.UNKNOWN_SELECTOR
    assert "stock-metrics" in caught.value.near_names


async def test_a_service_that_only_a_quiet_rule_names_is_known_to_prometheus(watched: Watched) -> None:
    evidence = await watched.ask("ledger", "prometheus")
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert not evidence.truncated


@pytest.mark.parametrize("kind", ["alertmanager", "prometheus"])
async def test_the_doctor_is_told_the_clock_and_how_many_alerts_fire(watched: Watched, kind: str) -> None:
    source = watched.sources(kind)[kind]
    probe = await source.probe()
    await source.close()
    assert probe.sample == "1 alerts firing"
    assert probe.server_time is not None
    assert abs(probe.server_time - datetime.now(UTC)) < timedelta(minutes=1)


class TestRealServers(Conformance):
    """Answers of the real servers are told apart as every backend's are."""

    @pytest.fixture(autouse=True)
    def _servers(self, watched: Watched) -> None:
        self.watched = watched

    @override
    def arguments(self) -> dict[str, Any]:
        return {"service": "stock"}

    @override
    async def found(self) -> Evidence:
        return await self.watched.ask("stock", "alertmanager")

    @override
    async def empty(self) -> Evidence:
        return await self.watched.ask("order", "alertmanager")

    @override
    async def unknown(self) -> Evidence:
        return await self.watched.ask("stocks", "alertmanager")

    @override
    async def partial(self) -> Evidence:
        gone = AlertmanagerSettings(url=f"http://127.0.0.1:{free_port()}").open("gone")
        return await self.watched.ask("stock", "alertmanager", gone=gone)


async def test_a_silence_is_told_and_a_resolved_alert_is_not(tmp_path: Path) -> None:
    program = needs("prometheus", "prometheus")
    with ExitStack() as stack:
        gauge = stack.enter_context(start_gauge("queue_length", 170.5))
        alertmanager = stack.enter_context(start_alertmanager(tmp_path / "alertmanager"))
        scraping = watching.prometheus(
            tmp_path, program, targets={"stock-metrics": gauge.port}, rules=RULES, alertmanager_url=alertmanager
        )
        watched = Watched(gauge, stack.enter_context(scraping), alertmanager)
        watching.until_firing(alertmanager, ALERT)
        silence(alertmanager)
        until("the silence", lambda: b'"suppressed"' in (fetch(f"{alertmanager}/api/v2/alerts") or b""))
        assert "  silenced=yes" in (await watched.ask("stock", "alertmanager")).content
        gauge.value = 3
        until("the resolution", lambda: fetch(f"{alertmanager}/api/v2/alerts") == b"[]\n")
        assert (await watched.ask("stock", "alertmanager")).status is EvidenceStatus.NO_EVIDENCE
        assert (await watched.ask("stock", "prometheus")).status is EvidenceStatus.NO_EVIDENCE


def silence(url: str) -> None:
    """Silence the alert for an hour."""
    begin = datetime.now(UTC)
    wanted = {
        "matchers": [{"name": "alertname", "value": ALERT, "isRegex": False}],
        "startsAt": begin.isoformat(),
        "endsAt": (begin + timedelta(hours=1)).isoformat(),
        "createdBy": "a test",
        "comment": "known",
    }
    assert fetch(f"{url}/api/v2/silences", "POST", json.dumps(wanted).encode()) is not None


async def test_an_alertmanager_lets_in_who_has_the_password_and_no_other(tmp_path: Path) -> None:
    with start_alertmanager(tmp_path, web_config=LET_IN) as url:
        for password, code in (("alerts-password", None), ("guessed", SourceError.ACCESS_DENIED)):
            settings = AlertmanagerSettings(url=url, username="on-call", password=SecretStr(password))
            source = settings.open("alerts")
            (tool,) = tools_of({"alerts": source})
            if code is None:
                assert (await ask(tool, {"service": None}, now())).status is EvidenceStatus.NO_EVIDENCE
            else:
                with pytest.raises(SourceFailure) as caught:
                    await ask(tool, {"service": None}, now())
                assert caught.value.code is code
            await source.close()
