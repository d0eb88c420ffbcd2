"""A question by name finds what it means in what the server has, or says what there is instead."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from tests.tools.live.conformance import ask
from tests.tools.live.metrics.answering import Answering, every
from tools.base import SourceFailure
from tools.live.metrics.tools import tools_of
from tools.vocabulary import Evidence, EvidenceStatus, SourceError

FLAT = every(60, lambda at: 3.0)


def labelled(metric: str, **labels: str) -> dict[str, str]:
    return {"__name__": metric, **labels}


async def asked(server: Answering, service: str | None, metric: str | None, **settings: Any) -> Evidence:
    tool, _ = tools_of({"server": server.source(**settings)})
    return await ask(tool, {"service": service, "metric": metric, "start": None, "end": None})


async def failure(server: Answering, service: str | None, metric: str | None, **settings: Any) -> SourceFailure:
    with pytest.raises(SourceFailure) as caught:
        await asked(server, service, metric, **settings)
    return caught.value


def queries(server: Answering) -> list[str]:
    """Return what was asked over the window, without what was asked to learn how often series are scraped."""
    said = [form["query"][0] for path, form in server.asked if path == "/query_range"]
    return [one for one in said if not one.startswith("max(count_over_time(")]


async def test_everything_is_asked_as_a_form_below_the_configured_path() -> None:
    server = Answering([labelled("orders_open", service="shop")], FLAT)
    await asked(server, "SHOP", "Orders_Open")
    assert [path for path, _ in server.asked] == [
        "/labels",
        "/label/service/values",
        "/label/__name__/values",
        "/metadata",
        "/series",
        "/query",
        "/query_range",
        "/query_range",
    ]
    assert queries(server) == ['last_over_time(orders_open{service="shop"}[2m])']
    sent = server.asked[-1][1]
    start, end = (float(sent[name][0]) for name in ("start", "end"))
    assert sent["step"] == ["60"]
    assert end == datetime(2026, 9, 8, 7, 16, tzinfo=UTC).timestamp()
    assert end + 60 - start == timedelta(hours=6.5).total_seconds()


async def test_nothing_is_asked_about_what_is_still_to_come() -> None:
    now = datetime(2026, 9, 8, 7, 2, 30, tzinfo=UTC)

    class Clocked(Answering):
        def _evaluated(self, path: str, said: Mapping[str, str]) -> httpx.Response:
            answer = super()._evaluated(path, said)
            answer.headers["Date"] = format_datetime(now, usegmt=True)
            return answer

    server = Clocked([labelled("orders_open", service="shop")], FLAT)
    await asked(server, "shop", "orders_open")
    assert float(server.asked[-1][1]["end"][0]) == datetime(2026, 9, 8, 7, 2, tzinfo=UTC).timestamp()


async def test_a_metric_that_is_called_like_an_alias_is_itself() -> None:
    server = Answering([labelled("error_rate", service="shop"), labelled("orders_failed", service="shop")], FLAT)
    await asked(server, "shop", "error_rate")
    assert queries(server) == ['last_over_time(error_rate{service="shop"}[2m])']


async def test_metrics_that_speak_for_themselves_stand_in_for_a_golden_signal() -> None:
    names = ("payment_failure_rate", "orders_open", "scrape_duration_seconds", "go_threads")
    server = Answering([labelled(name, service="shop") for name in names], FLAT)
    evidence = await asked(server, "shop", "错误率")
    assert queries(server) == ['last_over_time(payment_failure_rate{service="shop"}[2m])']
    assert evidence.status is EvidenceStatus.EVIDENCE


async def test_an_alias_stands_for_metrics_with_its_name_where_nothing_else_is_there() -> None:
    server = Answering([labelled(name, service="shop") for name in ("heap_used_pct", "orders_open")], FLAT)
    await asked(server, "shop", "heap")
    assert queries(server) == ['last_over_time(heap_used_pct{service="shop"}[2m])']


async def test_an_error_ratio_is_told_by_the_label_that_the_metric_has() -> None:
    server = Answering([labelled("http_requests_total", service="shop", status_code="200")], FLAT)
    await asked(server, "shop", "errors")
    (query,) = queries(server)
    assert 'http_requests_total{service="shop",status_code=~"5.*"}' in query


async def test_nobody_claims_that_nothing_failed_where_nothing_says_what_failed() -> None:
    server = Answering([labelled("http_requests_total", service="shop", method="GET")], FLAT)
    failed = await failure(server, "shop", "errors")
    assert failed.code is SourceError.UNKNOWN_SELECTOR
    assert "http_server_requests_per_second" in failed.near_names
    assert queries(server) == []


async def test_a_metric_shared_by_two_conventions_is_read_by_the_labels_of_its_own() -> None:
    server = Answering([labelled("jvm_memory_used_bytes", service="shop", jvm_memory_type="heap")], FLAT)
    await asked(server, "shop", "heap bytes")
    (query,) = queries(server)
    assert 'jvm_memory_type="heap"' in query


async def test_of_a_service_without_any_known_signal_every_metric_is_read() -> None:
    server = Answering([labelled(f"m{i}", service="shop") for i in range(3)], FLAT)
    await asked(server, "shop", None)
    assert [query.partition("{")[0] for query in queries(server)] == [f"last_over_time(m{i}" for i in range(3)]


async def test_too_many_metrics_to_read_are_refused_with_some_of_their_names() -> None:
    server = Answering([labelled(f"m{i:02}", service="shop") for i in range(61)], FLAT)
    failed = await failure(server, "shop", None)
    assert (failed.code, failed.field) == (SourceError.ANSWER_TOO_LARGE, "metric")
    assert failed.near_names == ("m00", "m01", "m02", "m03", "m04")


async def test_too_many_series_are_refused_before_they_are_read() -> None:
    server = Answering([labelled("orders_open", service="shop", pod=f"p{i}", uid=f"{i}") for i in range(5)], FLAT)
    failed = await failure(server, "shop", "orders_open", max_series=4)
    assert failed.code is SourceError.ANSWER_TOO_LARGE
    assert failed.near_names == ("service", "pod", "uid")
    assert queries(server) == []


async def test_a_service_is_found_under_any_of_its_labels() -> None:
    host = "shop.prod.svc.cluster.local"
    for label, value in (("job", "prod/shop"), ("destination_workload", "Shop"), ("container", "shop"), ("app", host)):
        server = Answering([labelled("orders_open", **{label: value})], FLAT)
        evidence = await asked(server, "shop", "orders_open")
        assert evidence.components == ("Shop" if value == "Shop" else "shop",)
        assert f'{label}="{value}"' in queries(server)[0]


async def test_another_service_label_may_be_configured() -> None:
    server = Answering([labelled("orders_open", team_service="shop")], FLAT)
    assert (await failure(server, "shop", "orders_open")).code is SourceError.UNKNOWN_SELECTOR
    evidence = await asked(server, "shop", "orders_open", service_labels="team_service, app")
    assert evidence.components == ("shop",)


async def test_a_partial_answer_without_samples_is_no_full_absence() -> None:
    matrix = {"status": "success", "isPartial": True, "data": {"resultType": "matrix", "result": []}}
    server = Answering(
        [labelled("orders_open", service="shop")], replies={"/query_range": httpx.Response(200, json=matrix)}
    )
    evidence = await asked(server, "shop", "orders_open")
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert evidence.truncated
    assert evidence.notes == ("PARTIAL_RESPONSE",)


async def test_a_metric_of_another_service_is_an_absence_and_no_typo() -> None:
    server = Answering([labelled("orders_open", service="shop"), labelled("bills_open", service="bank")], FLAT)
    evidence = await asked(server, "shop", "bills_open")
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert queries(server) == []


async def test_a_server_without_metadata_is_no_failure() -> None:
    server = Answering(
        [labelled("orders_open", service="shop")], FLAT, replies={"/metadata": httpx.Response(404, text="no")}
    )
    assert (await asked(server, "shop", "orders_open")).status is EvidenceStatus.EVIDENCE


async def test_what_the_server_says_of_its_type_decides_how_a_metric_is_told() -> None:
    rising = every(60, lambda at: at / 60)
    typed = {"status": "success", "data": {"orders_total": [{"type": "gauge", "help": "", "unit": ""}]}}
    series = [labelled("orders_total", service="shop")]
    counted = await asked(Answering(series, rising), "shop", "orders_total")
    level = await asked(
        Answering(series, rising, replies={"/metadata": httpx.Response(200, json=typed)}), "shop", "orders_total"
    )
    assert "rate=per_minute" in counted.content[0]
    assert "rate=per_minute" not in level.content[0]


async def test_metrics_that_the_server_may_have_left_out_are_no_full_absence() -> None:
    store_away = {"status": "success", "data": [], "warnings": ["store 10.0.0.7 is away"]}
    server = Answering(
        [labelled("orders_open", service="shop")],
        replies={"/label/__name__/values": httpx.Response(200, json=store_away)},
    )
    evidence = await asked(server, "shop", None)
    assert (evidence.status, evidence.truncated) == (EvidenceStatus.NO_EVIDENCE, True)
    assert evidence.notes == ("PARTIAL_RESPONSE",)
