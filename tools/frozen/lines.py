"""How evidence is written down: logfmt lines, times, numbers, and a bound on all of it.

Source: `tools.vocabulary.Evidence.content`: fields first, free text of the source last behind ` | ` or on lines that
begin with two blanks, so that no text of a source ever stands at the start of a line.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal

from tools.canonical import iso_utc, visible

MAX_FIELD = 160
MAX_TEXT = 400
MAX_LINES = 160
MAX_CHARACTERS = 12_000

_BLANKS = re.compile(r"\s+")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_UNITS = (
    ("_seconds", "s"),
    ("_ms", "ms"),
    ("_us", "us"),
    ("_ratio", "ratio"),
    ("_pct", "pct"),
    ("_percent", "pct"),
    ("_utilization", "utilization"),
    ("_bytes", "bytes"),
    ("_mb", "MB"),
    ("_per_sec", "1/s"),
    ("_per_second", "1/s"),
    ("_rps", "1/s"),
    ("_per_min", "1/min"),
    ("_total", "count"),
    ("_count", "count"),
)


def field(value: object) -> str:
    """Return a value without blanks, at most 160 characters; absent or blank values are `-`."""
    text = _BLANKS.sub("_", plain("" if value is None else str(value)))
    return text[:MAX_FIELD] if text else "-"


def plain(text: str) -> str:
    """Return a text without terminal sequences and invisible characters, trimmed."""
    return visible(_ANSI.sub("", text)).strip()


def fields(sort: str, values: Mapping[str, object]) -> str:
    """Return one logfmt line: the line's sort, then `key=value` in the given order."""
    return " ".join([sort, *(f"{key}={field(value)}" for key, value in values.items())])


def moment(at: datetime | None) -> str | None:
    """Return a time as ISO UTC text, or None. A naive time, as DuckDB gives it, is UTC."""
    if at is None:
        return None
    return iso_utc(at if at.tzinfo else at.replace(tzinfo=UTC))


def number(value: float | None) -> str | None:
    """Return the shortest plain decimal form with at most six significant digits, or None."""
    if value is None:
        return None
    shortened = format(Decimal(format(value, ".6g")), "f")
    short = shortened.rstrip("0").rstrip(".") if "." in shortened else shortened
    return "0" if short in {"-0", ""} else short


def with_text(head: str, text: str | None, *, limit: int = 12) -> list[str]:
    """Return `head | first line` and the other lines of `text` behind two blanks, at most `limit` of them.

    Lines that name a cause (`Caused by:`) are kept before others when `text` is longer.
    """
    rows = [plain(row) for row in (text or "").splitlines()]
    rows = [row for row in rows if row]
    if not rows:
        return [head]
    return [f"{head} | {rows[0][:MAX_TEXT]}", *(f"  {row[:MAX_TEXT]}" for row in _causes_first(rows[1:], limit))]


def _causes_first(rows: list[str], limit: int) -> list[str]:
    if len(rows) <= limit:
        return rows
    causes = {index for index, row in enumerate(rows) if row.startswith("Caused by")}
    kept = sorted(causes)[-limit:]
    kept += [index for index in range(len(rows)) if index not in causes][: limit - len(kept)]
    return [rows[index] for index in sorted(kept)]


def unit(metric: str) -> str | None:
    """Return the unit that a metric's name ends with (`_ms`, `_seconds`, `_ratio`, …), or None."""
    bare = re.sub(r"_(p\d+|avg|max|min|mean|sum)$", "", metric.casefold())
    return next((name for suffix, name in _UNITS if bare.endswith(suffix)), None)


class Page:
    """Collects lines up to a bound; `truncated` tells whether anything was left out."""

    def __init__(self, *, lines: int = MAX_LINES, characters: int = MAX_CHARACTERS) -> None:
        self._room, self._characters = lines, characters
        self.lines: list[str] = []
        self.truncated = False

    def add(self, block: Iterable[str], *, optional: bool = False) -> bool:
        """Add lines that belong together, all or none. Leaving out an `optional` block isn't a truncation."""
        rows = list(block)
        size = sum(len(row) for row in rows)
        if len(self.lines) + len(rows) > self._room or size > self._characters:
            self.truncated = self.truncated or not optional
            return False
        self.lines += rows
        self._characters -= size
        return True
