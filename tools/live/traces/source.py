"""What a trace backend answers: whole traces in which a service and an operation take part, as records of spans."""

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from tools.base import SourceFailure
from tools.live.source import Source
from tools.live.transport import Transport
from tools.vocabulary import Scope, SourceError

SpanRecord = Mapping[str, Any]
"""One span in the form of docs/incident-format.md, part `traces`."""

MAX_SPANS = 4_000
"""How many spans of one source are told from; what failed is kept first."""
PATIENCE = 3.0
"""How many times the wait for one response the whole of a question may take: it needs several, one after another."""


@dataclass(frozen=True)
class TraceQuestion:
    """Which traces: those that `service` and `operation` (folded names; None is any) take part in, begun from `start`
    (included) to `end` (excluded), aware UTC times. `prefer` is a service to begin with where all are asked for."""

    service: str | None
    operation: str | None
    start: datetime
    end: datetime
    prefer: str | None = None

    @classmethod
    def of(cls, scope: Scope, prefer: str | None = None) -> "TraceQuestion":
        """Return the question that a scope of `query_traces` asks."""
        start, end = (datetime.fromisoformat(scope[key]) for key in ("start", "end"))
        return cls(scope.get("service"), scope.get("operation"), start, end, prefer)


@dataclass(frozen=True)
class FoundSpans:
    """What a backend holds: `truncated` where it may hold more in the scope; `notes` are codes for the evidence."""

    records: tuple[SpanRecord, ...] = ()
    truncated: bool = False
    notes: tuple[str, ...] = ()


class TraceSource(Source):
    """A trace backend behind HTTP."""

    type: ClassVar[str]

    def __init__(self, name: str, transport: Transport, *, patience: float) -> None:
        """`patience`: seconds that one response may take."""
        self.name = name
        self._transport = transport
        self._patience = patience

    async def spans(self, question: TraceQuestion) -> FoundSpans:
        """Return the spans of failing, slow and some usual traces, bounded; none where a known name has none.

        Raises SourceFailure: UNKNOWN_SELECTOR with near names where the backend has never known the service or the
        operation; QUERY_REJECTED with field `service` where so many services are known that one has to be named;
        else as `Transport` does.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience * PATIENCE):
                return await self._spans(question)
        raise SourceFailure(SourceError.BACKEND_TIMEOUT)

    @abstractmethod
    async def _spans(self, question: TraceQuestion) -> FoundSpans:
        """Answer without looking at the clock."""

    @abstractmethod
    def paste(self, scope: Scope) -> str:
        """Return a query for the backend's own client: no address of its own, no credential."""

    async def close(self) -> None:
        await self._transport.close()


def bounded(spans: Sequence[SpanRecord], room: int) -> list[SpanRecord]:
    """Return at most `room` spans of one trace: the failing ones, those that called them, then the longest.

    Without its callers, a failure could not be told from its consequences.
    """
    if len(spans) <= room:
        return list(spans)
    by_id = {span["span_id"]: span for span in spans}
    kept: dict[str, SpanRecord] = {}
    for span in sorted(spans, key=lambda one: str(one["start"])):
        line: SpanRecord | None = span if span["status"] == "ERROR" else None
        while line is not None and line["span_id"] not in kept:
            kept[line["span_id"]] = line
            line = by_id.get(line["parent_id"] or "")
    for span in sorted(spans, key=lambda one: -float(one["duration_ms"])):
        kept.setdefault(span["span_id"], span)
    return list(kept.values())[:room]


def within_bounds(traces: Iterable[Sequence[SpanRecord]]) -> tuple[tuple[SpanRecord, ...], bool]:
    """Return the spans of traces, the first traces first, and whether any had to be left out."""
    told: list[SpanRecord] = []
    cut = False
    for spans in traces:
        kept = bounded(spans, MAX_SPANS - len(told))
        cut = cut or len(kept) < len(spans)
        told += kept
    return tuple(told), cut
