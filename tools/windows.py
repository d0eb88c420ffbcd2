"""Windows of time: what the model or the user said, resolved by rule against the incident's `as_of`.

Source: decided contract, "Run and thread" (`as_of`) and "The envelope and the gate" (Scope): equal windows in any
spelling are equal, so all are aligned outward to the minute.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tools.base import IncidentContext
from tools.canonical import fold, iso_utc
from tools.times import Sort, Spoken, find, read

LOOK_BACK = timedelta(hours=3)
LOOK_AHEAD = timedelta(minutes=15)
AROUND = timedelta(minutes=30)
"""How far a window reaches to both sides of a single moment (凌晨三点左右)."""

_BEFORE = (
    r"(?:从|自从|自|由|在|于|大约|大概|约|差不多|since|from|at|around|about|after|starting|until|till|to|到|至|~|≈)"
)
_AFTER = r"(?:左右|前后|附近|许|的时候|之后|以后|以来|开始|起|后)"
_WRAPPED = re.compile(rf"(?:{_BEFORE}\s*)*(?P<time>.+?)(?:\s*{_AFTER})*")
_LONGEST_TIME = 100
_LONGEST_QUERY = 4000
_SINCE_BEFORE = re.compile(r"(?:从|自从|自|since|from|after|starting(?: at)?)\s*(?:大约|大概|约|about|around)?\s*$")
_SINCE_AFTER = re.compile(r"\s*(?:左右|前后)?\s*(?:之后|以后|以来|开始|起|onwards?)")
_SURE_BEFORE = re.compile(rf"{_BEFORE}\s*$")
_SURE_AFTER = re.compile(rf"\s*{_AFTER}")
_BETWEEN = re.compile(r"\s*(?:到|至|~|-|–|—|to|until|till|and|和)\s*")


@dataclass(frozen=True)
class Window:
    """A stretch of time from `start` (included) to `end` (excluded): aware UTC, whole minutes, start < end."""

    start: datetime
    end: datetime

    def as_scope(self) -> dict[str, str]:
        """Return `{"start", "end"}` as ISO UTC strings, as they stand in a scope."""
        return {"start": iso_utc(self.start), "end": iso_utc(self.end)}


def resolve_time(text: str, incident: IncidentContext) -> datetime:
    """Return the aware UTC time that `text` names: ISO, epoch, clock, relative or Chinese (see `tools.times`).

    A stretch (昨天, last 30 minutes, 刚才) gives its beginning. Raises ValueError("time") where it can't be read.
    """
    return _spoken(text, incident).start


def resolve_window(start: str | None, end: str | None, incident: IncidentContext) -> Window:
    """Return the window from `start` to `end`; by default three hours before `as_of` to a quarter of an hour after it.

    Where the incident says which window it speaks of, the default is that one and the three hours before it: what
    caused an onset stands before it. Blank means null. An end that names a clock time and no day is the first such
    time after the start. Raises ValueError with `args == ("start",)` or `("end",)` where that one can't be read or
    leaves nothing between them.
    """
    as_of = incident.as_of.astimezone(UTC)
    begun = _field(start, "start", incident)
    ended = _field(end, "end", incident)
    named = window_of(incident.window, incident) if incident.window and not (begun or ended) else None
    if named:
        return _aligned(named.start - LOOK_BACK, named.end)
    last = ended.start if ended else as_of + LOOK_AHEAD
    first = begun.start if begun else (as_of if last > as_of - LOOK_BACK else last) - LOOK_BACK
    if ended and ended.clock_only and last <= first:
        last += timedelta(days=1)
    if first >= last:
        raise ValueError("end" if ended else "start")
    return _aligned(first, last)


def window_of(text: str, incident: IncidentContext) -> Window | None:
    """Return the window that a free query speaks of, or None where it names no time.

    `since 14:05`, `从14:05开始`, `刚才`, `last 30 minutes` reach to a quarter of an hour after `as_of`; `A 到 B` is
    what it says; a day or part of one is that day or part; a moment (`凌晨三点左右`) gets half an hour on each side.
    """
    folded = fold(text[:_LONGEST_QUERY])
    spoken = [one for one in find(folded, incident) if one.sure or _is_sure(folded, one)]
    if not spoken:
        return None
    horizon = incident.as_of.astimezone(UTC) + LOOK_AHEAD
    first = spoken[0]
    start, end = first.start, horizon
    if len(spoken) > 1 and _BETWEEN.fullmatch(folded[first.finish : spoken[1].begin]):
        end = _end_after(start, spoken[1])
    elif first.sort is Sort.SPAN and first.end is not None and not _is_since(folded, first):
        end = min(first.end, max(horizon, first.start + LOOK_AHEAD))
    elif first.sort is Sort.POINT and not _is_since(folded, first):
        start, end = first.start - AROUND, min(first.start + AROUND, max(horizon, first.start))
    return _aligned(start, end) if start < end else None


def _field(text: str | None, field: str, incident: IncidentContext) -> Spoken | None:
    if text is None or not text.strip():
        return None
    try:
        return _spoken(text, incident)
    except ValueError:
        raise ValueError(field) from None


def _spoken(text: str, incident: IncidentContext) -> Spoken:
    if len(text) > _LONGEST_TIME:
        raise ValueError("time")
    folded = fold(text)
    try:
        spoken = read(folded, incident)
        wrapped = _WRAPPED.fullmatch(folded)
        if spoken is None and wrapped is not None:
            spoken = read(wrapped["time"], incident)
    except (ValueError, OverflowError):
        spoken = None
    if spoken is None:
        raise ValueError("time")
    return spoken


def _end_after(start: datetime, spoken: Spoken) -> datetime:
    end = spoken.end or spoken.start
    return end + timedelta(days=1) if spoken.clock_only and end <= start else end


def _is_since(text: str, spoken: Spoken) -> bool:
    return bool(_SINCE_BEFORE.search(text[: spoken.begin]) or _SINCE_AFTER.match(text, spoken.finish))


def _is_sure(text: str, spoken: Spoken) -> bool:
    return bool(_SURE_BEFORE.search(text[: spoken.begin]) or _SURE_AFTER.match(text, spoken.finish))


def _aligned(start: datetime, end: datetime) -> Window:
    floor = start.replace(second=0, microsecond=0)
    ceiling = end.replace(second=0, microsecond=0)
    return Window(floor, ceiling if ceiling == end else ceiling + timedelta(minutes=1))
