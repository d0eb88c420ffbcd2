"""Suspicions without a known mechanism: what an error, a measured limit or a switched flag says of a change itself.

The phrases are data (`rules/general.toml`); what joins a change to its fault is found in `echoes` and `ties`.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib.resources import files

from graph.models.offline.diffs import Diff, words_of
from graph.models.offline.echoes import Spoken, find_echo, find_number
from graph.models.offline.facts import Case, Change, Series
from graph.models.offline.mechanisms import Match, Mechanism
from graph.models.offline.reach import Reach
from graph.models.offline.reporting import ChangedLine
from graph.models.offline.symptoms import Family, Symptom
from graph.models.offline.ties import SAMPLING, dull_words, find_gauge

_TOLD = Family("told", 2, None, None, None, None)
"""An error of no known family: it is told, and that is all that is known of it."""
_AT_ONCE = timedelta(minutes=10)


@dataclass(frozen=True)
class Ground:
    """Why a change is suspected: the match with its lines, what was seen, and how much the tie is worth."""

    match: Match
    effects: tuple[Symptom, ...]
    worth: int


@cache
def _rules() -> dict[str, Mechanism]:
    table = tomllib.loads(files("graph.models.offline.rules").joinpath("general.toml").read_text("utf-8"))
    return {
        rule["by"]: Mechanism(name=name, effects=(), action=rule["action"], zh=rule["zh"], en=rule["en"])
        for name, rule in table.items()
    }


def find_grounds(case: Case, change: Change, diff: Diff, symptoms: Sequence[Symptom], reach: Reach) -> Iterator[Ground]:
    """Yield what joins a change to the fault by itself."""
    echo = find_echo(case, change, diff, reach)
    if echo is not None:
        match = Match(_rules()["taken" if echo.taken else "brought"], echo.lines, object=echo.token)
        yield Ground(match, (_heard(echo.spoken, symptoms),), 3 if echo.taken else 2)
    number = find_number(case, change, diff, reach)
    if number is not None:
        value, spoken = number
        lines = ((value.file, "-", value.old_line), (value.file, "+", value.new_line))
        yield Ground(Match(_rules()["value"], lines, value=value), (_heard(spoken, symptoms),), 3)
    own = [one for one in symptoms if one.service == change.service and one.at and one.at >= change.at - SAMPLING]
    yield from _by_gauge(case, change, diff, own)
    yield from _by_flag(case, change, diff, own)
    yield from _by_measure(case, change, diff, reach)


def _heard(spoken: Spoken, symptoms: Sequence[Symptom]) -> Symptom:
    known = [one for one in symptoms if one.source.line.raw == spoken.source.line.raw]
    if known:
        return max(known, key=lambda one: one.family.weight)
    return Symptom(_TOLD, spoken.service, spoken.at, spoken.source, spoken.text)


def _by_gauge(case: Case, change: Change, diff: Diff, own: Sequence[Symptom]) -> Iterator[Ground]:
    for value in diff.values:
        lines = ((value.file, "-", value.old_line), (value.file, "+", value.new_line))
        match = Match(_rules()["gauge"], lines, value=value)
        gauge = find_gauge(case, change, match)
        effects = tuple(one for one in own if gauge is not None and one.source is not gauge.source)
        if effects:
            yield Ground(match, effects[:2], 3)


def _by_flag(case: Case, change: Change, diff: Diff, own: Sequence[Symptom]) -> Iterator[Ground]:
    for flag in case.changes:
        if flag.kind != "FLAG" or flag.at <= change.at:
            continue
        lines = tuple(line for line in diff.added if flag.change_id.lower() in line[2].lower())
        effects = [one for one in own if one.at and flag.at - SAMPLING <= one.at <= flag.at + _AT_ONCE]
        if lines and effects and effects[0] is own[0]:
            yield Ground(Match(_rules()["flag"], _context(diff, lines)), tuple(effects[:2]), 3)


def _by_measure(case: Case, change: Change, diff: Diff, reach: Reach) -> Iterator[Ground]:
    """Yield the flipped settings whose own name is what the alerting measure of the service is called."""
    services = {word for name in reach.services for word in words_of(name)}
    alerting = {(one.service, one.metric) for one in case.alerts if one.service == change.service}
    moved = [one for one in case.changed_series if (one.service, one.metric) in alerting and _soon(one, change)]
    for value in diff.values:
        if value.direction not in ("ENABLED", "DISABLED"):
            continue
        key = words_of(f"{value.old_line} {value.new_line}") - dull_words() - services
        for series in moved:
            if key & (words_of(series.metric) - dull_words()):
                seen = Symptom(_TOLD, series.service, series.onset, series.source, series.metric)
                lines = ((value.file, "-", value.old_line), (value.file, "+", value.new_line))
                yield Ground(Match(_rules()["measure"], lines, value=value), (seen,), 3)


def _soon(series: Series, change: Change) -> bool:
    return series.onset is not None and change.at - SAMPLING <= series.onset <= change.at + _AT_ONCE


def _context(diff: Diff, lines: tuple[ChangedLine, ...]) -> tuple[ChangedLine, ...]:
    place = diff.added.index(lines[0])
    return diff.added[place : place + 2]
