"""What CLS and SLS have in common: a search condition finds records, SQL behind a pipe counts them at the backend."""

import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.logs.pasting import narrowed, spellings_of
from tools.live.logs.records import MESSAGE_FIELDS, UNLEVELLED, LogRecord, name_of, record_of, severity_of
from tools.live.logs.searching import Condition, condition_of, counting, named, quoted
from tools.live.logs.source import Bound, Count, Counts, Known, LogQuestion, LogSource, Records
from tools.live.pasting import whole
from tools.live.source import Probe
from tools.live.transport import Transport
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.logs.cloud_settings import CloudLogSettings

KNOWN_FOR = timedelta(days=7)
"""A service that wrote nothing for so long isn't known any more."""
MAX_GROUPS = 20_000
"""How many groups one count may have."""
MAX_SERVICES = 1_000
MAX_SKIPPED = 2_000
"""How many records that a condition found, but that aren't what was asked for, are read before giving up."""
_MAX_LEVELS = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

INCOMPLETE = "INCOMPLETE_RESULT"
"""The remark on an answer of which the backend itself says that it isn't whole."""
NEARLY = "WHOLE_WORDS_ONLY"
"""The remark on an answer that is about what was asked: parts of words aren't found, long lists are cut."""


@dataclass(frozen=True)
class Window:
    """A stretch of time in whole milliseconds since the epoch, the end excluded."""

    start_ms: int
    end_ms: int

    @classmethod
    def of(cls, start: datetime, end: datetime) -> "Window":
        """Return the milliseconds that lie in a window."""
        return cls(-((_EPOCH - start) // _MILLISECOND), -((_EPOCH - end) // _MILLISECOND))


@dataclass(frozen=True)
class Analysed:
    """The rows of an SQL query, values as the backend writes them, and whether it says that they are all."""

    rows: Sequence[Mapping[str, Any]]
    complete: bool


@dataclass(frozen=True)
class Entry:
    """One record as it came: `at` aware UTC, `fields` with the backend's own names."""

    at: datetime
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Page:
    """Some records in order of time from the end that was asked for; `complete`: the backend says that they are whole.

    The last page of a search says so by `last`.
    """

    rows: Sequence[Entry]
    last: bool
    complete: bool = True


class CloudLogs(LogSource):
    """A place that is searched by conditions and analysed by SQL. A subclass says how it is asked."""

    most_terms: ClassVar[int]
    clock: ClassVar[str]
    """The time of a record in milliseconds, in SQL."""
    origin: ClassVar[str] = ""
    """What stands between columns and groups in SQL: ` FROM log` where the dialect wants it."""

    def __init__(self, name: str, transport: Transport, settings: "CloudLogSettings") -> None:
        self.name = name
        self._transport = transport
        self._fields = settings
        self._levels: set[str] = set()

    @abstractmethod
    async def _analysed(self, condition: str, sql: str, window: Window) -> Analysed:
        """Run SQL over what a condition finds; raises SourceFailure."""

    @abstractmethod
    def _pages(self, condition: str, window: Window, limit: int, *, latest: bool) -> AsyncIterator[Page]:
        """Find records, the earliest or the latest first, `limit` of which are wanted; raises SourceFailure."""

    @abstractmethod
    async def _clock(self) -> datetime | None:
        """Return the backend's clock (aware, UTC) by a request that needs no index."""

    @override
    async def close(self) -> None:
        await self._transport.close()

    @override
    async def probe(self) -> Probe:
        at = await self._clock()
        until = at or datetime.now(UTC)
        known = await self._services("*", until - timedelta(hours=1), until)
        return Probe(at, f"{len(known.names)} services in the last hour")

    @override
    async def known(self, asked: str | None, until: datetime) -> Known:
        start = until - KNOWN_FOR
        if asked is not None:
            field = named(self._fields.service_field)
            alike = await self._services(f"{field}:{quoted(asked)}", start, until)
            own = tuple(name for name in alike.names if fold(name) == asked)
            if own:
                return Known(own, complete=False)
        everyone = await self._services("*", start, until)
        if asked is not None and not everyone.complete and all(fold(name) != asked for name in everyone.names):
            # Whether it is known can't be said: that is neither an absence nor a typo.
            raise SourceFailure(SourceError.BACKEND_TIMEOUT)
        return everyone

    async def _services(self, condition: str, start: datetime, end: datetime) -> Known:
        window = Window.of(start, end)
        fields = {"z_service": self._fields.service_field}
        sql = f"{self._sql(fields, 1, window)} ORDER BY z_records DESC LIMIT {MAX_SERVICES}"
        found = await self._analysed(condition, sql, window)
        names = tuple(str(row["z_service"]) for row in found.rows if row.get("z_service"))
        return Known(names, complete=found.complete and len(found.rows) < MAX_SERVICES)

    @override
    async def counts(self, question: LogQuestion, slices: int) -> Counts:
        condition = self._condition(question) or Condition("*")
        window = Window.of(question.start, question.end)
        fields = {"z_service": self._fields.service_field, "z_level": self._fields.level_field}
        found = await self._analysed(condition.text, f"{self._sql(fields, slices, window)} LIMIT {MAX_GROUPS}", window)
        self._learn(str(row.get("z_level") or "") for row in found.rows)
        counts = [_counted(row, slices) for row in found.rows]
        whole = found.complete and len(found.rows) < MAX_GROUPS
        notes = (*(() if whole else (INCOMPLETE,)), *((NEARLY,) if condition.about else ()))
        bound = Bound.ABOUT if condition.about else Bound.EXACT if whole else Bound.AT_LEAST
        return Counts(_merged(row for row in counts if _meant(row.service, row.severity, question)), bound, notes)

    @override
    async def records(self, question: LogQuestion, limit: int, *, latest: bool = False) -> Records:
        if question.severities is not None and not self._levels:
            await self.counts(replace(question, severities=None), 1)
        condition = self._condition(question, tuple(self._levels))
        if condition is None:
            return Records()
        kept: list[tuple[Entry, LogRecord]] = []
        whole, last, read = True, False, 0
        async for page in self._pages(condition.text, Window.of(question.start, question.end), limit, latest=latest):
            whole, last = whole and page.complete, page.last
            kept += [(entry, self._record(entry)) for entry in page.rows if self._is_meant(entry, question)]
            read += len(page.rows)
            if len(kept) >= limit or read >= limit + MAX_SKIPPED:
                last = last and len(kept) <= limit
                break
        ordered = sorted(kept[:limit], key=lambda one: one[0].at)
        notes = (*(() if whole else (INCOMPLETE,)), *((NEARLY,) if condition.about else ()))
        return Records(tuple(record for _, record in ordered), last and whole and not condition.about, notes)

    @override
    def paste(self, question: LogQuestion) -> str:
        """Return a command of the service's own client: with all severities asked for, else without their names."""
        told = [one for one in sorted(self._levels) if severity_of(one) in (question.severities or ())]
        window = Window.of(question.start, question.end)
        conditions = (
            self._condition(one, levels)
            for levels in (told or spellings_of(question.severities), None)
            for one in narrowed(question)
        )
        return whole(self._command(one.text if one else "*", window) for one in conditions)

    @abstractmethod
    def _command(self, condition: str, window: Window) -> str:
        """Return a command that shows what a condition finds."""

    def _condition(self, question: LogQuestion, levels: Iterable[str] | None = None) -> Condition | None:
        fields = self._fields
        return condition_of(
            question, service=fields.service_field, level=fields.level_field, levels=levels, most=self.most_terms
        )

    def _sql(self, fields: Mapping[str, str], slices: int, window: Window) -> str:
        length = max(1, window.end_ms - window.start_ms)
        return counting(fields, self.clock, slices, window.start_ms, length, self.origin)

    def _learn(self, levels: Iterable[str]) -> None:
        """Remember how levels are spelled here: a count comes before the records that it counted."""
        self._levels |= set(levels)
        if len(self._levels) > _MAX_LEVELS:
            self._levels = {one for one in self._levels if severity_of(one) != UNLEVELLED}

    def _is_meant(self, entry: Entry, question: LogQuestion) -> bool:
        """Whether a record is what was asked for: by its fields alone, by which SQL counted it, its time, its text."""
        service = str(entry.fields.get(self._fields.service_field) or "")
        level = str(entry.fields.get(self._fields.level_field) or "")
        fits = _meant(service, severity_of(level), question) and question.start <= entry.at < question.end
        return fits and (not question.contains or question.contains in fold(" ".join(map(str, entry.fields.values()))))

    def _record(self, entry: Entry) -> LogRecord:
        own, fields = self._fields, entry.fields
        text = next((str(fields[key]) for key in (own.message_field, *MESSAGE_FIELDS) if fields.get(key)), None)
        told = {own.service_field, own.level_field, own.trace_field, own.message_field}
        rest = [(key, value) for key, value in fields.items() if key not in told and not key.startswith("__")]
        return record_of(
            entry.at,
            str(fields.get(own.service_field) or "") or None,
            text if text is not None else json.dumps(dict(rest), ensure_ascii=False, default=str),
            severity=str(fields.get(own.level_field) or "") or None,
            trace_id=str(fields.get(own.trace_field) or "") or None,
            fields=[(key, value) for key, value in rest if key not in MESSAGE_FIELDS] if text is not None else (),
        )


def _meant(service: str, severity: str, question: LogQuestion) -> bool:
    fits = not question.services or service in question.services
    return fits and (question.severities is None or severity in question.severities)


def _counted(row: Mapping[str, Any], slices: int) -> Count:
    """Return a row of SQL as a count; raises SourceFailure(SOURCE_UNREADABLE) where it isn't one."""
    try:
        slice_, records, first, last = (int(float(row[f"z_{key}"])) for key in ("slice", "records", "first", "last"))
        return Count(
            service=str(row.get("z_service") or ""),
            severity=severity_of(str(row.get("z_level") or "")),
            slice=min(max(slice_, 0), slices - 1),
            records=records,
            first=_EPOCH + first * _MILLISECOND,
            last=_EPOCH + last * _MILLISECOND,
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    raise SourceFailure(SourceError.SOURCE_UNREADABLE)


def _merged(counts: Iterable[Count]) -> tuple[Count, ...]:
    """Return counts with one row a service, severity and slice: several spellings are one severity."""
    merged: dict[tuple[str, str, int], Count] = {}
    for one in counts:
        service = name_of(one.service)
        key = (service, one.severity, one.slice)
        other = merged.get(key)
        if other is None or one.first is None or one.last is None or other.first is None or other.last is None:
            merged[key] = replace(one, service=service)
        else:
            merged[key] = replace(
                other,
                records=other.records + one.records,
                first=min(other.first, one.first),
                last=max(other.last, one.last),
            )
    return tuple(merged[key] for key in sorted(merged))
