"""A story: the calls of one investigation with their evidence, and the facts that its lines state.

Facts are read from the lines that tools give (logfmt, `Evidence.content`), whoever made the lines. Nothing here knows
how a guard reads them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus


@dataclass(frozen=True)
class Call:
    """One tool call of the run. `evidence` is None where it ended in ERROR."""

    call_id: str
    tool_name: str
    kind: EvidenceKind
    scope: Mapping[str, Any]
    evidence: Evidence | None


@dataclass(frozen=True)
class Fact:
    """One line of evidence: its sort, its fields, its free text, and the call that gave it."""

    call_id: str
    line: str
    sort: str
    fields: Mapping[str, str]
    text: str

    def __getitem__(self, name: str) -> str:
        """Return a field's value as it's spelled there, blank where it has none."""
        value = self.fields.get(name, "")
        return "" if value == "-" else value


@dataclass(frozen=True)
class Story:
    """The calls of one run over one incident. `zone` is the incident's; `cause` is what the inventor says went wrong,
    in Chinese and in English, None where nobody says it."""

    name: str
    zone: str
    calls: tuple[Call, ...]
    cause: tuple[str, str] | None = None

    def facts(self, *sorts: str) -> list[Fact]:
        """Return the facts of the given sorts, in the order of the calls."""
        return [fact for call in self.calls for fact in facts_of(call) if fact.sort in sorts]

    def call(self, call_id: str) -> Call:
        """Return a call by its id; raises StopIteration for an unknown one."""
        return next(call for call in self.calls if call.call_id == call_id)

    def empty(self) -> list[Call]:
        """Return the calls that found nothing."""
        return [c for c in self.calls if c.evidence is not None and c.evidence.status is EvidenceStatus.NO_EVIDENCE]

    def failed(self) -> list[Call]:
        """Return the calls that ended in ERROR."""
        return [call for call in self.calls if call.evidence is None]

    def services(self) -> list[str]:
        """Return the services that the evidence names, each once."""
        named = (fact[key] for fact in self.facts("series", "change", "signature") for key in ("service",))
        return [name for name in dict.fromkeys(named) if name]


def facts_of(call: Call) -> Iterator[Fact]:
    """Yield a call's facts; continuation lines belong to the line above."""
    for line in call.evidence.content if call.evidence else ():
        if line.startswith("  "):
            continue
        head, _, text = line.partition(" | ")
        sort, *pairs = head.split(" ")
        fields = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        yield Fact(call.call_id, line, sort, fields, text)
