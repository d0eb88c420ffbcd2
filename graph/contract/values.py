"""Typed values of a text: numbers with their units, moments, names.

Source: contract, "EvidenceGuard": typed tokens, not substrings; rounding to the digits shown.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from graph.contract.moments import MOMENT_PATTERN, Moment, moment_of
from graph.contract.numerals import CHINESE_NUMERAL, ENGLISH_NUMERALS, chinese_number
from graph.contract.units import PERCENT, UNIT_PATTERN, UNITS, Dimension, Unit, unit_of

_WORD_END = r"(?![A-Za-z0-9_])"
_MAX_DIGITS = 15
"""A longer row of digits is an identifier (an offset, a card), and is compared as one."""

_SKIP = (
    rf"[Nn]\+1{_WORD_END}|(?:UTC|GMT)[+-]\d{{1,2}}(?::?\d{{2}})?"
    rf"|24\s?[/x×]\s?7{_WORD_END}|7\s?[/x×]\s?24{_WORD_END}"
)
_DIGITS = rf"\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\d)|\d(?:\.\d+)?[eE][+-]?\d{{1,2}}{_WORD_END}|\d+(?:\.\d+)?"
_SCALE = (
    r"(?:\s?(?P<scale>万亿|千万|百万|十万|万|亿|千|thousand\b|million\b|billion\b)|(?P<kilo>[kKM])(?![A-Za-z0-9_/]))"
)
_PART_OF_NAME = r"(?![A-Za-z0-9_]|\.\d)"
_MULTIPLE = rf"\s?(?:倍|[x×X]{_WORD_END}|-?fold\b)"
_NUMBER = (
    rf"(?P<percent_of>百分之\s?)?(?P<each>每(?P<each_per>秒|分钟|小时)\s?(?:约|大约|近|达到?|有)?\s?)?"
    rf"(?P<digits>{_DIGITS}){_SCALE}?"
    rf"(?:(?P<multiple>{_MULTIPLE})|[\s-]?\(?(?:{UNIT_PATTERN})|{_PART_OF_NAME})"
)
_COMPACT = rf"\d+h(?:\d+m)?(?:\d+(?:\.\d+)?s)?{_WORD_END}|\d+m\d+(?:\.\d+)?s{_WORD_END}|\d+\s?分\s?\d+\s?秒"
_CHINESE = (
    rf"百分之(?P<chinese_percent>{CHINESE_NUMERAL}{{1,12}}(?:点{CHINESE_NUMERAL}{{1,6}})?)"
    rf"|(?<!{CHINESE_NUMERAL})(?P<chinese>{CHINESE_NUMERAL}{{1,12}})(?P<chinese_unit>毫秒|秒|分钟|个小时|小时|天|倍)"
)
_ENGLISH = (
    rf"(?<![A-Za-z0-9_-])(?P<english>(?i:{'|'.join(ENGLISH_NUMERALS)}))[\s-]"
    r"(?P<english_unit>(?i:seconds?|minutes?|hours?|days?|percent))\b"
)
_NAME = r"(?:--)?[A-Za-z0-9_]+(?:[-./][A-Za-z0-9_]+)*"

_TOKEN = re.compile(
    rf"(?P<moment>{MOMENT_PATTERN})|(?P<skip>{_SKIP})|(?P<compact>{_COMPACT})|(?P<number>{_NUMBER})"
    rf"|(?P<spelled>{_CHINESE}|{_ENGLISH})|(?P<word>{_NAME})",
    re.ASCII,
)
_REVISION_LIKE_DAYS = re.compile(r"\d{6,39}d")
"""Nobody counts a million days: it's a short revision that happens to end so."""
_MINUS = re.compile(r"(?:^|(?<=[\s(\[{=:,;~<>\"']))[-\u2212]\Z")
_COMPACT_PART = re.compile(r"(\d+(?:\.\d+)?)\s?([hms分秒])")
_COMPACT_UNITS = {"h": UNITS["h"], "m": UNITS["m"], "s": UNITS["s"], "分": UNITS["m"], "秒": UNITS["s"]}
_SCALES = {
    "万亿": 10**12,
    "千万": 10**7,
    "百万": 10**6,
    "十万": 10**5,
    "万": 10**4,
    "亿": 10**8,
    "千": 1000,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "k": 1000,
    "K": 1000,
    "M": 10**6,
}


@dataclass(frozen=True)
class Number:
    """A number as a text shows it: `face` in its own unit, `quantum` the worth of its last digit there.

    `start` and `end` are its place in the text, its unit included. `face` is without its sign; `negative` says whether
    a minus stands before it, which is no hyphen, dash or range.
    """

    start: int
    end: int
    face: Decimal
    quantum: Decimal
    unit: Unit | None = None
    negative: bool = False


@dataclass(frozen=True)
class Word:
    """A run of ASCII letters, digits and the characters that join them: a word, or a name of something."""

    start: int
    end: int
    text: str


Token: TypeAlias = Number | Moment | Word


def scan(text: str) -> tuple[Token, ...]:
    """Return the typed tokens of a folded text, in its order. Numbers inside names are no numbers."""
    return tuple(_joined_durations(_tokens(text), text))


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        token = _token(match)
        if token is not None:
            yield token


def _token(match: re.Match[str]) -> Token | None:
    start, end = match.span()
    if match["moment"]:
        # A time that doesn't exist (25:99) is still something that the text says: it's compared as a name.
        return moment_of(match) or Word(start, end, match[0])
    if match["number"]:
        return _number(match)
    if match["compact"]:
        return _compact(match)
    if match["spelled"]:
        return _spelled(match)
    return Word(start, end, match[0]) if match["word"] else None


def _number(match: re.Match[str]) -> Number | Word:
    start, end = match.span()
    digits = match["digits"].replace(",", "")
    if len(digits) > _MAX_DIGITS and not match["scale"]:
        return Word(start, end, digits)
    if _REVISION_LIKE_DAYS.fullmatch(match[0]):
        return Word(start, end, match[0])
    scale = Decimal(_SCALES[(match["scale"] or match["kilo"])]) if match["scale"] or match["kilo"] else Decimal(1)
    value = Decimal(digits)
    unit = PERCENT if match["percent_of"] else unit_of(match.groupdict())
    if unit is None and match["each_per"]:
        unit = Unit(Dimension.RATE, (1 / UNITS[match["each_per"]].scales[0],))
    exponent = value.as_tuple().exponent
    shown = Decimal(1).scaleb(exponent) if isinstance(exponent, int) else Decimal(1)
    return Number(start, end, value * scale, shown * scale, unit, _is_negative(match))


def _compact(match: re.Match[str]) -> Number:
    parts = _COMPACT_PART.findall(match[0])
    seconds = sum(Decimal(digits) * _COMPACT_UNITS[unit].scales[0] for digits, unit in parts)
    quantum = _COMPACT_UNITS[parts[-1][1]].scales[0]
    return Number(*match.span(), Decimal(seconds), quantum, UNITS["s"], _is_negative(match))


def _is_negative(match: re.Match[str]) -> bool:
    return _MINUS.search(match.string, 0, match.start()) is not None


def _spelled(match: re.Match[str]) -> Number:
    start, end = match.span()
    if english := match["english"]:
        value = Decimal(ENGLISH_NUMERALS[english.casefold()])
        return Number(start, end, value, Decimal(1), UNITS[match["english_unit"].casefold()])
    if numeral := match["chinese_percent"]:
        decimals = len(numeral.partition("点")[2])
        return Number(start, end, chinese_number(numeral), Decimal(1).scaleb(-decimals), PERCENT)
    return Number(start, end, chinese_number(match["chinese"]), Decimal(1), UNITS.get(match["chinese_unit"]))


def _joined_durations(tokens: Iterator[Token], text: str) -> Iterator[Token]:
    """Read `1 分 30 秒` as the one duration that it is."""
    held: Token | None = None
    for token in tokens:
        joined = _joined(held, token, text) if held is not None else None
        if held is not None and joined is None:
            yield held
        held = joined or token
    if held is not None:
        yield held


def _joined(first: Token, second: Token, text: str) -> Number | None:
    if not (isinstance(first, Number) and isinstance(second, Number) and first.unit and second.unit):
        return None
    if first.unit.dimension is not Dimension.TIME or second.unit.dimension is not Dimension.TIME:
        return None
    if first.unit.scales[0] <= second.unit.scales[0] or text[first.end : second.start].strip() not in ("", "and", "零"):
        return None
    scale = first.unit.scales[0] / second.unit.scales[0]
    return replace(second, start=first.start, face=first.face * scale + second.face, negative=first.negative)
