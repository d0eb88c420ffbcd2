"""Whether a sentence's values and names stand in its evidence: in its quotes for an observation, in anything cited or
in one operation on it for an inference (contract, "EvidenceGuard")."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from graph.contract.claims import counts_things
from graph.contract.draft import Analysis
from graph.contract.folding import fold
from graph.contract.grounds import Grounds, unsupported_values
from graph.contract.names import NameSet
from graph.contract.quotes import Place
from graph.contract.reading import Name, Reading, Sentence, has_evidence
from graph.contract.records import VerifiedRecord
from graph.contract.relations import contradictions, denials
from graph.contract.support import NumberSet, Support
from graph.contract.values import Number, Token, Word, scan
from graph.contract.violations import DraftViolation, violation, violations_of
from graph.contract.vocabulary import DraftViolationCode as Code


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
    missing.update(contradictions(reading, sentence, lines) | denials(reading, sentence, lines))
    yield from violations_of(Code.VALUE_NOT_IN_QUOTE, f"{path}.text", missing)


def _window(record: VerifiedRecord) -> tuple[Token, ...]:
    """The window that was asked about is no claim on the evidence: a sentence may name it."""
    bounds = (record.scope.get("start"), record.scope.get("end"))
    return tuple(token for bound in bounds if isinstance(bound, str) for token in scan(bound))


def _unsupported_names(sentence: Sentence, support: Support, places: Iterable[Place]) -> Iterator[str]:
    for name in sentence.names:
        if not (support.holds_name(name.text) or _written(name, places)):
            yield name.text


def _written(name: Name, places: Iterable[Place]) -> bool:
    """Names of other scripts aren't words of their own: they stand somewhere in the quoted entry."""
    return not name.text.isascii() and any(
        name.text in line.text.casefold() for place in places for line in (*place.lines(), *place.heads())
    )


def _unsupported_values(sentence: Sentence, support: Support) -> Iterator[str]:
    for token in unsupported_values(sentence, support):
        yield sentence.text[token.start : token.end]


def _unbound(reading: Reading, sentence: Sentence, places: Iterable[Place]) -> Iterator[str]:
    """A clause that names one component gives numbers of it: both stand in one quoted entry."""
    entries = tuple(_entries(places))
    for clause, names in sentence.clauses:
        components = names & reading.vocabulary.components
        metrics = names & reading.vocabulary.metrics
        if len(components) != 1 or len(metrics) > 1:
            continue
        fitting = [entry for entry in entries if all(map(entry[0].holds, components | metrics))]
        for token in clause.tokens:
            counted = isinstance(token, Number) and counts_things(token, sentence.text, len(sentence.names))
            if isinstance(token, Number) and not counted and not any(_holds(entry, token) for entry in fitting):
                yield sentence.text[token.start : token.end]


def _holds(entry: tuple[NameSet, NumberSet], number: Number) -> bool:
    """Whether a quoted entry has a number, or a revision whose first digits happen to be one."""
    names, numbers = entry
    return numbers.holds(number) or (number.unit is None and names.holds_revision(str(number.face)))


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


def inferred_values(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """An INFERENCE's numbers come from cited evidence, or from it by one operation; its names stand in it, and in what
    it quotes, where it quotes at all."""
    sentence = reading.sentence(analysis.text)
    missing = Grounds(reading, (analysis,), reading.cited(analysis)).missing(sentence)
    yield from violations_of(Code.VALUE_NOT_DERIVED, f"{path}.text", missing | _unquoted(reading, analysis, sentence))


def _unquoted(reading: Reading, analysis: Analysis, sentence: Sentence) -> frozenset[str]:
    places = reading.all_places(analysis)
    if not places:
        return frozenset()
    values = (value for record in reading.cited(analysis) for value in record.scope.values())
    asked = (fold(value) for value in values if isinstance(value, str))
    entries = {
        word.text for place in places for line in place.block() for word in line.tokens if isinstance(word, Word)
    }
    held = NameSet((*entries, *asked))
    return frozenset(name.text for name in sentence.names if _is_component(reading, name) and not held.holds(name.text))


def _is_component(reading: Reading, name: Name) -> bool:
    return name.text.isascii() and name.text.casefold() in reading.vocabulary.components


def standing_quotes(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """Quotes stand in the stored evidence of the cited calls; an OBSERVATION has at least one."""
    if analysis.kind == "OBSERVATION" and not analysis.quotes:
        yield violation(Code.QUOTE_MISSING, f"{path}.quotes")
    for number, places in enumerate(reading.places(analysis)):
        if not any(has_evidence(place.source.record) or analysis.kind != "OBSERVATION" for place in places):
            yield violation(Code.QUOTE_NOT_FOUND, f"{path}.quotes[{number}]")
