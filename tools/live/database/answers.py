"""Rows of a database as evidence. All of it is TEXT.

Numbers, too: a row of an application's table was written by the application, with what whoever reaches it gave it. Only
what the database measures of itself would be MEASURED, and a statement may mix both. Every line names the source as its
`service`, so that all rows of one database are the words of one writer, whatever their columns say.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from tools.frozen.lines import Page, moment, number, plain
from tools.live.database.source import LONGEST_TEXT, Found
from tools.vocabulary import Evidence, EvidenceStatus, Provenance

_WORD = re.compile(r"[\w.:/@+#-]{1,64}")
_RESERVED = frozenset(
    {
        *("service", "component", "caller", "callee", "pod", "node", "host", "metric", "flag", "version"),
        *("change_id", "operation", "monitor", "direction", "change", "table", "at"),
    }
)
"""Field names that say something of their own in evidence; a column of that name is shown with `_column` behind it."""

_SUMMARIZED_VALUES = 6


def evidence_of(found: Found, *, source: str, tables: Sequence[str], zone: str, narrowed: bool = False) -> Evidence:
    """Return rows as evidence: one line each, times in UTC. `zone`: where times that name none are; `narrowed`: the
    statement looked at a part of its tables' rows, so that finding none is no full absence."""
    named = ",".join(tables)
    if not found.rows:
        return Evidence(
            status=EvidenceStatus.NO_EVIDENCE,
            provenance=Provenance.TEXT,
            summary=f"{source}: no row of {named} fits",
            truncated=narrowed,
            components=(source,),
        )
    labels = tuple(f"{label}_column" if label in _RESERVED else label for label in found.labels)
    page, shown = Page(), 0
    for row in found.rows:
        shown += page.add([_line(source, named, labels, row, zone)])
    naive = any(isinstance(value, datetime) and value.tzinfo is None for row in found.rows for value in row)
    return Evidence(
        status=EvidenceStatus.EVIDENCE,
        provenance=Provenance.TEXT,
        content=tuple(page.lines),
        summary=_summary(found, source, named, labels, zone),
        truncated=found.more or shown < len(found.rows),
        components=(source,),
        notes=(f"ZONE_ASSUMED:{zone}",) if naive else (),
    )


def _line(source: str, named: str, labels: Sequence[str], row: Sequence[Any], zone: str) -> str:
    texts: list[str] = []
    fields = [f"row service={source}", f"table={named}"]
    for label, value in zip(labels, row, strict=True):
        shown = shown_value(value, zone)
        if _WORD.fullmatch(shown):
            fields.append(f"{label}={shown}")
        elif shown:
            cut = shown[:LONGEST_TEXT] + ("…" if len(shown) > LONGEST_TEXT else "")
            texts.append(f"{label}: {cut}")
        else:
            fields.append(f"{label}=-")
    head = " ".join(fields)
    return f"{head} | {'; '.join(texts)}" if texts else head


def shown_value(value: Any, zone: str) -> str:
    """Return one value as text: times in UTC, stretches in seconds, exact decimals, bytes by their number."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _moment(value, zone)
    if isinstance(value, timedelta):
        return f"{number(value.total_seconds())}s"
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, float):
        return number(value) or "" if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, bytes):
        return f"{len(value)}_bytes"
    if isinstance(value, date):
        return value.isoformat()
    return " ".join(plain(str(value)).split())


def _moment(value: datetime, zone: str) -> str:
    try:
        aware = value if value.tzinfo else value.replace(tzinfo=ZoneInfo(zone))
        return moment(aware.astimezone(UTC)) or ""
    except OverflowError:
        # PostgreSQL's `infinity`.
        return value.isoformat()


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        return str(value)
    rounded = value.quantize(Decimal("1e-6")) if abs(value) < 10**20 else value
    text = format(rounded, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _summary(found: Found, source: str, named: str, labels: Sequence[str], zone: str) -> str:
    """Name the table, how many rows, and the numbers: of one row its own, of several the range of each column."""
    count = f"{len(found.rows)}{'+' if found.more else ''} row{'s' if len(found.rows) > 1 or found.more else ''}"
    said = []
    for index, label in enumerate(labels):
        values = [row[index] for row in found.rows if isinstance(row[index], int | float | Decimal | datetime)]
        if not values or any(isinstance(value, bool) for value in values):
            continue
        first, last = (shown_value(value, zone) for value in (min(values), max(values)))
        said.append(f"{label}={first}" if first == last else f"{label}={first}..{last}")
    return f"{source}: {count} of {named}" + (f", {' '.join(said[:_SUMMARIZED_VALUES])}" if said else "")
