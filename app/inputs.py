"""What a person typed, checked before anything is opened: every fault is one clear line."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.words import Locale

MAX_QUERY_CHARS = 8_000
NO_SOURCES = (
    "no live source is configured: set HARNESS_SOURCE_PROMETHEUS_URL=http://… or another of docs/sources.md, "
    "or name a frozen incident with --incident DIR"
)
_MAX_ALERT_BYTES = 1 << 20
_STANDARD_INPUT = Path("-")


class BadInput(Exception):
    """What was wrong with the input, in one line for the person who typed it."""


@dataclass(frozen=True)
class Question:
    """One diagnosis to run: the query as typed, the incident's directory, its alert, the language of the report.

    `incident_dir` is None where the live sources are asked. `alert` is None where there is none; the query has to do
    then.
    """

    query: str
    incident_dir: Path | None
    alert: dict[str, Any] | None
    locale: Locale


def read_question(query: str, incident_dir: Path | None, locale: Locale, *, alert: Path | None = None) -> Question:
    """Return the checked question. `alert` is a file that holds the alert that fired, `-` standard input.

    Raises BadInput: a blank or overlong query, one that isn't text in the terminal's encoding, a path that holds no
    incident or an alert that can't be read.
    """
    if not query.strip():
        raise BadInput('QUERY is empty: say what went wrong, such as "checkout answers 502 since 14:05"')
    if len(query) > MAX_QUERY_CHARS:
        raise BadInput(f"QUERY has {len(query):,} characters; at most {MAX_QUERY_CHARS:,} are taken")
    try:
        query.encode("utf-8")
    except UnicodeEncodeError:
        raise BadInput("QUERY isn't valid in this terminal's encoding; use UTF-8") from None
    own = _alert(incident_dir) if incident_dir is not None else None
    return Question(query, incident_dir, _alert_in(alert) if alert is not None else own, locale)


def _alert_in(file: Path) -> dict[str, Any]:
    """Return the alert in a file, in the form of `alert.json`. Raises BadInput."""
    from tools.live.alerts.records import alert_of

    named = "standard input" if file == _STANDARD_INPUT else f"alert file {file}"
    try:
        content = sys.stdin.buffer.read(_MAX_ALERT_BYTES + 1) if file == _STANDARD_INPUT else _start_of(file)
        if len(content) > _MAX_ALERT_BYTES:
            raise BadInput(f"{named} is larger than {_MAX_ALERT_BYTES >> 20} MiB")
        return alert_of(json.loads(content))
    except OSError as error:
        raise BadInput(f"{named} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BadInput(f"{named} holds no alert: expected JSON as Alertmanager or Grafana posts it") from None


def _start_of(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_MAX_ALERT_BYTES + 1)


def _alert(incident_dir: Path) -> dict[str, Any] | None:
    # The readers take half a second to load, which a mistyped query needn't wait for.
    from tools.frozen import IncidentDirectoryError, read_alert

    try:
        return read_alert(incident_dir)
    except IncidentDirectoryError as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"incident directory {incident_dir} can't be read: {error.strerror}") from None
