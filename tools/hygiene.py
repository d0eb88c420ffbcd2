"""Text of others, made safe to read: bounded, printable, without secrets, and never at the start of a line.

Source: decided contract, "Answers of tools"; the form of evidence is told at `tools.vocabulary.Evidence`. All text is
hostile: log lines, alerts, commits, runbooks, and the user's own query.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from tools.canonical import iso_utc
from tools.masking import is_invisible, mask_field, mask_secrets
from tools.vocabulary import Evidence, Provenance

__all__ = ["clean_evidence", "clean_json", "clean_lines", "clean_text", "mask_secrets"]

ELLIPSIS = "…"
CONTINUATION = "  "
MAX_LINE = 2_000
MAX_SUMMARY = 600
MAX_NAME = 200
MAX_NOTES = 20
MAX_DEPTH = 8
MAX_ITEMS = 200
MAX_STRING = 8_000
MAX_JSON = 64_000

_LONGEST_RAW = 65_536
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?|\x1b[@-Z\\-_]"
)
_LINE_BREAK = re.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_OPEN_PLACEHOLDER = re.compile(r"\[(?:M|MA|MAS|MASK|MASKE|MASKED|MASKED:[A-Z_]*)$")


class _Printable(dict[int, str]):
    """Maps a character to what of it may be printed, for `str.translate`; fills itself."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        blank = unicodedata.category(character) == "Zs" and character != "\u3000"
        self[code] = "" if is_invisible(character) else " " if blank else character
        return self[code]


_PRINTABLE = _Printable({ord("\t"): "    "})


def clean_text(text: str, *, limit: int) -> str:
    """Return at most `limit` (≥ 1) characters of printable text without secrets; what was cut shows as an ellipsis.

    ANSI sequences and control, bidirectional and zero-width characters are gone; every kind of line break is `\\n`, a
    tab is blanks. Idempotent.
    """
    return _masked_and_bounded(_printable(text), limit, rounded=False)


def clean_lines(lines: Iterable[str], *, limit: int = MAX_LINE, rounded: bool = False) -> tuple[str, ...]:
    """Return lines without line breaks, each cleaned and bounded as by `clean_text`; idempotent.

    What stands behind a line break inside of a line goes on in a line that begins with two blanks, so that no source
    can begin a line of its own. A secret may reach over several lines. `rounded` is told at `mask_secrets`.
    """
    given = tuple(lines)
    if not given:
        return ()
    block = "\n".join(_continued(_printable(line)) for line in given)
    while True:
        masked = mask_secrets(block, rounded=rounded)
        cut = "\n".join(
            _masked_and_bounded(line, limit, rounded=rounded) if len(line) > limit else line
            for line in masked.split("\n")
        )
        if cut == block:
            return tuple(block.split("\n"))
        block = cut


def clean_evidence(evidence: Evidence, *, max_bytes: int) -> Evidence:
    """Return evidence as a model, a guard and a store may see it; idempotent.

    Content, summary, names and notes are cleaned. Content is cut on a line's border where it's longer than `max_bytes`
    of UTF-8 (a first line that is longer by itself is cut within), and `truncated` says so; lines cut for their own
    length are counted in the note `LINES_CUT:n`.
    """
    rounded = evidence.provenance is Provenance.MEASURED
    content = clean_lines(evidence.content, rounded=rounded)
    kept = _within(content, max_bytes, rounded=rounded)
    shortened = sum(len(line) == MAX_LINE and line.endswith(ELLIPSIS) for line in kept)
    notes = [_one_line(note, MAX_NAME) for note in evidence.notes[:MAX_NOTES]]
    if shortened and f"LINES_CUT:{shortened}" not in notes:
        notes = [*notes[: MAX_NOTES - 1], f"LINES_CUT:{shortened}"]
    return evidence.model_copy(
        update={
            "content": kept,
            "summary": _one_line(evidence.summary, MAX_SUMMARY, rounded=rounded),
            "truncated": evidence.truncated or kept != content,
            "components": tuple(_one_line(name, MAX_NAME) for name in evidence.components[:MAX_ITEMS]),
            "first_failing": evidence.first_failing and _one_line(evidence.first_failing, MAX_NAME),
            "changes": tuple(
                change.model_copy(
                    update={
                        "change_id": _one_line(change.change_id, MAX_NAME),
                        "service": change.service and _one_line(change.service, MAX_NAME),
                    }
                )
                for change in evidence.changes[:MAX_ITEMS]
            ),
            "notes": tuple(notes),
        }
    )


def clean_json(value: Any) -> Any:
    """Return a JSON value of somebody's making (a query, an incident) cleaned: strings masked, also under the keys that
    name a secret; depth, items and characters bounded; what has no JSON form is None. Idempotent."""
    return _clean_value(value, "", MAX_DEPTH, _Allowance(MAX_JSON))


@dataclass
class _Allowance:
    """How many characters one JSON value may still use."""

    left: int

    def take(self, text: str) -> str:
        if self.left < 1:
            return ""
        kept = clean_text(text, limit=min(self.left, MAX_STRING))
        self.left -= len(kept)
        return kept


def _clean_value(value: Any, key: str, depth: int, allowance: _Allowance) -> Any:
    if isinstance(value, str):
        return allowance.take(mask_field(key, _printable(value)))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _clean_integer(value, key)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return iso_utc(value) if value.tzinfo else value.isoformat()
    if depth == 0:
        return None
    if isinstance(value, Mapping):
        named = [(allowance.take(str(name)), item) for name, item in islice(value.items(), MAX_ITEMS)]
        return {name: _clean_value(item, name, depth - 1, allowance) for name, item in named}
    if isinstance(value, list | tuple):
        return [_clean_value(item, key, depth - 1, allowance) for item in value[:MAX_ITEMS]]
    return None


def _clean_integer(value: int, key: str) -> int | str | None:
    """An identity number may stand as a number, but so do counts: the key tells. Beyond 64 bits there is none."""
    if abs(value) >= 2**63:
        return None
    shown = mask_field(key, str(value))
    return value if shown == str(value) or not _PERSONAL_KEY.search(key) else shown


_PERSONAL_KEY = re.compile(
    r"phone|mobile|tel|contact|card|account|cert|identity|pass|pwd|secret|pin|手机|电话|身份证|银行卡|密码|口令",
    re.IGNORECASE,
)


def _printable(text: str) -> str:
    """Return what of a text can be printed; the rest of one that is far longer than any bound is dropped."""
    whole = len(text) <= _LONGEST_RAW
    # A secret that the cut goes through would no longer be recognized: drop it with the word that it stands in.
    kept = text if whole else re.sub(r"\S+$", "", text[:_LONGEST_RAW]) + ELLIPSIS
    return _LINE_BREAK.sub("\n", _ANSI.sub("", kept)).translate(_PRINTABLE)


def _masked_and_bounded(text: str, limit: int, *, rounded: bool) -> str:
    # A cut gives what stands before it a new boundary, so mask and cut until neither changes anything.
    while (bounded := _bounded(mask_secrets(text, rounded=rounded), limit)) != text:
        text = bounded
    return text


def _bounded(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return _OPEN_PLACEHOLDER.sub("", text[: limit - 1]) + ELLIPSIS


def _continued(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(line if line.startswith(CONTINUATION) else CONTINUATION + line for line in rest)])


def _one_line(text: str, limit: int, *, rounded: bool = False) -> str:
    return _masked_and_bounded(" ".join(_printable(text).split()), limit, rounded=rounded)


def _within(lines: tuple[str, ...], max_bytes: int, *, rounded: bool) -> tuple[str, ...]:
    used = 0
    for count, line in enumerate(lines):
        used += len(line.encode()) + 1
        if used > max_bytes + 1:
            return lines[:count] if count else _first_cut(line, max_bytes, rounded=rounded)
    return lines


def _first_cut(line: str, max_bytes: int, *, rounded: bool) -> tuple[str, ...]:
    room = max_bytes - len(ELLIPSIS.encode())
    if room < 1:
        return ()
    head = line.encode()[:room].decode(errors="ignore")
    return (_masked_and_bounded(line, len(head) + 1, rounded=rounded),)
