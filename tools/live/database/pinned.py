"""Functions of the clock become the incident's time, so that one question means one window however often it's asked."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from tools.canonical import duration_seconds
from tools.live.database.vocabulary import Dialect, is_clock

_UTC_CLOCKS = (exp.UtcTimestamp, exp.UtcDate)
_DATE_CLOCKS = (exp.CurrentDate, exp.UtcDate)
_SPELLED = {"MIN": "minute", "MINS": "minute", "SEC": "second", "SECS": "second", "HR": "hour", "HRS": "hour"}


@dataclass(frozen=True)
class Clock:
    """The time at which a statement's clock stands still: `at` (aware), and the zone of times that name none."""

    at: datetime
    zone: str

    @property
    def minute(self) -> datetime:
        """`at` in the zone, on the whole minute: the next one, so that nothing before `at` is left out."""
        local = self.at.astimezone(ZoneInfo(self.zone))
        floor = local.replace(second=0, microsecond=0)
        return floor if floor == local else floor + timedelta(minutes=1)


def pin(tree: exp.Query, clock: Clock, dialect: Dialect) -> None:
    """Replace each function of the clock by its value, and `value ± interval` by what it comes to, in place.

    Months and years have no fixed length and are left to the server.
    """
    pins = [node for node in tree.walk() if is_clock(node, dialect)]
    for node in pins:
        _reckon(_put(node, _value(node, clock, dialect)), dialect)


def _put(node: exp.Expr, value: exp.Expr) -> exp.Expr:
    node.replace(value)
    return value


def _value(node: exp.Expr, clock: Clock, dialect: Dialect) -> exp.Expr:
    moment = clock.minute.astimezone(UTC) if isinstance(node, _UTC_CLOCKS) else clock.minute
    if isinstance(node, exp.Anonymous) and str(node.this).casefold() == "unix_timestamp":
        return exp.Literal.number(int(moment.timestamp()))
    if isinstance(node, _DATE_CLOCKS):
        return _time(moment.date(), exp.DType.DATE)
    if dialect is Dialect.MYSQL:
        return _time(moment, exp.DType.DATETIME)
    return _time(moment, exp.DType.TIMESTAMP if isinstance(node, exp.Localtimestamp) else exp.DType.TIMESTAMPTZ)


def _time(moment: date, type_: exp.DType) -> exp.Cast:
    text = moment.isoformat()
    if isinstance(moment, datetime):
        aware = moment.astimezone(UTC) if type_ is exp.DType.TIMESTAMPTZ else moment.replace(tzinfo=None)
        text = aware.isoformat(sep=" ")
    cast = exp.Cast(this=exp.Literal.string(text), to=exp.DataType(this=type_, nested=False))
    cast.meta["pinned"] = moment
    return cast


def _reckon(pinned: exp.Expr, dialect: Dialect) -> None:
    """Reckon with the interval beside a pinned time, as long as there is one of a fixed length."""
    while isinstance(pinned.meta.get("pinned"), datetime):
        outer = pinned.parent
        while isinstance(outer, exp.Paren):
            outer = _put(outer, pinned).parent
        distance = _distance(outer, pinned)
        if outer is None or distance is None:
            return
        moment: Any = pinned.meta["pinned"]
        if pinned.args["to"].this is exp.DType.TIMESTAMPTZ:
            moved = (moment.astimezone(UTC) + distance).astimezone(moment.tzinfo)
        else:
            moved = moment + distance
        pinned = _put(outer, _time(moved, pinned.args["to"].this))


def _distance(outer: exp.Expr | None, pinned: exp.Expr) -> timedelta | None:
    if not isinstance(outer, exp.Add | exp.Sub | exp.DateAdd | exp.DateSub) or outer.this is not pinned:
        return None
    amount, unit = outer.expression, outer.args.get("unit")
    if isinstance(amount, exp.Interval):
        amount, unit = amount.this, amount.args.get("unit")
    elif isinstance(outer, exp.Add | exp.Sub):
        return None
    if not isinstance(amount, exp.Literal):
        return None
    word = str(unit.this).upper() if unit is not None else ""
    try:
        seconds = duration_seconds(f"{amount.this} {_SPELLED.get(word, word)}")
        distance = timedelta(microseconds=int(seconds * 1_000_000))
        return -distance if isinstance(outer, exp.Sub | exp.DateSub) else distance
    except (ValueError, OverflowError):
        return None


def zone_of(name: str, at: datetime) -> timezone:
    """Return the offset that a zone has at an aware time, for servers that have no table of zones."""
    return timezone(at.astimezone(ZoneInfo(name)).utcoffset() or timedelta())
