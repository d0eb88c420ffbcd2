"""One log record as a live backend gave it: cleaned, masked and bounded before anything else sees it.

Source: decided contract, "Answers of tools": masked and bounded before anything reaches a model. A record is made by
`record_of` alone, so none that still holds a secret exists.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tools.canonical import iso_utc
from tools.hygiene import clean_text
from tools.masking import mask_field

UNLEVELLED = "-"
"""The severity of a record that names none."""
SEVERITIES = ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
"""The severities that a question may name, the gravest first."""
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "FATAL": ("fatal", "critical", "crit", "panic", "emerg", "emergency", "alert", "f"),
    "ERROR": ("error", "err", "severe", "e"),
    "WARN": ("warn", "warning", "w"),
    "INFO": ("info", "information", "informational", "notice", "i"),
    "DEBUG": ("debug", "fine", "d"),
    "TRACE": ("trace", "verbose", "finer", "finest", "t"),
}
"""How backends spell each severity, in lower case: what the frozen side's loader understands, too."""

MAX_MESSAGE = 4_000
MAX_CAUSES = 800
MAX_NAME = 160
MAX_FIELDS = 16
MAX_FIELD = 200

_SEVERITY_OF = {spelling: severity for severity, spellings in SPELLINGS.items() for spelling in spellings}
_NUMBERED = re.compile(r"([a-z]+)\d?")
_LOGFMT = re.compile(r'([A-Za-z_][\w.@/-]*)=(?:"((?:[^"\\]|\\.)*)"|(\S*))(?:\s+|$)')
_LEADING = re.compile(
    r"(?:[\d:.,+/TZ-]+\s+|\[[^\]]*\]\s*){0,5}[\[<|(]?\s*(FATAL|CRITICAL|ERROR|SEVERE|WARNING|WARN|INFO|DEBUG|TRACE)\b"
)

MESSAGE_FIELDS = ("message", "msg", "body", "log", "text")
LEVEL_FIELDS = ("level", "severity", "severity_text", "log.level", "loglevel", "lvl", "severity_number")
TRACE_FIELDS = ("trace_id", "trace.id", "traceId", "traceid", "traceID")
STACK_FIELDS = ("stack", "stack_trace", "stacktrace", "exception.stacktrace", "error.stack_trace", "exception")
TIME_FIELDS = ("timestamp", "time", "ts", "@timestamp", "datetime", "asctime")
"""The names under which a structured record keeps its parts, the likeliest first."""


@dataclass(frozen=True)
class LogRecord:
    """One record: `at` aware UTC, `service` the source's own spelling or `-`, `severity` one of `SEVERITIES` or `-`.

    `message` may have several lines (a stack trace); `fields` are the record's other plain fields. All text is clean.
    """

    at: datetime
    service: str
    severity: str
    message: str
    trace_id: str | None = None
    fields: tuple[tuple[str, str], ...] = ()

    def document(self) -> dict[str, str]:
        """Return the record in the form of a frozen incident's `logs.ndjson` (docs/incident-format.md)."""
        told = {
            "timestamp": iso_utc(self.at),
            "service": self.service,
            "severity_text": self.severity if self.severity != UNLEVELLED else None,
            "trace_id": self.trace_id,
            "msg": self.message,
        }
        return {**dict(self.fields), **{key: value for key, value in told.items() if value is not None}}


def record_of(
    at: datetime,
    service: str | None,
    text: str,
    *,
    severity: str | None = None,
    trace_id: str | None = None,
    fields: Iterable[tuple[str, Any]] = (),
) -> LogRecord:
    """Return a record from what a backend holds of it; a line that is JSON or logfmt is taken apart first.

    `severity` and `trace_id` are the backend's own where it keeps them apart from the text, else the text's. Secrets,
    control characters and what is beyond the bounds are gone from every part.
    """
    parsed = structured(text)
    message = clean_text(_shortened(_message(parsed, text)), limit=MAX_MESSAGE + MAX_CAUSES)
    level = severity_of(severity) if severity else UNLEVELLED
    if level == UNLEVELLED:
        level = severity_of(said(parsed, LEVEL_FIELDS))
    if level == UNLEVELLED:
        level = _severity_within(message)
    known = {*MESSAGE_FIELDS, *LEVEL_FIELDS, *TRACE_FIELDS, *STACK_FIELDS, *TIME_FIELDS}
    rest = [*fields, *((key, value) for key, value in parsed.items() if key not in known)]
    return LogRecord(
        at=at.astimezone(UTC),
        service=name_of(service),
        severity=level,
        message=message or "-",
        trace_id=_one_line(trace_id or said(parsed, TRACE_FIELDS) or "", MAX_NAME) or None,
        fields=_shown(rest),
    )


def severity_of(spelled: str | None) -> str:
    """Return the severity that a backend spells in its own way: `err`, `WARNING`, `E4`, 17 (OpenTelemetry), 50 (pino).

    `-` where it means none of ours.
    """
    told = (spelled or "").strip().casefold()
    if told.isdecimal():
        number = int(told[:6])
        if 1 <= number <= 24:
            return SEVERITIES[5 - (number - 1) // 4]
        return SEVERITIES[6 - number // 10] if number in {30, 40, 50, 60} else UNLEVELLED
    plain = _NUMBERED.fullmatch(told)
    return _SEVERITY_OF.get(plain.group(1), UNLEVELLED) if plain else UNLEVELLED


def name_of(service: str | None) -> str:
    """Return a service's name as it may be shown: one line, bounded; `-` where there is none."""
    return _one_line(service or "", MAX_NAME) or "-"


def structured(text: str) -> dict[str, Any]:
    """Return the fields of a line that is a JSON object or logfmt, one level of nesting as `a.b`; else nothing."""
    line = text.strip()
    if line.startswith("{"):
        try:
            parsed = json.loads(line)
        except (ValueError, RecursionError):
            return {}
        return _flattened(parsed) if isinstance(parsed, dict) else {}
    return _logfmt(line)


def said(parsed: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the first of `names` that a structured record holds as a plain value, as text."""
    values = (parsed.get(name) for name in names)
    return next((str(value) for value in values if isinstance(value, str | int | float) and value != ""), None)


def _message(parsed: Mapping[str, Any], text: str) -> str:
    message = said(parsed, MESSAGE_FIELDS)
    stack = said(parsed, STACK_FIELDS)
    if message is None:
        return stack or text
    return f"{message}\n{stack}" if stack and stack not in message else message


def _shortened(text: str) -> str:
    """The beginning of a long message, and the causes that it names further below.

    A cut within a line drops the word that it goes through: half a secret is no longer recognized as one.
    """
    if len(text) <= MAX_MESSAGE:
        return text
    head = text[:MAX_MESSAGE]
    head = head.rpartition("\n")[0] or re.sub(r"\S+$", "", head)
    causes = "\n".join(re.findall(r"^[ \t]*Caused by:[^\n]{0,300}$", text[len(head) :], re.MULTILINE)[-3:])
    return f"{head}\n{causes[:MAX_CAUSES]}" if causes else head


def _flattened(parsed: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in parsed.items():
        if isinstance(value, dict):
            flat.update({f"{key}.{inner}": one for inner, one in value.items() if not isinstance(one, dict | list)})
        elif not isinstance(value, list):
            flat[key] = value
    return flat


def _logfmt(line: str) -> dict[str, Any]:
    """Fields of a line that is logfmt from its beginning to its end and names a message; prose with an `=` is none."""
    found: dict[str, Any] = {}
    position = 0
    while position < len(line):
        pair = _LOGFMT.match(line, position)
        if pair is None:
            return {}
        found[pair[1]] = re.sub(r'\\(["\\])', r"\1", pair[2]) if pair[2] is not None else pair[3]
        position = pair.end()
    return found if any(name in found for name in MESSAGE_FIELDS) else {}


def _severity_within(text: str) -> str:
    """The severity that a line of plain text begins with, behind a time or a thread, in capitals."""
    found = _LEADING.match(text[:200])
    return severity_of(found[1]) if found else UNLEVELLED


def _shown(fields: Iterable[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
    shown: dict[str, str] = {}
    for key, value in fields:
        if len(shown) == MAX_FIELDS:
            break
        if value is None or isinstance(value, dict | list) or value == "":
            continue
        name = _one_line(key, MAX_NAME)
        # The key decides over the value: `password` hides whatever stands there.
        shown.setdefault(name, _one_line(mask_field(name, str(value)[: 4 * MAX_FIELD]), MAX_FIELD))
    return tuple(shown.items())


def _one_line(text: str, limit: int) -> str:
    return clean_text(" ".join(text.split()), limit=limit).replace("\n", " ").strip() if text.strip() else ""
