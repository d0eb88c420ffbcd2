"""A draft beside the evidence that it cites, read once for all rules of the EvidenceGuard."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from graph.contract.claims import Clause, clauses
from graph.contract.draft import Analysis, Draft
from graph.contract.folding import fold
from graph.contract.names import NameSort, Vocabulary, parts_of_word
from graph.contract.quotes import EvidenceText, Place
from graph.contract.records import VerifiedRecord
from graph.contract.values import Token, Word, scan
from graph.contract.vocabulary import EvidenceStatus, RelevanceLevel

_LIST_MARKER = re.compile(r"\(?\d{1,2}(?:[.)、]\s?)(?!\d)")


@dataclass(frozen=True)
class Name:
    """A name in a sentence: what its shape, or the run's evidence, says that it names."""

    text: str
    sort: NameSort
    start: int


@dataclass(frozen=True)
class Sentence:
    """A draft's text, folded, without a list marker in front, with its typed tokens and its names."""

    text: str
    tokens: tuple[Token, ...]
    names: tuple[Name, ...]

    @property
    def values(self) -> tuple[Token, ...]:
        """The numbers and the moments."""
        return tuple(token for token in self.tokens if not isinstance(token, Word))

    @cached_property
    def clauses(self) -> tuple[tuple[Clause, frozenset[str]], ...]:
        """Its clauses, each with the names in it (casefolded)."""
        return tuple((clause, self._named_in(clause)) for clause in clauses(self.text, self.tokens))

    def _named_in(self, clause: Clause) -> frozenset[str]:
        names = (name for name in self.names if clause.start <= name.start < clause.end)
        return frozenset(name.text.casefold() for name in names)


class Reading:
    """A draft, this run's verified records, and what follows from both; nothing here judges.

    `records` by call id; `zone` the incident's IANA zone.
    """

    def __init__(self, draft: Draft, records: Mapping[str, VerifiedRecord], zone: str) -> None:
        self.draft = draft
        self.records = records
        self.zone = zone
        ids = (item for analysis in draft.analyses for item in (analysis.analysis_id.strip(), *analysis.tool_call_ids))
        self.vocabulary = Vocabulary(records, ids)
        self.analyses = {analysis.analysis_id.strip(): analysis for analysis in reversed(draft.analyses)}
        self._texts: dict[str, EvidenceText] = {}
        self._places: dict[int, tuple[tuple[Place, ...], ...]] = {}

    def cited(self, analysis: Analysis) -> tuple[VerifiedRecord, ...]:
        """Return the records that an analysis cites, each once; unresolved ids aside."""
        ids = dict.fromkeys(analysis.tool_call_ids)
        return tuple(self.records[call_id] for call_id in ids if call_id in self.records)

    def cited_by_all(self, analyses: Iterable[Analysis]) -> tuple[VerifiedRecord, ...]:
        """Return the records that any of the analyses cites, each once."""
        found = {record.call_id: record for analysis in analyses for record in self.cited(analysis)}
        return tuple(found.values())

    def referenced(self, analysis_ids: Iterable[str]) -> tuple[Analysis, ...]:
        """Return the analyses of these ids, each once; unknown ids aside."""
        ids = dict.fromkeys(analysis_id.strip() for analysis_id in analysis_ids)
        return tuple(self.analyses[analysis_id] for analysis_id in ids if analysis_id in self.analyses)

    @cached_property
    def concluding(self) -> tuple[Analysis, ...]:
        """The analyses that the conclusion rests on."""
        return self.referenced(self.draft.conclusion.analysis_ids) if self.draft.conclusion else ()

    def text_of(self, record: VerifiedRecord) -> EvidenceText:
        """Return a record's evidence as text."""
        if record.call_id not in self._texts:
            self._texts[record.call_id] = EvidenceText(record)
        return self._texts[record.call_id]

    def places(self, analysis: Analysis) -> tuple[tuple[Place, ...], ...]:
        """Return where each quote of an analysis stands in the evidence that it cites; an empty tuple: nowhere."""
        if id(analysis) not in self._places:
            texts = [self.text_of(record) for record in self.cited(analysis)]
            found = tuple(tuple(place for text in texts for place in text.find(quote)) for quote in analysis.quotes)
            self._places[id(analysis)] = found
        return self._places[id(analysis)]

    def all_places(self, analysis: Analysis) -> tuple[Place, ...]:
        """Return every place where any quote of an analysis stands."""
        return tuple(place for places in self.places(analysis) for place in places)

    def sentence(self, text: str) -> Sentence:
        """Return a draft's text with its tokens and names."""
        folded = fold(text)
        marker = _LIST_MARKER.match(folded)
        folded = folded[marker.end() :] if marker else folded
        tokens = scan(folded)
        return Sentence(folded, tokens, tuple(self._names(folded, tokens)))

    def _names(self, folded: str, tokens: tuple[Token, ...]) -> Iterator[Name]:
        for token in tokens:
            if isinstance(token, Word):
                for part in parts_of_word(token.text):
                    if sort := self.vocabulary.sort_of(part):
                        yield Name(part, sort, token.start)
        low = folded.casefold()
        for name in sorted(self.vocabulary.ideographic):
            if name in low:
                yield Name(name, NameSort.COMPONENT, low.index(name))


def has_evidence(record: VerifiedRecord) -> bool:
    """Return whether the query found anything."""
    return record.evidence.status is EvidenceStatus.EVIDENCE


def is_direct(record: VerifiedRecord) -> bool:
    """Return whether the record holds evidence of this incident: a reference proves nothing about it."""
    return has_evidence(record) and record.evidence.relevance is RelevanceLevel.DIRECT
