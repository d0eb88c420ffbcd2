"""The analyses of a draft as they are written, one after the other; contract, "Draft"."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from graph.models.offline.lines import Line


class Quotable(Protocol):
    """A line of evidence with the call that it came with."""

    @property
    def call_id(self) -> str:
        """The call's id."""
        ...

    @property
    def line(self) -> Line:
        """The line."""
        ...


@dataclass
class Analyses:
    """What a draft says so far in its language (zh or en)."""

    language: str
    analyses: list[dict[str, Any]] = field(default_factory=list)

    def add(self, kind: str, text: str, sources: Iterable[Quotable], quotes: Iterable[str] = ()) -> str:
        """Add an analysis and return its id. Without `quotes` the lines of the sources are quoted."""
        given = list(sources)
        analysis_id = f"a{len(self.analyses) + 1}"
        self.analyses.append(
            {
                "analysis_id": analysis_id,
                "kind": kind,
                "text": text,
                "quotes": list(dict.fromkeys(quotes)) or list(dict.fromkeys(one.line.raw for one in given)),
                "tool_call_ids": list(dict.fromkeys(one.call_id for one in given)),
            }
        )
        return analysis_id
