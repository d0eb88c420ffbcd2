"""What joins a change to the symptoms beyond its mechanism: a gauge, a number, a name, a file, a flag."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib.resources import files

from graph.models.offline.diffs import Diff, identifiers_of, words_of
from graph.models.offline.facts import Case, Change, Series
from graph.models.offline.mechanisms import Match
from graph.models.offline.quantities import find_values, scale
from graph.models.offline.symptoms import Symptom

SAMPLING = timedelta(seconds=60)
"""A sample of a minute may stand before a change that fell into that minute."""


@cache
def dull_words() -> frozenset[str]:
    """Return the words that stand in every program and every log, and join nothing."""
    return frozenset(files("graph.models.offline.rules").joinpath("dull_words.txt").read_text("utf-8").split())


@dataclass(frozen=True)
class Tie:
    """What joins a diff to the symptoms beyond the mechanism. `score` adds to the suspicion."""

    score: int = 0
    words: frozenset[str] = frozenset()
    series: Series | None = None
    named_file: bool = False
    new_names: bool = False
    """Whether the symptoms speak of a name that the change brought in."""


def find_tie(case: Case, change: Change, match: Match, diff: Diff, symptoms: Sequence[Symptom]) -> Tie:
    """Return what joins the changed lines of a match to the symptoms that came after the change."""
    gauge = find_gauge(case, change, match)
    if gauge is not None:
        return Tie(3, series=gauge)
    after = [one for one in symptoms if one.at is not None and one.at >= change.at - SAMPLING]
    spoken = "\n".join(one.text for one in after)
    services = set().union(*(words_of(name) for name in {one.service for one in after} | {change.service}), set())
    changed = "\n".join(text for _, _, text in (*match.lines, *diff.added, *diff.removed))
    names = identifiers_of(changed) & identifiers_of(spoken)
    words = (words_of("\n".join(text for _, _, text in match.lines)) & words_of(spoken)) - dull_words() - services
    named = _named_file(change.files, spoken)
    score = 2 if names or named else min(len(words), 2)
    score += 2 if _number_spoken(match, spoken) else 0
    score += 2 if _flag_flipped(case, change, changed) else 0
    brought = "\n".join(text for _, _, text in diff.added)
    left = "\n".join(text for _, _, text in diff.removed)
    fresh = (identifiers_of(brought) - identifiers_of(left)) & identifiers_of(spoken)
    return Tie(min(score, 3), frozenset(words | names), named_file=named, new_names=bool(fresh))


def _flag_flipped(case: Case, change: Change, changed: str) -> bool:
    """Whether a flag that the changed lines ask for was switched after they went live."""
    return any(
        flag.kind == "FLAG" and flag.at >= change.at and flag.change_id.lower() in changed.lower()
        for flag in case.changes
    )


def _named_file(files: Iterable[str], spoken: str) -> bool:
    """Whether a stack trace names a file of the change."""
    bases = (file.rsplit("/", 1)[-1] for file in files)
    return any(re.search(rf"(?<![\w.]){re.escape(base)}(:\d+|\W+line \d+)", spoken) for base in bases if "." in base)


def _number_spoken(match: Match, spoken: str) -> bool:
    """Whether an error tells the very number that the change set (three digits at least: small ones are everywhere)."""
    new = " ".join(text for _, sign, text in match.lines if sign == "+")
    numbers = (f"{value.number:g}" for value in find_values(new) if value.number is not None)
    return any(len(number) > 2 and re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", spoken) for number in numbers)


def find_gauge(case: Case, change: Change, match: Match) -> Series | None:
    """Return the series that moved from the old value of a match to the new one, after the change, if there is one."""
    value = match.value
    if value is None or value.old.number is None or value.new.number is None:
        return None
    old, new = scale(value.old, value.old_line), scale(value.new, value.new_line)
    for series in case.changed_series:
        if series.service != change.service or series.baseline is None or series.onset is None:
            continue
        reached = {series.last, series.extreme}
        for unit in (1.0, 1000.0, 1 / 1024**2, 1e-6):
            if _near(series.baseline, old * unit) and any(
                one is not None and _near(one, new * unit) for one in reached
            ):
                return series if series.onset >= change.at - SAMPLING else None
    return None


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 0.001 * max(abs(one), abs(other), 1e-9)
