"""Times that people say become windows, by rule."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.base import IncidentContext
from tools.windows import LOOK_AHEAD, LOOK_BACK, Window, resolve_time, resolve_window, window_of

AS_OF = datetime(2026, 6, 18, 7, 10, 30, tzinfo=UTC)
"""15:10:30 in Shanghai."""
INCIDENT = IncidentContext(as_of=AS_OF)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-06-18T14:05:00Z", "2026-06-18T14:05:00"),
        ("2026-06-18T14:05", "2026-06-18T06:05:00"),
        ("2026-06-18 14:05:30", "2026-06-18T06:05:30"),
        ("2026-06-18 14:05 UTC", "2026-06-18T14:05:00"),
        ("2026-06-18 14:05 +08:00", "2026-06-18T06:05:00"),
        ("20260618T140500Z", "2026-06-18T14:05:00"),
        ("2026/06/18 14:05:00", "2026-06-18T06:05:00"),
        ("2026-06-18", "2026-06-17T16:00:00"),
        ("06-18 14:05", "2026-06-18T06:05:00"),
        ("12-31 23:00", "2025-12-31T15:00:00"),
        ("6月18日14:05", "2026-06-18T06:05:00"),
        ("2026年6月18日 14点05分", "2026-06-18T06:05:00"),
        ("1781772000", "2026-06-18T08:40:00"),
        ("1781772000000", "2026-06-18T08:40:00"),
        ("now", "2026-06-18T07:10:30"),
        ("现在", "2026-06-18T07:10:30"),
        ("now-15m", "2026-06-18T06:55:30"),
        ("now - 1h30m", "2026-06-18T05:40:30"),
        ("-15m", "2026-06-18T06:55:30"),
        ("15m ago", "2026-06-18T06:55:30"),
        ("an hour ago", "2026-06-18T06:10:30"),
        ("half an hour ago", "2026-06-18T06:40:30"),
        ("last 30 minutes", "2026-06-18T06:40:30"),
        ("past hour", "2026-06-18T06:10:30"),
        ("过去半小时", "2026-06-18T06:40:30"),
        ("最近30分钟", "2026-06-18T06:40:30"),
        ("刚才", "2026-06-18T06:40:30"),
        ("十分钟前", "2026-06-18T07:00:30"),
        ("15分钟前", "2026-06-18T06:55:30"),
        ("半小时前", "2026-06-18T06:40:30"),
        ("一个半小时前", "2026-06-18T05:40:30"),
        ("1小时30分钟前", "2026-06-18T05:40:30"),
        ("一百二十分钟前", "2026-06-18T05:10:30"),
        ("14:05", "2026-06-18T06:05:00"),
        ("14:05:30", "2026-06-18T06:05:30"),
        ("since 14:05", "2026-06-18T06:05:00"),
        ("从14:05开始", "2026-06-18T06:05:00"),
        ("14:05Z", "2026-06-17T14:05:00"),
        ("06:05 UTC", "2026-06-18T06:05:00"),
        ("14:05+08:00", "2026-06-18T06:05:00"),
        ("3pm", "2026-06-18T07:00:00"),
        ("3:30 pm", "2026-06-17T07:30:00"),
        ("yesterday 22:00", "2026-06-17T14:00:00"),
        ("14:05 yesterday", "2026-06-17T06:05:00"),
        ("today at 14:05", "2026-06-18T06:05:00"),
        ("今天14:05", "2026-06-18T06:05:00"),
        ("昨天22点", "2026-06-17T14:00:00"),
        ("昨晚十点", "2026-06-17T14:00:00"),
        ("昨晚十二点", "2026-06-17T16:00:00"),
        ("昨晚两点", "2026-06-17T18:00:00"),
        ("昨天凌晨3点15分", "2026-06-16T19:15:00"),
        ("前天晚上8点", "2026-06-16T12:00:00"),
        ("今早八点", "2026-06-18T00:00:00"),
        ("凌晨三点", "2026-06-17T19:00:00"),
        ("凌晨三点左右", "2026-06-17T19:00:00"),
        ("中午十二点", "2026-06-18T04:00:00"),
        ("下午两点半", "2026-06-18T06:30:00"),
        ("下午两点一刻", "2026-06-18T06:15:00"),
        ("晚上八点", "2026-06-17T12:00:00"),
        ("２０２６－０６－１８　１４：０５", "2026-06-18T06:05:00"),
    ],
)
def test_each_way_of_saying_a_time_is_read_against_as_of_in_the_incidents_zone(text: str, expected: str) -> None:
    assert resolve_time(text, INCIDENT) == utc(expected)
    assert resolve_time(text, INCIDENT).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text", ["", "hello", "25:61", "14:99", "2026-13-01", "the", "一点都不", "9" * 40 + "h ago", "x" * 500]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^time$"):
        resolve_time(text, INCIDENT)


def test_a_clock_time_after_as_of_is_the_day_before_and_one_at_as_of_is_today() -> None:
    assert resolve_time("15:11", INCIDENT) == utc("2026-06-17T07:11:00")
    assert resolve_time("15:10:30", INCIDENT) == AS_OF


def test_a_zone_less_time_is_in_the_incidents_zone() -> None:
    berlin = IncidentContext(as_of=AS_OF, zone="Europe/Berlin")
    assert resolve_time("08:05", berlin) == utc("2026-06-18T06:05:00")


def test_the_default_window_is_three_hours_back_and_a_quarter_ahead_aligned_outward() -> None:
    window = resolve_window(None, None, INCIDENT)
    assert window == Window(utc("2026-06-18T04:10:00"), utc("2026-06-18T07:26:00"))
    assert window == resolve_window(" ", "", INCIDENT)
    assert window.as_scope() == {"start": "2026-06-18T04:10:00Z", "end": "2026-06-18T07:26:00Z"}


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("now-1h", "now"),
        ("-60m", "现在"),
        ("1h ago", "2026-06-18T07:10:30Z"),
        ("一小时前", "15:10:30"),
        ("2026-06-18T14:10:30+08:00", "2026-06-18 15:10:30"),
        ("14:10", "15:11"),
    ],
)
def test_one_window_in_any_spelling_is_one_window(start: str, end: str) -> None:
    assert resolve_window(start, end, INCIDENT) == Window(utc("2026-06-18T06:10:00"), utc("2026-06-18T07:11:00"))


def test_an_end_without_a_day_is_the_first_such_time_after_the_start() -> None:
    assert resolve_window("22:00", "02:00", INCIDENT) == Window(utc("2026-06-17T14:00:00"), utc("2026-06-17T18:00:00"))


def test_an_end_long_ago_without_a_start_looks_back_from_there() -> None:
    assert resolve_window(None, "昨天22:00", INCIDENT) == Window(utc("2026-06-17T11:00:00"), utc("2026-06-17T14:00:00"))


@pytest.mark.parametrize(
    ("start", "end", "field"),
    [
        ("whenever", None, "start"),
        (None, "whenever", "end"),
        ("2026-06-18T07:00:00Z", "2026-06-18T06:00:00Z", "end"),
        ("2026-06-18T07:00:00Z", "2026-06-18T07:00:00Z", "end"),
        ("2026-06-19T07:00:00Z", None, "start"),
    ],
)
def test_a_window_that_cannot_be_read_or_holds_nothing_names_the_field(
    start: str | None, end: str | None, field: str
) -> None:
    with pytest.raises(ValueError, match=rf"^{field}$"):
        resolve_window(start, end, INCIDENT)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("支付服务 since 14:05 开始超时", "2026-06-18T06:05:00", "2026-06-18T07:26:00"),
        ("从14:05开始支付失败", "2026-06-18T06:05:00", "2026-06-18T07:26:00"),
        ("凌晨三点左右订单服务报错", "2026-06-17T18:30:00", "2026-06-17T19:30:00"),
        ("刚才支付挂了", "2026-06-18T06:40:00", "2026-06-18T07:26:00"),
        ("十分钟前支付失败", "2026-06-18T06:30:00", "2026-06-18T07:26:00"),
        ("过去2小时订单量下降", "2026-06-18T05:10:00", "2026-06-18T07:26:00"),
        ("14:05 到 14:30 之间超时", "2026-06-18T06:05:00", "2026-06-18T06:30:00"),
        ("errors between 22:00 and 02:00", "2026-06-17T14:00:00", "2026-06-17T18:00:00"),
        ("昨晚十点到今天凌晨一点", "2026-06-17T14:00:00", "2026-06-17T17:00:00"),
        ("昨天下午支付超时", "2026-06-17T04:00:00", "2026-06-17T10:00:00"),
        ("在三点出现", "2026-06-17T18:30:00", "2026-06-17T19:30:00"),
        ("error at 2026-06-18T06:00:00Z in payments", "2026-06-18T05:30:00", "2026-06-18T06:30:00"),
    ],
)
def test_a_free_query_that_names_a_time_gives_its_window(query: str, start: str, end: str) -> None:
    assert window_of(query, INCIDENT) == Window(utc(start), utc(end))


@pytest.mark.parametrize(
    "query",
    [
        "",
        "checkout is slow",
        "有一点慢",
        "有两点原因",
        "10.0.0.1:8080 refused",
        "v1.2.3 on 1/2 nodes",
        "ratio 3:2",
        "25:99",
    ],
)
def test_a_free_query_that_names_no_time_gives_no_window(query: str) -> None:
    assert window_of(query, INCIDENT) is None


moments = st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(as_of=moments, minutes=st.integers(1, 10_000))
def test_relative_and_absolute_times_are_equal_windows(as_of: datetime, minutes: int) -> None:
    incident = IncidentContext(as_of=as_of)
    absolute = (as_of - timedelta(minutes=minutes)).isoformat()
    assert resolve_window(f"{minutes}分钟前", "now", incident) == resolve_window(absolute, as_of.isoformat(), incident)


@given(as_of=moments, text=st.text(max_size=60))
def test_any_text_gives_an_aligned_window_or_names_its_field(as_of: datetime, text: str) -> None:
    outcome = window_or_fault(text, IncidentContext(as_of=as_of))
    assert outcome == ("start",) or is_aligned(outcome)


def window_or_fault(start: str, incident: IncidentContext) -> object:
    try:
        return resolve_window(start, None, incident)
    except ValueError as error:
        return error.args


def is_aligned(window: object) -> bool:
    return isinstance(window, Window) and window.start < window.end and window.start.second == window.end.second == 0


@given(as_of=moments, text=st.text(alphabet="0123456789:-.前后点半时分秒到今昨晚凌晨 agonwlsthm", max_size=40))
def test_a_free_query_never_fails_and_its_window_is_aligned(as_of: datetime, text: str) -> None:
    window = window_of(text, IncidentContext(as_of=as_of))
    assert window is None or is_aligned(window)


@given(as_of=moments)
def test_the_default_window_holds_the_contracts_stretch(as_of: datetime) -> None:
    window = resolve_window(None, None, IncidentContext(as_of=as_of))
    assert window.start <= as_of - LOOK_BACK < window.start + timedelta(minutes=1)
    assert window.end - timedelta(minutes=1) < as_of + LOOK_AHEAD <= window.end
