"""JSON of a backend read by somebody who trusts none of it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tools.base import SourceFailure
from tools.vocabulary import SourceError


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, an empty one where it's anything else."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str:
    """Return a text or number as text, blank where it's anything else."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list that has to be one; raises SourceFailure(SOURCE_UNREADABLE) where it isn't."""
    if not isinstance(value, list):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return [one for one in value if isinstance(one, dict)]


def some(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list that may be missing."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def inside(value: Any, *path: str) -> Any:
    """Return what stands under a path of keys, None where something of it is missing."""
    for key in path:
        value = mapping(value).get(key)
    return value


def moment(value: Any) -> datetime | None:
    """Return an RFC 3339 time as aware UTC; None where it's none, or Go's zero time (year 1), which means "not set"."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        return at.astimezone(UTC) if at is not None and at.tzinfo and at.year > 1 else None
    except (ValueError, OverflowError):
        return None
