"""What a body of evidence lets a text state.

Source: contract, "EvidenceGuard": typed values, rounding to the digits shown; in an inference, one named operation
(difference, ratio, sum) of two cited values.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from graph.contract.moments import Moment, MomentSet
from graph.contract.names import NameSet
from graph.contract.units import RATIO, SECOND, Dimension, Unit
from graph.contract.values import Number, Token, Word

_ANY = "any"
_UNITLESS = "unitless"
_MINUTE = 60
_STATUS_CLASS = re.compile("[1-5]xx", re.IGNORECASE)


class NumberSet:
    """The numbers that evidence holds, asked whether a text's number is one of them, as its digits show it."""

    def __init__(self, numbers: Iterable[Number]) -> None:
        faces: dict[str, set[Decimal]] = {}
        given = tuple(numbers)
        below = [replace(number, negative=False) for number in given if number.negative]
        self._below_zero = NumberSet(below) if below else None
        for number in given:
            counts = number.unit is not None and number.unit.dimension is Dimension.COUNT
            faces.setdefault(Dimension.COUNT if counts else _ANY, set()).add(number.face)
            if number.unit is None:
                faces.setdefault(_UNITLESS, set()).add(number.face)
                continue
            scaled = faces.setdefault(number.unit.dimension, set())
            scaled.update(number.face * scale for scale in number.unit.scales)
        self._sorted = {key: sorted(values) for key, values in faces.items()}

    def holds(self, stated: Number, *, exactly: bool = False) -> bool:
        """Return whether the evidence has `stated`; `exactly` allows no rounding. A negative number is a negative one
        there, too; of a negative one there, a text may leave the sign to its words."""
        if stated.negative:
            positive = replace(stated, negative=False)
            return self._below_zero is not None and self._below_zero.holds(positive, exactly=exactly)
        quantum = Decimal(0) if exactly else stated.quantum
        unit = stated.unit
        if unit is None:
            # How many is said in whole numbers: `gaps=0` is no baseline of 0.00.
            keys = (_ANY, Dimension.RATIO, *((Dimension.COUNT,) if stated.quantum >= 1 else ()))
            return any(self._near(key, stated.face, quantum) for key in keys)
        if any(self._near(unit.dimension, stated.face * scale, quantum * scale) for scale in unit.scales):
            return True
        scale = unit.scales[0] if unit.dimension is Dimension.RATIO else Decimal(1)
        # Evidence without a unit can't contradict one; of a percentage it may hold the fraction.
        return self._near(_UNITLESS, stated.face, quantum) or self._near(
            _UNITLESS, stated.face * scale, quantum * scale
        )

    def holds_within(self, low: int, width: int) -> bool:
        """Return whether the evidence has a number without a unit in `[low, low + width]`."""
        held = self._sorted.get(_UNITLESS, [])
        at = bisect_left(held, Decimal(low))
        return at < len(held) and held[at] <= low + width

    def _near(self, key: str, value: Decimal, quantum: Decimal) -> bool:
        held = self._sorted.get(key, [])
        at = bisect_left(held, value - quantum / 2)
        while at < len(held) and held[at] <= value + quantum / 2:
            # 0.91 is not "1", and a little is not "0": rounding keeps a digit that says something.
            if held[at] == value or (value and held[at] >= quantum):
                return True
            at += 1
        return False


class Support:
    """A body of evidence, by its tokens, asked token for token what a text may state."""

    def __init__(self, tokens: Iterable[Token], zone: str) -> None:
        self.tokens = tuple(tokens)
        self.numbers = NumberSet(token for token in self.tokens if isinstance(token, Number))
        self.moments = MomentSet((token for token in self.tokens if isinstance(token, Moment)), zone)
        self.names = NameSet(token.text for token in self.tokens if isinstance(token, Word))

    def holds(self, token: Token) -> bool:
        """Return whether the evidence holds what `token` states."""
        if isinstance(token, Moment):
            return self.moments.holds(token)
        if isinstance(token, Word):
            return self.holds_name(token.text)
        return self.numbers.holds(token) or self._revision(token)

    def holds_name(self, name: str) -> bool:
        """Return whether the evidence holds a name; `5xx` also where it holds a status of that class."""
        return self.names.holds(name) or (
            _STATUS_CLASS.fullmatch(name) is not None and self.numbers.holds_within(int(name[0]) * 100, 99)
        )

    def _revision(self, number: Number) -> bool:
        """A short revision may happen to have digits only."""
        return number.unit is None and self.names.holds_revision(str(number.face))


class Operation(StrEnum):
    """What makes a new value of two."""

    DIFFERENCE = "difference"
    RATIO = "ratio"
    SUM = "sum"
    CHANGE = "change"
    """A difference as a share of one of both: a ratio, less one."""


class Derived:
    """The values that one operation makes of two, by operation: of each pair of `numbers`, the time between each pair
    of `times`."""

    def __init__(self, numbers: Iterable[tuple[Number, Number]], times: Iterable[tuple[datetime, datetime]]) -> None:
        made: dict[Operation, list[Number]] = {operation: [] for operation in Operation}
        for first, second in dict.fromkeys(numbers):
            _combine(first, second, made)
        shown: list[Number] = []
        for earlier, later in dict.fromkeys(times):
            made[Operation.DIFFERENCE].append(_between(earlier, later))
            shown.append(_between(earlier.replace(second=0, microsecond=0), later.replace(second=0, microsecond=0)))
        self._made = {operation: NumberSet(values) for operation, values in made.items()}
        self._between_minutes = NumberSet(shown)

    def holds(self, stated: Number, operations: Iterable[Operation]) -> bool:
        """Return whether one of the operations makes `stated`, as its digits show it; its sign aside."""
        stated = replace(stated, negative=False)
        if any(self._made[operation].holds(stated) for operation in operations):
            return True
        # Between times that are shown to the minute lie whole minutes: 14:59 to 15:03 is 4.
        whole = stated.unit is not None and stated.quantum * stated.unit.scales[0] >= _MINUTE
        return whole and Operation.DIFFERENCE in operations and self._between_minutes.holds(stated)


def _combine(first: Number, second: Number, made: dict[Operation, list[Number]]) -> None:
    if (first.unit and first.unit.dimension) != (second.unit and second.unit.dimension):
        return
    unit = first.unit if first.unit == second.unit else _base(first.unit)
    low, high = sorted(number.face if number.unit == unit else _in_base(number) for number in (first, second))
    made[Operation.DIFFERENCE].append(_made(high - low, unit))
    made[Operation.SUM].append(_made(high + low, unit))
    for share in (high / low, low / high) if low else ():
        made[Operation.RATIO].append(_made(share, RATIO))
        made[Operation.CHANGE].append(_made(abs(share - 1), RATIO))


def _between(first: datetime, second: datetime) -> Number:
    return _made(Decimal(str(abs((second - first).total_seconds()))), SECOND)


def _base(unit: Unit | None) -> Unit | None:
    return Unit(unit.dimension, (Decimal(1),)) if unit else None


def _in_base(number: Number) -> Decimal:
    return number.face * (number.unit.scales[0] if number.unit else 1)


def _made(face: Decimal, unit: Unit | None) -> Number:
    return Number(0, 0, face, Decimal(0), unit)
