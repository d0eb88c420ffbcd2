"""What an alerting rule compares, read off its PromQL and off the link that an alert carries."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.live.alerts.expressions import Comparison, expression_of, read_comparison


@pytest.mark.parametrize(
    ("expression", "metric", "threshold"),
    [
        ('error_ratio{service="payment"} > 0.05', "error_ratio", 0.05),
        ("0.05 < error_ratio", "error_ratio", 0.05),
        ('{__name__="up"} == 0', "up", 0.0),
        ("(queue_length) >= bool (5 * 60)", "queue_length", 300.0),
        ("free_bytes < 10 / 4", "free_bytes", 2.5),
        ("temperature < -(2 + 3)", "temperature", -5.0),
        ("depth > 7 - 7", "depth", 0.0),
        ("max_over_time(lag_seconds[5m:1m]) > 1e3", "lag_seconds", 1000.0),
        ("histogram_quantile(0.99, sum by (le) (rate(d_bucket[1m]))) > 0.5", "d_bucket", 0.5),
        ("(a > 1) and on (service) (b > 2)", "a", 1.0),
        ("a > 1 unless b", "a", 1.0),
        ('absent(up{job="x"})', "up", None),
    ],
)
def test_metric_and_threshold_are_those_that_the_rule_compares(
    expression: str, metric: str, threshold: float | None
) -> None:
    assert read_comparison(expression) == Comparison(metric, threshold)


def test_of_a_ratio_no_metric_is_named_since_none_of_them_is_what_is_compared() -> None:
    ratio = 'sum(rate(requests_total{code=~"5.."}[1m])) / sum(rate(requests_total[1m])) > 0.05'
    assert read_comparison(ratio) == Comparison(None, 0.05)


@pytest.mark.parametrize(
    "expression", ["", ">>>", "a >", '"text"', "a > b / 0", "x" * 5_000, "a > 1 / 0", "a > 1 @ -1"]
)
def test_without_a_readable_constant_there_is_no_threshold(expression: str) -> None:
    assert read_comparison(expression).threshold is None


@pytest.mark.parametrize("opening", ["(", "-", "abs("])
def test_a_rule_nested_beyond_measure_tells_nothing(opening: str) -> None:
    closing = ")" if "(" in opening else ""
    assert read_comparison(f"{opening * 900}a{closing * 900} > 1") in (Comparison(), Comparison("a", 1.0))


@given(st.text(max_size=60))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    read_comparison(text)
    expression_of(text)


def test_the_expression_stands_in_the_link_to_the_graph_page() -> None:
    rule = 'error_ratio{service="a b"} > 0.05'
    assert expression_of(f"http://prometheus:9090/graph?g0.expr={quote(rule)}&g0.tab=1") == rule


@pytest.mark.parametrize("link", ["", "http://grafana/alerting/1/view", "http://[::1/graph?g0.expr=up", "?g0.expr="])
def test_a_link_elsewhere_tells_no_expression(link: str) -> None:
    assert expression_of(link) is None
