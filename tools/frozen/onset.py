"""When a series left its baseline: pure functions over times and values.

A change is a departure that lasts: three of four samples, two far ones, or a far last one, beyond five robust
deviations of everything that came before. The baseline grows as long as samples stay within it, so noise, however wide,
is no change; it is bounded by how much neighbouring samples differ, so a slope can't widen its own band. In a series
that never moved, one sample is an event (a kill, a restart), unless such samples are many. A step is dated to its first
sample. A gradual change is dated by fitting a flat line that bends into a slope: long before a slow leak leaves the
noise, it has begun. Nothing here depends on the unit (values may be scaled) or on the clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import pi, sqrt
from statistics import linear_regression, median

_BAND = 5.0
_DRIFT = 3.0
_FAR = 3.0
_STILL = 12
_LONG_SLOPE = 10
_CLEAR_BEND = 0.85
_RARE = 2
_RELATIVE_FLOOR = 1e-3
_NEARLY_NOTHING = 1e-9
_QUIET_AGAIN = 5
_COMPARABLE = 0.5
_DOMINATES = 3.0
_SETTLED = 0.25
_STEADY_FIT = 0.99
_BASELINE_MEMORY = 400


@dataclass(frozen=True)
class Band:
    """What a baseline looks like: its middle, its robust deviation, how far from the middle is still within it, and
    whether it never moved at all."""

    middle: float
    deviation: float
    reach: float
    still: bool


@dataclass(frozen=True)
class Change:
    """A departure: `begun` is its first sample, `left` the first beyond the band, `back` the first within it again (or
    the number of samples). `side` is +1 or -1; `strength` is how far it went from the baseline's middle. `lone`: a
    single sample in a series that had never moved."""

    begun: int
    left: int
    back: int
    side: int
    strength: float
    band: Band
    lone: bool = False


def steady_trend(times: Sequence[float], values: Sequence[float]) -> int:
    """Return +1 or -1 where the whole series is one straight slope (a countdown, a leak older than the samples)."""
    if len(values) < 8 or max(values) == min(values):
        return 0
    fit = linear_regression(times, values)
    residual = sum((y - fit.slope * x - fit.intercept) ** 2 for x, y in zip(times, values, strict=True))
    middle = sum(values) / len(values)
    spread = sum((y - middle) ** 2 for y in values)
    fifth = max(4, len(values) // 5)
    early = linear_regression(times[:fifth], values[:fifth])
    straight = residual <= (1 - _STEADY_FIT) * spread and abs(early.slope - fit.slope) <= 0.4 * abs(fit.slope)
    return (1 if fit.slope > 0 else -1) if straight else 0


def first_crossing(values: Sequence[float]) -> int | None:
    """Return the index of the first sample that is no longer positive, in a series that began positive, else None."""
    if not values or values[0] <= 0:
        return None
    return next((index for index, value in enumerate(values) if value <= 0), None)


def find_change(times: Sequence[float], values: Sequence[float], *, since: float | None = None) -> Change | None:
    """Return the dominant departure of a series from its baseline, or None where it stays within its noise.

    `times` ascend (any unit), `values` are finite. A departure that was over before `since` doesn't count. Of several
    comparable departures the earliest is taken; a small one that settles and is dwarfed by a later one gives way to it.
    """
    head = max(6, min(30, len(values) // 6))
    if len(values) < head + 2:
        return None
    departures = _events(values, head)
    if not departures:
        return _bent(times, values, head)
    found = [one for one in departures if since is None or one.back == len(values) or times[one.back] >= since]
    if not found:
        return None
    strongest = max(change.strength for change in found)
    change = next(change for change in found if change.strength >= _COMPARABLE * strongest)
    return _dated(times, values, _later_dominant(values, change))


def _events(values: Sequence[float], head: int) -> list[Change]:
    """Return the departures; single samples only where they are few, otherwise they are how the series is."""
    found = _departures(values, head)
    return found if sum(change.lone for change in found) <= _RARE else _departures(values, head, lone=False)


def _departures(values: Sequence[float], head: int, *, lone: bool = True) -> list[Change]:
    base = list(values[:head])
    tiny = _NEARLY_NOTHING * max(abs(value) for value in values)
    band, due = _band(base, tiny), head + 5
    found: list[Change] = []
    index = head
    while index < len(values):
        if index >= due or _leaves(values, index, band, lone):
            band, due = _band(base, tiny), index + max(5, len(base) // 10)
        side = _leaves(values, index, band, lone)
        if side:
            back = _back(values, index, band)
            strength = _strength(values[index:back], band.middle, side)
            found.append(Change(index, index, back, side, strength, band, not _leaves(values, index, band, False)))
            index = back
        else:
            base = base[-_BASELINE_MEMORY:] if len(base) > 2 * _BASELINE_MEMORY else base
            base.append(values[index])
            index += 1
    return found


def _band(base: Sequence[float], tiny: float) -> Band:
    middle = median(base)
    distances = [abs(value - middle) for value in base]
    away = _trimmed(distances)
    spread = _root_mean_square(away) or _root_mean_square(distances)
    steps = _trimmed([abs(later - earlier) for earlier, later in pairwise(base)])
    jitter = sum(steps) / len(steps) * sqrt(pi) / 2 or spread
    deviation = min(max(1.4826 * median(away), spread), _DRIFT * jitter)
    still = len(base) >= _STILL and max(base) == min(base)
    return Band(middle, deviation, max(_BAND * deviation, _RELATIVE_FLOOR * abs(middle), tiny), still)


def _trimmed(distances: Sequence[float]) -> list[float]:
    """Return the distances in order of size without the largest one and two per cent, which may be strays."""
    ordered = sorted(distances)
    return ordered[: len(ordered) - 1 - len(ordered) // 50] or ordered


def _root_mean_square(distances: Sequence[float]) -> float:
    return sqrt(sum(distance * distance for distance in distances) / len(distances))


def _leaves(values: Sequence[float], index: int, band: Band, lone: bool) -> int:
    offset = values[index] - band.middle
    if abs(offset) <= band.reach:
        return 0
    side = 1 if offset > 0 else -1
    beyond = [side * (value - band.middle) for value in values[index : index + 4]]
    lasting = sum(one > band.reach for one in beyond) >= 3
    far = band.deviation > 0 and all(one > _FAR * band.reach for one in beyond[:2])
    return side if lasting or far or (lone and band.still) else 0


def _back(values: Sequence[float], index: int, band: Band) -> int:
    quiet = 0
    for position in range(index, len(values)):
        quiet = quiet + 1 if abs(values[position] - band.middle) <= band.reach else 0
        if quiet == _QUIET_AGAIN:
            return position - _QUIET_AGAIN + 1
    return len(values)


def _strength(stretch: Sequence[float], middle: float, side: int) -> float:
    """Return how far a stretch goes to its side; a single sample that no neighbour confirms counts where it's all."""
    away = [side * (value - middle) for value in stretch]
    confirmed = max((min(pair) for pair in pairwise(away)), default=away[0])
    return confirmed if confirmed > 0 else away[0]


def _later_dominant(values: Sequence[float], change: Change) -> Change:
    """Return the later departure that dwarfs `change`, where `change` was a step that had settled on a plateau."""
    stretch = values[change.left : change.back]
    head = 10
    if len(stretch) < 2 * head:
        return change
    later = max(_departures(stretch, head), key=lambda one: one.strength, default=None)
    if later is None:
        return change
    plateau = stretch[: later.left]
    level = abs(median(plateau) - change.band.middle)
    half = len(plateau) // 2
    settled = abs(median(plateau[half:]) - median(plateau[:half])) < _SETTLED * level
    if not settled or later.strength < _DOMINATES * level:
        return change
    shift = change.left
    return replace(later, begun=later.begun + shift, left=later.left + shift, back=later.back + shift)


def _dated(times: Sequence[float], values: Sequence[float], change: Change) -> Change:
    """Return the change with `begun` where it began: its first sample for a step, the bend for a gradual one."""
    away = [change.side * (value - change.band.middle) for value in values]
    reached = median(away[change.left : change.left + 3])
    before = max(away[change.left - 1], median(away[max(0, change.left - 3) : change.left]))
    if min(away[change.left], reached) - before >= _COMPARABLE * reached:
        return change
    half_way = next(i for i in range(change.left, change.back) if away[i] >= _COMPARABLE * change.strength)
    last = min(max(half_way, change.left + 2), len(values) - 1)
    bend, _ = _best_bend(times, away, last, change.left)
    return _begun_after(values, bend, change)


def _bent(times: Sequence[float], values: Sequence[float], head: int) -> Change | None:
    """Return the change of a series that never left its band because it slid away from its baseline, or None."""
    for side, last in ((1, max(range(len(values)), key=values.__getitem__)), (-1, values.index(min(values)))):
        if last < head + _LONG_SLOPE:
            continue
        away = [side * value for value in values[: last + 1]]
        bend, misfit = _best_bend(times, away, last, last - _LONG_SLOPE + 1)
        level = sum(away) / len(away)
        spread = sum((value - level) ** 2 for value in away)
        flat = values[: bend + 1]
        band = _band(flat, 0.0)
        strength = side * (values[last] - band.middle)
        if misfit <= (1 - _CLEAR_BEND) * spread and strength > band.reach and bend >= head:
            change = Change(last, last, len(values), side, strength, band)
            return _begun_after(values, bend, change)
    return None


def _begun_after(values: Sequence[float], bend: int, change: Change) -> Change:
    flat = values[: bend + 1]
    level = median(flat)
    noise = 1.4826 * median(abs(value - level) for value in flat)
    begun = next((i for i in range(bend + 1, change.left) if change.side * (values[i] - level) > noise), change.left)
    strength = change.strength - change.side * (level - change.band.middle)
    return replace(change, begun=begun, strength=strength, band=replace(change.band, middle=level))


def _best_bend(times: Sequence[float], away: Sequence[float], last: int, before: int) -> tuple[int, float]:
    """Return the index before `before` at which "flat, then a slope up to `last`" fits best, and its squared error."""
    prefix = _Sums(times, away, last)
    best = min(range(min(3, before - 1), before), key=prefix.misfit)
    return best, prefix.misfit(best)


class _Sums:
    """Running sums over the samples up to `last`: every candidate bend costs the same, however long the series."""

    def __init__(self, times: Sequence[float], away: Sequence[float], last: int) -> None:
        self.times = [at - times[0] for at in times[: last + 1]]
        away = away[: last + 1]
        self.x = list(accumulate(self.times, initial=0.0))
        self.y = list(accumulate(away, initial=0.0))
        self.xx = list(accumulate((x * x for x in self.times), initial=0.0))
        self.yy = list(accumulate((y * y for y in away), initial=0.0))
        self.xy = list(accumulate((x * y for x, y in zip(self.times, away, strict=True)), initial=0.0))

    def misfit(self, bend: int) -> float:
        """Return the squared error of a flat line up to `bend` and the best slope from its end."""
        head, at = bend + 1, self.times[bend]
        level = self.y[head] / head
        count = len(self.times) - head
        x, y, xx, yy, xy = (sums[-1] - sums[head] for sums in (self.x, self.y, self.xx, self.yy, self.xy))
        runs = xx - 2 * at * x + count * at * at
        rises = yy - 2 * level * y + count * level * level
        both = xy - level * x - at * y + count * at * level
        flat = self.yy[head] - head * level * level
        return flat + rises - both * both / runs
