"""The units in which evidence and drafts give their numbers, in Chinese and English.

Source: contract, "EvidenceGuard": typed tokens, so that 500 ms is 0.5 s and 0.12 is 12 %.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class Dimension(StrEnum):
    """What a number measures. Numbers of different dimensions are never equal."""

    TIME = "time"
    BYTES = "bytes"
    BYTE_RATE = "byte_rate"
    RATIO = "ratio"
    RATE = "rate"
    COUNT = "count"
    """How many: it may be stated without a unit, never with one of the others."""


@dataclass(frozen=True)
class Unit:
    """A dimension, and what one of the unit is in the dimension's base (second, byte, one, one a second).

    Two scales where usage differs: a GB is 10^9 bytes to some and 2^30 to others.
    """

    dimension: Dimension
    scales: tuple[Decimal, ...]


def _unit(dimension: Dimension, *scales: str | int) -> Unit:
    return Unit(dimension, tuple(Decimal(scale) for scale in scales))


COUNT = _unit(Dimension.COUNT, 1)
SECOND = _unit(Dimension.TIME, 1)
RATIO = _unit(Dimension.RATIO, 1)
PERCENT = _unit(Dimension.RATIO, "0.01")

_TIME: dict[str, str | int | Decimal] = {
    "ns nanosecond nanoseconds 纳秒": "1e-9",
    "us µs μs microsecond microseconds 微秒": "1e-6",
    "ms msec msecs millis millisecond milliseconds 毫秒": "0.001",
    "s sec secs second seconds 秒钟 秒": 1,
    "m min mins minute minutes 分钟": 60,
    "h hr hrs hour hours 个小时 小时": 3600,
    "d day days 天": 86400,
    "week weeks 周": 604800,
}
_RATIOS: dict[str, str | int | Decimal] = {"% percent pct 个百分点 百分点": "0.01", "‰": "0.001"}
_PREFIXES = {"k": 1, "m": 2, "g": 3, "t": 4}
_RATES: dict[str, str | int | Decimal] = {"rps qps tps ops/s": 1, "rpm": Decimal(1) / 60}


def _spread(dimension: Dimension, table: Iterable[tuple[str, str | int | Decimal]]) -> dict[str, Unit]:
    return {name: Unit(dimension, (Decimal(scale),)) for names, scale in table for name in names.split()}


def _byte_units() -> dict[str, Unit]:
    found = {"b": _unit(Dimension.BYTES, 1), "byte": _unit(Dimension.BYTES, 1), "bytes": _unit(Dimension.BYTES, 1)}
    found["字节"] = found["b"]
    for prefix, power in _PREFIXES.items():
        found[f"{prefix}b"] = _unit(Dimension.BYTES, 1000**power, 1024**power)
        found[f"{prefix}ib"] = found[f"{prefix}i"] = _unit(Dimension.BYTES, 1024**power)
    return found


UNITS: dict[str, Unit] = {
    **_spread(Dimension.TIME, _TIME.items()),
    **_spread(Dimension.RATIO, _RATIOS.items()),
    **_spread(Dimension.RATE, _RATES.items()),
    **_byte_units(),
}
"""Units by their casefolded name."""

_CASED = {"m": "m", "h": "h", "d": "d", "s": "s", "b": "B", "mi": "Mi", "gi": "Gi", "ki": "Ki", "ti": "Ti"}
_NOUN = r"(?:req(?:uest)?s?|op(?:eration)?s|quer(?:y|ies)|calls?|msgs?|messages?|errors?|events?|rows?|次|条|个|请求)"
_PER = r"(?:/\s?|per\s|每)(?P<per>seconds?|secs?|s|minutes?|mins?|hours?|h|秒|分钟|小时)"
_RATE = rf"(?:{_NOUN}\s?)?{_PER}"
_EDGE = r"(?![A-Za-z0-9_])"


def _pattern() -> str:
    words = sorted((re.escape(name) for name in UNITS if name not in _CASED), key=len, reverse=True)
    ascii_words = "|".join(word for word in words if word[0].isascii() and word[0].isalpha())
    others = "|".join(word for word in words if not (word[0].isascii() and word[0].isalpha()))
    cased = "|".join(re.escape(name) for name in sorted(_CASED.values(), key=len, reverse=True))
    byte_rate = r"(?i:[kmgt]?i?b)/s"
    return (
        rf"(?P<byte_rate>{byte_rate}){_EDGE}|(?P<rate>(?i:{_RATE})){_EDGE}"
        rf"|(?P<name>(?i:{ascii_words}){_EDGE}|{others}|(?:{cased}){_EDGE})"
    )


UNIT_PATTERN = _pattern()
"""A unit at the place where it follows a number; groups `byte_rate`, `rate` with `per`, `name`."""


def unit_of(groups: dict[str, str | None]) -> Unit | None:
    """Return the unit that a match of `UNIT_PATTERN` read, or None where it read none."""
    if rate := groups["byte_rate"]:
        return Unit(Dimension.BYTE_RATE, UNITS[rate[:-2].casefold()].scales)
    if per := groups["per"]:
        return Unit(Dimension.RATE, (1 / UNITS[per.casefold()].scales[0],))
    return UNITS[name.casefold()] if (name := groups["name"]) else None


_NAME_UNITS = {
    **{word: UNITS[word] for word in ("ns", "us", "ms", "milliseconds", "seconds", "sec", "minutes", "hours")},
    **{word: UNITS[word] for word in ("bytes", "kb", "mb", "gb", "kib", "mib", "gib", "percent", "pct", "rps", "qps")},
    "millis": UNITS["ms"],
    "ratio": RATIO,
    "tps": UNITS["rps"],
    "rpm": UNITS["rpm"],
    **dict.fromkeys(("count", "counts", "total", "connections", "replicas", "restarts", "threads"), COUNT),
}
_PER_NAMES = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60}


def unit_of_name(name: str) -> Unit | None:
    """Return the unit that a metric's or a field's name gives (`duration_p99_ms`, `requests_per_sec`), or None."""
    words = re.split(r"[_.\-/]", name.casefold())
    if "per" in words[:-1]:
        seconds = _PER_NAMES.get(words[words.index("per") + 1])
        return (
            _unit(Dimension.RATE, 1) if seconds == 1 else Unit(Dimension.RATE, (Decimal(1) / 60,)) if seconds else None
        )
    if words[-1] == "s" and len(words) > 1:
        return SECOND
    # The last word of meaning wins: `request_count_ms` is a time.
    return next((_NAME_UNITS[word] for word in reversed(words) if word in _NAME_UNITS), None)
