"""One metric series reduced to what an engineer reads off its graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

from tools.frozen.lines import fields, moment, number
from tools.frozen.onset import find_change, first_crossing, steady_trend

MAX_POINTS = 24
_COUNTER_ENDINGS = ("_total", "_count", "_counter", "_sum")
_COUNTER_RISING = 0.5
_GAP = 1.5


@dataclass(frozen=True)
class Series:
    """The samples of one series, in time order: seconds since the epoch and finite values."""

    service: str
    metric: str
    times: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True)
class Reduced:
    """A series as an answer tells it. `rate` is True where a running counter is told as its increase a minute.

    `onset` is None where nothing changed, or where the change is older than the samples (`steady`).
    """

    series: Series
    direction: str
    baseline: float
    extreme: float
    extreme_at: float
    last: float
    onset: float | None
    samples: int
    gaps: int
    silent_since: float | None
    rate: bool
    steady: bool
    strength: float
    """How many times the band of its noise the change goes beyond the baseline."""

    def line(self) -> str:
        """Return the `series` line."""
        values: dict[str, object] = {
            "service": self.series.service,
            "metric": self.series.metric,
            "direction": self.direction,
            "baseline": number(self.baseline),
            "extreme": number(self.extreme),
            "extreme_at": _iso(self.extreme_at),
            "last": number(self.last),
            "onset": _iso(self.onset),
            "samples": self.samples,
            "gaps": self.gaps,
        }
        if self.rate:
            values["rate"] = "per_minute"
        if self.steady:
            values["trend"] = "steady"
        if self.silent_since is not None:
            values["silent_since"] = _iso(self.silent_since)
        return fields("series", values)

    def points(self) -> str:
        """Return the `points` line: at most 24 samples, dense around the onset and the extreme."""
        head = fields("points", {"service": self.series.service, "metric": self.series.metric})
        times, values = self.series.times, self.series.values
        return " ".join([head, *(f"{_iso(times[i])}={number(values[i])}" for i in self._chosen())])

    def _chosen(self) -> list[int]:
        times = self.series.times
        count = len(times)
        chosen = {0, count - 1, _nearest(times, self.extreme_at)}
        if self.onset is not None:
            at = _nearest(times, self.onset)
            chosen |= {i for i in range(at - 4, at + 5) if 0 <= i < count}
        spare = MAX_POINTS - len(chosen)
        chosen |= {round(i * (count - 1) / max(1, spare - 1)) for i in range(spare)}
        return sorted(chosen)[:MAX_POINTS]


def reduce_series(series: Series, *, start: float, end: float, source_end: float) -> Reduced | None:
    """Reduce the samples in [start, end), judged against those before `start`, too; None where the window is empty.

    `source_end` is the time of the source's last sample in the window: a series that ends earlier has fallen silent.
    """
    rate = _is_running_counter(series)
    told = _per_minute(series) if rate else series
    inside = [i for i, at in enumerate(told.times) if start <= at < end]
    if not inside:
        return None
    verdict = _judge(told, start)
    extreme = _extreme(told.values, inside, verdict)
    silent, gaps = _silence(told.times, inside, source_end)
    return Reduced(
        series=told,
        direction=verdict.direction,
        baseline=verdict.baseline,
        extreme=told.values[extreme],
        extreme_at=told.times[extreme],
        last=told.values[inside[-1]],
        onset=None if verdict.begun is None else told.times[verdict.begun],
        samples=len(inside),
        gaps=gaps,
        silent_since=silent,
        rate=rate,
        steady=verdict.steady,
        strength=verdict.strength,
    )


@dataclass(frozen=True)
class _Verdict:
    direction: str
    baseline: float
    begun: int | None = None
    back: int | None = None
    steady: bool = False
    strength: float = 0.0


def _judge(told: Series, since: float) -> _Verdict:
    trend = steady_trend(told.times, told.values)
    if trend:
        crossing = first_crossing(told.values) if trend < 0 else None
        return _Verdict(
            "UP" if trend > 0 else "DOWN", told.values[0], crossing, steady=True, strength=float(crossing is not None)
        )
    change = find_change(told.times, told.values, since=since)
    if change is None:
        return _Verdict("FLAT", median(told.values))
    direction = "UP" if change.side > 0 else "DOWN"
    strength = change.strength / change.band.reach if change.band.reach else change.strength
    return _Verdict(direction, change.band.middle, change.begun, change.back, strength=strength)


def _extreme(values: Sequence[float], inside: Sequence[int], verdict: _Verdict) -> int:
    first, beyond = verdict.begun or 0, len(values) if verdict.back is None else verdict.back
    among = [i for i in inside if first <= i < beyond] or list(inside)
    if verdict.direction == "FLAT":
        return max(among, key=lambda i: abs(values[i] - verdict.baseline))
    return max(among, key=lambda i: values[i]) if verdict.direction == "UP" else min(among, key=lambda i: values[i])


def _silence(times: Sequence[float], inside: Sequence[int], source_end: float) -> tuple[float | None, int]:
    """Return since when the series has been silent (None where it isn't), and the number of its gaps."""
    steps = [later - earlier for earlier, later in pairwise(times[i] for i in inside)]
    if not steps:
        return None, 0
    step = median(steps)
    silent = times[inside[-1]] if source_end - times[inside[-1]] > 3 * step else None
    return silent, sum(one > _GAP * step for one in steps) + (silent is not None)


def _is_running_counter(series: Series) -> bool:
    """Return whether a series is a counter that was already counting before anything happened.

    A counter that stood still is told by its level: its first step is the news.
    """
    if not series.metric.casefold().endswith(_COUNTER_ENDINGS) or len(series.values) < 8:
        return False
    steps = [later - earlier for earlier, later in pairwise(series.values)]
    falls = sum(step < 0 for step in steps)
    head = steps[: max(6, len(steps) // 6)]
    return falls <= len(steps) // 30 and sum(step > 0 for step in head) >= _COUNTER_RISING * len(head)


def _per_minute(series: Series) -> Series:
    """Return the increase a minute between samples; after a reset, what was counted since."""
    pairs = pairwise(zip(series.times, series.values, strict=True))
    increases = [
        (after, (new - old if new >= old else new) * 60 / (after - before)) for (before, old), (after, new) in pairs
    ]
    return Series(series.service, series.metric, [at for at, _ in increases], [increase for _, increase in increases])


def _iso(at: float | None) -> str | None:
    return None if at is None else moment(datetime.fromtimestamp(at, UTC))


def _nearest(times: Sequence[float], at: float) -> int:
    return min(range(len(times)), key=lambda i: abs(times[i] - at))
