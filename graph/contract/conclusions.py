"""Whether a conclusion rests on evidence that can carry one (contract, "EvidenceGuard")."""

import re
from collections.abc import Iterable, Iterator

from graph.contract.draft import Analysis, Conclusion
from graph.contract.folding import fold
from graph.contract.grounds import Grounds
from graph.contract.names import NameSet, NameSort
from graph.contract.quotes import EvidenceText, Line
from graph.contract.reading import Reading, has_evidence, is_direct
from graph.contract.records import VerifiedRecord
from graph.contract.values import Word, scan
from graph.contract.violations import DraftViolation, violation, violations_of
from graph.contract.vocabulary import DraftViolationCode as Code
from graph.contract.vocabulary import EvidenceKind, Provenance

_CHANGE_RECORDS = "change records"
_MACHINE = "a machine"
_LABEL = re.compile(r"[a-z]+(?:_[a-z]+)+")


def conclusion_provenance(reading: Reading) -> Iterator[DraftViolation]:
    """DIRECT evidence that is MEASURED, or TEXT of two independent sources: one stream of free text never suffices."""
    direct = [record for record in reading.cited_by_all(_positive(reading)) if is_direct(record)]
    if any(record.evidence.provenance is Provenance.MEASURED for record in direct):
        return
    sources = {source for analysis in _positive(reading) for source in _sources(reading, analysis)}
    if len(sources) < 2:
        yield violation(Code.PROVENANCE_TOO_WEAK, "conclusion.analysis_ids")


def _positive(reading: Reading) -> tuple[Analysis, ...]:
    return tuple(analysis for analysis in reading.concluding if analysis.kind in ("OBSERVATION", "INFERENCE"))


def _sources(reading: Reading, analysis: Analysis) -> Iterator[str]:
    """Name who wrote the text that an analysis quotes; where it quotes nothing, of records with one writer."""
    for place in reading.all_places(analysis):
        if is_direct(place.source.record):
            yield from _writers(place.source.record, (line.component for line in place.block()))
    for record in () if analysis.quotes else reading.cited(analysis):
        if is_direct(record) and len(record.evidence.components) < 2:
            yield from _writers(record, record.evidence.components)


def _writers(record: VerifiedRecord, components: Iterable[str | None]) -> Iterator[str]:
    if record.kind is EvidenceKind.CHANGES:
        yield _CHANGE_RECORDS
        return
    yield from (fold(component).casefold() for component in components if component)


def conclusion_component(reading: Reading, conclusion: Conclusion) -> Iterator[DraftViolation]:
    """Components stand verbatim in DIRECT evidence: the guilty ones in what the conclusion cites."""
    own = _DirectNames(reading, reading.concluding)
    whole = _DirectNames(reading, reading.draft.analyses)
    named = [("component", conclusion.component, own)]
    if conclusion.first_failing is not None:
        named.append(("first_failing", conclusion.first_failing, own))
    named.extend((f"affected[{n}]", component, whole) for n, component in enumerate(conclusion.affected))
    named.extend(
        (f"alternatives[{n}].component", other.component, own) for n, other in enumerate(conclusion.alternatives)
    )
    for where, component, names in named:
        if not names.has_component(component):
            yield violation(Code.COMPONENT_NOT_IN_EVIDENCE, f"conclusion.{where}", component)


def conclusion_change(reading: Reading, conclusion: Conclusion) -> Iterator[DraftViolation]:
    """A change stands verbatim in DIRECT evidence that the conclusion cites; of a revision, at least 7 digits.

    A machine recorded it there, or two writers of text name it: what one of them writes alone never makes a change.
    """
    changes = [("change_id", conclusion.change_id)]
    changes.extend((f"alternatives[{n}].change_id", other.change_id) for n, other in enumerate(conclusion.alternatives))
    for where, change_id in changes:
        if change_id is not None and not _is_recorded(reading, fold(change_id)):
            yield violation(Code.CHANGE_NOT_IN_EVIDENCE, f"conclusion.{where}", change_id)


class _DirectNames:
    """The names that stand in the DIRECT evidence which analyses cite."""

    def __init__(self, reading: Reading, analyses: Iterable[Analysis]) -> None:
        records = [record for record in reading.cited_by_all(analyses) if is_direct(record)]
        self._texts = [reading.text_of(record) for record in records]
        self._components = {component for record in records for component in record.evidence.components}

    def has_component(self, component: str) -> bool:
        """Return whether a component stands there, letter by letter."""
        folded = fold(component)
        if not folded:
            return False
        return component in self._components or any(text.holds_whole(folded) for text in self._texts)


def _is_recorded(reading: Reading, change: str) -> bool:
    direct = (record for record in reading.cited_by_all(reading.concluding) if is_direct(record))
    writers = {writer for record in direct for writer in _namers(reading, record, change)}
    return _MACHINE in writers or len(writers) > 1


def _namers(reading: Reading, record: VerifiedRecord, change: str) -> Iterator[str]:
    """Name who wrote the lines of a record that hold a change.

    Machines record changes, and what runs of them in the fields of a resource. Labels of series, attributes of spans
    and every free text (a probe's message, a container's last words) are the program's own.
    """
    text = reading.text_of(record)
    measured = record.evidence.provenance is Provenance.MEASURED and record.kind is EvidenceKind.RESOURCES
    for line in _lines_with(text, change):
        if record.kind is EvidenceKind.CHANGES or (measured and _holds(line, change, line.fields_end)):
            yield _MACHINE
        else:
            yield from _writers(record, (text.lines[line.block].component,))


def _lines_with(text: EvidenceText, change: str) -> Iterator[Line]:
    words = [token.text for token in scan(change) if isinstance(token, Word)]
    if change.isdigit() or words == [change]:
        yield from (line for line in text.lines if _holds(line, change, line.end))
    elif change:
        yield from text.whole_in(change)


def _holds(line: Line, change: str, end: int) -> bool:
    """Return whether a change is a word of a line up to `end`; a revision may be cut to 7 digits or more."""
    words = [token.text for token in line.tokens if isinstance(token, Word) and token.end <= end]
    return change in words or NameSet(words).holds_revision(change.casefold())


def conclusion_values(reading: Reading, conclusion: Conclusion) -> Iterator[DraftViolation]:
    """Values and names of the conclusion's own sentences come from the evidence that it cites."""
    records = reading.cited_by_all(reading.concluding)
    usable = tuple(record for record in records if is_direct(record) or not has_evidence(record))
    grounds = Grounds(reading, reading.concluding, usable)
    causes = [("cause", conclusion.cause)]
    causes.extend((f"alternatives[{n}].cause", other.cause) for n, other in enumerate(conclusion.alternatives))
    sentences = [("text", conclusion.text), *(one for one in causes if not _is_label(reading, one[1]))]
    for where, text in sentences:
        missing = grounds.missing(reading.sentence(text))
        yield from violations_of(Code.VALUE_NOT_DERIVED, f"conclusion.{where}", missing)


def _is_label(reading: Reading, cause: str) -> bool:
    """A cause may be one key of a vocabulary of causes (`oom_killed`): it names a sort of fault, and states no value.

    A key that the evidence knows, or nearly knows, as the name of something is a name as everywhere else.
    """
    key = cause.strip()
    if not _LABEL.fullmatch(key) or key in reading.vocabulary.metrics:
        return False
    return reading.vocabulary.sort_of(key) is NameSort.OTHER
