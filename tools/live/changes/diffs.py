"""Differences as bounded unified diffs: of patches that a backend wrote, and of two versions of a configuration.

Written so that the frozen side's reader can't be misled: a file is named by one `+++` line of ours, and no changed line
reads like one. Values of configurations that are secrets are masked here already, so that a change of one is still seen
as a change; everything else is masked with the whole answer.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from tools.hygiene import clean_text
from tools.live.changes.records import shown_path
from tools.masking import mask_field, mask_secrets

BRIEF_LINES = 60
"""How many changed lines of one change are kept for a list; more than are ever told of one there."""
WHOLE_LINES = 450
"""How many changed lines are kept of a change asked for by itself."""
MAX_LINE = 1_000
MAX_CONFIG_LINES = 20_000

_KEY_AND_VALUE = re.compile(r"(?P<head>\s*(?:-\s+)?[\"']?(?P<key>[\w.\-\[\]/]+)[\"']?\s*[:=]\s*)(?P<value>\S.*)")
_PRIVATE_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")
_PRIVATE_END = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY")
_MASKED_KEY = "[MASKED:PRIVATE_KEY]"


@dataclass(frozen=True)
class FileDiff:
    """The changed lines of one file, each with its sign before it; none where it is binary or was only moved."""

    path: str
    lines: tuple[str, ...] = ()


def unified(files: Iterable[FileDiff], *, limit: int) -> str:
    """Return one diff of several files, `limit` changed lines at most, each of 1,000 characters at most."""
    rows: list[str] = []
    left = limit
    for file in files:
        if left <= 0:
            break
        rows.append(f"+++ b/{shown_path(file.path)}")
        rows += [_safe(line[:MAX_LINE]) for line in islice(file.lines, left)]
        left -= len(file.lines)
    return "\n".join(rows)


def patch_lines(patch: str, *, limit: int = WHOLE_LINES) -> tuple[str, ...]:
    """Return the changed lines of one file's patch (hunks without file headers), at most `limit`."""
    return tuple(islice((line for line in patch.split("\n") if line[:1] in {"+", "-"}), limit))


def text_diff(path: str, before: str, after: str) -> FileDiff:
    """Return what changed between two versions of a configuration, secrets masked in every line."""
    old, new = _lines(before), _lines(after)
    shown_old, shown_new = _masked(old), _masked(new)
    rows: list[str] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=len(old) > 2_000).get_opcodes():
        if tag != "equal":
            rows += [f"-{line}" for line in shown_old[i1:i2]]
            rows += [f"+{line}" for line in shown_new[j1:j2]]
    return FileDiff(path, tuple(rows))


def items_diff(path: str, before: dict[str, str], after: dict[str, str]) -> FileDiff:
    """Return what changed between two sets of keys and values as `-key: old` and `+key: new`, secrets masked."""
    rows: list[str] = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if old is not None and new is not None and ("\n" in old or "\n" in new):
            rows += text_diff(key, old, new).lines
            continue
        rows += [f"-{_item(key, old)}"] if old is not None else []
        rows += [f"+{_item(key, new)}"] if new is not None else []
    return FileDiff(path, tuple(rows))


def _item(key: str, value: str) -> str:
    shown = clean_text(mask_field(key.rsplit(".", 1)[-1], value), limit=MAX_LINE).replace("\n", " ")
    return f"{key}: {shown}"


def _lines(text: str) -> list[str]:
    return text.splitlines()[:MAX_CONFIG_LINES]


def _masked(lines: Sequence[str]) -> list[str]:
    shown: list[str] = []
    private = False
    for line in lines:
        private = private or bool(_PRIVATE_BEGIN.search(line))
        shown.append(_MASKED_KEY if private else _masked_line(line))
        private = private and not _PRIVATE_END.search(line)
    return shown


def _masked_line(line: str) -> str:
    said = _KEY_AND_VALUE.fullmatch(line)
    if said is None:
        return mask_secrets(line)
    value = mask_field(said["key"].rsplit(".", 1)[-1], said["value"])
    return mask_secrets(said["head"] + value)


def _safe(line: str) -> str:
    """A changed line that would read as the header of a file gets a blank before its text."""
    return f"{line[0]} {line[1:]}" if line.startswith(("+++ ", "--- ")) else line
