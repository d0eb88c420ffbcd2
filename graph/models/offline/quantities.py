"""Values as programs and configurations write them, and how two of them compare."""

import re
from dataclasses import dataclass

_LEVELS = ("trace", "debug", "info", "notice", "warn", "warning", "error", "fatal")
_TRUE = {"true", "on", "yes", "enabled"}
_FALSE = {"false", "off", "no", "disabled"}

_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "millisecond": 1e-3, "milli": 1e-3, "microsecond": 1e-6,
    "nanosecond": 1e-9, "s": 1.0, "sec": 1.0, "second": 1.0, "m": 60.0, "min": 60.0, "minute": 60.0, "h": 3600.0,
    "hr": 3600.0, "hour": 3600.0, "d": 86400.0, "day": 86400.0,
}  # fmt: skip
_BYTES = {
    "b": 1.0, "k": 1e3, "kb": 1e3, "ki": 1024.0, "kib": 1024.0, "mb": 1e6, "mi": 1024.0**2, "mib": 1024.0**2,
    "gb": 1e9, "g": 1e9, "gi": 1024.0**3, "gib": 1024.0**3, "tb": 1e12, "ti": 1024.0**4,
}  # fmt: skip

_VALUE = re.compile(
    r"""
    "(?P<quoted>[^"]*)" | '(?P<single>[^']*)'
    | (?:(?<![\w.])|(?<=Xm[xsn])|(?<=VersionTLS)|(?<=TLSv))(?P<number>-?\d[\d_]*(?:\.\d+)?)
      (?:\s*\*\s*(?:time|Duration)\.(?P<go>[A-Z][a-z]+) | (?P<unit>[A-Za-zµ%]+)(?![\w(]))?
    | (?<=[:=])\s*(?P<bare>[A-Za-z/][\w.:/@-]*)\s*$
    | \b(?P<word>true|false|True|False)\b
    """,
    re.VERBOSE,
)
_UNIT_BESIDE = re.compile(
    r"""
    \bof(Nanos|Millis|Seconds|Minutes|Hours|Days)\(
    | TimeUnit\.([A-Z]+)
    | \b(milliseconds|microseconds|seconds|minutes|hours|days)\s*=
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Value:
    """A literal in a line: its text as written, where it stands, its number and unit if it is one."""

    text: str
    start: int
    end: int
    number: float | None = None
    unit: str = ""


def find_values(line: str) -> list[Value]:
    """Return the literals of a line in order: numbers with their units, strings, switches, bare configuration words."""
    values = []
    for match in _VALUE.finditer(line):
        text = next((match[name] for name in ("quoted", "single", "bare", "word") if match[name] is not None), None)
        if match["number"] is not None:
            number = float(match["number"].replace("_", ""))
            unit = (match["go"] or match["unit"] or "").lower()
            values.append(Value(match[0].strip(), match.start(), match.end(), number, unit))
        elif text is not None:
            values.append(_from_text(text, match.start(), match.end()))
    return values


def _from_text(text: str, start: int, end: int) -> Value:
    inner = re.fullmatch(r"(-?\d+(?:\.\d+)?)\s*([A-Za-zµ%]*)", text)
    if inner:
        return Value(text, start, end, float(inner[1]), inner[2].lower())
    return Value(text, start, end)


def compare(old: Value, new: Value, old_line: str, new_line: str) -> tuple[str, float]:
    """Return how a value moved and by which ratio; an empty direction where nothing can be said.

    The lines around the values tell milli-cores from minutes, and name units that stand beside the number.
    """
    if old.number is not None and new.number is not None:
        return _compare_numbers(scale(old, old_line), scale(new, new_line))
    before, after = old.text.lower(), new.text.lower()
    if before in _LEVELS and after in _LEVELS:
        return ("VERBOSE" if _LEVELS.index(after) < _LEVELS.index(before) else "QUIET"), 1.0
    if before in _FALSE and after in _TRUE:
        return "ENABLED", 1.0
    if before in _TRUE and after in _FALSE:
        return "DISABLED", 1.0
    return ("CHANGED", 1.0) if before != after else ("", 1.0)


def _compare_numbers(old: float, new: float) -> tuple[str, float]:
    if old == new:
        return "", 1.0
    small, large = sorted((abs(old), abs(new)))
    ratio = large / small if small else float("inf")
    return ("LOWERED" if new < old else "RAISED"), ratio


def scale(value: Value, line: str) -> float:
    """Return a number in its base unit (seconds, bytes, cores), as far as its unit is known."""
    number = value.number or 0.0
    unit = value.unit or unit_beside(line)
    if unit == "m" and re.search(r"cpu|core", line, re.IGNORECASE):
        return number * 1e-3
    if unit == "m" and re.search(r"mem|heap|xmx|size|bytes", line, re.IGNORECASE):
        return number * 1e6
    if unit == "%":
        return number / 100
    for table in (_SECONDS, _BYTES):
        if unit in table or unit.rstrip("s") in table:
            return number * (table.get(unit) or table[unit.rstrip("s")])
    return number


def unit_beside(line: str) -> str:
    """Return the unit that a call or name beside a number tells (`ofMillis(`, `TimeUnit.SECONDS`), or nothing."""
    match = _UNIT_BESIDE.search(line)
    return (match[1] or match[2] or match[3]).lower().rstrip("s") if match else ""


_IN_SECONDS = (
    (re.compile(r"(?<![a-z])(ms|millis\w*|milliseconds?)(?![a-z])", re.IGNORECASE), 1e-3),
    (re.compile(r"(?<![a-z])(us|micros\w*|microseconds?)(?![a-z])", re.IGNORECASE), 1e-6),
    (re.compile(r"(?<![a-z])(ns|nanos\w*|nanoseconds?)(?![a-z])", re.IGNORECASE), 1e-9),
    (re.compile(r"(?<![a-z])(s|secs?|seconds?)(?![a-z])", re.IGNORECASE), 1.0),
    (re.compile(r"(?<![a-z])(mins?|minutes?)(?![a-z])", re.IGNORECASE), 60.0),
)
_IN_BYTES = (
    (re.compile(r"(?<![a-z])(kb|kib|kilobytes)(?![a-z])", re.IGNORECASE), 1024.0),
    (re.compile(r"(?<![a-z])(mb|mib|megabytes)(?![a-z])", re.IGNORECASE), 1024.0**2),
    (re.compile(r"(?<![a-z])(gb|gib|gigabytes)(?![a-z])", re.IGNORECASE), 1024.0**3),
    (re.compile(r"(?<![a-z])bytes?(?![a-z])", re.IGNORECASE), 1.0),
)


def amount_in(name: str, number: float, unit: str) -> float | None:
    """Return a number in `unit` ("seconds", "bytes", or "" for a plain count) by the unit that its name tells.

    `name`: a metric or setting in snake case. None where the name tells none of that sort.
    """
    if not unit:
        return number
    for pattern, worth in _IN_SECONDS if unit == "seconds" else _IN_BYTES:
        if pattern.search(name.replace("_", " ")):
            return number * worth
    return None
