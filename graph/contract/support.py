"""What a body of evidence lets a text state.

Source: contract, "EvidenceGuard": typed values, rounding to the digits shown; in an inference, one named operation
(difference, ratio, sum) of two cited values.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import combinations

from graph.contract.moments import Moment, MomentSet
from graph.contract.names import NameSet
from graph.contract.units import RATIO, SECOND, Dimension, Unit
from graph.contract.values import Number, Token, Word

_ANY = "any"
_UNITLESS = "unitless"
MAX_OPERANDS = 60
"""The most values that are combined with each other: 60 make 1,770 pairs."""


class NumberSet:
    """The numbers that evidence holds, asked whether a text's number is one of them, as its digits show it."""

    def __init__(self, numbers: Iterable[Number]) -> None:
        faces: dict[str, set[Decimal]] = {}
        for number in numbers:
            faces.setdefault(_ANY, set()).add(number.face)
            if number.unit is None:
                faces.setdefault(_UNITLESS, set()).add(number.face)
                continue
            scaled = faces.setdefault(number.unit.dimension, set())
            scaled.update(number.face * scale for scale in number.unit.scales)
        self._sorted = {key: sorted(values) for key, values in faces.items()}

    def holds(self, stated: Number, *, exactly: bool = False) -> bool:
        """Return whether the evidence has `stated`; `exactly` allows no rounding."""
        quantum = Decimal(0) if exactly else stated.quantum
        unit = stated.unit
        if unit is None:
            return self._near(_ANY, stated.face, quantum) or self._near(Dimension.RATIO, stated.face, quantum)
        if any(self._near(unit.dimension, stated.face * scale, quantum * scale) for scale in unit.scales):
            return True
        scale = unit.scales[0] if unit.dimension is Dimension.RATIO else Decimal(1)
        # Evidence without a unit can't contradict one; of a percentage it may hold the fraction.
        return self._near(_UNITLESS, stated.face, quantum) or self._near(
            _UNITLESS, stated.face * scale, quantum * scale
        )

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
            return self.names.holds(token.text)
        return self.numbers.holds(token) or self._revision(token)

    def _revision(self, number: Number) -> bool:
        """A short revision may happen to have digits only."""
        return number.unit is None and self.names.holds_revision(str(number.face))


def derived(
    numbers: Iterable[Number], instants: Iterable[datetime], pairs: Iterable[tuple[Number, Number]]
) -> NumberSet:
    """Return the numbers that one operation makes of two values: difference, ratio or sum of numbers (each pair of
    `numbers`, and `pairs`), the time between two of `instants`."""
    operands = tuple(dict.fromkeys(numbers))[:MAX_OPERANDS]
    times = sorted(set(instants))[:MAX_OPERANDS]
    found = [made for pair in (*combinations(operands, 2), *pairs) for made in _combined(*pair)]
    found.extend(made for earlier, later in combinations(times, 2) for made in _between(earlier, later))
    return NumberSet(found)


def _combined(first: Number, second: Number) -> Iterator[Number]:
    if (first.unit and first.unit.dimension) != (second.unit and second.unit.dimension):
        return
    unit = first.unit if first.unit == second.unit else _base(first.unit)
    low, high = sorted(number.face if number.unit == unit else _in_base(number) for number in (first, second))
    yield _made(high - low, unit)
    yield _made(high + low, unit)
    for share in (high / low, low / high) if low else ():
        yield _made(share, None)
        yield _made(share, RATIO)
        yield _made(abs(share - 1), RATIO)
        yield _made(abs(share - 1), None)


def _between(earlier: datetime, later: datetime) -> Iterator[Number]:
    yield _made(Decimal(str((later - earlier).total_seconds())), SECOND)
    # Said of times that are shown to the minute.
    cut = later.replace(second=0, microsecond=0) - earlier.replace(second=0, microsecond=0)
    yield _made(Decimal(int(cut.total_seconds())), SECOND)


def _base(unit: Unit | None) -> Unit | None:
    return Unit(unit.dimension, (Decimal(1),)) if unit else None


def _in_base(number: Number) -> Decimal:
    return number.face * (number.unit.scales[0] if number.unit else 1)


def _made(face: Decimal, unit: Unit | None) -> Number:
    return Number(0, 0, face, Decimal(0), unit)
