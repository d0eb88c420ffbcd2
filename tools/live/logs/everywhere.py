"""Several places that keep logs, asked as one for the length of one question.

Source: decided contract, "Answers of tools". A place
that fails is not asked again within the question; what it would have said is unknown, which `notes` and `partial` say.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.fanout import Gathered, ask_all
from tools.live.logs.source import Bound, Count, Counts, LogQuestion, LogSource, Phrase, Records
from tools.names import near
from tools.vocabulary import SourceError

Answered = TypeVar("Answered")


@dataclass(frozen=True)
class Place:
    """A source, and the services that are meant in it, in its own spelling; none where all are."""

    source: LogSource
    services: tuple[str, ...] = ()


class Everywhere:
    """All places that know the asked service. Every question raises SourceFailure where no place answers it."""

    def __init__(self, places: Mapping[str, Place], failures: Mapping[str, SourceFailure]) -> None:
        self._places = dict(places)
        self._failures = dict(failures)
        self._notes: dict[str, None] = {}

    @property
    def partial(self) -> bool:
        """Return whether a place has failed, so that an absence can't be claimed."""
        return bool(self._failures)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return codes of what was remarked so far, and of each place that failed."""
        return (*self._notes, *(f"SOURCE_FAILED:{name}" for name in self._failures))

    def absence(self) -> None:
        """Call this where nothing was found: raises the failure of a place that failed."""
        Gathered({}, self._failures).absence()

    def anyone(self) -> "Everywhere":
        """Return the same places, asked of every service."""
        return Everywhere({name: replace(place, services=()) for name, place in self._places.items()}, {})

    def only(self, service: str) -> "Everywhere":
        """Return the same places, asked of one service, as their records name it."""
        narrowed = () if service == "-" else (service,)
        return Everywhere({name: replace(place, services=narrowed) for name, place in self._places.items()}, {})

    async def counts(self, question: LogQuestion, slices: int) -> Counts:
        """Return the counts of all places together, see `LogSource.counts`."""
        return self._summed(await self._ask(question, lambda source, own: source.counts(own, slices)))

    async def counts_each(self, question: LogQuestion, phrases: Sequence[Phrase], slices: int) -> tuple[Counts, ...]:
        """Return the counts of all places together for each phrase, see `LogSource.counts_each`."""
        if not phrases:
            return ()
        told = await self._ask(question, lambda source, own: source.counts_each(own, phrases, slices))
        return tuple(self._summed(each) for each in zip(*told, strict=True))

    async def records(self, question: LogQuestion, limit: int, *, latest: bool = False) -> Records:
        """Return the earliest or latest records of all places, see `LogSource.records`."""
        told = await self._ask(question, lambda source, own: source.records(own, limit, latest=latest))
        rows = sorted((row for part in told for row in part.rows), key=lambda row: row.at)
        kept = rows[-limit:] if latest else rows[:limit]
        return self._joined(told, Records(tuple(kept), len(kept) == len(rows)))

    async def sample(self, question: LogQuestion, each: int, slices: int, chosen: Sequence[int]) -> Records:
        """Return records of the chosen slices from all places, see `LogSource.sample`."""
        told = await self._ask(question, lambda source, own: source.sample(own, each, slices, chosen))
        rows = sorted((row for part in told for row in part.rows), key=lambda row: row.at)
        return self._joined(told, Records(tuple(rows)))

    async def _ask(
        self, question: LogQuestion, ask: Callable[[LogSource, LogQuestion], Awaitable[Answered]]
    ) -> list[Answered]:
        gathered = await ask_all(
            self._places, lambda place: ask(place.source, replace(question, services=place.services))
        )
        for name, failure in gathered.failures.items():
            self._failures[name] = failure
            del self._places[name]
        return list(gathered.answers.values())

    def _summed(self, told: Sequence[Counts]) -> Counts:
        rows: dict[tuple[str, str, int], Count] = {}
        for row in (row for counts in told for row in counts.rows):
            key = (row.service, row.severity, row.slice)
            rows[key] = rows[key].added(row) if key in rows else row
        bounds = {counts.bound for counts in told}
        self._remark(note for counts in told for note in counts.notes)
        ordered = tuple(rows[key] for key in sorted(rows))
        return Counts(ordered, next((one for one in (Bound.ABOUT, Bound.AT_LEAST) if one in bounds), Bound.EXACT))

    def _joined(self, told: Sequence[Records], records: Records) -> Records:
        self._remark(note for part in told for note in part.notes)
        return replace(records, complete=records.complete and all(part.complete for part in told))

    def _remark(self, notes: Iterable[str]) -> None:
        self._notes.update(dict.fromkeys(notes))


async def asked_of(sources: Mapping[str, LogSource], service: str | None, until: datetime) -> Everywhere:
    """Return the places that know `service` (folded; None for any).

    Raises SourceFailure: UNKNOWN_SELECTOR with near names where every source says that it never heard of it, another
    code where none answered.
    """
    if service is None:
        return Everywhere({name: Place(source) for name, source in sources.items()}, {})

    async def place(source: LogSource) -> Place:
        known = await source.known(service, until)
        own = tuple(name for name in known.names if fold(name) == service)
        if not own:
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(service, known.names), field="service")
        return Place(source, own)

    gathered = await ask_all(sources, place)
    return Everywhere(gathered.answers, gathered.failures)
