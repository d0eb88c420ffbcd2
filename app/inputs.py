"""What a person typed, checked before anything is opened: every fault is one clear line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.words import Locale

MAX_QUERY_CHARS = 8_000


class BadInput(Exception):
    """What was wrong with the input, in one line for the person who typed it."""


@dataclass(frozen=True)
class Question:
    """One diagnosis to run: the query as typed, the incident's directory, its alert, the language of the report.

    `alert` is None where the incident has none; the query has to do then.
    """

    query: str
    incident_dir: Path
    alert: dict[str, Any] | None
    locale: Locale


def read_question(query: str, incident_dir: Path, locale: Locale) -> Question:
    """Return the checked question.

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
    return Question(query, incident_dir, _alert(incident_dir), locale)


def _alert(incident_dir: Path) -> dict[str, Any] | None:
    # The readers take half a second to load, which a mistyped query needn't wait for.
    from tools.frozen import IncidentDirectoryError, read_alert

    try:
        return read_alert(incident_dir)
    except IncidentDirectoryError as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"incident directory {incident_dir} can't be read: {error.strerror}") from None
