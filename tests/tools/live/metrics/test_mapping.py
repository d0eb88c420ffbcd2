"""Names that people use stand for signals, and every signal is PromQL in each instrumentation's names."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from tools.live.metrics.mapping import Bound, Signal, Variant, family, signal_map
from tools.live.metrics.promql import canonical_query

PAIRS = [(signal, variant) for signal in signal_map().signals for variant in signal.variants]
_DOCUMENT = Path(__file__).parents[4] / "docs" / "metrics.md"


def bound(variant: Variant, service: str | None = "shop") -> Bound:
    status = variant.status_labels[0] if variant.status_labels else None
    return Bound(("service_name",), service, timedelta(minutes=2), status)


def names_of(asked: str | None) -> set[str]:
    found = signal_map().asked(asked)
    return {one.name for one in found.signals} if found else set()


@pytest.mark.parametrize(("signal", "variant"), PAIRS, ids=lambda one: getattr(one, "name", getattr(one, "source", "")))
def test_each_signal_is_promql_over_the_metrics_that_it_needs(signal: Signal, variant: Variant) -> None:
    needed = signal.needs(variant)
    assert needed
    query = canonical_query(signal.query(variant, bound(variant)))
    assert {one.metric for one in query.selections} == set(needed)
    for one in query.selections:
        assert ("service_name", "shop") in one.exact
    everywhere = canonical_query(signal.query(variant, bound(variant, None)))
    assert all("service_name" not in dict(one.exact) for one in everywhere.selections)
    assert "service_name" in everywhere.text


def test_a_service_that_would_end_its_quotes_stays_within_them() -> None:
    signal, variant = PAIRS[0]
    evil = 'a"} or vector(1) or x{y="'
    query = canonical_query(signal.query(variant, bound(variant, evil)))
    assert {dict(one.exact)["service_name"] for one in query.selections} == {evil}


@pytest.mark.parametrize(
    ("spellings", "signal"),
    [
        (("errors", "Error Rate", "error_rate", "错误率", "５ｘｘ"), "http_server_error_ratio"),
        (("latency", "延迟", "耗时", "RT", "响应时间"), "http_server_duration_avg_seconds"),
        (("traffic", "QPS", "请求量", "流量"), "http_server_requests_per_second"),
        (("saturation", "饱和度"), "jvm_heap_used_ratio"),
        (("jvm heap", "堆内存", "Heap", "jvm_heap_used_ratio"), "jvm_heap_used_ratio"),
        (("gc", "GC 停顿", "full gc", "垃圾回收"), "jvm_gc_time_ratio"),
        (("threads", "线程数"), "jvm_threads"),
        (("hikari", "HikariCP", "druid", "连接池", "connection-pool"), "connection_pool_used_ratio"),
        (("consumer lag", "消费积压", "kafka lag"), "consumer_lag"),
        (("queue", "队列", "queue depth"), "queue_messages"),
        (("p99",), "http_server_duration_p99_seconds"),
    ],
)
def test_a_name_in_either_language_and_any_spelling_is_its_signal(spellings: tuple[str, ...], signal: str) -> None:
    for spelling in spellings:
        assert signal in names_of(spelling), spelling


def test_nothing_named_is_the_four_golden_signals() -> None:
    asked = signal_map().asked(None)
    assert asked is not None
    assert asked.golden == ("latency", "traffic", "errors", "saturation")
    assert {one.golden for one in asked.signals} == set(asked.golden)


def test_what_nobody_calls_anything_is_no_alias() -> None:
    for name in ("", "orders_open", "http_requests_total", "heapp"):
        assert signal_map().asked(name) is None


def test_failures_can_be_told_only_with_a_label_that_says_so() -> None:
    for signal, variant in PAIRS:
        if signal.needs_status(variant):
            assert variant.status_labels
            assert variant.errors.startswith("$status")


def test_names_tell_their_unit_and_none_ends_like_a_counter() -> None:
    for one in signal_map().signals:
        assert not re.search(r"_(total|count|counter|sum)$", one.name)
        if one.golden in {"latency", "traffic", "errors"}:
            assert re.search(r"_(seconds|per_second|ratio)$", one.name)


def test_metrics_that_speak_for_themselves_are_told_and_those_of_the_runtime_are_not() -> None:
    names = ["payment_failure_rate", "orders_open", "scrape_duration_seconds", "go_memstats_heap_bytes", "pool_cpu_pct"]
    assert signal_map().telling("errors", names) == ("payment_failure_rate",)
    assert signal_map().telling("latency", names) == ()
    assert signal_map().telling("saturation", names) == ("pool_cpu_pct",)


def test_a_histogram_that_no_mapping_knows_has_its_signals() -> None:
    told = {one.name: one.query(one.variants[0], bound(one.variants[0])) for one in family("refund_seconds")}
    assert set(told) == {"refund_seconds_p95", "refund_seconds_avg", "refund_seconds_per_second"}
    assert "refund_seconds_bucket" in told["refund_seconds_p95"]


def test_the_document_tells_the_mapping_as_it_is() -> None:
    lines = _DOCUMENT.read_text(encoding="utf-8").splitlines()
    golden = [f"| {name} | {', '.join(aliases)} |" for name, aliases in signal_map().golden.items()]
    signals = [_row(one) for one in signal_map().signals]
    assert [line for line in lines if line in golden] == golden
    assert [
        line for line in lines if re.match(r"\| `\w+` \| (latency|traffic|errors|saturation)? \| ", line)
    ] == signals


def _row(signal: Signal) -> str:
    metrics = "; ".join(
        f"{variant.source}: {', '.join(f'`{name}`' for name in needed)}"
        for variant in signal.variants
        if (needed := signal.needs(variant))
    )
    return f"| `{signal.name}` | {signal.golden or ''} | {', '.join(signal.aliases)} | {metrics} |"
