"""When a series left its baseline: steps to the sample, slopes to where they began, noise never."""

import random
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.frozen.onset import Change, find_change, first_crossing, steady_trend
from tools.frozen.series import Series, reduce_series

MINUTE = 60.0
seeds = st.integers(0, 10_000)


def times(count: int, start: float = 0.0) -> list[float]:
    return [start + MINUTE * index for index in range(count)]


def noise(seed: int, count: int, level: float = 100.0, width: float = 5.0) -> list[float]:
    source = random.Random(seed)  # noqa: S311 -- noise, no secret
    return [level + source.uniform(-width, width) for _ in range(count)]


def changed(values: list[float]) -> Change:
    change = find_change(times(len(values)), values)
    assert change is not None
    return change


@given(seeds, st.integers(30, 200), st.floats(0.001, 1e6), st.floats(0, 0.5))
def test_bounded_noise_is_flat_whatever_its_width_and_level(seed: int, count: int, level: float, share: float) -> None:
    # A handful of samples can't show how wide the noise is: the head must hold enough of them.
    values = noise(seed, max(count, 60), level, level * share)
    assert find_change(times(len(values)), values) is None


@given(seeds, st.integers(35, 100), st.sampled_from([-1, 1]), st.floats(15, 1000))
def test_a_step_is_dated_to_its_exact_sample(seed: int, at: int, side: int, height: float) -> None:
    values = noise(seed, 120, level=2000.0)
    values[at:] = [value + side * height * 5 for value in values[at:]]
    change = changed(values)
    assert (change.begun, change.side) == (at, side)


@given(st.integers(8, 110), st.sampled_from([(50.0, 10.0), (0.0, 45.0), (512.0, 256.0)]))
def test_a_step_of_a_setting_that_never_moved_is_dated_to_its_exact_sample(
    at: int, levels: tuple[float, float]
) -> None:
    values = [levels[0]] * max(at, 30) + [levels[1]] * 20
    assert changed(values).begun == max(at, 30)


@given(seeds, st.integers(25, 90), st.floats(2, 30))
@settings(max_examples=60)
def test_a_slow_climb_is_dated_near_to_where_it_began(seed: int, at: int, slope: float) -> None:
    values = [value + slope * max(0, index - at) for index, value in enumerate(noise(seed, 160))]
    assert -2 <= changed(values).begun - at <= 8


def test_a_ratio_that_bleeds_down_is_dated_to_the_bleeding_not_to_the_bottom() -> None:
    values = [value - 0.015 * min(26, max(0, index - 72)) for index, value in enumerate(noise(7, 126, 0.97, 0.008))]
    change = changed(values)
    assert change.side == -1
    assert 72 <= change.begun <= 75


def test_a_leak_that_ends_in_a_restart_is_a_climb_from_where_it_began() -> None:
    values = [value + 2 * max(0, index - 25) for index, value in enumerate(noise(3, 164, 215.0, 6.0))]
    change = changed([*values, *noise(4, 7, 38.0, 5.0)])
    assert change.side == 1
    assert 25 <= change.begun <= 31
    assert change.band.middle == pytest.approx(215, abs=8)


@given(seeds, st.floats(1e-3, 1e3), st.floats(-1e6, 1e9))
@settings(max_examples=60)
def test_neither_the_unit_nor_the_clock_moves_an_onset(seed: int, unit: float, shift: float) -> None:
    values = [value + 3 * max(0, index - 70) for index, value in enumerate(noise(seed, 130))]
    plain = find_change(times(130), values)
    scaled = find_change(times(130, start=float(round(shift))), [value * unit for value in values])
    assert plain is not None
    assert scaled is not None
    assert abs(plain.begun - scaled.begun) <= 1
    assert (plain.left, plain.side) == (scaled.left, scaled.side)


def test_one_event_in_a_series_that_never_moved_is_news() -> None:
    values = [0.0] * 120
    values[90] = 3.0
    assert changed(values).begun == 90


def test_many_single_events_are_how_the_series_is() -> None:
    values = [1.0 if index % 17 == 16 else 0.0 for index in range(120)]
    assert find_change(times(120), values) is None


def test_a_spike_that_returns_at_once_in_noise_is_no_change() -> None:
    values = noise(11, 120)
    values[60] = 900.0
    assert find_change(times(120), values) is None


def test_a_small_step_that_settled_gives_way_to_the_later_one_that_dwarfs_it() -> None:
    values = noise(5, 180)
    values[60:] = [value + 60 for value in values[60:]]
    values[150:] = [value + 3000 for value in values[150:]]
    change = changed(values)
    assert change.begun == 150
    assert change.band.middle == pytest.approx(160, abs=6)


def test_of_comparable_departures_the_earliest_counts() -> None:
    values = noise(5, 180)
    for start in (80, 120, 160):
        values[start : start + 8] = [value + 400 for value in values[start : start + 8]]
    assert changed(values).begun == 80


def test_a_departure_that_was_over_before_the_window_does_not_count() -> None:
    values = noise(5, 180)
    values[50:60] = [value + 400 for value in values[50:60]]
    assert find_change(times(180), values, since=100 * MINUTE) is None


def test_a_countdown_is_one_slope_and_its_news_is_that_it_reached_zero() -> None:
    values = [3840.0 - 60 * index for index in range(80)]
    assert steady_trend(times(80), values) == -1
    assert first_crossing(values) == 64


@given(seeds)
def test_noise_is_no_slope(seed: int) -> None:
    assert steady_trend(times(60), noise(seed, 60)) == 0


def test_a_running_counter_is_told_as_its_rate() -> None:
    increases = noise(1, 100, 600.0, 20.0)
    increases[70:] = [value * 4 for value in increases[70:]]
    counter = Series("shop", "requests_total", times(100), list(accumulate(increases)))
    reduced = reduce_series(counter, start=0, end=100 * MINUTE, source_end=99 * MINUTE)
    assert reduced is not None
    assert reduced.rate
    assert reduced.onset == 70 * MINUTE
    assert reduced.baseline == pytest.approx(600, abs=25)


def test_a_counter_that_stood_still_is_told_by_its_level() -> None:
    counter = Series("shop", "errors_total", times(60), [0.0] * 50 + [20.0 * step for step in range(1, 11)])
    reduced = reduce_series(counter, start=0, end=60 * MINUTE, source_end=59 * MINUTE)
    assert reduced is not None
    assert not reduced.rate
    assert (reduced.onset, reduced.baseline, reduced.extreme) == (50 * MINUTE, 0, 200)


def test_gaps_and_silence_are_told() -> None:
    kept = [index for index in range(90) if index not in {20, 21, 22, 50}]
    series = Series("shop", "latency_ms", [MINUTE * index for index in kept], [100.0 + index % 3 for index in kept])
    reduced = reduce_series(series, start=0, end=120 * MINUTE, source_end=119 * MINUTE)
    assert reduced is not None
    assert reduced.gaps == 3
    assert reduced.silent_since == 89 * MINUTE
    assert "silent_since=1970-01-01T01:29:00Z" in reduced.line()


def test_points_are_at_most_24_and_hold_the_onset() -> None:
    values = noise(9, 180)
    values[120:] = [value + 500 for value in values[120:]]
    reduced = reduce_series(
        Series("shop", "latency_ms", times(180), values), start=0, end=180 * MINUTE, source_end=179 * MINUTE
    )
    assert reduced is not None
    points = reduced.points().split()[3:]
    assert len(points) <= 24
    assert any(point.startswith("1970-01-01T02:00:00Z=") for point in points)
