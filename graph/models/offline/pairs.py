"""Which values a diff changes: the old and the new one, paired by their lines or by their names."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph.models.offline.quantities import Value, compare, find_values, unit_beside
from graph.models.offline.reporting import ChangedLine

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNIT = re.compile(
    r"timeunit|duration|(of)?(nanos|millis|((nano|micro|milli)?seconds)|minutes|hours|days)", re.IGNORECASE
)
_CONSTANT = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|(?<=\.)[A-Z]{3,}\b")
_NAMED = re.compile(
    r"(?P<name>[A-Za-z_][\w.-]{3,})[\"']?\s*(?::\s*[A-Za-z]\w*\s*)?[:=,]\s*"
    r"(?P<value>\"[^\"]*\"|'[^']*'|-?\d[\w.]*|true\b|false\b|True\b|False\b)"
)


@dataclass(frozen=True)
class ValueChange:
    """A value that a changed line set before and sets now.

    `direction`: LOWERED, RAISED, ENABLED, DISABLED, VERBOSE, QUIET or CHANGED; `ratio` is how many times larger the
    larger one is (infinite from or to zero, 1.0 where it can't be told).
    """

    file: str
    old_line: str
    new_line: str
    old: Value
    new: Value
    direction: str
    ratio: float


def value_changes(removed: Sequence[ChangedLine], added: Sequence[ChangedLine]) -> list[ValueChange]:
    """Return the values that changed: on lines that are else alike, and where a name has another literal elsewhere."""
    changes: list[ValueChange] = []
    free, alone = list(added), []
    for old in removed:
        partner = _partner(old, free)
        if partner is None:
            alone.append(old)
            continue
        free.remove(partner)
        changes.extend(_differences(old, partner) or _other_unit(old, partner) or _other_constant(old, partner))
    return [*changes, *_by_name(alone, free)]


def _by_name(removed: Sequence[ChangedLine], added: Sequence[ChangedLine]) -> Iterator[ValueChange]:
    """Yield the names that had one literal on a removed line and have another one on an added line of the same file."""
    before, after = _named_literals(removed), _named_literals(added)
    for key in before.keys() & after.keys():
        (old_line, old), (new_line, new) = before[key], after[key]
        if old.text != new.text:
            direction, ratio = compare(old, new, old_line, new_line)
            if direction:
                yield ValueChange(key[0], old_line, new_line, old, new, direction, ratio)


def _named_literals(lines: Sequence[ChangedLine]) -> dict[tuple[str, str], tuple[str, Value]]:
    found: dict[tuple[str, str], tuple[str, Value]] = {}
    twice: set[tuple[str, str]] = set()
    for file, _, text in lines:
        for match in _NAMED.finditer(text):
            key = (file, match["name"].lower())
            value = next(iter(find_values(match["value"])), None)
            twice |= {key} & found.keys()
            if value is not None:
                found[key] = (text, value)
    return {key: value for key, value in found.items() if key not in twice}


def _other_unit(old: ChangedLine, new: ChangedLine) -> list[ValueChange]:
    """Return the change of the unit alone, where the two lines read a quantity in different ones."""
    before, after = unit_beside(old[2]), unit_beside(new[2])
    if not before or not after or before == after:
        return []
    one, other = (Value(unit, 0, 0, 1.0, unit) for unit in (before, after))
    direction, ratio = compare(one, other, old[2], new[2])
    return [ValueChange(old[0], old[2], new[2], one, other, direction, ratio)] if direction else []


def _other_constant(old: ChangedLine, new: ChangedLine) -> list[ValueChange]:
    """Return the change of the one constant in which two lines differ."""
    before, after = _CONSTANT.findall(old[2]), _CONSTANT.findall(new[2])
    gone, come = [one for one in before if one not in after], [one for one in after if one not in before]
    if len(gone) != 1 or len(come) != 1 or old[2].replace(gone[0], come[0]) != new[2]:
        return []
    return [ValueChange(old[0], old[2], new[2], Value(gone[0], 0, 0), Value(come[0], 0, 0), "CHANGED", 1.0)]


def _partner(old: ChangedLine, candidates: list[ChangedLine]) -> ChangedLine | None:
    values = find_values(old[2])
    if not values and not _CONSTANT.search(old[2]) and not unit_beside(old[2]):
        return None
    best, best_likeness = None, 0.59
    for candidate in candidates:
        if candidate[0] != old[0] or len(find_values(candidate[2])) != len(values):
            continue
        likeness = _likeness(old[2], candidate[2])
        if likeness > best_likeness:
            best, best_likeness = candidate, likeness
    return best


def _likeness(one: str, other: str) -> float:
    mine, theirs = _skeleton_words(one), _skeleton_words(other)
    if not mine or not theirs:
        return 0.0
    return len(mine & theirs) / len(mine | theirs)


def _skeleton_words(text: str) -> set[str]:
    for value in reversed(find_values(text)):
        text = text[: value.start] + " " + text[value.end :]
    return {word.lower() for word in _WORD.findall(text) if not _UNIT.fullmatch(word)}


def _differences(old: ChangedLine, new: ChangedLine) -> list[ValueChange]:
    found = []
    for before, after in zip(find_values(old[2]), find_values(new[2]), strict=True):
        if before.text == after.text:
            continue
        direction, ratio = compare(before, after, old[2], new[2])
        if direction:
            found.append(ValueChange(old[0], old[2], new[2], before, after, direction, ratio))
    return found
