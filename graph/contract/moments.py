"""Dates and clock times of a text, and which moments of the evidence they can mean.

Source: contract, "EvidenceGuard" (14:05 in the incident's zone is 06:05Z). A clock time that names no zone is read in
the incident's zone or in UTC: evidence is shown in UTC, and a model that copies `15:04` out of it isn't wrong.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

_PERIODS = {
    "凌晨": 0,
    "清晨": 0,
    "早上": 0,
    "上午": 0,
    "中午": 12,
    "下午": 12,
    "傍晚": 12,
    "晚上": 12,
    "夜里": 0,
    "深夜": 0,
}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_ZONE = r"(?:\s?\(?(?P<{0}zone>Z|(?:UTC|GMT)(?:[+-]\d{{1,2}}(?::?\d{{2}})?)?|北京时间|CST)(?![A-Za-z0-9_])\)?)"
_NAMED_ZONE = r"(?P<leading>(?:UTC|GMT)(?:[+-]\d{1,2})?|北京时间)\s?"
_SECONDS = r"(?::(?P<{0}second>\d{{2}})(?:[.,](?P<{0}fraction>\d{{1,9}}))?)?"
_ISO = (
    r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})"
    r"(?:(?:[T_]|\s)(?P<iso_hour>\d{1,2}):(?P<iso_minute>\d{2})"
    + _SECONDS.format("iso_")
    + r"(?:(?P<offset>[+-]\d{2}:?\d{2}(?![\d:]))|"
    + _ZONE.format("iso_")
    + r")?)?(?![\d:])"
)
_PERIOD = "(?P<{0}period>" + "|".join(_PERIODS) + r")\s?"
_CLOCK = (
    rf"(?:{_NAMED_ZONE})?(?:{_PERIOD.format('')})?(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})"
    + _SECONDS.format("")
    + r"(?![\d:])(?:\s?(?P<half>[AaPp]\.?[Mm]\.?)(?![A-Za-z]))?(?:"
    + _ZONE.format("")
    + ")?"
)
_CHINESE_CLOCK = (
    rf"(?:{_PERIOD.format('chinese_')})?(?P<chinese_hour>\d{{1,2}})\s?[点时]"
    r"(?:\s?(?P<chinese_minute>\d{1,2}(?=\s?分)|\d{2}(?!\d))\s?分?(?:\s?(?P<chinese_second>\d{1,2})\s?秒)?|(?P<half_past>半)|整|钟)"
    r"|(?P<hour_period>" + "|".join(_PERIODS) + r")\s?(?P<bare_hour>\d{1,2})\s?[点时]"
)
_CHINESE_DATE = (
    r"(?:(?P<chinese_year>\d{4})\s?年\s?)?(?P<chinese_month>\d{1,2})\s?月\s?(?P<chinese_day>\d{1,2})\s?[日号]"
)
_ENGLISH_DATE = (
    rf"(?:(?<![A-Za-z])(?P<english_month>{_MONTH})\.?\s(?P<english_day>\d{{1,2}})(?:st|nd|rd|th)?(?![\dA-Za-z:])"
    rf"(?:,?\s(?P<english_year>\d{{4}})(?!\d))?"
    rf"|(?P<day_first>\d{{1,2}})(?:st|nd|rd|th)?\s(?P<month_second>{_MONTH})(?![A-Za-z])(?:,?\s(?P<year_last>\d{{4}})(?!\d))?)"
)
_SHORT_DATE = r"(?P<short_month>\d{1,2})[-/](?P<short_day>\d{1,2})(?=[\sT]\d{1,2}:\d{2})"
_YEAR = r"(?P<lone_year>\d{4})\s?年"

MOMENT_PATTERN = (
    r"(?<![A-Za-z0-9_.:])"
    rf"(?:{_ISO}|{_CLOCK}|{_CHINESE_CLOCK}|{_CHINESE_DATE}|{_ENGLISH_DATE}|{_SHORT_DATE}|{_YEAR})"
)
"""A date, a time or both, at their place in a folded text."""


@dataclass(frozen=True)
class Moment:
    """A date or a time as a text shows it; what it doesn't show is None. `offset` is the zone it names, in minutes."""

    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    hour: int | None = None
    minute: int | None = None
    second: int | None = None
    fraction: str = ""
    offset: int | None = None

    def aware(self) -> datetime | None:
        """Return the UTC time, where date, time and zone are all shown."""
        if self.year is None or self.hour is None or self.offset is None:
            return None
        micro = int(self.fraction[:6].ljust(6, "0")) if self.fraction else 0
        local = datetime(
            self.year,
            self.month or 1,
            self.day or 1,
            self.hour,
            self.minute or 0,
            self.second or 0,
            micro,
            tzinfo=timezone(timedelta(minutes=self.offset)),
        )
        return local.astimezone(UTC)

    def key(self) -> tuple[object, ...]:
        """Return what the text shows, as `shown_of` gives it for a moment that is known whole."""
        clock = (self.hour, self.minute, self.second, self.fraction.rstrip("0"))
        return ((self.year, self.month, self.day), clock)


def moment_of(match: re.Match[str]) -> Moment | None:
    """Return the moment that a match of `MOMENT_PATTERN` read; None where there is no such date or time."""
    year, month, day = _date(match)
    hour, minute, second = _clock(match)
    start, end = match.span()
    fraction = match["iso_fraction"] or match["fraction"] or ""
    found = Moment(start, end, year, month, day, hour, minute, second, fraction, _offset(match))
    return found if _exists(found) else None


def _date(match: re.Match[str]) -> tuple[int | None, int | None, int | None]:
    year = match["year"] or match["chinese_year"] or match["english_year"] or match["year_last"] or match["lone_year"]
    month = match["month"] or match["chinese_month"] or match["short_month"]
    named = match["english_month"] or match["month_second"]
    if named:
        month = str(_MONTHS.index(named[:3].casefold()) + 1)
    day = match["day"] or match["chinese_day"] or match["english_day"] or match["day_first"] or match["short_day"]
    return (int(year) if year else None, int(month) if month else None, int(day) if day else None)


def _clock(match: re.Match[str]) -> tuple[int | None, int | None, int | None]:
    written = match["iso_hour"] or match["hour"] or match["chinese_hour"] or match["bare_hour"]
    if written is None:
        return (None, None, None)
    hour = int(written)
    period = match["period"] or match["chinese_period"] or match["hour_period"]
    afternoon = (match["half"] or "").casefold().startswith("p") or (period and _PERIODS[period] == 12)
    if afternoon and hour < 12:
        hour += 12
    if (match["half"] or "").casefold().startswith("a") and hour == 12:
        hour = 0
    minute = match["iso_minute"] or match["minute"] or match["chinese_minute"]
    second = match["iso_second"] or match["second"] or match["chinese_second"]
    if match["half_past"]:
        minute = "30"
    return (hour, int(minute) if minute else None, int(second) if second else None)


def _offset(match: re.Match[str]) -> int | None:
    if written := match["offset"]:
        digits = written[1:].replace(":", "")
        return _signed(written[0], int(digits[:2]), int(digits[2:]))
    name = match["iso_zone"] or match["zone"] or match["leading"]
    if name is None or name == "CST":
        return None
    if name == "北京时间":
        return 480
    digits = name.removeprefix("UTC").removeprefix("GMT")
    if digits in ("", "Z"):
        return 0
    hours, _, minutes = digits[1:].partition(":")
    return _signed(digits[0], int(hours[:2]), int(minutes or hours[2:] or 0))


def _signed(sign: str, hours: int, minutes: int) -> int:
    return (hours * 60 + minutes) * (-1 if sign == "-" else 1)


def _exists(moment: Moment) -> bool:
    if moment.offset is not None and abs(moment.offset) > 14 * 60:
        return False
    try:
        date(moment.year or 2000, moment.month or 1, moment.day or 1)
        datetime(2000, 1, 1, moment.hour or 0, moment.minute or 0, moment.second or 0, tzinfo=UTC)
    except ValueError:
        return False
    return moment.year is None or 1 < moment.year < 9999


def _utc_clock(moment: Moment) -> Moment:
    """The clock time in UTC of a moment that has an offset and no whole date."""
    shift = (moment.hour or 0) * 60 + (moment.minute or 0) - (moment.offset or 0)
    return Moment(0, 0, None, None, None, shift // 60 % 24, shift % 60, moment.second, moment.fraction)


class MomentSet:
    """The moments that evidence holds, asked whether a text's moment is one of them."""

    def __init__(self, moments: Iterable[Moment], zone: str) -> None:
        self._zone = ZoneInfo(zone)
        self._bare: set[tuple[object, ...]] = set()
        self._local: set[tuple[object, ...]] = set()
        self._utc: set[tuple[object, ...]] = set()
        self._instants: set[datetime] = set()
        for moment in moments:
            self._add(moment)

    def _add(self, moment: Moment) -> None:
        at = moment.aware()
        if at is None:
            self._bare.update(_shown(moment))
            if moment.offset is not None:
                self._utc.update(_shown(_utc_clock(moment)))
            return
        self._instants.add(at)
        self._utc.update(_shown_at(at, moment))
        self._local.update(_shown_at(at.astimezone(self._zone), moment))

    def holds(self, stated: Moment) -> bool:
        """Return whether `stated` is one of the moments, as precisely as it's shown (14:05 is 14:05:30, cut)."""
        if stated.offset is None:
            return any(stated.key() in keys for keys in (self._local, self._utc, self._bare))
        if stated.year is not None and stated.hour is not None:
            at = stated.aware()
            return at is not None and _in_utc(stated, at).key() in self._utc
        return _utc_clock(stated).key() in self._utc

    def instants(self) -> frozenset[datetime]:
        """Return the moments that are known whole, in UTC."""
        return frozenset(self._instants)


def _in_utc(stated: Moment, at: datetime) -> Moment:
    second = None if stated.second is None else at.second
    minute = at.minute if stated.minute is not None else None
    return Moment(0, 0, at.year, at.month, at.day, at.hour, minute, second, stated.fraction)


def _shown_at(at: datetime, moment: Moment) -> Iterable[tuple[object, ...]]:
    seconds = at.second if moment.second is not None else None
    return _shown(Moment(0, 0, at.year, at.month, at.day, at.hour, at.minute, seconds, moment.fraction))


def _shown(whole: Moment) -> Iterable[tuple[object, ...]]:
    """Give the keys of every way to show a moment with less: without its date, year, seconds, minutes."""
    dates = {(whole.year, whole.month, whole.day), (None, whole.month, whole.day), (None, None, None)}
    dates.add((whole.year, None, None))
    clocks: set[tuple[object, ...]] = {(None, None, None, ""), (whole.hour, None, None, "")}
    clocks.add((whole.hour, whole.minute, None, ""))
    clocks.update((whole.hour, whole.minute, whole.second, cut) for cut in _cuts(whole.fraction))
    # Evidence on the minute is shown with seconds, too: 15:04 is 15:04:00.
    return [(day, clock) for day in dates for clock in clocks if clock[0] is not None or any(day)]


def _cuts(fraction: str) -> set[str]:
    return {fraction[:length].rstrip("0") for length in range(len(fraction) + 1)}
