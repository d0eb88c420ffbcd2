"""Stored evidence as the guard reads it: its lines, their typed tokens, and where a quote stands in it.

Source: contract, "EvidenceGuard": quotes stand in the evidence as the model saw it, after folding whitespace and width.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from graph.contract.folding import fold, word_character
from graph.contract.names import NameSet
from graph.contract.records import VerifiedRecord
from graph.contract.units import COUNT, Unit, unit_of_name
from graph.contract.values import Number, Token, Word, scan

MIN_QUOTE_CHARACTERS = 4
"""A shorter quote stands in any evidence, and proves nothing."""
_MAX_PLACES = 50
_FIELD_BEFORE = re.compile(r"(?:^|\s)([A-Za-z_][\w.]*)=-?$")
_METRIC = re.compile(r"(?:^|\s)metric=(\S+)")
_DIRECTION = re.compile(r"(?:^|\s)direction=(\w+)")
_CHANGE = re.compile(r"(?:^|\s)change=(\w+)->(\w+)")
_REVISION_END = re.compile(r"(?:^|[^0-9A-Za-z_])[0-9a-f]{7,}$")
_METRIC_VALUES = frozenset(("baseline", "extreme", "last", "threshold", "observed", "value", "min", "max", "mean"))
_COUNTS = frozenset(("samples", "gaps", "count", "baseline_count", "calls", "errors"))
_HYPHEN_AT = re.compile(r"[A-Za-z0-9]-[A-Za-z0-9]|.[A-Za-z0-9]-[A-Za-z0-9]", re.DOTALL)
"""A place inside of a name, beside its hyphen."""
_COMPONENT = re.compile(r"(?:^|\s)service=(\S+)")


@dataclass(frozen=True)
class Line:
    """One folded line of evidence at its place in the record's text.

    `fields_end`: where the fields end and free text begins; a continuation is free text from its start. `block`: the
    number of the line of fields that it belongs to, its own where it is one.
    """

    start: int
    end: int
    fields_end: int
    block: int
    text: str

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The line's typed tokens, at their places in the record's text, with the units that its fields give."""
        return tuple(self._tokens())

    def _tokens(self) -> Iterator[Token]:
        metric = _METRIC.search(self.text[: self.fields_end - self.start])
        metric_unit = unit_of_name(metric[1]) if metric else None
        for token in scan(self.text):
            placed = replace(token, start=self.start + token.start, end=self.start + token.end)
            if isinstance(placed, Number) and placed.unit is None and placed.end <= self.fields_end:
                placed = replace(placed, unit=self._field_unit(token.start, metric_unit))
            yield placed

    def _field_unit(self, at: int, metric_unit: Unit | None) -> Unit | None:
        field = _FIELD_BEFORE.search(self.text, max(0, at - 60), at)
        if field is None:
            # A point of a series, `2026-06-18T15:04:00Z=4120`.
            return metric_unit if self.text[:at].removesuffix("-").endswith("=") else None
        if field[1] in _COUNTS:
            return COUNT
        return metric_unit if field[1] in _METRIC_VALUES else unit_of_name(field[1])

    @cached_property
    def names(self) -> NameSet:
        """The names that stand in the line."""
        return NameSet(token.text for token in self.tokens if isinstance(token, Word))

    @property
    def sort(self) -> str:
        """The line's sort, its first word; blank for free text."""
        return self.text.split(" ", 1)[0] if self.fields_end > self.start else ""

    @property
    def direction(self) -> str | None:
        """The typed direction that the line's fields give: UP, DOWN, FLAT; ON or OFF for a flag."""
        fields = self.text[: self.fields_end - self.start]
        if found := _DIRECTION.search(fields):
            return found[1]
        change = _CHANGE.search(fields)
        states = {"on": "ON", "true": "ON", "enabled": "ON", "off": "OFF", "false": "OFF", "disabled": "OFF"}
        return states.get(change[2].casefold()) if change else None

    @property
    def component(self) -> str | None:
        """The service that the line's fields name."""
        found = _COMPONENT.search(self.text[: self.fields_end - self.start])
        return found[1].casefold() if found and found[1] != "-" else None


class EvidenceText:
    """A record's evidence as one folded text: the content's lines, then its summary, which the model saw as well."""

    def __init__(self, record: VerifiedRecord) -> None:
        self.record = record
        self.lines = tuple(_lines((*record.evidence.content, record.evidence.summary)))
        self.text = " ".join(line.text for line in self.lines)
        self._starts = [line.start for line in self.lines]

    def find(self, quote: str) -> tuple["Place", ...]:
        """Return the places where a quote stands. It may begin and end only where words and numbers do, so that
        `extreme=412` doesn't stand in `extreme=4120`; a revision may be cut at the quote's end, as people cut them."""
        folded = fold(quote)
        if len(folded) < MIN_QUOTE_CHARACTERS:
            return ()
        return tuple(Place(self, at, at + len(folded)) for at in self._whole_words(folded))

    def _whole_words(self, folded: str) -> Iterator[int]:
        at, found = self.text.find(folded), 0
        while at >= 0 and found < _MAX_PLACES:
            if self._whole(at, at + len(folded)):
                found += 1
                yield at
            at = self.text.find(folded, at + 1)

    def _whole(self, start: int, end: int) -> bool:
        return not self._splits(start) and (not self._splits(end) or self.ends_in_revision(end))

    def _splits(self, at: int) -> bool:
        before, after = self.text[at - 1 : at], self.text[at : at + 1]
        if not before or not after:
            return False
        if word_character(before) and word_character(after):
            return True
        if _HYPHEN_AT.match(self.text, max(0, at - 2)):
            return True
        # 4120 isn't a whole number in 4120.5, nor in 4,120.
        return (before.isdigit() and self.text[at : at + 2].lstrip(".,").isdigit() and after in ".,") or (
            after.isdigit() and before in ".," and self.text[at - 2 : at - 1].isdigit()
        )

    def ends_in_revision(self, end: int) -> bool:
        """Return whether the text before `end` ends in at least 7 hexadecimal digits, of a revision that goes on."""
        going_on = re.match(r"[0-9a-f]+(?![0-9A-Za-z_])", self.text[end : end + 64])
        return going_on is not None and _REVISION_END.search(self.text, max(0, end - 65), end) is not None

    def holds_whole(self, folded: str) -> bool:
        """Return whether a folded name stands in the text as a whole: `pay` doesn't in `pay-api`, nor in `pay=1`."""
        return any(True for _ in self.whole_in(folded))

    def whole_in(self, folded: str) -> Iterator[Line]:
        """Give the lines in which a folded name stands as a whole."""
        for match in re.finditer(re.escape(folded), self.text):
            if self._stands_alone(match):
                yield from self.lines_between(*match.span())

    def _stands_alone(self, match: re.Match[str]) -> bool:
        before, after = self.text[max(0, match.start() - 1) : match.start()], self.text[match.end() : match.end() + 1]
        return not any(edge and (word_character(edge) or edge == "-") for edge in (before, after)) and after != "="

    def lines_between(self, start: int, end: int) -> tuple[Line, ...]:
        """Return the lines that `[start, end)` touches."""
        return self.lines[max(0, bisect_right(self._starts, start) - 1) : bisect_left(self._starts, end)]


def _lines(content: tuple[str, ...]) -> Iterator[Line]:
    start = block = 0
    for number, raw in enumerate(content):
        text = fold(raw)
        free = raw.startswith("  ") or number == len(content) - 1
        block = block if raw.startswith("  ") else number
        fields = 0 if free else len(fold(raw.partition(" | ")[0]))
        yield Line(start, start + len(text), start + fields, block, text)
        start += len(text) + 1


@dataclass(frozen=True)
class Place:
    """Where a quote stands in a record: `[start, end)` of its text."""

    source: EvidenceText
    start: int
    end: int

    def lines(self) -> tuple[Line, ...]:
        """Return the lines that the quote touches."""
        return self.source.lines_between(self.start, self.end)

    def tokens(self) -> tuple[Token, ...]:
        """Return the tokens that stand in the quote whole: a cut number is no number of it."""
        return tuple(
            cut
            for line in self.lines()
            for token in line.tokens
            if token.start >= self.start and (cut := self._cut(token)) is not None
        )

    def _cut(self, token: Token) -> Token | None:
        if token.end <= self.end:
            return token
        if isinstance(token, Word) and token.start < self.end and self.source.ends_in_revision(self.end):
            return replace(token, text=token.text[: self.end - token.start])
        return None

    def heads(self) -> tuple[Line, ...]:
        """Return the lines of fields above a quote of free text: what wrote it, and when."""
        blocks = {line.block for line in self.lines() if max(self.start, line.start) >= line.fields_end}
        return tuple(self.source.lines[block] for block in sorted(blocks))

    def block(self) -> tuple[Line, ...]:
        """Return the whole entries that the quote touches: lines of fields with their continuations."""
        first, last = self.lines()[0].block, self.lines()[-1].block
        until = next((n for n in range(last + 1, len(self.source.lines)) if self.source.lines[n].block != last), None)
        return self.source.lines[first:until]
