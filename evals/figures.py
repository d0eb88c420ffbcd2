"""The figures of a suite and a target, each a ratio of sums over rows; `docs/evals.md` defines them for readers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evals.cases import ANSWERABLE, CONFIDENCE, CORRECT, RELEASED, SUFFICED_AFTER
from evals.results import Row
from evals.statistics import (
    Answer,
    Curve,
    Interval,
    Tally,
    paired_difference,
    pass_hat,
    proportion_interval,
    ratio_interval,
    risk_coverage,
    tally,
)
from evals.targets import WITHOUT_STOP, ZHIZHI

FRAME_SCORES = frozenset({RELEASED, CORRECT, ANSWERABLE, CONFIDENCE, SUFFICED_AFTER})
"""Scores that the frame's own figures are made of."""

Part = tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """One reported number with its 95 % interval. `n`: how many items have a say in it."""

    value: float
    interval: Interval | None
    n: int
    is_share: bool = True

    def stored(self) -> dict[str, Any]:
        """Return the figure as JSON values."""
        bounds = (self.interval.low, self.interval.high) if self.interval else (None, None)
        return {"value": self.value, "low": bounds[0], "high": bounds[1], "n": self.n, "share": self.is_share}


@dataclass(frozen=True)
class Measure:
    """How a figure is made of rows. `part` gives a row's numerator and denominator, None where the row has no say."""

    name: str
    label: str
    part: Callable[[Row], Part | None]
    is_share: bool = True


def is_right(row: Row) -> bool | None:
    """Whether the run ended as it had to: the right conclusion, or none where there is no right one."""
    answerable, released, correct = (row.values.get(name) for name in (ANSWERABLE, RELEASED, CORRECT))
    if answerable is None or released is None:
        return None if correct is None else bool(correct)
    return bool(released and correct) if answerable else not released


def is_false_release(row: Row) -> bool | None:
    """Whether a conclusion was published that isn't right, or where none can be."""
    answerable, released, correct = (row.values.get(name) for name in (ANSWERABLE, RELEASED, CORRECT))
    if answerable is None or released is None:
        return None
    return bool(released and not (answerable and correct))


def _share(holds: bool | None) -> Part | None:
    return None if holds is None else (float(holds), 1.0)


def _when(row: Row, answerable: bool, holds: Callable[[Row], bool | None]) -> Part | None:
    return _share(holds(row)) if row.values.get(ANSWERABLE) is answerable else None


def _released(row: Row) -> bool | None:
    value = row.values.get(RELEASED)
    return None if value is None else bool(value)


def _abstained(row: Row) -> bool | None:
    released = _released(row)
    return None if released is None else not released


def _selective(row: Row) -> Part | None:
    if not row.values.get(ANSWERABLE) or not _released(row):
        return None
    return _share(bool(row.values.get(CORRECT)))


def _calls_per_right(row: Row) -> Part | None:
    right = is_right(row)
    return None if right is None or row.outcome is None else (float(row.calls), float(right))


def _mean(value: float | None) -> Part | None:
    return None if value is None else (float(value), 1.0)


MEASURES = (
    Measure("right_outcome", "right outcome", lambda row: _share(is_right(row))),
    Measure("accuracy", "accuracy (answerable)", lambda row: _when(row, True, is_right)),
    Measure("coverage", "coverage", lambda row: _when(row, True, _released)),
    Measure("selective_accuracy", "selective accuracy", _selective),
    Measure("false_release", "false release", lambda row: _share(is_false_release(row))),
    Measure("false_release_answerable", "… answerable", lambda row: _when(row, True, is_false_release)),
    Measure("false_release_unanswerable", "… unanswerable", lambda row: _when(row, False, is_false_release)),
    Measure("over_abstention", "over-abstention", lambda row: _when(row, True, _abstained)),
    Measure("calls", "tool calls", lambda row: _mean(row.calls if row.outcome else None), is_share=False),
    Measure("calls_per_right", "calls per right outcome", _calls_per_right, is_share=False),
    Measure("calls_after_sufficed", "calls after it sufficed", lambda r: _mean(r.calls_after_sufficed), is_share=False),
    Measure("calls_after_gain", "calls after the last gain", lambda r: _mean(r.calls_after_gain), is_share=False),
    Measure("model_calls", "model calls", lambda row: _mean(row.model_calls if row.outcome else None), is_share=False),
    Measure("tokens", "tokens", lambda row: _mean(row.tokens), is_share=False),
    Measure("seconds", "seconds", lambda row: _mean(row.seconds if row.outcome else None), is_share=False),
)
COMPARED = ("right_outcome", "accuracy", "selective_accuracy", "coverage", "false_release", "calls", "calls_per_right")
"""The figures whose paired differences are reported."""


def of_target(rows: Iterable[Row], suite: str, target: str) -> list[Row]:
    """Return the rows of a target in a suite that didn't fail."""
    return [row for row in rows if row.suite == suite and row.target == target and row.failure is None]


def figures(rows: Sequence[Row], suite: str, target: str, *, repeat: int, seed: int) -> dict[str, Figure]:
    """Return every figure that the suite's rows of `target` have a say in, the frame's first, then the suite's."""
    own = of_target(rows, suite, target)
    found = {measure.name: _figure(own, measure, seed) for measure in (*MEASURES, *_suites_measures(own))}
    found["missed_by_stop"] = _missed_by_stop(rows, suite, target, seed)
    found |= {f"pass^{k}": _pass_hat(own, k, seed) for k in range(1, repeat + 1) if repeat > 1}
    curve = curve_of(own, seed)
    found["aurc"] = Figure(curve.area, curve.interval, len(curve.risk), is_share=False) if curve else None
    return {name: figure for name, figure in found.items() if figure is not None}


def curve_of(own: Sequence[Row], seed: int) -> Curve | None:
    """Return the risk-coverage curve over the answerable cases of one target's rows."""
    return risk_coverage([_answer(row) for row in own if row.values.get(ANSWERABLE)], seed)


def differences(rows: Sequence[Row], suite: str, first: str, second: str, *, seed: int) -> dict[str, Figure]:
    """Return `first - second` for the compared figures, over the cells that both have, clusters resampled together."""
    ours = {row.pair: row for row in of_target(rows, suite, first)}
    theirs = {row.pair: row for row in of_target(rows, suite, second)}
    return differences_between([(ours[p], theirs[p]) for p in sorted(ours.keys() & theirs.keys())], seed=seed)


def differences_between(pairs: Sequence[tuple[Row, Row]], *, seed: int) -> dict[str, Figure]:
    """Return first minus second for the compared figures, over pairs of rows of the same case."""
    found: dict[str, Figure] = {}
    for measure in (measure for measure in MEASURES if measure.name in COMPARED):
        first, second = (_tally_side(pairs, side, measure.part) for side in (0, 1))
        difference = paired_difference(first, second, seed, is_share=measure.is_share) if pairs else None
        if difference is not None:
            found[measure.name] = Figure(difference[0], difference[1], len(pairs), measure.is_share)
    return found


def labels(names: Iterable[str]) -> dict[str, str]:
    """Return for each figure's name what a reader sees."""
    known = {measure.name: measure.label for measure in MEASURES}
    known |= {"missed_by_stop": "missed because collection stopped", "aurc": "AURC"}
    return {name: known.get(name, name.replace("_", " ")) for name in names}


def _figure(own: Sequence[Row], measure: Measure, seed: int) -> Figure | None:
    parts = [(row.cluster, *part) for row in own if (part := measure.part(row)) is not None]
    sums = tally(parts)
    if sums.value is None:
        return None
    interval = proportion_interval(sums, seed) if measure.is_share else ratio_interval(sums, seed)
    return Figure(sums.value, interval, sums.count, measure.is_share)


def _tally_side(pairs: Sequence[tuple[Row, Row]], side: int, part: Callable[[Row], Part | None]) -> Tally:
    """A row without a say stays in with nothing in either sum, so that both sides keep the same clusters."""
    return tally((pair[0].cluster, *(part(pair[side]) or (0.0, 0.0))) for pair in pairs)


def _suites_measures(own: Sequence[Row]) -> list[Measure]:
    names = dict.fromkeys(name for row in own for name in row.values if name not in FRAME_SCORES)
    return [_suites_measure(own, name) for name in names]


def _suites_measure(own: Sequence[Row], name: str) -> Measure:
    """A suite may call a score as the frame calls a figure, and mean another thing."""
    is_share = all(isinstance(row.values.get(name), bool | None) for row in own)
    known = {measure.name for measure in MEASURES}
    return Measure(f"suite_{name}" if name in known else name, name, partial(_own_score, name), is_share=is_share)


def _own_score(name: str, row: Row) -> Part | None:
    value = row.values.get(name)
    return None if value is None else (float(value), 1.0)


def _answer(row: Row) -> Answer:
    confidence = row.values.get(CONFIDENCE)
    sure = float(confidence) if confidence is not None else 0.0
    return Answer(row.cluster, sure if _released(row) else None, bool(row.values.get(CORRECT)))


def _pass_hat(own: Sequence[Row], k: int, seed: int) -> Figure | None:
    outcomes: dict[tuple[str, str], list[bool]] = {}
    for row in own:
        if (right := is_right(row)) is not None:
            outcomes.setdefault((row.cluster, row.case_id), []).append(right)
    parts = [(cluster, pass_hat(sum(runs), len(runs), k), 1.0) for (cluster, _), runs in outcomes.items()
             if len(runs) >= k]  # fmt: skip
    sums = tally(parts)
    return None if sums.value is None else Figure(sums.value, ratio_interval(sums, seed), sums.count)


def _missed_by_stop(rows: Sequence[Row], suite: str, target: str, seed: int) -> Figure | None:
    """Answerable cells that a stop ended without a conclusion, and that the same agent without the stop got right."""
    if target.partition("@")[0] != ZHIZHI:
        return None
    twin = target.replace(ZHIZHI, WITHOUT_STOP, 1)
    right: Mapping[tuple[str, str, int], bool] = {row.pair: bool(is_right(row)) for row in of_target(rows, suite, twin)}

    def missed(row: Row) -> Part | None:
        if row.pair not in right or not row.values.get(ANSWERABLE):
            return None
        return _share(bool(row.stop_reason) and not _released(row) and right[row.pair])

    return _figure(of_target(rows, suite, target), Measure("missed_by_stop", "", missed), seed)
