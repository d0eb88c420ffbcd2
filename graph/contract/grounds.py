"""What a sentence that infers may rest on: the values of the evidence that it cites, and one operation on two of them.

Source: contract, "EvidenceGuard": in an INFERENCE each number comes from cited evidence or from it by one named
operation (difference, ratio, sum).
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import combinations

from graph.contract.claims import counts_things, may_be_signed, operations
from graph.contract.draft import Analysis
from graph.contract.moments import Moment, MomentSet
from graph.contract.names import NameSort, words_in
from graph.contract.quotes import Line, Place
from graph.contract.reading import Name, Reading, Sentence
from graph.contract.records import VerifiedRecord
from graph.contract.relations import contradictions
from graph.contract.support import Derived, NumberSet, Support
from graph.contract.values import Number, Token, Word, scan

_POINTS = "points"
_CHANGE = "change"
_MAX_NUMBERS = 12
_MAX_TIMES = 40
_MAX_OPEN_VALUES = 60
_BEGINNINGS = ("at=", "onset=", "first_seen=", "fired_at=", "start=")
"""The fields that say when something began: what a delay is measured between."""


def unsupported_values(sentence: Sentence, support: Support) -> Iterator[Token]:
    """Give the numbers and moments of a sentence that evidence doesn't hold; a count of the sentence's names aside."""
    components = {name.text.casefold() for name in sentence.names if name.sort is NameSort.COMPONENT}
    for token in sentence.values:
        counted = isinstance(token, Number) and counts_things(token, sentence.text, len(components))
        if not counted and not support.holds(token):
            yield token


class Grounds:
    """What analyses cite, as grounds for a sentence that infers."""

    def __init__(self, reading: Reading, analyses: tuple[Analysis, ...], records: tuple[VerifiedRecord, ...]) -> None:
        self._reading = reading
        self._lines = tuple(line for record in records for line in reading.text_of(record).lines)
        asked = tuple(token for record in records for token in _asked(record))
        known = tuple(Word(0, 0, name) for record in records for name in record.evidence.components)
        places = tuple(_quoted(reading, analyses, {record.call_id for record in records}))
        own = (place for analysis in analyses for place in reading.all_places(analysis))
        self._own_lines = tuple(line for place in own for line in place.lines())
        self._quoted_lines = tuple(line for place in places for line in place.lines())
        # A series' points are many: one is close to any number, so unquoted they support only what equals them.
        quoted = (token for place in places for token in place.tokens())
        rounded = (t for line in self._lines for t in line.tokens if line.sort != _POINTS or not isinstance(t, Number))
        self._support = Support((*rounded, *quoted, *asked, *known), reading.zone)
        points = (token for line in self._lines if line.sort == _POINTS for token in line.tokens)
        self._points = NumberSet(token for token in points if isinstance(token, Number))

    def missing(self, sentence: Sentence) -> frozenset[str]:
        """Return what a sentence states and these grounds don't give: values, names, a direction, an order."""
        found = {name.text for name in sentence.names if not self._names(name)}
        open_values = [token for token in unsupported_values(sentence, self._support) if not self._a_point(token)]
        # Beyond the bound nothing is derived: a text of so many values that don't stand anywhere is none to prove.
        made = self._derived(sentence) if 0 < len(open_values) <= _MAX_OPEN_VALUES else None
        for token in open_values:
            if made is None or not self._makes(made, sentence, token):
                found.add(sentence.text[token.start : token.end])
        return frozenset(found.union(contradictions(self._reading, sentence, self._lines)))

    def _names(self, name: Name) -> bool:
        if name.text.isascii():
            return self._support.holds_name(name.text)
        return any(name.text in line.text.casefold() for line in self._lines)

    def _a_point(self, token: Token) -> bool:
        return isinstance(token, Number) and self._points.holds(token, exactly=True)

    def _makes(self, made: Derived, sentence: Sentence, token: Token) -> bool:
        if not isinstance(token, Number):
            return False
        clause = next((clause for clause, _ in sentence.clauses if clause.start <= token.start < clause.end), None)
        if clause is None or (token.negative and not may_be_signed(clause, token)):
            return False
        return made.holds(token, operations(clause, token))

    def _derived(self, sentence: Sentence) -> Derived:
        about = [line for line in self._lines if line.sort != _POINTS and _is_about(sentence, line)]
        stated = [token for token in sentence.values if isinstance(token, Number) and self._support.holds(token)]
        pairs = [pair for line in (*about, *self._own_lines) for pair in _pairs(line)]
        pairs.extend(combinations(stated[:_MAX_NUMBERS], 2))
        return Derived(pairs, self._delays(sentence, about))

    def _delays(self, sentence: Sentence, about: list[Line]) -> Iterator[tuple[datetime, datetime]]:
        """Give the pairs of times that a delay can lie between. One of both is a time that the sentence gives, or that
        of a change which it names, where there is such."""
        changes = [line for line in self._lines if line.sort == _CHANGE and _names_change(sentence, line)]
        named = self._instants(token for line in changes for token in _beginnings(line))
        anchors = named | self._given(sentence)
        near = (line for line in (*about, *self._quoted_lines) if line.sort != _CHANGE or line in self._quoted_lines)
        began = sorted(self._instants(token for line in near for token in _beginnings(line)))[:_MAX_TIMES]
        for first, second in combinations(sorted({*began, *anchors}), 2):
            if not anchors or first in anchors or second in anchors:
                yield first, second

    def _given(self, sentence: Sentence) -> frozenset[datetime]:
        stated = [token for token in sentence.values if isinstance(token, Moment)]
        held = [token for token in self._support.tokens if isinstance(token, Moment)] if stated else []
        return frozenset(
            instant
            for token in dict.fromkeys(held)
            for alone in (MomentSet((token,), self._reading.zone),)
            if any(alone.holds(moment) for moment in stated)
            for instant in alone.instants()
        )

    def _instants(self, tokens: Iterable[Token]) -> frozenset[datetime]:
        moments = (token for token in tokens if isinstance(token, Moment))
        return MomentSet(moments, self._reading.zone).instants()


def _quoted(reading: Reading, analyses: tuple[Analysis, ...], calls: set[str]) -> Iterator[Place]:
    """Give what the analyses, and others that cite the same calls, quote of these calls."""
    own = {id(analysis) for analysis in analyses}
    for analysis in reading.draft.analyses:
        if id(analysis) in own or calls.intersection(analysis.tool_call_ids):
            yield from (place for place in reading.all_places(analysis) if place.source.record.call_id in calls)


def _asked(record: VerifiedRecord) -> Iterator[Token]:
    """What was asked, and of whom, may be named, also where nothing was found."""
    for value in record.scope.values():
        if isinstance(value, str):
            yield from scan(value)
            yield from (Word(0, 0, word) for word in words_in(value))


def _is_about(sentence: Sentence, line: Line) -> bool:
    """A line is about what the sentence names; about anything, where it names changes only, or nothing."""
    names = [name for name in sentence.names if name.sort not in (NameSort.REVISION, NameSort.VERSION)]
    return not names or any(line.names.holds(name.text) for name in names)


def _names_change(sentence: Sentence, line: Line) -> bool:
    names = (name for name in sentence.names if name.sort is not NameSort.COMPONENT)
    return any(line.names.holds(name.text) for name in names)


def _pairs(line: Line) -> Iterator[tuple[Number, Number]]:
    numbers = [token for token in line.tokens if isinstance(token, Number) and token.end <= line.fields_end]
    yield from combinations(numbers[:_MAX_NUMBERS], 2)


def _beginnings(line: Line) -> Iterator[Token]:
    for token in line.tokens:
        before = line.text[: token.start - line.start].rpartition(" ")[2]
        if token.end <= line.fields_end and before in _BEGINNINGS:
            yield token
