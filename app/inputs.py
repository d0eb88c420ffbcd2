"""What a person typed, checked before anything is opened: every fault is one clear line."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.words import Locale

MAX_QUERY_CHARS = 8_000
MAX_ALERT_BYTES = 1024 * 1024
ALERT_FILE = "alert.json"
ENCODINGS = ("utf-8-sig", "gb18030")


class BadInput(Exception):
    """What was wrong with the input, in one line for the person who typed it."""


@dataclass(frozen=True)
class Question:
    """One diagnosis to run: the query as typed, the incident's directory, the language of the report."""

    query: str
    incident_dir: Path
    locale: Locale

    def alert(self, note: Callable[[str], None]) -> dict[str, Any] | None:
        """Return the incident's alert, or None where there's none.

        An alert that can't be read stops nobody at 3 a.m.: `note` is told, and the query has to do.
        """
        path = self.incident_dir / ALERT_FILE
        try:
            with path.open("rb") as file:
                content = file.read(MAX_ALERT_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            note(f"{path} can't be read ({error.strerror}); the query has to do")
            return None
        found = _json_object(content) if len(content) <= MAX_ALERT_BYTES else None
        if found is None:
            note(f"{path} doesn't hold one JSON object of at most {MAX_ALERT_BYTES:,} bytes; the query has to do")
        return found


def read_question(query: str, incident_dir: Path, locale: Locale) -> Question:
    """Return the checked question; raises BadInput: a blank or overlong query, a directory that can't be read."""
    if not query.strip():
        raise BadInput('QUERY is empty: say what went wrong, such as "checkout answers 502 since 14:05"')
    if len(query) > MAX_QUERY_CHARS:
        raise BadInput(f"QUERY has {len(query):,} characters; at most {MAX_QUERY_CHARS:,} are taken")
    try:
        query.encode("utf-8")
    except UnicodeEncodeError:
        raise BadInput("QUERY isn't valid in this terminal's encoding; use UTF-8") from None
    try:
        names = os.listdir(incident_dir)
    except OSError as error:
        raise BadInput(f"incident directory {incident_dir} can't be read: {error.strerror}") from None
    if not names:
        raise BadInput(f"incident directory {incident_dir} is empty")
    return Question(query, incident_dir, locale)


def _json_object(content: bytes) -> dict[str, Any] | None:
    for encoding in ENCODINGS:
        try:
            found = json.loads(content.decode(encoding))
        except (UnicodeDecodeError, ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else None
    return None
