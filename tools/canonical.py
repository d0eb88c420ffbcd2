"""Canonical spellings: equal questions become equal scopes, different questions stay different.

Source: spec, "Harness SHALL assign only deterministic no-gain signals", scenario "Equivalent structured scope repeats";
decided contract, "The envelope and the gate" (Scope).

What folds and what doesn't:

| value | width, invisible characters, runs of blanks | case |
|---|---|---|
| names: service, metric, operation, stream, change id | folded | folded: no source tells two of them apart by case |
| free text searched for (`contains`, `query`) | folded | folded: the search itself ignores case |
| label matchers (`canonical_labels`) | width only | kept: `{pod="A"}` and `{pod="a"}` are two series |
| quantities | folded | kept: `1m` is a thousandth, `1M` a million |
| durations, numbers, times | folded | folded |

A field whose case matters is named in `canonical_scope(..., exact=...)` and keeps the spelling that its tool gave it.
"""

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs"})

_DURATION_UNITS = {
    Fraction(1, 10**9): ("ns", "nanosecond", "纳秒"),
    Fraction(1, 10**6): ("us", "µs", "μs", "microsecond", "微秒"),
    Fraction(1, 10**3): ("ms", "msec", "millisecond", "毫秒"),
    Fraction(1): ("s", "sec", "second", "秒", "秒钟"),
    Fraction(60): ("m", "min", "minute", "分", "分钟"),
    Fraction(3600): ("h", "hr", "hour", "时", "小时", "个小时"),
    Fraction(86400): ("d", "day", "天", "日"),
    Fraction(604800): ("w", "week", "周", "星期"),
}
_SYMBOLS = frozenset({"ns", "us", "ms"})
_SECONDS_OF = {
    unicodedata.normalize("NFKC", spelling + plural): seconds
    for seconds, spellings in _DURATION_UNITS.items()
    for spelling in spellings
    for plural in (("", "s") if len(spelling) > 1 and spelling.isascii() and spelling not in _SYMBOLS else ("",))
}
_DURATION_PART = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([a-zμ]+|[\u4e00-\u9fff]+)\s*")

_QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?)\s*([A-Za-zµμ%]*)")
_QUANTITY_FACTORS = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "μ": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "%": Fraction(1, 100),
    **{letter: Fraction(10 ** (3 * power)) for power, letter in enumerate("kMGTPE", start=1)},
    **{letter + "i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
    "K": Fraction(10**3),
    "ki": Fraction(1024),
}

_MATCHER = re.compile(
    r"""\s*([A-Za-z_][\w.:/-]*)\s*(=~|!~|!=|==|=)\s*
        ("(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | `[^`]*` | [^\s,{}"'`]+)\s*(?:,|$)""",
    re.VERBOSE,
)
_SELECTOR = re.compile(r"\s*([A-Za-z_][\w.:]*)?\s*(?:\{(.*)\})?\s*", re.DOTALL)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})


def visible(text: str) -> str:
    """Return `text` with invisible characters (control, format, lone surrogates) gone; white space becomes a blank."""
    kept = (
        " " if character.isspace() else character
        for character in text
        if character.isspace() or unicodedata.category(character) not in _INVISIBLE_CATEGORIES
    )
    return "".join(kept)


def fold(text: str) -> str:
    """Return the one spelling of a name or a searched text: NFKC width, no invisible characters, one blank, no case."""
    folded = unicodedata.normalize("NFKC", visible(text)).casefold()
    return " ".join(visible(unicodedata.normalize("NFKC", folded)).split())


def canonical_scope(values: Mapping[str, Any], *, exact: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return `values` as a scope of plain JSON values in sorted key order.

    Strings are folded, except those of the fields named in `exact` (their tool has brought them into canonical form);
    equal numbers get one type, aware times become ISO UTC, None is dropped. Raises ValueError with the field's name
    where a value has no JSON form.
    """
    return {
        key: _canonical(values[key], key, folded=key not in exact) for key in sorted(values) if values[key] is not None
    }


def canonical_json(scope: Mapping[str, Any]) -> str:
    """Return the deterministic JSON text of a scope: keys sorted, equal numbers equal, no None, no case folding."""
    plain = {key: _canonical(value, key, folded=False) for key, value in scope.items() if value is not None}
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def scope_digest(tool_name: str, scope: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of `tool_name + normalized_scope`: the key under which a repetition is recognized."""
    return hashlib.sha256(f"{tool_name}\n{canonical_json(scope)}".encode()).hexdigest()


def iso_utc(moment: datetime) -> str:
    """Return an aware time as ISO UTC (`2026-06-18T15:04:00Z`); fractions of a second only where there are any."""
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def canonical_duration(text: str) -> str:
    """Return a duration in seconds: `90s`, `1m30s`, `1.5m`, `1分30秒` are all `90s`. Raises ValueError otherwise."""
    return decimal_text(duration_seconds(text)) + "s"


def duration_seconds(text: str) -> Fraction:
    """Return the exact seconds of `90s`, `1m30s`, `1.5 hours`, `30分钟`. Raises ValueError where it can't be read."""
    rest = fold(text)
    total, position = Fraction(0), 0
    while position < len(rest) and (part := _DURATION_PART.match(rest, position)):
        if part.group(2) not in _SECONDS_OF:
            break
        total += Fraction(part.group(1)) * _SECONDS_OF[part.group(2)]
        position = part.end()
    if not rest or position < len(rest):
        raise ValueError("duration")
    return total


def canonical_quantity(text: str) -> str:
    """Return a quantity in its base unit: `1Ki`, `1KiB` and `1024` are one, so are `500m`, `0.5` and `50%`.

    Case counts, as in Kubernetes: `m` is a thousandth, `M` a million. Raises ValueError where it can't be read.
    """
    match = _QUANTITY.fullmatch(" ".join(unicodedata.normalize("NFKC", visible(text)).split()))
    if match is None:
        raise ValueError("quantity")
    unit = match.group(2).removesuffix("B") if match.group(2) != "B" else ""
    try:
        return decimal_text(Fraction(Decimal(match.group(1))) * _QUANTITY_FACTORS[unit])
    except (KeyError, InvalidOperation):
        raise ValueError("quantity") from None


def canonical_labels(text: str) -> str:
    """Return label matchers sorted and quoted in one way: `{b="2", a='1'}` is `{a="1",b="2"}`; a metric name stays.

    Names, operators and values keep their case. Raises ValueError where the text isn't a list of matchers.
    """
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES)).strip()
    selector = _SELECTOR.fullmatch(plain)
    name, body = (selector.group(1) or "", selector.group(2) or "") if selector else ("", plain)
    matchers, position = set(), 0
    while position < len(body) and (matcher := _MATCHER.match(body, position)):
        operator = "=" if matcher.group(2) == "==" else matcher.group(2)
        matchers.add((matcher.group(1), operator, _label_value(matcher.group(3))))
        position = matcher.end()
    if body[position:].strip():
        raise ValueError("labels")
    return (
        name + "{" + ",".join(f"{label}{operator}{_quoted(value)}" for label, operator, value in sorted(matchers)) + "}"
    )


def decimal_text(value: Fraction) -> str:
    """Return an exact decimal without exponent or trailing zeros (`0.5`, `1024`, `-3`).

    Raises ValueError where the value has no finite decimal expansion.
    """
    places = 0
    while value.denominator != 1 and places < 60:
        value, places = value * 10, places + 1
    if value.denominator != 1:
        raise ValueError("decimal")
    digits = str(abs(value.numerator)).rjust(places + 1, "0")
    whole, fraction = (digits[:-places], digits[-places:].rstrip("0")) if places else (digits, "")
    sign = "-" if value.numerator < 0 else ""
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole


def _canonical(value: Any, field: str, *, folded: bool) -> Any:
    if isinstance(value, str):
        return fold(value) if folded else _LONE_SURROGATE.sub("\ufffd", value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value, field)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return iso_utc(value)
    if isinstance(value, Mapping):
        return {
            str(key): _canonical(value[key], field, folded=folded)
            for key in sorted(value, key=str)
            if value[key] is not None
        }
    if isinstance(value, list | tuple):
        return [_canonical(item, field, folded=folded) for item in value]
    raise ValueError(field)


def _number(value: float, field: str) -> int | float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(field)
        return int(value) if value.is_integer() else float(value)
    return int(value)


def _label_value(literal: str) -> str:
    if literal[0] == "`":
        return literal[1:-1]
    if literal[0] not in "\"'":
        return literal
    body = re.sub(r"\\.|\"|[\n\t]", _as_json, literal[1:-1], flags=re.DOTALL)
    try:
        return str(json.loads(f'"{body}"', strict=False))
    except ValueError:
        raise ValueError("labels") from None


def _as_json(match: re.Match[str]) -> str:
    if match[0] == "\\'":
        return "'"
    return '\\"' if match[0] == '"' else match[0]


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
