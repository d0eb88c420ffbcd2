"""Intervals and curves, with no notion of what they are about.

Everything reported is a ratio of two sums (a proportion, a mean, calls per correct outcome), so one shape serves all:
a `Tally` holds numerator and denominator by cluster. Cases that stem from one incident aren't independent: intervals
resample whole clusters with replacement (cluster bootstrap, percentile method), and differences between two targets
resample the same clusters for both. Wilson's score interval is used where each cluster is one trial.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Z95 = 1.959963984540054
RESAMPLES = 2000
CURVE_RESAMPLES = 500
NO_DOUBT = 1e-9
"""A narrower interval than this says that all resamples were alike."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A 95 % interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Tally:
    """Numerators and denominators, summed by cluster. `count`: how many items went in."""

    clusters: tuple[str, ...]
    numerators: Floats
    denominators: Floats
    count: int

    @property
    def value(self) -> float | None:
        """The ratio of the sums; None where the denominators sum to nothing."""
        below = float(self.denominators.sum())
        return float(self.numerators.sum()) / below if below else None


def tally(items: Iterable[tuple[str, float, float]]) -> Tally:
    """Sum (cluster, numerator, denominator) items by cluster; clusters are sorted, so equal items give equal draws."""
    sums: dict[str, list[float]] = {}
    count = 0
    for cluster, above, below in items:
        held = sums.setdefault(cluster, [0.0, 0.0])
        held[0] += above
        held[1] += below
        count += 1
    names = tuple(sorted(sums))
    table = np.array([sums[name] for name in names], dtype=np.float64).reshape(-1, 2)
    return Tally(names, table[:, 0], table[:, 1], count)


def wilson(successes: float, trials: float) -> Interval:
    """Return Wilson's score interval of a proportion; [0, 1] without a trial."""
    if trials <= 0:
        return Interval(0.0, 1.0)
    share = successes / trials
    spread = Z95**2 / trials
    middle = (share + spread / 2) / (1 + spread)
    half = Z95 * sqrt(share * (1 - share) / trials + spread / (4 * trials)) / (1 + spread)
    return Interval(0.0 if successes <= 0 else middle - half, 1.0 if successes >= trials else middle + half)


def proportion_interval(sums: Tally, seed: int) -> Interval | None:
    """Return the interval of a proportion.

    Wilson's, where each cluster is one trial. Else the cluster bootstrap, save at 0 and 1, where a bootstrap knows no
    doubt: there it's Wilson's with the clusters as trials, which is the cautious reading.
    """
    value = sums.value
    if value is None:
        return None
    clusters = int((sums.denominators > 0).sum())
    if clusters == sums.denominators.sum():
        return wilson(float(sums.numerators.sum()), clusters)
    return wilson(value * clusters, clusters) if value in (0.0, 1.0) else ratio_interval(sums, seed)


def ratio_interval(sums: Tally, seed: int) -> Interval | None:
    """Return the cluster bootstrap's interval of a ratio; None with fewer than two clusters or no denominator."""
    if len(sums.clusters) < 2 or sums.value is None:
        return None
    draws = _draws(len(sums.clusters), seed, RESAMPLES)
    return _percentiles(_ratios(draws, sums))


def paired_difference(
    first: Tally, second: Tally, seed: int, *, is_share: bool
) -> tuple[float, Interval | None] | None:
    """Return `first - second` with the interval of the clustered bootstrap; both tallies hold the same clusters.

    Where no cluster differs from another, a bootstrap knows no doubt; for shares it's then Newcombe's interval, with
    the clusters as trials and no credit for the pairing. None where one of them has no value. Raises ValueError for
    different clusters.
    """
    if first.clusters != second.clusters:
        raise ValueError("a paired difference needs the same clusters on both sides")
    if first.value is None or second.value is None:
        return None
    difference = first.value - second.value
    if len(first.clusters) < 2:
        return difference, None
    draws = _draws(len(first.clusters), seed, RESAMPLES)
    found = _percentiles(_ratios(draws, first) - _ratios(draws, second))
    if is_share and found is not None and found.high - found.low < NO_DOUBT:
        found = _newcombe(first, second)
    return difference, found


def _newcombe(first: Tally, second: Tally) -> Interval:
    """Newcombe's score interval (method 10, 1998) for a difference of two proportions."""
    shares, bounds = [], []
    for side in (first, second):
        trials = int((side.denominators > 0).sum())
        share = side.value or 0.0
        shares.append(share)
        bounds.append(wilson(share * trials, trials))
    (one, other), (ours, theirs) = shares, bounds
    difference = one - other
    low = difference - sqrt((one - ours.low) ** 2 + (theirs.high - other) ** 2)
    high = difference + sqrt((ours.high - one) ** 2 + (other - theirs.low) ** 2)
    return Interval(max(-1.0, low), min(1.0, high))


def pass_hat(successes: int, trials: int, k: int) -> float:
    """Return pass^k: the chance that k runs drawn from `trials`, of which `successes` went right, all went right."""
    if not 1 <= k <= trials:
        raise ValueError(f"pass^{k} needs at least {k} repetitions, there are {trials}")
    return comb(successes, k) / comb(trials, k)


@dataclass(frozen=True)
class Answer:
    """One case in a risk-coverage curve. `confidence` None: nothing was published, so it's covered last, as wrong."""

    cluster: str
    confidence: float | None
    correct: bool


@dataclass(frozen=True)
class Curve:
    """Risk (share of wrong among the covered) by coverage, and its area with an interval. Points run from 1/n to 1."""

    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    area: float
    interval: Interval | None


def risk_coverage(answers: Sequence[Answer], seed: int) -> Curve | None:
    """Return the risk-coverage curve over `answers`, surest first; None without any.

    Answers of one confidence are exchangeable: each carries their mean error, so no order among them is favoured. The
    area is the mean risk over all coverages: 0 is perfect, an agent that never answers has 1.
    """
    if not answers:
        return None
    order = sorted(answers, key=lambda one: -one.confidence if one.confidence is not None else float("inf"))
    errors = _tied_errors(order)
    risk = np.cumsum(errors) / np.arange(1, len(errors) + 1)
    coverage = np.arange(1, len(errors) + 1) / len(errors)
    return Curve(
        tuple(coverage.tolist()), tuple(risk.tolist()), float(risk.mean()), _area_interval(order, errors, seed)
    )


def _tied_errors(order: Sequence[Answer]) -> Floats:
    wrong = np.array([one.confidence is None or not one.correct for one in order], dtype=np.float64)
    keys = [one.confidence for one in order]
    start = 0
    for end in range(1, len(keys) + 1):
        if end == len(keys) or keys[end] != keys[start]:
            wrong[start:end] = wrong[start:end].mean()
            start = end
    return wrong


def _area_interval(order: Sequence[Answer], errors: Floats, seed: int) -> Interval | None:
    names = sorted({one.cluster for one in order})
    if len(names) < 2:
        return None
    place = {name: index for index, name in enumerate(names)}
    of_answer = np.array([place[one.cluster] for one in order])
    areas = np.empty(CURVE_RESAMPLES)
    for index, draw in enumerate(_draws(len(names), seed, CURVE_RESAMPLES)):
        weights = draw[of_answer]
        covered = np.cumsum(weights)
        risk = np.divide(np.cumsum(weights * errors), covered, out=np.zeros_like(errors), where=covered > 0)
        areas[index] = float((weights * risk).sum() / covered[-1])
    return _percentiles(areas)


def _draws(clusters: int, seed: int, resamples: int) -> Floats:
    """How often each cluster was drawn, by resample: the same draws for the same number of clusters and seed."""
    generator = np.random.default_rng(seed)
    drawn: NDArray[Any] = generator.multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)
    return drawn.astype(np.float64)


def _ratios(draws: Floats, sums: Tally) -> Floats:
    below = draws @ sums.denominators
    missing = np.full_like(below, np.nan)
    return np.divide(draws @ sums.numerators, below, out=missing, where=below > 0)


def _percentiles(values: Floats) -> Interval | None:
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    low, high = np.percentile(known, [2.5, 97.5])
    return Interval(float(low), float(high))
