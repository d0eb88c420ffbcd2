"""Typed values: units, times, names, rounding, and what is no value at all."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graph.contract.folding import fold
from graph.contract.moments import Moment
from graph.contract.support import Support
from graph.contract.values import Number, Word, scan

ZONE = "Asia/Shanghai"


def holds(evidence: str, stated: str, zone: str = ZONE) -> bool:
    """Whether evidence supports every value and name that a text states; the text has at least one."""
    support = Support(scan(fold(evidence)), zone)
    tokens = scan(fold(stated))
    assert tokens
    return all(map(support.holds, tokens))


@pytest.mark.parametrize(
    ("evidence", "stated"),
    [
        ("500 ms", "0.5 s"),
        ("500ms", "500 毫秒"),
        ("500 ms", "五百毫秒"),
        ("500 milliseconds", "0.5秒"),
        ("90 s", "1m30s"),
        ("90 s", "1 分 30 秒"),
        ("90 s", "1 minute 30 seconds"),
        ("1.5 分钟", "90 秒"),
        ("300 s", "five minutes"),
        ("0.12", "12 %"),
        ("0.12", "百分之十二"),
        ("12%", "0.12"),
        ("12 percent", "１２％"),
        ("0.915", "百分之九十一点五"),
        ("1024 KiB", "1 MiB"),
        ("536870912 bytes", "512Mi"),
        ("1000000000 B", "1 GB"),
        ("1073741824 B", "1.00 GB"),
        ("290 req/s", "290 QPS"),
        ("290 requests per second", "每秒 290 次"),
        ("60 次/分钟", "1 req/s"),
        ("12000", "1.2万"),
        ("300000000", "3 亿"),
        ("4120", "4,120"),
        ("4.1k", "4100"),
        ("0.34", "0.3"),
        ("3840.4", "3840"),
        ("4120 ms", "4.1 s"),
        ("18.113", "18 倍"),
        ("18", "18x"),
        ("-5", "5"),
        ("412.700000", "412.7"),
    ],
)
def test_the_same_value_in_another_writing_is_held(evidence: str, stated: str) -> None:
    assert holds(evidence, stated)


@pytest.mark.parametrize(
    ("evidence", "stated"),
    [
        ("15", "5"),
        ("1500 ms", "500 ms"),
        ("500 ms", "500 s"),
        ("500 ms", "5 s"),
        ("12%", "12 ms"),
        ("12%", "1.2%"),
        ("0.12", "1.2%"),
        ("0.3", "0.34"),
        ("0.34", "0.4"),
        ("0.91", "1"),
        ("0.3", "0"),
        ("4120", "4100"),
        ("512 MiB", "512 KiB"),
        ("290 req/s", "290 req/min"),
        ("290 req/s", "290 ms"),
        ("order-v2", "2"),
        ("http_5xx_ratio", "5"),
        ("p99", "99"),
        ("r1c2", "1"),
        ("v1.2.3", "1.2"),
        ("10.0.0.1", "10.0"),
        ("2026-06-18T15:04:00Z", "15"),
        ("12345678901234567", "12345678901234568"),
    ],
)
def test_another_value_is_not_held(evidence: str, stated: str) -> None:
    assert not holds(evidence, stated)


@pytest.mark.parametrize(
    "stated",
    [
        "14:05",
        "14:05:30",
        "06:05Z",
        "06:05",
        "06:05 UTC",
        "UTC 06:05:30",
        "UTC+8 14:05",
        "北京时间 14:05",
        "下午2:05",
        "2:05 PM",
        "14点05分",
        "下午 2 点",
        "2026-06-18 14:05",
        "2026/06/18 14:05:30",
        "2026-06-18T06:05:30Z",
        "2026-06-18T14:05:30+08:00",
        "6月18日 14:05",
        "2026年6月18日",
        "June 18, 2026",
        "06-18 14:05",
    ],
)
def test_a_moment_is_held_in_the_incidents_zone_and_in_utc(stated: str) -> None:
    assert holds("at 2026-06-18T06:05:30Z on June 18 at 06:05Z", f"at {stated}")


@pytest.mark.parametrize(
    "stated",
    [
        "14:06",
        "14:05:31",
        "14:05Z",
        "北京时间 06:05",
        "2:05 AM",
        "2026-06-19 14:05",
        "6月17日",
        "2025年",
        "15:05",
        "25:05",
    ],
)
def test_another_moment_is_not_held(stated: str) -> None:
    assert not holds("at 2026-06-18T06:05:30Z", f"at {stated}")


def test_a_clock_time_follows_the_zone_that_is_passed_in() -> None:
    assert holds("at 2026-07-01T18:00:00Z", "14:00", zone="America/New_York")
    assert not holds("at 2026-07-01T18:00:00Z", "14:00", zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("evidence", "stated"),
    [
        ("id=7c1f0e9d2b4a68537f90c1d2e3b4a5968770aabc", "7c1f0e9"),
        ("files=pkg/auth/jwt.go", "jwt.go"),
        ("files=pkg/auth/jwt.go", "pkg/auth/jwt.go"),
        ("operation=POST_/api/checkout", "/api/checkout"),
        ("metric=http_p99_ms", "p99"),
        ("metric=http_5xx_ratio", "5xx"),
        ("upstream returned 503", "5xx"),
        ("Order-API", "order-api"),
    ],
)
def test_a_name_or_a_part_that_stands_alone_is_held(evidence: str, stated: str) -> None:
    assert holds(evidence, stated)


@pytest.mark.parametrize(
    ("evidence", "stated"),
    [
        ("7c1f0e9d2b4a68537f90c1d2e3b4a5968770aabc", "7c1f0e8"),
        ("7c1f0e9d2b4a68537f90c1d2e3b4a5968770aabc", "7c1f0e"),
        ("v1.2.3", "v1.2"),
        ("order-api-v2", "order-api"),
        ("order", "order-api"),
        ("http_p99_ms", "p95"),
    ],
)
def test_a_part_of_a_name_that_does_not_stand_alone_is_not_held(evidence: str, stated: str) -> None:
    assert not holds(evidence, stated)


@pytest.mark.parametrize("text", ["N+1 查询", "24/7 值守", "UTC+8"])
def test_idioms_state_no_number(text: str) -> None:
    assert not [token for token in scan(fold(text)) if isinstance(token, Number)]


@given(st.decimals(min_value=Decimal("0.001"), max_value=10**6, places=3))
def test_milliseconds_and_seconds_are_one_time(value: Decimal) -> None:
    assert holds(f"{value} s", f"{value * 1000:f} ms")
    assert holds(f"{value * 1000:f} 毫秒", f"{value} 秒")
    assert not holds(f"{value} s", f"{value} ms")


@given(st.integers(min_value=0, max_value=10**6))
def test_a_percentage_is_its_fraction(hundredths: int) -> None:
    assert holds(f"{Decimal(hundredths) / 10000:f}", f"{Decimal(hundredths) / 100:f} %")


@given(st.integers(min_value=1, max_value=10**9), st.integers(min_value=1, max_value=10**9))
def test_whole_numbers_are_equal_or_not_held(held: int, stated: int) -> None:
    assert holds(f"count={held}", str(stated)) == (held == stated)
    assert holds(f"count={held:,}", f"{stated} 次") == (held == stated)


@given(st.decimals(min_value=1, max_value=10**6, places=4), st.integers(min_value=0, max_value=3))
def test_rounding_to_the_digits_shown_is_held(value: Decimal, places: int) -> None:
    assert holds(f"value={value}", f"{value:.{places}f}")


@given(st.integers(min_value=0, max_value=4 * 10**9), st.sampled_from(["UTC", ZONE, "America/New_York"]))
def test_a_moment_holds_itself_with_less_shown(seconds: int, zone: str) -> None:
    moment = datetime.fromtimestamp(seconds, UTC)
    text = f"{moment:%Y-%m-%dT%H:%M:%SZ}"

    assert holds(text, text, zone=zone)
    assert holds(text, f"{moment:%H:%M}Z", zone=zone)
    assert holds(text, f"{moment:%m月%d日 %H:%M}", zone=zone)


@given(st.text(max_size=300))
def test_any_text_scans_in_order_without_overlap(text: str) -> None:
    end = 0
    for token in scan(fold(text)):
        assert isinstance(token, Number | Moment | Word)
        assert end <= token.start < token.end
        end = token.end


@given(st.text(alphabet="0123456789:-.,/年月日点分秒时 %万百TZ+eEkmshxv", max_size=80))
@example("0:00Z")
@example("12:30+08:00")
def test_any_row_of_digits_and_marks_can_be_compared_with_itself(text: str) -> None:
    tokens = scan(fold(text))
    support = Support(tokens, ZONE)
    assert all(support.holds(token) for token in tokens)
