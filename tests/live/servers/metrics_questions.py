"""What is asked of every real server of Prometheus' API, over the incident of `shop_metrics`."""

from datetime import timedelta
from typing import Any

import pytest

from tests.live.servers.shop_metrics import AS_OF, BROKEN
from tests.tools.live.conformance import ask
from tools.base import IncidentContext, SourceFailure
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.settings import PrometheusSettings
from tools.live.metrics.tools import tools_of
from tools.vocabulary import Evidence, EvidenceStatus, SourceError

INCIDENT = IncidentContext(as_of=AS_OF, zone="UTC")


async def by_name(source: Prometheus, service: str | None, metric: str | None, **times: str) -> Evidence:
    """Ask `query_metrics`."""
    tool, _ = tools_of({source.name: source})
    return await ask(tool, {"service": service, "metric": metric, "start": None, "end": None, **times}, INCIDENT)


async def by_query(source: Prometheus, query: str) -> Evidence:
    """Ask `query_promql`."""
    _, tool = tools_of({source.name: source})
    return await ask(tool, {"query": query, "start": None, "end": None}, INCIDENT)


def series(evidence: Evidence) -> dict[tuple[str, str], dict[str, str]]:
    """Return the fields of the `series` lines by service and metric."""
    told = [
        dict(field.split("=", 1) for field in line.split(" ")[1:])
        for line in evidence.content
        if line.startswith("series ")
    ]
    return {(one["service"], one["metric"]): one for one in told}


class MetricsQuestions:
    """Subclass it where fixtures give the `address` of a server that holds the incident, and it as a `source`."""

    async def test_the_golden_signals_of_a_service_measured_by_micrometer(self, source: Prometheus) -> None:
        evidence = await by_name(source, "checkout", None)
        told = series(evidence)
        assert evidence.onset == BROKEN
        assert evidence.first_failing == "checkout"
        assert told["checkout", "http_server_error_ratio"]["direction"] == "UP"
        assert told["checkout", "http_server_error_ratio"]["baseline"] == "0"
        assert told["checkout", "http_server_error_ratio"]["last"] == "0.25"
        assert told["checkout", "http_server_duration_avg_seconds"]["baseline"] == "0.05"
        assert told["checkout", "http_server_duration_avg_seconds"]["last"] == "3.5"
        assert told["checkout", "connection_pool_used_ratio"]["last"] == "1"
        assert told["checkout", "jvm_heap_used_ratio"]["baseline"] == "0.4"
        assert told["checkout", "process_cpu_utilization"]["direction"] == "FLAT"
        assert float(told["checkout", "http_server_duration_p95_seconds"]["last"]) > 4

    async def test_the_golden_signals_of_a_service_measured_by_opentelemetry(self, source: Prometheus) -> None:
        told = series(await by_name(source, "payment", None))
        assert told["payment", "http_server_requests_per_second"]["direction"] == "DOWN"
        assert told["payment", "http_server_error_ratio"]["last"] == "0"
        assert told["payment", "http_server_duration_avg_seconds"]["last"] == "0.05"
        assert told["payment", "jvm_heap_used_ratio"]["last"] == "0.5"

    async def test_the_golden_signals_of_a_service_behind_istio(self, source: Prometheus) -> None:
        told = series(await by_name(source, "Cart", None))
        assert told["cart", "http_server_requests_per_second"]["last"] == "1"
        assert told["cart", "http_server_duration_avg_seconds"]["last"] == "0.02"
        assert {one["direction"] for one in told.values()} == {"FLAT"}

    async def test_without_a_service_the_one_that_changed_first_leads(self, source: Prometheus) -> None:
        evidence = await by_name(source, None, None)
        assert evidence.first_failing == "checkout"
        assert set(evidence.components) == {"checkout", "payment", "cart"}

    @pytest.mark.parametrize("alias", ["connection pool", "连接池", "hikari"])
    async def test_a_pool_is_found_by_any_of_its_names(self, source: Prometheus, alias: str) -> None:
        told = series(await by_name(source, "checkout", alias))
        assert told["checkout", "connection_pool_pending"]["extreme"] == "25"
        assert told["checkout", "connection_pool_pending"]["onset"] == "2026-09-08T06:30:00Z"

    async def test_a_metric_is_found_by_its_own_name(self, source: Prometheus) -> None:
        told = series(await by_name(source, "checkout", "coupon_cache_entries"))
        assert told["checkout", "coupon_cache_entries"]["last"] == "1000"

    async def test_a_counter_is_told_as_its_increase_a_minute(self, source: Prometheus) -> None:
        told = series(await by_name(source, None, "istio_requests_total"))
        one = told["cart", "istio_requests_total{reporter=destination}"]
        assert (one["last"], one["rate"]) == ("60", "per_minute")

    async def test_a_histogram_is_found_by_its_base_name(self, source: Prometheus) -> None:
        told = series(await by_name(source, "checkout", "http_server_requests_seconds"))
        assert {metric for _, metric in told} == {
            "http_server_requests_seconds_p95",
            "http_server_requests_seconds_avg",
            "http_server_requests_seconds_per_second",
        }

    async def test_a_mistyped_service_is_an_error_with_near_names(self, source: Prometheus) -> None:
        await _unknown(by_name(source, "chekout", None), "service", "checkout")

    async def test_a_mistyped_metric_is_an_error_with_near_names(self, source: Prometheus) -> None:
        await _unknown(by_name(source, "checkout", "coupon_cache_entrys"), "metric", "coupon_cache_entries")

    async def test_what_a_service_has_no_metric_of_is_an_error_and_no_absence(self, source: Prometheus) -> None:
        await _unknown(by_name(source, "cart", "heap"), "metric", "http_server_error_ratio")

    async def test_a_window_without_samples_is_an_absence(self, source: Prometheus) -> None:
        for metric in ("coupon_cache_entries", "heap", None):
            evidence = await by_name(
                source, "checkout", metric, start="2026-09-08T12:00:00Z", end="2026-09-08T13:00:00Z"
            )
            assert evidence.status is EvidenceStatus.NO_EVIDENCE

    async def test_a_query_is_reduced_and_its_service_read_off_it(self, source: Prometheus) -> None:
        evidence = await by_query(
            source, 'sum by (status) (rate(http_server_requests_seconds_count{application="checkout"}[1m]))'
        )
        told = series(evidence)
        assert {service for service, _ in told} == {"checkout"}
        assert [metric.rpartition("{")[2] for _, metric in told] == ["status=503}", "status=200}"]
        assert evidence.onset == BROKEN

    async def test_a_query_may_read_several_metrics_at_once(self, source: Prometheus) -> None:
        told = series(await by_query(source, '{__name__=~"hikaricp_connections_.+"}'))
        assert told["checkout", "hikaricp_connections_pending"]["extreme"] == "25"
        assert told["checkout", "hikaricp_connections_max"]["direction"] == "FLAT"

    async def test_a_comparison_that_nothing_meets_is_an_absence(self, source: Prometheus) -> None:
        evidence = await by_query(source, "hikaricp_connections_active > 100")
        assert evidence.status is EvidenceStatus.NO_EVIDENCE
        assert not evidence.truncated

    @pytest.mark.parametrize(
        ("query", "near"),
        [
            ("hikaricp_connection_active", "hikaricp_connections_active"),
            ('hikaricp_connections_active{pool="HikariPool-2"}', "HikariPool-1"),
            ('hikaricp_connections_active{pol="HikariPool-1"}', "pool"),
            ("sum(rate(istio_request_total[5m])) / sum(rate(istio_requests_total[5m]))", "istio_requests_total"),
        ],
    )
    async def test_a_query_that_names_what_was_never_known_is_an_error(
        self, source: Prometheus, query: str, near: str
    ) -> None:
        await _unknown(by_query(source, query), "query", near)

    async def test_more_series_than_allowed_are_refused_with_labels_to_narrow_by(self, address: str) -> None:
        small = PrometheusSettings(url=address, max_series=1).open("small")
        with pytest.raises(SourceFailure) as by_query_caught:
            await by_query(small, "http_server_requests_seconds_bucket")
        with pytest.raises(SourceFailure) as by_name_caught:
            await by_name(small, None, "http_server_requests_seconds_count")
        await small.close()
        for caught in (by_query_caught, by_name_caught):
            assert caught.value.code is SourceError.ANSWER_TOO_LARGE
            assert "application" in caught.value.near_names

    async def test_the_doctor_learns_the_servers_clock(self, source: Prometheus) -> None:
        probe = await source.probe()
        assert probe.server_time is not None
        assert probe.server_time - AS_OF > timedelta(0)

    async def test_equal_questions_have_equal_answers(self, source: Prometheus) -> None:
        assert (await by_name(source, "checkout", "错误率")).content == (
            await by_name(source, "CHECKOUT", "Error Rate")
        ).content


async def _unknown(asked: Any, field: str, near: str) -> None:
    with pytest.raises(SourceFailure) as caught:
        await asked
    assert caught.value.code is SourceError.UNKNOWN_SELECTOR
    assert caught.value.field == field
    assert near in caught.value.near_names
