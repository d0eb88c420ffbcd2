"""What a diff takes away or brings in by name, and whether the errors that came after it say that very name.

The most general tie that there is: a permission, a scope, an option or a limit that an error names, and that a change
touched. Names in log and throw calls are no part of a diff here (`reporting`): they only say why a message reads so.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from graph.models.offline.diffs import Diff, words_of
from graph.models.offline.facts import Case, Change, Source
from graph.models.offline.pairs import ValueChange
from graph.models.offline.quantities import find_values, scale, unit_beside
from graph.models.offline.reach import Reach
from graph.models.offline.reporting import ChangedLine

_SLACK = timedelta(seconds=60)
_SOON = timedelta(minutes=30)
_LOUD = {"WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "ALERT", "EMERGENCY", "SEVERE"}
_NAME = re.compile(r"[A-Za-z_*][\w*]*(?:[.:/-][A-Za-z_*][\w*]*)*")
_COMPOUND = re.compile(r"\w[.:_/-]\w|[a-z][A-Z]")
_LIMIT = re.compile(r"time_?out|deadline|limit|max|threshold|pool|quota|capacity|ttl|expir", re.IGNORECASE)
_QUALIFIED = re.compile(r"\w[.:/-]\w")
_QUANTITY = re.compile(
    r"(?<![\w.])(\d[\d_]*(?:\.\d+)?)\s*(ms|s|sec|seconds?|min|minutes?|h|hours?|[KMG]i?B?|%)?(?![\w.]*\d)"
)


@dataclass(frozen=True)
class Spoken:
    """What an error said, where and when it came up; `source` is its line."""

    service: str
    text: str
    at: datetime | None
    source: Source


@dataclass(frozen=True)
class Echo:
    """A name or number of a diff that an error says: the changed lines that hold it, and the error."""

    token: str
    taken: bool
    lines: tuple[ChangedLine, ...]
    spoken: Spoken


def spoken_after(case: Case, change: Change, reach: Reach) -> list[Spoken]:
    """Return the errors that came up soon after a change, at its service or at one that calls it or that it calls."""
    near = reach.of(change.service, "callers") | reach.of(change.service, "callees")
    told = [
        Spoken(one.service, one.text, one.first_seen, one.source) for one in case.signatures if one.severity in _LOUD
    ]
    spans = [Spoken(one.service, one.text, one.at, one.source) for one in case.spans if one.text]
    return [
        one
        for one in (*told, *spans)
        if one.service in near and one.at is not None and change.at - _SLACK <= one.at <= change.at + _SOON
    ]


def find_echo(case: Case, change: Change, diff: Diff, reach: Reach) -> Echo | None:
    """Return the name that the change took away, else brought in, and that a new error says; None where there is none.

    A name counts where it is compound (`s3:PutObject`, `orders.read`, `max_poll`), no service's, and wasn't said
    before. One that was brought in counts at the changed service alone, and as a path or a qualified name alone: a
    plain one is a field of the data, which everybody names.
    """
    before, after = _names(diff.before), _names(diff.block)
    said_before = _names("\n".join(_said_before(case, change)))
    services = {part for service in reach.services for part in (service.lower(), *_names(service))}
    for taken, names in ((True, before - after), (False, after - before)):
        for spoken in spoken_after(case, change, reach):
            shared = (names & _names(reach.masked(spoken.text))) - said_before - services
            if not taken:
                shared = {one for one in shared if _QUALIFIED.search(one) and spoken.service == change.service}
            if shared:
                token = max(shared, key=lambda one: (len(one), one))
                lines = diff.removed if taken else diff.added
                return Echo(token, taken, tuple(line for line in lines if token in line[2].lower())[:2], spoken)
    return None


def find_number(case: Case, change: Change, diff: Diff, reach: Reach) -> tuple[ValueChange, Spoken] | None:
    """Return the value that a change set and that a new error says: by its unit, its digits, or a word beside it.

    A limit that was raised isn't what is run into.
    """
    for value in diff.values:
        if value.direction == "RAISED" and _LIMIT.search(value.new_line):
            continue
        for spoken in spoken_after(case, change, reach):
            if value.new.number is not None and _says(spoken.text, value):
                return value, spoken
    return None


def _says(text: str, value: ValueChange) -> bool:
    new, old = scale(value.new, value.new_line), scale(value.old, value.old_line)
    beside, unit = words_of(value.new_line), value.new.unit or unit_beside(value.new_line)
    said = False
    for found in _QUANTITY.finditer(text):
        inner = next(iter(find_values(found[0])), None)
        number = scale(inner, found[0]) if inner is not None else float(found[1].replace("_", ""))
        if number == old and len(found[1]) > 2:
            return False
        near = words_of(text[max(found.start() - 24, 0) : found.start()]) & beside
        bare = float(found[1].replace("_", ""))
        same = abs(number - new) <= 1e-6 * abs(new) or bare == value.new.number
        said = said or (same and (bool(near) or bool(found[2] and unit)) and new != 0)
    return said


def _said_before(case: Case, change: Change) -> Iterable[str]:
    for one in case.signatures:
        if one.first_seen is not None and one.first_seen < change.at - _SLACK:
            yield one.text


def _names(text: str) -> set[str]:
    return {
        name.lower()
        for name in _parts(_NAME.findall(text))
        if len(name) >= 6 and _COMPOUND.search(name) and not name.startswith(("http", "www."))
    }


def _parts(names: Sequence[str]) -> Iterable[str]:
    for name in names:
        yield name
        if "." in name:
            yield name.rsplit(".", 1)[-1]
