"""What a diff changes: net lines, changed values, and shapes that can't hurt anything.

Nothing here knows of symptoms; `mechanisms` joins the two.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from graph.models.offline.quantities import Value, compare, find_values
from graph.models.offline.reporting import without_reports

ChangedLine = tuple[str, str, str]
"""(file, "-" or "+", text without the sign and outer blanks)."""

_COMMENT = re.compile(r"^(//|/\*|\*|--(?!-)|<!--|;|#(?!\s*(define|include|if|else|endif|pragma))|\"\"\"|''')")
_NOT_TRAILING = re.compile(r"(?<!:)//\s.*$")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_LIST = re.compile(r"\[\s*(?:\"[^\"]*\"|'[^']*'|[\w.-]+)(?:\s*,\s*(?:\"[^\"]*\"|'[^']*'|[\w.-]+))+\s*,?\s*\]")
_ELEMENT = re.compile(r"\"[^\"]*\"|'[^']*'|[\w.-]+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


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


@dataclass(frozen=True)
class Diff:
    """The net effect of a change's lines: comments, moved lines, white space and what only reports are gone.

    `block` holds all added code lines with the moved ones left in, for patterns that span lines; `before` all removed
    ones. `reports`: whether lines were left out because they only report.
    """

    files: tuple[str, ...]
    removed: tuple[ChangedLine, ...]
    added: tuple[ChangedLine, ...]
    values: tuple[ValueChange, ...]
    block: str
    before: str
    shown: bool
    reports: bool


def read_diff(files: tuple[str, ...], lines: Sequence[ChangedLine]) -> Diff:
    """Return the net effect of the shown changed lines of a change that touched `files`."""
    written = [(file, sign, _NOT_TRAILING.sub("", text).strip()) for file, sign, text in lines if _is_code(text)]
    code = without_reports(written)
    removed = [line for line in code if line[1] == "-"]
    added = [line for line in code if line[1] == "+"]
    before = "\n".join(text for _, _, text in removed)
    removed, net_added = _without_moved(removed, added)
    return Diff(
        files=files,
        removed=tuple(removed),
        added=tuple(net_added),
        values=tuple(_value_changes(removed, net_added)),
        block="\n".join(text for _, _, text in added),
        before=before,
        shown=bool(lines),
        reports=code != written,
    )


def _is_code(text: str) -> bool:
    return bool(text.strip()) and not _COMMENT.match(text.strip())


def _squeezed(text: str) -> str:
    """Return a line without white space and with its lists sorted: another order takes nothing away."""
    text = _LIST.sub(lambda found: "".join(sorted(_ELEMENT.findall(found[0]))), text)
    text = _STRING.sub(lambda found: "".join(sorted(re.split(r"[\s,:;|]+", found[0][1:-1]))), text)
    return re.sub(r"\s+", "", text).rstrip(",;")


def _without_moved(removed: list[ChangedLine], added: list[ChangedLine]) -> tuple[list[ChangedLine], list[ChangedLine]]:
    both = Counter(_squeezed(text) for _, _, text in removed) & Counter(_squeezed(text) for _, _, text in added)

    def rest(lines: list[ChangedLine]) -> list[ChangedLine]:
        left = Counter(both)
        kept = []
        for line in lines:
            key = _squeezed(line[2])
            if left[key]:
                left[key] -= 1
            else:
                kept.append(line)
        return kept

    return rest(removed), rest(added)


def words_of(text: str) -> set[str]:
    """Return the words of a text or identifier, lower case, camel and snake case split, plural `s` cut off."""
    found = set()
    for identifier in _WORD.findall(text):
        for part in _CAMEL.findall(identifier):
            word = part.lower()
            found.add(word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word)
    return {word for word in found if len(word) > 2}


def identifiers_of(text: str) -> set[str]:
    """Return the long compound identifiers of a text (snake or camel case, at least six characters), lower case."""
    return {
        name.lower()
        for name in _WORD.findall(text)
        if len(name) >= 6 and ("_" in name.strip("_") or re.search(r"[a-z][A-Z]", name))
    }


def _value_changes(removed: list[ChangedLine], added: list[ChangedLine]) -> list[ValueChange]:
    changes: list[ValueChange] = []
    free = list(added)
    for old in removed:
        partner = _partner(old, free)
        if partner is None:
            continue
        free.remove(partner)
        changes.extend(_differences(old, partner))
    return changes


def _partner(old: ChangedLine, candidates: list[ChangedLine]) -> ChangedLine | None:
    values = find_values(old[2])
    if not values:
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
    return {word.lower() for word in _WORD.findall(text)}


def _differences(old: ChangedLine, new: ChangedLine) -> list[ValueChange]:
    found = []
    for before, after in zip(find_values(old[2]), find_values(new[2]), strict=True):
        if before.text == after.text:
            continue
        direction, ratio = compare(before, after, old[2], new[2])
        if direction:
            found.append(ValueChange(old[0], old[2], new[2], before, after, direction, ratio))
    return found
