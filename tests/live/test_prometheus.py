"""Metrics from a real Prometheus that holds a past incident."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from tests.live.pasted import run
from tests.live.servers.metrics_questions import MetricsQuestions
from tests.live.servers.prometheus import Samples, backfill, start_prometheus
from tests.live.servers.shop_metrics import AS_OF, shop_series
from tests.tools.live.conformance import ask
from tools.base import IncidentContext, SourceFailure
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.settings import PrometheusSettings
from tools.live.metrics.tools import tools_of
from tools.vocabulary import EvidenceStatus, SourceError

INCIDENT = IncidentContext(as_of=AS_OF, zone="UTC")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("prometheus")
    backfill(directory, shop_series())
    with start_prometheus(directory, options=["--query.max-samples=100000", "--query.timeout=5s"]) as url:
        yield url


@pytest_asyncio.fixture
async def source(address: str) -> AsyncIterator[Prometheus]:
    opened = PrometheusSettings(url=address).open("prometheus")
    yield opened
    await opened.close()


def found(pasted: str, address: str) -> str:
    """Run what is pasted; each command must find something."""
    told = [run(line, PROMETHEUS_URL=address) for line in pasted.splitlines()]
    assert told
    assert all("@[" in one for one in told)
    return "\n".join(told)


@pytest.mark.parametrize("metric", [None, "errors", "latency", "jvm heap", "p95"])
async def test_what_is_pasted_of_a_service_runs_before_and_after_the_server_was_asked(
    source: Prometheus, address: str, metric: str | None
) -> None:
    tool, _ = tools_of({"prometheus": source})
    arguments = tool.arguments.model_validate({"service": "Checkout", "metric": metric, "start": None, "end": None})
    scope = tool.normalize(arguments, INCIDENT)
    before = tool.paste(scope)
    if metric in {None, "jvm heap"}:
        assert "jvm_memory_used_bytes" in found(before, address)
    await tool.collect(scope, arguments, INCIDENT)
    after = tool.paste(scope)
    found(after, address)
    assert after != before
    assert all('application="checkout"' in line for line in after.splitlines())


async def test_what_is_pasted_of_a_service_without_a_signal_of_its_own_names_its_metrics(
    source: Prometheus, address: str
) -> None:
    tool, _ = tools_of({"prometheus": source})
    scope = {"service": "payment", "start": "2026-09-08T04:02:00Z", "end": "2026-09-08T07:17:00Z"}
    scope |= tool.normalize(
        tool.arguments.model_validate({"service": "payment", "metric": None, "start": None, "end": None}), INCIDENT
    )
    assert "http_server_request_duration_seconds" in found(tool.paste(scope), address)


class TestPrometheus(MetricsQuestions):
    """What is asked of every server of the API."""


async def test_a_query_beyond_the_servers_own_limit_is_too_large_with_labels_to_narrow_by(source: Prometheus) -> None:
    _, promql = tools_of({"prometheus": source})
    heavy = 'label_replace({__name__=~".+"}, "own_name", "$1", "__name__", "(.+)") * 2'
    with pytest.raises(SourceFailure) as caught:
        await ask(promql, {"query": heavy, "start": None, "end": None}, INCIDENT)
    assert caught.value.code is SourceError.ANSWER_TOO_LARGE
    assert "application" in caught.value.near_names


async def test_two_servers_answer_as_one(source: Prometheus, tmp_path: Path) -> None:
    at = AS_OF.timestamp()
    other = [(at - 15 * i, 5.0) for i in reversed(range(1200))]
    backfill(
        tmp_path,
        [
            Samples("coupon_cache_entries", {"application": "checkout"}, other),
            Samples("ledger_entries", {"application": "ledger"}, other),
        ],
    )
    with start_prometheus(tmp_path) as url:
        second = PrometheusSettings(url=url).open("second")
        metrics, _ = tools_of({"first": source, "second": second})
        shared = {"service": "checkout", "metric": "coupon_cache_entries", "start": None, "end": None}
        both = await ask(metrics, shared, INCIDENT)
        alone = await ask(metrics, {**shared, "service": "ledger", "metric": "ledger_entries"}, INCIDENT)
        with pytest.raises(SourceFailure) as caught:
            await ask(metrics, {**shared, "service": "ledgr"}, INCIDENT)
        await second.close()
    named = {line.split(" metric=")[1].split(" ")[0] for line in both.content if line.startswith("series ")}
    assert named == {"coupon_cache_entries{source=first}", "coupon_cache_entries{source=second}"}
    assert alone.components == ("ledger",)
    assert not alone.truncated
    assert caught.value.near_names == ("ledger",)


async def test_a_server_that_is_gone_is_told_beside_what_the_other_says(source: Prometheus) -> None:
    gone = PrometheusSettings(url="http://127.0.0.1:9").open("gone")
    metrics, _ = tools_of({"here": source, "gone": gone})
    evidence = await ask(metrics, {"service": "cart", "metric": None, "start": None, "end": None}, INCIDENT)
    await gone.close()
    assert evidence.status is EvidenceStatus.EVIDENCE
    assert evidence.truncated
    assert "SOURCE_FAILED:gone" in evidence.notes


async def test_a_service_that_is_a_minute_old_is_told_to_the_second_and_nothing_of_what_is_to_come(
    tmp_path: Path,
) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    labels = {"service": "young"}
    moments = [now.timestamp() - 60 + second for second in range(61)]
    backfill(
        tmp_path,
        [
            Samples("pool_in_use", labels, [(at, 2.0 if i < 40 else 10.0) for i, at in enumerate(moments)]),
            Samples("calls_total", labels, [(at, i * 50.0) for i, at in enumerate(moments)]),
        ],
    )
    with start_prometheus(tmp_path) as url:
        opened = PrometheusSettings(url=url).open("prometheus")
        metrics, promql = tools_of({"prometheus": opened})
        asked = {"service": "young", "metric": "pool_in_use", "start": None, "end": None}
        level = await ask(metrics, asked, IncidentContext(as_of=now, zone="UTC"))
        query = {"query": 'rate(calls_total{service="young"}[15s])', "start": None, "end": None}
        rate = await ask(promql, query, IncidentContext(as_of=now, zone="UTC"))
        await opened.close()
    assert level.onset is not None
    assert abs(level.onset - (now - timedelta(seconds=20))) <= timedelta(seconds=2)
    assert rate.onset is None
    assert " direction=FLAT baseline=50 " in rate.content[0]
