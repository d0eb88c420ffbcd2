"""What people say when they name a time, read by rule: `14:05`, `15m ago`, `昨晚十点`, `last 30 minutes`.

Source: decided contract, "Run and thread" (`as_of`). Everything is resolved against the incident's `as_of`; a time that
names no zone is in the incident's zone; a clock time without a day that would lie after `as_of` is the day before's.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from enum import StrEnum
from zoneinfo import ZoneInfo

from tools.base import IncidentContext

RECENT = timedelta(minutes=30)
"""How far back "just now" (刚才) reaches."""


class Sort(StrEnum):
    """What an expression names: a moment, everything since one, or a stretch with an end of its own."""

    POINT = "POINT"
    SINCE = "SINCE"
    SPAN = "SPAN"


@dataclass(frozen=True)
class Spoken:
    """A time expression found at `text[begin:finish]`. Times are aware UTC; `end` is set for a SPAN only.

    `clock_only`: the expression named no day. `sure` is False where the words may mean no time at all (`一点` is one
    o'clock or "a little").
    """

    begin: int
    finish: int
    start: datetime
    sort: Sort
    end: datetime | None = None
    clock_only: bool = False
    sure: bool = True


_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_CN = "[零〇一二两三四五六七八九十百]"
_NUMBER = rf"(?:\d+(?:\.\d+)?|{_CN}+)"
_EN_WORDS = {"half an": 0.5, "half a": 0.5, "an": 1, "a": 1, "one": 1, "two": 2, "three": 3, "five": 5, "ten": 10}
_UNITS = {
    "w": r"weeks?|w|周|星期",
    "d": r"days?|d|天",
    "h": r"hours?|hrs?|h|小时|钟头",
    "q": r"刻钟",
    "m": r"minutes?|mins?|m|分钟|分",
    "s": r"seconds?|secs?|s|秒钟|秒",
}
_UNIT_SECONDS = {"w": 604800, "d": 86400, "h": 3600, "q": 900, "m": 60, "s": 1}
_UNIT = "(?:" + "|".join(_UNITS.values()) + ")(?![a-z])"
_AMOUNT = rf"(?:{_NUMBER}|半|\b(?:{'|'.join(_EN_WORDS)})\b)"
_PIECE = rf"{_AMOUNT}\s*个?半?\s*{_UNIT}"
_DURATION = rf"{_PIECE}(?:(?:\s|and)*{_PIECE})*"
_PIECE_PARTS = re.compile(rf"(?P<amount>{_AMOUNT})\s*个?(?P<half>半?)\s*(?P<unit>{_UNIT})")

_PERIODS = {
    # words: (hours of the day that the word alone covers, hours from which the clock's count is of the afternoon)
    "凌晨": (0, 6, 13),
    "清晨|早晨|早上|清早|大早": (5, 9, 13),
    "上午": (8, 12, 13),
    "中午|正午": (11, 14, 1),
    "下午|午后": (12, 18, 1),
    "傍晚": (17, 20, 1),
    "晚上|晚间": (18, 24, 5),
    "半夜|深夜|夜里|夜间|午夜": (22, 28, 8),
}
_NIGHTS = ("晚", "夜")
_SHORT_PERIODS = {"早": "早上", "晨": "清晨", "晚": "晚上", "夜": "夜里"}
_PERIOD = "(?:" + "|".join(_PERIODS) + ")"
_DAYS_AGO = {"今": 0, "当": 0, "昨": 1, "前": 2, "today": 0, "yesterday": 1}
_DAY = (
    r"(?:(?P<named>today|yesterday|(?:今|当|昨|前)(?:天|日))"
    r"|(?P<short>[今昨前])(?P<part>[早晨晚夜])(?:上)?"
    r"|(?P<year>\d{4})\s*[-/.年]\s*(?P<month>\d{1,2})\s*[-/.月]\s*(?P<mday>\d{1,2})[日号]?"
    r"|(?P<month2>\d{1,2})月(?P<mday2>\d{1,2})[日号])"
)
_SHORT_DATE = r"(?P<month3>\d{1,2})[-/](?P<mday3>\d{1,2})"
_COLONS = r"(?P<h1>\d{1,2}):(?P<m1>\d{2})(?::(?P<s1>\d{2})(?:[.,]\d{1,9})?)?"
_POINTS = (
    rf"(?P<h2>\d{{1,2}}|{_CN}{{1,3}})(?:点|时(?!间|长|延|候|刻|段))(?P<full>钟|整)?"
    rf"(?:(?P<part2>半|一刻|三刻)|(?P<m2>\d{{1,2}}|{_CN}{{1,3}})(?:分(?!钟)(?:(?P<s2>\d{{1,2}}|{_CN}{{1,3}})秒)?)?)?"
)
_ZONE = r"(?:\s*(?P<zone>(?:z|utc|gmt)(?:[+-]\d{1,2}(?::?\d{2})?)?(?![a-z])|[+-]\d{2}:?\d{2}(?!\d)))?"
_TIME = rf"(?:{_COLONS}|{_POINTS})\s*(?P<ampm>[ap]\.?m\b\.?)?{_ZONE}"
_HOUR_AMPM = r"(?P<h3>\d{1,2})\s*(?P<ampm3>[ap]\.?m\b\.?)"
_AT = r"(?:\s*(?:t|at|的|,)\s*|\s*)"
_START = r"(?<![\d:.a-z-])"

_AGO = re.compile(rf"(?P<duration>{_DURATION})\s*(?:ago|earlier|以前|之前|前(?!后))")
_NOW_OFFSET = re.compile(rf"now\s*(?P<sign>[-+])\s*(?P<duration>{_DURATION})")
_OFFSET = re.compile(rf"(?P<sign>[-+])\s*(?P<duration>{_DURATION})")
_LAST = re.compile(
    rf"(?:(?:the\s+)?(?:last|past|previous)\s+(?P<duration>{_DURATION}|{_UNIT})"
    rf"|(?:最近|过去|近|前|这)的?\s*(?P<duration2>{_DURATION}))(?:以来|之?内|里)?"
)
_RECENTLY = re.compile(r"刚才|刚刚|方才|不久前|最近|just now|a moment ago|recently")
_NOW = re.compile(r"(?:right )?now|现在|此刻|目前|当前")
_CLOCK = re.compile(
    rf"{_START}(?:(?:{_DAY}|{_SHORT_DATE}(?=[\s日t])){_AT})?(?:(?P<period>{_PERIOD})\s*)?"
    rf"(?:{_TIME}|{_HOUR_AMPM})(?![\d:])(?:\s*(?P<after>today|yesterday)\b)?"
)
_DAY_PART = re.compile(rf"{_START}(?:{_DAY}(?:的?\s*(?P<period>{_PERIOD}))?|(?P<period2>{_PERIOD}))(?![\d:.-])")
_EPOCH = re.compile(r"(?P<seconds>\d{10}(?:\.\d+)?)|(?P<millis>\d{13})")


def read(text: str, incident: IncidentContext) -> Spoken | None:
    """Return what a folded text names if it's nothing but one time expression, else None. Raises ValueError where it
    has the form of a time and names none (`25:61`)."""
    iso = _iso(text, incident)
    if iso is not None:
        return iso
    for pattern, resolve in (*_RULES, (_EPOCH, _epoch), (_NOW, _now), (_OFFSET, _offset)):
        match = pattern.fullmatch(text)
        if match is not None:
            return resolve(match, incident)
    return None


def find(text: str, incident: IncidentContext) -> list[Spoken]:
    """Return the time expressions of a folded free text in order, without overlaps; impossible ones are skipped."""
    found = sorted(_candidates(text, incident), key=lambda spoken: (spoken.begin, -spoken.finish))
    kept: list[Spoken] = []
    for spoken in found:
        if not kept or spoken.begin >= kept[-1].finish:
            kept.append(spoken)
    return kept


def _candidates(text: str, incident: IncidentContext) -> Iterator[Spoken]:
    for pattern, resolve in _RULES:
        for match in pattern.finditer(text):
            try:
                yield resolve(match, incident)
            except (ValueError, OverflowError):
                continue


def _iso(text: str, incident: IncidentContext) -> Spoken | None:
    if _EPOCH.fullmatch(text):
        return None
    joined = re.sub(r"\s+(?=(?:z|[+-]\d{2}:?\d{2})$)", "", re.sub(r"\s*(?:utc|gmt)$", "z", text))
    try:
        moment = datetime.fromisoformat(joined.upper())
    except ValueError:
        return None
    if re.fullmatch(r"[\d-]+", text):
        return _days(0, len(text), moment.date(), incident)
    return _point(0, len(text), _aware(moment, incident))


def _epoch(match: re.Match[str], incident: IncidentContext) -> Spoken:
    seconds = float(match["seconds"]) if match["seconds"] else int(match["millis"]) / 1000
    return _point(*match.span(), datetime.fromtimestamp(seconds, UTC))


def _now(match: re.Match[str], incident: IncidentContext) -> Spoken:
    return _point(*match.span(), incident.as_of.astimezone(UTC))


def _ago(match: re.Match[str], incident: IncidentContext) -> Spoken:
    return _point(*match.span(), incident.as_of.astimezone(UTC) - _duration(match["duration"]))


def _offset(match: re.Match[str], incident: IncidentContext) -> Spoken:
    distance = _duration(match["duration"])
    moment = incident.as_of.astimezone(UTC)
    return _point(*match.span(), moment - distance if match["sign"] == "-" else moment + distance)


def _last(match: re.Match[str], incident: IncidentContext) -> Spoken:
    text = match["duration"] or match["duration2"]
    distance = _duration(text if _PIECE_PARTS.search(text) else "1" + text)
    return Spoken(*match.span(), incident.as_of.astimezone(UTC) - distance, Sort.SINCE)


def _recently(match: re.Match[str], incident: IncidentContext) -> Spoken:
    return Spoken(*match.span(), incident.as_of.astimezone(UTC) - RECENT, Sort.SINCE)


def _clock(match: re.Match[str], incident: IncidentContext) -> Spoken:
    zone = _zone(match["zone"], incident)
    today = incident.as_of.astimezone(zone).date()
    day = _day(match, today)
    period = match["period"] or _SHORT_PERIODS.get(match["part"] or "", "")
    hour, extra_days = _hour_of(match, period, day_named=day is not None)
    minute, second = _minute_of(match), _number(match["s1"] or match["s2"] or "0")
    clock = time(hour % 24, int(minute), int(second), tzinfo=zone)
    moment = datetime.combine(day or today, clock) + timedelta(days=extra_days + hour // 24)
    if day is None and moment > incident.as_of:
        moment -= timedelta(days=1)
    bare = match["h2"] is not None and not (period or day or match["full"] or match["part2"] or match["m2"])
    return Spoken(*match.span(), moment.astimezone(UTC), Sort.POINT, clock_only=day is None, sure=not bare)


def _day_part(match: re.Match[str], incident: IncidentContext) -> Spoken:
    zone = ZoneInfo(incident.zone)
    today = incident.as_of.astimezone(zone).date()
    day = _day(match, today)
    period = match["period"] or match["period2"] or _SHORT_PERIODS.get(match["part"] or "", "")
    if not period:
        return _days(*match.span(), day or today, incident)
    first, last, _ = _period(period)
    midnight = datetime.combine(day or today, time(tzinfo=zone))
    if day is None and midnight + timedelta(hours=first) > incident.as_of:
        midnight -= timedelta(days=1)
    start, end = (midnight + timedelta(hours=hours) for hours in (first, last))
    return Spoken(*match.span(), start.astimezone(UTC), Sort.SPAN, end.astimezone(UTC), clock_only=day is None)


_Resolve = Callable[[re.Match[str], IncidentContext], Spoken]
_RULES: tuple[tuple[re.Pattern[str], _Resolve], ...] = (
    (_AGO, _ago),
    (_NOW_OFFSET, _offset),
    (_LAST, _last),
    (_RECENTLY, _recently),
    (_CLOCK, _clock),
    (_DAY_PART, _day_part),
)


def _point(begin: int, finish: int, moment: datetime) -> Spoken:
    return Spoken(begin, finish, moment, Sort.POINT)


def _days(begin: int, finish: int, day: date, incident: IncidentContext) -> Spoken:
    zone = ZoneInfo(incident.zone)
    start, end = (datetime.combine(day + timedelta(days=days), time(tzinfo=zone)).astimezone(UTC) for days in (0, 1))
    return Spoken(begin, finish, start, Sort.SPAN, end)


def _aware(moment: datetime, incident: IncidentContext) -> datetime:
    return (moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(incident.zone))).astimezone(UTC)


def _zone(text: str | None, incident: IncidentContext) -> ZoneInfo | timezone:
    if text is None:
        return ZoneInfo(incident.zone)
    offset = re.fullmatch(r"(?:z|utc|gmt)?(?:([+-])(\d{1,2}):?(\d{2})?)?", text)
    if offset is None or offset[1] is None:
        return UTC
    distance = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
    return timezone(distance if offset[1] == "+" else -distance)


def _day(match: re.Match[str], today: date) -> date | None:
    groups = match.groupdict()
    named = groups.get("after") or groups["named"] or groups["short"]
    if named:
        return today - timedelta(days=_DAYS_AGO.get(named, _DAYS_AGO.get(named[0], 0)))
    if groups["year"]:
        return date(int(groups["year"]), int(groups["month"]), int(groups["mday"]))
    month = groups["month2"] or groups.get("month3")
    if month:
        day = date(today.year, int(month), int(groups["mday2"] or groups["mday3"]))
        return day if day <= today + timedelta(days=1) else day.replace(year=today.year - 1)
    return None


def _hour_of(match: re.Match[str], period: str, *, day_named: bool) -> tuple[int, int]:
    """Return the hour (24 is midnight's end) and the days to add: the small hours of 昨晚 are of the next day."""
    hour = int(_number(match["h1"] or match["h2"] or match["h3"]))
    half = match["ampm"] or match["ampm3"]
    if hour > 24 or (half and not 1 <= hour <= 12):
        raise ValueError("hour")
    if half:
        return hour % 12 + (12 if half.startswith("p") else 0), 0
    if not period or hour > 12:
        return hour, 0
    at_night = any(night in period for night in _NIGHTS)
    if at_night and (hour == 12 or hour < _period(period)[2]):
        return hour % 12, 1 if day_named else 0
    if period == "凌晨":
        return hour % 12, 0
    return hour + (12 if _period(period)[2] <= hour < 12 else 0), 0


def _minute_of(match: re.Match[str]) -> float:
    if match["part2"]:
        return {"半": 30, "一刻": 15, "三刻": 45}[match["part2"]]
    return _number(match["m1"] or match["m2"] or "0")


def _period(word: str) -> tuple[int, int, int]:
    return next(hours for words, hours in _PERIODS.items() if word in words.split("|"))


def _duration(text: str) -> timedelta:
    seconds = 0.0
    for piece in _PIECE_PARTS.finditer(text):
        unit = next(name for name, words in _UNITS.items() if re.fullmatch(words, piece["unit"]))
        amount = 0.5 if piece["amount"] == "半" else _number(piece["amount"])
        seconds += (amount + (0.5 if piece["half"] else 0)) * _UNIT_SECONDS[unit]
    return timedelta(seconds=seconds)


def _number(text: str) -> float:
    if text in _EN_WORDS:
        return _EN_WORDS[text]
    if text[0].isascii():
        return float(text)
    total, digit = 0, 0
    for character in text:
        if character in "十百":
            total += (digit or 1) * (10 if character == "十" else 100)
            digit = 0
        else:
            digit = digit * 10 + _DIGITS[character] if digit else _DIGITS[character]
    return total + digit
