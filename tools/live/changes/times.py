"""Times as files and backends write them."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

_EPOCH = re.compile(r"\d{9,19}(?:\.\d+)?")
_OFFSET = re.compile(r"([+-]\d{2})(\d{2})$")
_FRACTION = re.compile(r"\.(\d{1,9})")


@dataclass(frozen=True)
class Said:
    """A time (aware, UTC), and whether it named no zone."""

    at: datetime
    zoneless: bool = False


def moment_of(value: Any, zone: ZoneInfo) -> Said | None:
    """Return what a record says of its time: ISO 8601, or seconds to nanoseconds since the epoch; None where it says
    none. `zone` is of times without one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).strip()
    try:
        if _EPOCH.fullmatch(text):
            return Said(_since_epoch(text))
        text = _OFFSET.sub(r"\1:\2", _FRACTION.sub(lambda found: f".{found[1]:0<6}"[:7], text.replace(",", ".")))
        at = datetime.fromisoformat(text)
        return Said((at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC), at.tzinfo is None)
    except (ValueError, OverflowError, OSError):
        return None


def utc(value: Any) -> datetime | None:
    """Return a backend's time as an aware UTC one; None where it says none. One without a zone is UTC."""
    said = moment_of(value, ZoneInfo("UTC"))
    return said.at if said else None


def at_second(text: str) -> datetime | None:
    """Return a moment from whole seconds since the epoch (aware, UTC); None where no calendar has it: whoever writes
    a commit or a tag may date it as he likes."""
    try:
        return datetime.fromtimestamp(int(text), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _since_epoch(text: str) -> datetime:
    digits = len(text.partition(".")[0])
    divisor = 1 if digits <= 10 else 10**3 if digits <= 13 else 10**6 if digits <= 16 else 10**9
    return datetime.fromtimestamp(float(text) / divisor, UTC)
