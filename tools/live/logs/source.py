"""What a place that keeps logs can be asked: a few bounded questions that every such backend answers at its own side.

There may be tens of millions of lines, so backends aggregate and little is fetched. A backend is one subclass of
`LogSource`: `known`, `counts`, `records`, `paste` and what `Source` asks of everyone. What can be asked in fewer
requests there (many counts at once) is overridden; all else is done above it.

Conditions of a `LogQuestion` are joined by AND. Every text in one is data: an adapter quotes it, whatever it holds.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from tools.live.concurrency import in_turns
from tools.live.logs.records import LogRecord
from tools.live.source import Source

MAX_RECORDS = 5_000
"""The most records that one question may ask for."""


@dataclass(frozen=True)
class Phrase:
    """Runs of whole words that a text holds in this order, whatever stands between the runs.

    Case doesn't count, and a blank stands for any white space. A backend that can't tell order or punctuation may find
    more texts with it, never fewer.
    """

    runs: tuple[str, ...]


@dataclass(frozen=True)
class LogQuestion:
    """Which records are meant: from `start` (included) to `end` (excluded), aware UTC.

    `services`: the source's own spellings, empty for all. `severities`: of `SEVERITIES`, and `-` for records that name
    none; None for all. `contains`: a text, folded, that stands anywhere in the record, parts of words included where
    the backend can tell. `words`: at least one of these whole words or phrases stands in the record. `phrase` stands in
    it, none of `without` does.
    """

    start: datetime
    end: datetime
    services: tuple[str, ...] = ()
    severities: frozenset[str] | None = None
    contains: str | None = None
    words: tuple[str, ...] = ()
    phrase: Phrase | None = None
    without: tuple[Phrase, ...] = ()

    def slice_bounds(self, number: int, slices: int) -> tuple[datetime, datetime]:
        """Return start and end of one of `slices` equal slices of the window, the first being 0."""
        step = (self.end - self.start) / slices
        last = number + 1 == slices
        return self.start + number * step, self.end if last else self.start + (number + 1) * step


class Bound(StrEnum):
    """What a number of records is."""

    EXACT = "EXACT"
    AT_LEAST = "AT_LEAST"
    """The backend gave up somewhere: a time-out, a failed shard, a limit."""
    ABOUT = "ABOUT"
    """The backend counts something close to what was asked, in either direction."""


@dataclass(frozen=True)
class Count:
    """How many records of one service and severity a slice of the window holds (at least one).

    `first` and `last` (aware UTC) are the times of the slice's first and last record where the backend tells them along
    with the count, else None.
    """

    service: str
    severity: str
    slice: int
    records: int
    first: datetime | None = None
    last: datetime | None = None

    def added(self, other: "Count") -> "Count":
        """Return this count with the records of another one of the same service, severity and slice."""
        return replace(
            self,
            records=self.records + other.records,
            first=min(self.first, other.first) if self.first and other.first else None,
            last=max(self.last, other.last) if self.last and other.last else None,
        )


@dataclass(frozen=True)
class Counts:
    """Counts by service, severity and slice; slices without a record have none. `notes` are codes for people."""

    rows: tuple[Count, ...] = ()
    bound: Bound = Bound.EXACT
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Return the number of all records counted."""
        return sum(row.records for row in self.rows)


@dataclass(frozen=True)
class Records:
    """Records in order of time. `complete`: everything that was asked for is among them."""

    rows: tuple[LogRecord, ...] = ()
    complete: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Known:
    """Names of services in the source's own spelling; `complete` where there is no other."""

    names: tuple[str, ...]
    complete: bool = True


class LogSource(Source):
    """One place that keeps logs. Every question raises SourceFailure where the backend can't answer it.

    A partial answer is an answer: `AT_LEAST` or not `complete`, with a note; an index, stream or tenant that isn't
    there is a failure, never an empty answer.
    """

    @abstractmethod
    async def known(self, asked: str | None, until: datetime) -> Known:
        """Return the services that wrote in the days before `until`; where `asked` (folded) is given, at least those
        that fold to it, however many others there are."""

    @abstractmethod
    async def counts(self, question: LogQuestion, slices: int) -> Counts:
        """Return how many records each service and severity has in each of `slices` equal slices of the window."""

    @abstractmethod
    async def records(self, question: LogQuestion, limit: int, *, latest: bool = False) -> Records:
        """Return at most `limit` (1 to MAX_RECORDS) matching records: the earliest, or the latest; in order of time."""

    @abstractmethod
    def paste(self, question: LogQuestion) -> str:
        """Return a command of the backend's own client, or curl; blank where it would be too long.

        Services are folded names here. See `tools.live.pasting`. No I/O.
        """

    async def counts_each(self, question: LogQuestion, phrases: Sequence[Phrase], slices: int) -> tuple[Counts, ...]:
        """Return for each phrase what `counts` says of the records that hold it, too, in the order of `phrases`."""
        return tuple(await in_turns(lambda phrase: self.counts(replace(question, phrase=phrase), slices), phrases))

    async def sample(self, question: LogQuestion, each: int, slices: int, chosen: Sequence[int]) -> Records:
        """Return at most `each` records from every slice in `chosen`: the earliest of each."""

        async def of_slice(number: int) -> Records:
            start, end = question.slice_bounds(number, slices)
            return await self.records(replace(question, start=start, end=end), min(each, MAX_RECORDS))

        parts = await in_turns(of_slice, chosen)
        return Records(
            rows=tuple(row for part in parts for row in part.rows),
            complete=all(part.complete for part in parts),
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )
