"""What a diff changes: net lines, changed values, and shapes that can't hurt anything.

Nothing here knows of symptoms; `mechanisms` joins the two.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from graph.models.offline.pairs import ValueChange, value_changes
from graph.models.offline.reporting import ChangedLine, without_reports

_COMMENT = re.compile(r"^(//|/\*|\*|--(?!-)|<!--|;|#(?!\s*(define|include|if|else|endif|pragma))|\"\"\"|''')")
_NOT_TRAILING = re.compile(r"(?<!:)//\s.*$")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_LIST = re.compile(r"\[\s*(?:\"[^\"]*\"|'[^']*'|[\w.-]+)(?:\s*,\s*(?:\"[^\"]*\"|'[^']*'|[\w.-]+))+\s*,?\s*\]")
_ELEMENT = re.compile(r"\"[^\"]*\"|'[^']*'|[\w.-]+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


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
        values=tuple(value_changes(removed, net_added)),
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
