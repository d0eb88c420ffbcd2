"""A window is asked about as finely as its series are scraped, and never with more points than allowed."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.live.metrics.prometheus import Span
from tools.live.metrics.sampling import MAX_POINTS, MAX_POINTS_A_SERIES, Frame, sampling

NOON = 1_788_868_800.0
HOURS_3 = Frame(NOON - 3 * 3600, NOON + 15 * 60)


def test_as_much_again_before_the_window_is_read_and_at_least_an_hour() -> None:
    assert HOURS_3.read.start == HOURS_3.start - 3.25 * 3600
    assert Frame(NOON, NOON + 300).read.start == NOON - 3600


@pytest.mark.parametrize(
    ("samples", "interval", "step", "rate"),
    [(40, 15, 15, 60), (39, 15, 15, 60), (41, 15, 15, 60), (10, 60, 60, 240), (600, 1, 15, 15), (None, 60, 60, 240)],
)
def test_points_are_as_far_apart_as_samples_or_the_bound_has_them(
    samples: float | None, interval: int, step: int, rate: int
) -> None:
    found = sampling(HOURS_3.read, samples=samples, series=1)
    assert (found.interval, found.step, found.rate) == (interval, step, timedelta(seconds=rate))


def test_a_sample_stands_no_longer_than_until_the_next_should_have_come() -> None:
    assert sampling(HOURS_3.read, samples=10, series=1).patience == timedelta(seconds=120)
    coarse = sampling(HOURS_3.read, samples=600, series=1_000)
    assert coarse.is_coarse
    assert coarse.patience == timedelta(seconds=coarse.step)


def test_a_service_that_is_a_minute_old_is_asked_about_by_the_second() -> None:
    young = sampling(Span(NOON - 60, NOON), samples=60, series=20)
    assert (young.interval, young.step, young.rate) == (1, 1, timedelta(seconds=15))
    assert young.grid(HOURS_3) == Span(NOON - 60, NOON)


@given(
    st.integers(0, 10**7),
    st.integers(1, 60 * 24 * 40),
    st.one_of(st.none(), st.floats(0.5, 700)),
    st.integers(0, 10_000),
    st.floats(0, 1),
    st.floats(0, 2),
)
def test_no_window_gets_more_points_than_allowed(
    minute: int, minutes: int, samples: float | None, series: int, begun: float, ended: float
) -> None:
    frame = Frame(minute * 60.0, (minute + minutes) * 60.0)
    length = frame.read.end - frame.read.start
    begin = frame.read.start + begun * length
    until = begin + ended * length
    found = sampling(Span(begin, until), samples=samples, series=series)
    grid = found.grid(frame)
    count = (grid.end - grid.start) / found.step + 1
    assert count <= max(3, min(MAX_POINTS_A_SERIES, MAX_POINTS // max(series, 1)) + 1)
    assert begin <= grid.start
    assert grid.end < frame.end or grid.end == grid.start
    assert grid.end <= until or grid.end == grid.start
    assert grid.start % found.step == grid.end % found.step == 0
    assert found.rate.total_seconds() >= found.step
