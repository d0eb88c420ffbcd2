"""What an action or a recommendation may name (contract, "EvidenceGuard"): no component, change or version that isn't
in cited evidence, and a command line only verbatim from a cited runbook."""

from collections.abc import Iterator

from graph.contract.commands import command_lines, executes, stands_in
from graph.contract.draft import StatementItem
from graph.contract.folding import fold
from graph.contract.names import NameSet, NameSort
from graph.contract.reading import Name, Reading, has_evidence
from graph.contract.records import VerifiedRecord
from graph.contract.values import Word, scan
from graph.contract.violations import DraftViolation, violations_of
from graph.contract.vocabulary import DraftViolationCode as Code
from graph.contract.vocabulary import RelevanceLevel

_NAMED = frozenset((NameSort.COMPONENT, NameSort.REVISION, NameSort.VERSION))


def known_names(reading: Reading, item: StatementItem, path: str) -> Iterator[DraftViolation]:
    """Components, changes and versions stand in evidence that the item or the conclusion cites."""
    sentence = reading.sentence(item.text)
    named = [name for name in sentence.names if name.sort in _NAMED]
    if not named:
        return
    held = _Cited(reading, _records(reading, item))
    unknown = (name.text for name in named if not held.names(name))
    yield from violations_of(Code.ACTION_NAMES_UNKNOWN, f"{path}.text", unknown)


def _records(reading: Reading, item: StatementItem) -> tuple[VerifiedRecord, ...]:
    return reading.cited_by_all((*reading.referenced(item.analysis_ids), *reading.concluding))


class _Cited:
    def __init__(self, reading: Reading, records: tuple[VerifiedRecord, ...]) -> None:
        self._texts = [reading.text_of(record) for record in records]
        words = [t.text for text in self._texts for line in text.lines for t in line.tokens if isinstance(t, Word)]
        words.extend(component for record in records for component in record.evidence.components)
        asked = (value for record in records for value in record.scope.values() if isinstance(value, str))
        words.extend(token.text for value in asked for token in scan(fold(value)) if isinstance(token, Word))
        self._held = NameSet(words)

    def names(self, name: Name) -> bool:
        if name.text.isascii():
            return self._held.holds(name.text)
        return any(name.text in text.text.casefold() for text in self._texts)


def runbook_commands(reading: Reading, item: StatementItem, path: str) -> Iterator[DraftViolation]:
    """Command lines stand verbatim in a cited runbook; a phrase set in code stands in any cited evidence."""
    records = [record for record in _records(reading, item) if has_evidence(record)]
    runbooks = [record for record in records if record.evidence.relevance is RelevanceLevel.REFERENCE]
    unwritten = (
        command
        for command in dict.fromkeys(command_lines(item.text))
        if not any(
            stands_in(command, reading.text_of(record).text) for record in (runbooks if executes(command) else records)
        )
    )
    yield from violations_of(Code.COMMAND_NOT_IN_RUNBOOK, f"{path}.text", unwritten)
