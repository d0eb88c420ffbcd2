"""Whether a sentence's values and names stand in its evidence: in its quotes for an observation, in anything cited or
in one operation on it for an inference (contract, "EvidenceGuard")."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import combinations

from graph.contract.claims import Clause, clauses, contradicts, counts_things, out_of_order
from graph.contract.draft import Analysis
from graph.contract.moments import Moment, MomentSet
from graph.contract.names import NameSet, NameSort, words_in
from graph.contract.quotes import Line, Place
from graph.contract.reading import Name, Reading, Sentence, has_evidence
from graph.contract.records import VerifiedRecord
from graph.contract.support import NumberSet, Support, derived
from graph.contract.values import Number, Token, Word, scan
from graph.contract.violations import DraftViolation, violation
from graph.contract.vocabulary import DraftViolationCode as Code

_POINTS = "points"
_MAX_LINES = 12
"""Beyond this many lines of which a sentence may speak, the times between them no longer say anything."""


def observed_values(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """An OBSERVATION's quotes hold the entity and the values that its text states."""
    places = reading.all_places(analysis)
    sentence = reading.sentence(analysis.text)
    windows = tuple(token for record in reading.cited(analysis) for token in _window(record))
    heads = tuple(token for place in places for line in place.heads() for token in line.tokens)
    quoted = tuple(token for place in places for token in place.tokens())
    support = Support((*quoted, *windows, *(t for t in heads if not isinstance(t, Number))), reading.zone)
    missing = {*_unsupported_names(sentence, support, places), *_unsupported_values(sentence, support)}
    missing.update(_unbound(reading, sentence, places) if not missing else ())
    lines = tuple(line for place in places for line in place.lines())
    missing.update(_contradictions(reading, sentence, lines))
    yield from (violation(Code.VALUE_NOT_IN_QUOTE, f"{path}.text", detail) for detail in sorted(missing))


def _window(record: VerifiedRecord) -> tuple[Token, ...]:
    """The window that was asked about is no claim on the evidence: a sentence may name it."""
    bounds = (record.scope.get("start"), record.scope.get("end"))
    return tuple(token for bound in bounds if isinstance(bound, str) for token in scan(bound))


def _unsupported_names(sentence: Sentence, support: Support, places: Iterable[Place]) -> Iterator[str]:
    for name in sentence.names:
        if not (support.names.holds(name.text) or _written(name, places)):
            yield name.text


def _written(name: Name, places: Iterable[Place]) -> bool:
    """Names of other scripts aren't words of their own: they stand somewhere in the quoted entry."""
    return not name.text.isascii() and any(
        name.text in line.text.casefold() for place in places for line in (*place.lines(), *place.heads())
    )


def _unsupported_values(sentence: Sentence, support: Support) -> Iterator[str]:
    for token in _unsupported(sentence, support):
        yield sentence.text[token.start : token.end]


def _unsupported(sentence: Sentence, support: Support) -> Iterator[Token]:
    components = {name.text.casefold() for name in sentence.names if name.sort is NameSort.COMPONENT}
    for token in sentence.values:
        counted = isinstance(token, Number) and counts_things(token, sentence.text, len(components))
        if not counted and not support.holds(token):
            yield token


def _unbound(reading: Reading, sentence: Sentence, places: Iterable[Place]) -> Iterator[str]:
    """A clause that names one component gives numbers of it: both stand in one quoted entry."""
    entries = tuple(_entries(places))
    for clause, names in _clauses(sentence):
        components = names & reading.vocabulary.components
        metrics = names & reading.vocabulary.metrics
        if len(components) != 1 or len(metrics) > 1:
            continue
        fitting = [numbers for held, numbers in entries if all(map(held.holds, components | metrics))]
        for token in clause.tokens:
            counted = isinstance(token, Number) and counts_things(token, sentence.text, len(sentence.names))
            if isinstance(token, Number) and not counted and not any(numbers.holds(token) for numbers in fitting):
                yield sentence.text[token.start : token.end]


def _entries(places: Iterable[Place]) -> Iterator[tuple[NameSet, NumberSet]]:
    words: dict[tuple[str, int], set[str]] = defaultdict(set)
    numbers: dict[tuple[str, int], list[Number]] = defaultdict(list)
    for place in places:
        call_id = place.source.record.call_id
        quoted = set(place.tokens())
        for line in place.block():
            words[call_id, line.block].update(token.text for token in line.tokens if isinstance(token, Word))
            held = (token for token in line.tokens if isinstance(token, Number) and token in quoted)
            numbers[call_id, line.block].extend(held)
    yield from ((NameSet(words[entry]), NumberSet(numbers[entry])) for entry in words)


def _clauses(sentence: Sentence) -> Iterator[tuple[Clause, frozenset[str]]]:
    for clause in clauses(sentence.text, sentence.tokens):
        names = (name for name in sentence.names if clause.start <= name.start < clause.end)
        yield clause, frozenset(name.text.casefold() for name in names)


def _contradictions(reading: Reading, sentence: Sentence, lines: Iterable[Line]) -> Iterator[str]:
    measured = tuple(line for line in lines if line.direction)
    known = reading.vocabulary.components | reading.vocabulary.metrics
    for clause, names in _clauses(sentence):
        if out_of_order(clause):
            yield "ORDER"
        about = [line for line in measured if _speaks_of(clause, names & known, line)]
        claimed = contradicts(clause, (line.direction for line in about if line.direction))
        if claimed:
            yield f"DIRECTION:{claimed}"


def _speaks_of(clause: Clause, names: frozenset[str], line: Line) -> bool:
    if line.sort == "change":
        flags = ("flag", "开关", "特性")
        named = any(isinstance(token, Word) and line.names.holds(token.text) for token in clause.tokens)
        return named or any(word in clause.text.casefold() for word in flags)
    return all(map(line.names.holds, names))


class Grounds:
    """What analyses cite, as grounds for a sentence that infers: values as they stand, or one operation away."""

    def __init__(self, reading: Reading, analyses: tuple[Analysis, ...], records: tuple[VerifiedRecord, ...]) -> None:
        self._reading = reading
        self._lines = tuple(line for record in records for line in reading.text_of(record).lines)
        asked = tuple(token for record in records for token in _asked(record))
        known = tuple(Word(0, 0, name) for record in records for name in record.evidence.components)
        calls = {record.call_id for record in records}
        places = [place for analysis in _sharing(reading, analyses, calls) for place in reading.all_places(analysis)]
        self._quoted = tuple(token for place in places for token in place.tokens())
        # A series' points are many: one is close to any number, so they support only what equals them.
        rounded = (t for line in self._lines for t in line.tokens if line.sort != _POINTS or not isinstance(t, Number))
        self._support = Support((*rounded, *self._quoted, *asked, *known), reading.zone)
        points = (token for line in self._lines if line.sort == _POINTS for token in line.tokens)
        self._points = NumberSet(token for token in points if isinstance(token, Number))

    def missing(self, sentence: Sentence) -> frozenset[str]:
        """Return what a sentence states and these grounds don't give: values, names, a direction, an order."""
        found = {name.text for name in sentence.names if not self._names(name)}
        open_values = [token for token in _unsupported(sentence, self._support) if not self._a_point(token)]
        if open_values:
            made = self._derived(sentence)
            open_values = [t for t in open_values if not (isinstance(t, Number) and made.holds(t))]
        found.update(sentence.text[token.start : token.end] for token in open_values)
        return frozenset(found.union(_contradictions(self._reading, sentence, self._lines)))

    def _names(self, name: Name) -> bool:
        if name.text.isascii():
            return self._support.names.holds(name.text)
        return any(name.text in line.text.casefold() for line in self._lines)

    def _a_point(self, token: Token) -> bool:
        return isinstance(token, Number) and self._points.holds(token, exactly=True)

    def _derived(self, sentence: Sentence) -> NumberSet:
        about = [line for line in self._lines if line.sort != _POINTS and self._is_about(sentence, line)]
        stated = (token for token in sentence.values if isinstance(token, Number) and self._support.holds(token))
        quoted = (token for token in self._quoted if isinstance(token, Number))
        pairs = (pair for line in about for pair in _pairs(line))
        return derived((*stated, *quoted), self._instants(sentence, about), pairs)

    def _is_about(self, sentence: Sentence, line: Line) -> bool:
        return not sentence.names or any(line.names.holds(name.text) for name in sentence.names)

    def _instants(self, sentence: Sentence, about: list[Line]) -> Iterator[datetime]:
        near = about if len(about) <= _MAX_LINES else []
        fields = (token for line in near for token in line.tokens if token.end <= line.fields_end)
        yield from self._known_moments((*self._quoted, *fields))
        stated = [token for token in sentence.values if isinstance(token, Moment)]
        for token in self._support.tokens if stated else ():
            if isinstance(token, Moment) and token.aware() is not None:
                alone = MomentSet((token,), self._reading.zone)
                if any(alone.holds(moment) for moment in stated):
                    yield from alone.instants()

    def _known_moments(self, tokens: Iterable[Token]) -> frozenset[datetime]:
        moments = (token for token in tokens if isinstance(token, Moment))
        return MomentSet(moments, self._reading.zone).instants()


def _asked(record: VerifiedRecord) -> Iterator[Token]:
    """What was asked, and of whom, may be named, also where nothing was found."""
    for value in record.scope.values():
        if isinstance(value, str):
            yield from scan(value)
            yield from (Word(0, 0, word) for word in words_in(value))


def _sharing(reading: Reading, analyses: tuple[Analysis, ...], calls: set[str]) -> Iterator[Analysis]:
    own = {id(analysis) for analysis in analyses}
    for analysis in reading.draft.analyses:
        if id(analysis) in own or calls.intersection(analysis.tool_call_ids):
            yield analysis


def _pairs(line: Line) -> Iterator[tuple[Number, Number]]:
    numbers = [t for t in line.tokens if isinstance(t, Number) and t.end <= line.fields_end]
    yield from combinations(numbers[:_MAX_LINES], 2)


def inferred_values(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """An INFERENCE's numbers come from cited evidence, or from it by one operation; its names stand in it."""
    grounds = Grounds(reading, (analysis,), reading.cited(analysis))
    for detail in sorted(grounds.missing(reading.sentence(analysis.text))):
        yield violation(Code.VALUE_NOT_DERIVED, f"{path}.text", detail)


def standing_quotes(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """Quotes stand in the stored evidence of the cited calls; an OBSERVATION has at least one."""
    if analysis.kind == "OBSERVATION" and not analysis.quotes:
        yield violation(Code.QUOTE_MISSING, f"{path}.quotes")
    for number, places in enumerate(reading.places(analysis)):
        if not any(has_evidence(place.source.record) or analysis.kind != "OBSERVATION" for place in places):
            yield violation(Code.QUOTE_NOT_FOUND, f"{path}.quotes[{number}]")
