"""What a sentence claims beside its values: a direction, an order in time, a number of one thing.

Source: contract, "EvidenceGuard": typed tokens. A quote that says `direction=UP` supports no sentence that says 下降.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from graph.contract.moments import Moment
from graph.contract.support import Operation
from graph.contract.units import Dimension
from graph.contract.values import Number, Token

_CLAUSE_END = re.compile(r"[;!?。()]|,(?!\d)|\.(?=\s|$)|\bwhile\b|\bwhereas\b|而(?!且)|但|\n")
_UP = (
    r"\bdirection=UP\b|上升|升高|升至|升到|增加|增长|增至|增大|飙升|飙高|上涨|涨到|涨至|激增|攀升|陡增|变高|变大|走高"
    r"|\b(?:rose|rises?|rising|risen|increas(?:e|es|ed|ing)|climb(?:s|ed|ing)?|jump(?:s|ed|ing)?|spik(?:e|es|ed|ing)"
    r"|surg(?:e|es|ed|ing)|grew|grown|soar(?:s|ed|ing)?|went up)\b"
)
_DOWN = (
    r"\bdirection=DOWN\b|下降|降低|下跌|减少|跌至|跌到|降至|降到|下滑|回落|骤降|锐减|变低|走低"
    r"|\b(?:drop(?:s|ped|ping)?|(?:fell|falls?|falling|fallen)(?!\s+(?:behind|over|back\s+(?:on|to)|through|short)\b)"
    r"|decreas(?:e|es|ed|ing)|declin(?:e|es|ed|ing)|dip(?:s|ped)?"
    r"|plunged?|went down|shrank)\b"
)
_FLAT = (
    r"\bdirection=FLAT\b|平稳|持平|无变化|没有变化|保持稳定|不变|基本稳定"
    r"|\b(?:flat|steady|unchanged|stayed stable|did not change)\b"
)
_ON = r"开启|打开|启用|\b(?:enabled|turned on|switched on)\b"
_OFF = r"关闭|关掉|禁用|停用|\b(?:disabled|turned off|switched off)\b"
_WORDS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {"UP": _UP, "DOWN": _DOWN, "FLAT": _FLAT, "ON": _ON, "OFF": _OFF}.items()
}
_DENIED = re.compile(
    r"(?:未|没有|没|无|并未|不再|不曾|未见|停止)(?:明显|出现|发生|任何|显著|继续|再)*$|\b(?:not|no|without|never|stopped)(?:\s\w+){0,1}\s$",
    re.IGNORECASE,
)
_EARLIER = re.compile(r"早于|先于|\b(?:before|earlier than|ahead of|precede[sd]?)\b", re.IGNORECASE)
_LATER = re.compile(r"晚于|迟于|\b(?:after|later than|follow(?:s|ed))\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"\s?(?:个|台|套)?(?:服务|组件|应用|实例|节点|主机|services\b|components\b|pods\b|hosts\b|nodes\b)"
)
_FROM_TO = re.compile(r"从.*?(?:到|至|为)|\bfrom\b.*?\bto\b", re.IGNORECASE)
_OPERATIONS = {
    Operation.RATIO: re.compile(
        r"倍|占|比例|比率|之比|成功率|失败率|命中率|错误率|%|百分|\btimes\b|fold\b|\d[x×]|\bratio\b|\bshare\b|percent|half",
        re.I,
    ),
    Operation.DIFFERENCE: re.compile(
        r"差|早|晚|迟|先|间隔|相隔|之后|以后|后|前|内|升|涨|增|降|减|跌|落|多|少|高出|低于|历时|持续|耗时|仅|"
        r"\b(?:later|after|before|earlier|within|between|difference|by|more|less|fewer|delta|lasted|for|apart|"
        r"following|prior|lag|delay|gap|increase|decrease|rose|grew|dropped|fell)\b",
        re.I,
    ),
    Operation.SUM: re.compile(r"共|合计|总|累计|\b(?:total|sum|together|combined|altogether|in all)", re.I),
}
_DENIAL_REACH = 24


@dataclass(frozen=True)
class Clause:
    """A part of a sentence between two stops, `[start, end)` of the text, with the tokens in it."""

    start: int
    end: int
    text: str
    tokens: tuple[Token, ...]

    def directions(self) -> frozenset[str]:
        """Return the directions that the clause claims: UP, DOWN, FLAT, ON, OFF; a denied one isn't claimed."""
        return frozenset(name for name, words in _WORDS.items() if self._claims(words))

    def denies(self, words: re.Pattern[str]) -> bool:
        """Return whether the clause has `words`, and denies each of them."""
        found = list(words.finditer(self.text))
        return bool(found) and all(map(self._denied, found))

    def denied_directions(self) -> frozenset[str]:
        """Return the directions that the clause denies ("没有上升")."""
        return frozenset(
            name for name, words in _WORDS.items() if any(self._denied(found) for found in words.finditer(self.text))
        )

    def _claims(self, words: re.Pattern[str]) -> bool:
        return any(not self._denied(found) for found in words.finditer(self.text))

    def _denied(self, found: re.Match[str]) -> bool:
        return _DENIED.search(self.text[max(0, found.start() - _DENIAL_REACH) : found.start()]) is not None

    @cached_property
    def operations(self) -> frozenset[Operation]:
        """The operations that the clause names."""
        named = {operation for operation, words in _OPERATIONS.items() if words.search(self.text)}
        return frozenset(named | ({Operation.CHANGE} if Operation.DIFFERENCE in named else set()))


def clauses(text: str, tokens: tuple[Token, ...]) -> Iterator[Clause]:
    """Return the clauses of a folded text. A stop inside a token (4,120) is none."""
    start = 0
    starts = [token.start for token in tokens]
    stops = [found.span() for found in _CLAUSE_END.finditer(text) if not _inside(found.start(), tokens, starts)]
    for stop, following in (*stops, (len(text), len(text))):
        if text[start:stop].strip():
            held = tokens[bisect_left(starts, start) : bisect_left(starts, stop)]
            yield Clause(start, stop, text[start:stop], held)
        start = following


def _inside(at: int, tokens: tuple[Token, ...], starts: list[int]) -> bool:
    before = bisect_left(starts, at) - 1
    return before >= 0 and at < tokens[before].end


def out_of_order(clause: Clause) -> bool:
    """Return whether a clause contradicts itself: a rise from 4120 to 227, a 15:03 that is earlier than 14:59."""
    return _times_disordered(clause) or _values_disordered(clause)


def _times_disordered(clause: Clause) -> bool:
    times = [token for token in clause.tokens if isinstance(token, Moment) and token.hour is not None]
    if len(times) != 2 or (times[0].day is None) != (times[1].day is None) or times[0].offset != times[1].offset:
        return False
    between = clause.text[times[0].end - clause.start : times[1].start - clause.start]
    earlier, later = _EARLIER.search(between), _LATER.search(between)
    if bool(earlier) == bool(later):
        return False
    first, second = (_sortable(time) for time in times)
    return first > second if earlier else first < second


def _sortable(time: Moment) -> tuple[int, ...]:
    shown = (time.year, time.month, time.day, time.hour, time.minute, time.second)
    return tuple(part or 0 for part in shown)


def _values_disordered(clause: Clause) -> bool:
    numbers = [token for token in clause.tokens if isinstance(token, Number)]
    directions = clause.directions() & {"UP", "DOWN"}
    if len(numbers) != 2 or len(directions) != 1 or not _FROM_TO.search(clause.text):
        return False
    first, second = numbers
    if (first.unit and first.unit.dimension) != (second.unit and second.unit.dimension):
        # "from 0.2 to 3 %": the first number has the second's unit, and may have another.
        return False
    before, after = (number.face * (number.unit.scales[0] if number.unit else 1) for number in numbers)
    return before >= after if directions == {"UP"} else before <= after


def operations(clause: Clause, number: Number) -> frozenset[Operation]:
    """Return the operations that a clause names, of those that can make `number`: a ratio is a percentage or a
    multiple, and the others are neither."""
    shown = clause.text[number.start - clause.start : number.end - clause.start]
    following = clause.text[number.end - clause.start : number.end - clause.start + 8]
    multiple = shown.endswith(("倍", "x", "X", "×", "fold")) or re.match(r"\s(?:times\b|fold\b)", following)
    if multiple:
        return clause.operations & {Operation.RATIO, Operation.CHANGE}
    if number.unit is not None and number.unit.dimension is Dimension.RATIO:
        return clause.operations
    return clause.operations - {Operation.RATIO, Operation.CHANGE}


def may_be_signed(clause: Clause, number: Number) -> bool:
    """Return whether a derived `number` may have a minus: as a share of change, or where the clause tells of a fall."""
    share = number.unit is not None and number.unit.dimension is Dimension.RATIO
    return share or "DOWN" in clause.directions()


def counts_things(number: Number, text: str, named: int) -> bool:
    """Return whether `number` counts the components that the text itself names ("3 个服务: a, b, c")."""
    return number.unit is None and named > 1 and number.face == named and bool(_COUNTED.match(text, number.end))


def contradicts(clause: Clause, measured: Iterable[str]) -> str | None:
    """Return the direction that the clause claims against the measured ones, or None."""
    found = frozenset(measured)
    for group in (frozenset(("UP", "DOWN", "FLAT")), frozenset(("ON", "OFF"))):
        held, claimed = found & group, clause.directions() & group
        if held and claimed and not held & claimed:
            return min(claimed)
        if held and not claimed and held <= clause.denied_directions():
            return min(held)
    return None
