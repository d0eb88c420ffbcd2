"""Logs from Loki, asked in LogQL that is written here (`tools.live.logs.logql`)."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from typing_extensions import override

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.concurrency import in_turns
from tools.live.logs.logql import BARE_LEVEL, TOLD_LEVEL, counted, pipeline, selector
from tools.live.logs.loki_api import Entry, Found, LokiApi, nanoseconds
from tools.live.logs.pasting import loki_command
from tools.live.logs.records import TRACE_FIELDS, UNLEVELLED, LogRecord, name_of, record_of, said, severity_of
from tools.live.logs.source import Bound, Count, Counts, Known, LogQuestion, LogSource, Records
from tools.live.source import Probe
from tools.live.transport import Transport
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.logs.settings import LokiSettings

Answered = TypeVar("Answered")
_Key: TypeAlias = tuple[int, tuple[tuple[str, str], ...], str, int]

KNOWN_FOR = timedelta(days=7)
"""A service that wrote nothing for so long isn't known any more."""
PAGE = 1_000
"""How many entries one request asks for."""
_LOOKED_AT = 30
_REMEMBERED_SECONDS = 60.0
_IN_LINES = (TOLD_LEVEL, BARE_LEVEL)
_HIDDEN = frozenset({"filename", "stream", "logtag", "__error__", "__error_details__", *_IN_LINES})


@dataclass(frozen=True)
class _Streams:
    """Some services' streams: the label that names them, and how they tell their severity."""

    label: str
    services: tuple[str, ...]
    levels: tuple[str, ...]
    in_lines: bool = False


class Loki(LogSource):
    """One Loki, or one tenant of it. Services are values of the first of its service labels that names them."""

    def __init__(self, name: str, transport: Transport, settings: "LokiSettings") -> None:
        self.name = name
        self._transport = transport
        self._api = LokiApi(transport)
        self._settings = settings
        self._label_of: dict[str, str] = {}
        self._likely = settings.service_labels[0]
        self._in_lines = False
        self._remembered: dict[Any, tuple[float, Any]] = {}

    @override
    async def known(self, asked: str | None, until: datetime) -> Known:
        labels = await self._labels(until)
        values = await in_turns(lambda label: self._api.values(label, until - KNOWN_FOR, until), labels)
        for label, names in reversed(list(zip(labels, values, strict=True))):
            self._label_of.update(dict.fromkeys(names, label))
        return Known(tuple(dict.fromkeys(name for names in values for name in names)))

    @override
    async def counts(self, question: LogQuestion, slices: int) -> Counts:
        parts = await in_turns(lambda streams: self._counted(question, slices, streams), await self._streams(question))
        bounds = {part.bound for part in parts}
        return Counts(
            rows=tuple(row for part in parts for row in part.rows),
            bound=Bound.AT_LEAST if Bound.AT_LEAST in bounds else Bound.EXACT,
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )

    @override
    async def records(self, question: LogQuestion, limit: int, *, latest: bool = False) -> Records:
        parts = await in_turns(
            lambda streams: self._read(question, limit, streams, latest=latest), await self._streams(question)
        )
        rows = sorted((row for part in parts for row in part.rows), key=lambda row: row.at)
        kept = rows[-limit:] if latest else rows[:limit]
        return Records(
            rows=tuple(kept),
            complete=len(kept) == len(rows) and all(part.complete for part in parts),
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )

    @override
    def paste(self, question: LogQuestion) -> str:
        """Return a command of logcli."""
        asked = {fold(name) for name in question.services[:1]}
        label = next((label for name, label in self._label_of.items() if fold(name) in asked), None)
        settings = self._settings
        levels = () if self._in_lines else settings.level_labels
        return loki_command(question, settings.selector, label or self._likely, levels)

    @override
    async def probe(self) -> Probe:
        clock = await self._api.clock()
        until = clock or datetime.now(UTC)
        found = await self.known(None, until)
        return Probe(clock, f"{len(found.names)} services wrote in the last {KNOWN_FOR.days} days")

    @override
    async def close(self) -> None:
        await self._transport.close()

    async def _counted(self, question: LogQuestion, slices: int, streams: _Streams) -> Counts:
        step = (question.end - question.start) / slices
        query = counted(self._query(question, streams), step, (streams.label, *streams.levels))
        # A range reaches from behind its beginning to its end: a nanosecond earlier, it's from its beginning to before.
        first, last = nanoseconds(question.start + step) - 1, nanoseconds(question.end) - 1
        found = await self._api.series(query, first, last, step)
        tally: Counter[tuple[str, str, int]] = Counter()
        for one in found.series:
            service = name_of(one.labels.get(streams.label))
            severity = _severity(one.labels, streams.levels)
            for at, value in one.points:
                place = round((at - question.start.timestamp()) / step.total_seconds()) - 1
                tally[service, severity, min(slices - 1, max(0, place))] += round(value)
        rows = tuple(Count(*key, number) for key, number in sorted(tally.items()) if number)
        return Counts(rows, Bound.AT_LEAST if found.warned else Bound.EXACT, self._notes(streams, found))

    async def _read(self, question: LogQuestion, limit: int, streams: _Streams, *, latest: bool) -> Records:
        """Read page after page, until there are enough or no more."""
        query = self._query(question, streams)
        start, end = nanoseconds(question.start), nanoseconds(question.end)
        entries: dict[_Key, Entry] = {}
        while True:
            found = await self._api.entries(query, start, end, min(PAGE, limit + 1), latest=latest)
            before = len(entries)
            entries |= _numbered(found.entries)
            last_page = len(found.entries) < found.limit
            if last_page or len(entries) > limit or len(entries) == before:
                break
            # Others of the same nanosecond may follow: begin with it again.
            edge = found.entries[-1].nanoseconds
            start, end = (start, edge + 1) if latest else (edge, end)
        kept = list(entries.values())[:limit]
        rows = [self._record(entry, streams) for entry in (reversed(kept) if latest else kept)]
        complete = last_page and not found.warned and len(entries) <= limit
        return Records(tuple(sorted(rows, key=lambda row: row.at)), complete, self._notes(streams, found))

    def _record(self, entry: Entry, streams: _Streams) -> LogRecord:
        severity = _severity(entry.labels, streams.levels)
        known = {streams.label, *self._settings.service_labels, *streams.levels, *TRACE_FIELDS, *_HIDDEN}
        return record_of(
            entry.at,
            entry.labels.get(streams.label),
            entry.line,
            severity=severity if severity != UNLEVELLED else None,
            trace_id=said(entry.labels, TRACE_FIELDS),
            fields=((key, value) for key, value in entry.labels.items() if key not in known),
        )

    def _query(self, question: LogQuestion, streams: _Streams) -> str:
        stages = pipeline(question, streams.levels, in_lines=streams.in_lines)
        return f"{selector(self._settings.selector, streams.label, streams.services)} {stages}".strip()

    def _notes(self, streams: _Streams, found: Found) -> tuple[str, ...]:
        in_lines = (f"SEVERITY_FROM_LINES:{self.name}",) if streams.in_lines else ()
        return (*in_lines, f"PARTIAL:{self.name}") if found.warned else in_lines

    async def _streams(self, question: LogQuestion) -> list[_Streams]:
        """The streams that a question is about, apart by the label that names their service."""
        labels = await self._labels(question.end)
        self._likely = labels[0]
        asked: dict[str, list[str]] = {} if question.services else {labels[0]: []}
        for name in question.services:
            asked.setdefault(self._label_of.get(name, labels[0]), []).append(name)
        return [await self._shaped(label, tuple(names), question) for label, names in asked.items()]

    async def _shaped(self, label: str, services: tuple[str, ...], question: LogQuestion) -> _Streams:
        """Look at a few lines: do labels tell their severity, or does it stand in the lines alone?"""
        levels = self._settings.level_labels

        async def look() -> bool | None:
            query = selector(self._settings.selector, label, services)
            start, end = nanoseconds(question.start), nanoseconds(question.end)
            found = await self._api.entries(query, start, end, _LOOKED_AT, latest=True)
            told = [_severity(entry.labels, levels) for entry in found.entries]
            return all(severity == UNLEVELLED for severity in told) if told else None

        in_lines = await self._once(("levels", label, services), look)
        self._in_lines = self._in_lines if in_lines is None else in_lines
        return _Streams(label, services, _IN_LINES if in_lines else levels, bool(in_lines))

    async def _labels(self, until: datetime) -> list[str]:
        """The service labels that this Loki has, in the order of the settings; raises SOURCE_MISSING where it has none:
        a tenant that never wrote isn't one that wrote nothing of this."""

        # Whole days, so that all parts of a question ask the same.
        day = until.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)

        async def ask() -> list[str]:
            present = set(await self._api.labels(day - KNOWN_FOR, day))
            return [label for label in self._settings.service_labels if label in present]

        labels = await self._once(("labels", day), ask)
        if not labels:
            raise SourceFailure(SourceError.SOURCE_MISSING)
        return labels

    async def _once(self, key: object, ask: Callable[[], Awaitable[Answered]]) -> Answered:
        """Return what was answered to the same question within the last minute, else ask it."""
        now = monotonic()
        at, answer = self._remembered.get(key, (-_REMEMBERED_SECONDS, None))
        if now - at < _REMEMBERED_SECONDS:
            return cast(Answered, answer)
        fresh = await ask()
        young = {one: told for one, told in self._remembered.items() if now - told[0] < _REMEMBERED_SECONDS}
        # What nothing was found for may be there in the next minute.
        self._remembered = young if fresh is None else {**young, key: (now, fresh)}
        return fresh


def _severity(labels: Mapping[str, str], levels: Iterable[str]) -> str:
    """The severity that the first label with a known spelling tells."""
    spelled = (severity_of(labels.get(level)) for level in levels)
    return next((severity for severity in spelled if severity != UNLEVELLED), UNLEVELLED)


def _numbered(entries: Iterable[Entry]) -> dict[_Key, Entry]:
    """Entries by what tells them apart; equal ones are numbered."""
    seen: Counter[tuple[int, tuple[tuple[str, str], ...], str]] = Counter()
    numbered = {}
    for entry in entries:
        same = (entry.nanoseconds, tuple(sorted(entry.labels.items())), entry.line)
        numbered[(*same, seen[same])] = entry
        seen[same] += 1
    return numbered
