"""Whether a lowered limit can bite: its new value held against what was measured before the change.

A limit that leaves room for normal use isn't what normal use runs into, however well it fits the symptoms: a pool fills
and a call is cut off as well because the party that is called got slow. What tells the use of a limit is data
(`rules/room.toml`).
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from graph.models.offline.diffs import Diff
from graph.models.offline.facts import Case, Change, Series
from graph.models.offline.mechanisms import Match, mechanisms, snake
from graph.models.offline.pairs import ValueChange
from graph.models.offline.quantities import Value, amount_in, scale, unit_beside
from graph.models.offline.reach import Reach

NEEDED = 1.2
"""How many times the measured use a limit has to be to leave room for it."""
NEEDED_OF_MEAN = 5.0
"""The same for a mean or median: of durations that are spread exponentially, one of a hundred is 4.6 times the mean."""
_BARE_SECONDS = 60
"""Timeouts without a unit: nobody sets milliseconds as few as that, and larger numbers are read as milliseconds, which
is the reading that leaves less room."""
_WHOLE = 1.5
"""No share is as large as this: what is larger is told in percent."""

_SHARE = re.compile(r"(?<![a-z])ratio|utili[sz]ation|saturation|percent|pct|share", re.IGNORECASE)
_PERCENT = re.compile(r"percent|pct", re.IGNORECASE)
_USAGE = re.compile(r"usage", re.IGNORECASE)
"""May be a count as well as a share: then the larger of the two counts."""
_TAIL = re.compile(r"p9[5-9]|p999?|q9[5-9]|9[5-9](th|\b)|(^|_)max(_|$)", re.IGNORECASE)
_SUBJECTS = tuple(
    re.compile(rf"(?<![a-z])({words})", re.IGNORECASE)
    for words in (
        r"db|database|statement|sql|jdbc|hikari|data_?source|pg|postgres|mysql|mongo",
        r"redis|lettuce|jedis|memcache",
        r"https?|grpc|rest|upstream",
        r"kafka|rabbit|amqp|nats|pulsar",
    )
)


@dataclass(frozen=True)
class Kind:
    """One sort of limit; see the head of `rules/room.toml` for the fields."""

    name: str
    key: re.Pattern[str]
    key_not: re.Pattern[str]
    use: re.Pattern[str]
    use_not: re.Pattern[str]
    mechanisms: tuple[str, ...] = ()
    unit: str = ""
    rival: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Room:
    """What was measured of the use of a limit: the series that comes nearest to it, and whether room is left."""

    series: Series
    left: bool


@cache
def kinds() -> tuple[Kind, ...]:
    """Return every sort of limit, read once from the rules."""
    table = tomllib.loads(files("graph.models.offline.rules").joinpath("room.toml").read_text("utf-8"))
    return tuple(_kind(name, rule) for name, rule in table.items())


def _kind(name: str, rule: dict[str, str | list[str]]) -> Kind:
    patterns = {
        key: re.compile(str(rule[key]), re.IGNORECASE) for key in ("key", "key_not", "use", "use_not") if key in rule
    }
    rival = re.compile(str(rule["rival"]), re.IGNORECASE) if "rival" in rule else None
    return Kind(
        name=name, mechanisms=tuple(rule.get("mechanisms", ())), unit=str(rule.get("unit", "")), rival=rival, **patterns
    )


def lowered_limit(match: Match, diff: Diff) -> tuple[Kind, ValueChange] | None:
    """Return the limit that the changed lines of a match lower, with its sort, or None where they do anything else."""
    values = [match.value] if match.value is not None else _values_on(match, diff)
    if len(values) != 1 or values[0].direction != "LOWERED" or values[0].new.start == values[0].new.end:
        return None
    line = snake(values[0].new_line)
    known = {one.name for one in mechanisms()}
    name = match.mechanism.name
    for kind in kinds():
        if (name in kind.mechanisms or name not in known) and kind.key.search(line) and not kind.key_not.search(line):
            return kind, values[0]
    return None


def _values_on(match: Match, diff: Diff) -> list[ValueChange]:
    """Return the changed values of a match that came without one, if they are all that its lines change."""
    found = [
        one
        for one in diff.values
        if (one.file, "-", one.old_line) in match.lines or (one.file, "+", one.new_line) in match.lines
    ]
    told = {line for one in found for line in ((one.file, "-", one.old_line), (one.file, "+", one.new_line))}
    return found if set(match.lines) <= told else []


def measured_room(case: Case, change: Change, limit: tuple[Kind, ValueChange], reach: Reach) -> Room | None:
    """Return what the baselines of the service say of a lowered limit, or None where none of them measures it.

    A timeout is held against the durations of those that the service calls, too. Where several measures match, the
    one that comes nearest to the new value counts.
    """
    kind, value = limit
    old, new = _limit_amount(kind, value.old, value.old_line), _limit_amount(kind, value.new, value.new_line)
    if old is None or new is None or not change.service:
        return None
    where = reach.of(change.service, "callees") if kind.name == "timeout" else {change.service}
    found = [
        (needed, series)
        for series in _measures(case, kind, value, where)
        if (needed := _needed(kind, series, old)) is not None
    ]
    if not found:
        return None
    needed, series = max(found, key=lambda one: (one[0], one[1].service, one[1].metric))
    return Room(series, new >= needed)


def _measures(case: Case, kind: Kind, value: ValueChange, where: Iterable[str]) -> Iterator[Series]:
    services = set(where)
    matching = [
        one
        for one in case.series
        if one.service in services
        and one.baseline
        and kind.use.search(one.metric)
        and not kind.use_not.search(one.metric)
        and _same_subject(one.metric, f"{value.file} {snake(value.new_line)}")
    ]
    for series in matching:
        tails = [one for one in matching if one.service == series.service and _TAIL.search(one.metric)]
        if kind.name != "timeout" or not tails or series in tails:
            yield series


def _same_subject(metric: str, setting: str) -> bool:
    """Whether a measure and a setting don't name different things: the pool of a database, of a cache, of a client."""
    one = {number for number, pattern in enumerate(_SUBJECTS) if pattern.search(metric)}
    other = {number for number, pattern in enumerate(_SUBJECTS) if pattern.search(setting)}
    return not one or not other or bool(one & other)


def _needed(kind: Kind, series: Series, old: float) -> float | None:
    """Return the least limit that leaves room for a measured use, in the unit of the limit; None where unknown."""
    baseline = series.baseline or 0.0
    if _SHARE.search(series.metric):
        if kind.name == "timeout":
            return None
        return NEEDED * old * _as_share(series)
    amount = amount_in(series.metric, baseline, kind.unit)
    if amount is None:
        return None
    if not kind.unit and _USAGE.search(series.metric):
        amount = max(amount, old * _as_share(series))
    return amount * (NEEDED_OF_MEAN if kind.name == "timeout" and not _TAIL.search(series.metric) else NEEDED)


def _as_share(series: Series) -> float:
    """Return a baseline as a share of one: what is named percent, or is larger than any share, is told in percent."""
    baseline = series.baseline or 0.0
    percent = _PERCENT.search(series.metric) or max(baseline, series.extreme or 0.0) > _WHOLE
    return baseline / 100 if percent else baseline


def _limit_amount(kind: Kind, value: Value, line: str) -> float | None:
    if value.number is None:
        return None
    if not kind.unit or value.unit or unit_beside(line):
        return scale(value, line)
    setting = snake(line[: value.start] or line)
    named = amount_in(setting, value.number, kind.unit)
    if named is not None or kind.unit != "seconds":
        return named
    return value.number if value.number <= _BARE_SECONDS else value.number / 1000
