"""Which traces of a window are worth reading: those that failed, the first of them, the slow ones, and some usual ones.

A backend gives the latest of what it finds. The earliest failure is what a diagnosis needs, so it is looked for by
halving the time before those that are known.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median

from tools.live.concurrency import in_turns
from tools.live.traces.source import TraceQuestion

SLOWER = 2.0
"""A trace is looked for as slow where it takes this many times the usual; as the frozen tool's `SLOW`."""
HALVINGS = 12
CLOSE_ENOUGH = timedelta(seconds=1)


class Wanted(StrEnum):
    """What sort of traces a look is for."""

    FAILED = "FAILED"
    SLOW = "SLOW"
    ANY = "ANY"


@dataclass(frozen=True)
class Look:
    """One search: traces begun from `start` to `end` (excluded), at most `limit`, taking at least `at_least_ms`."""

    wanted: Wanted
    start: datetime
    end: datetime
    limit: int
    at_least_ms: int = 0


@dataclass(frozen=True)
class Brief:
    """A trace that was found: when it began (aware, UTC) and how long the part asked for took."""

    trace_id: str
    at: datetime
    duration_ms: float


@dataclass(frozen=True)
class Looked:
    """What a look found; `cut` where there may be more than it gave."""

    briefs: tuple[Brief, ...]
    cut: bool


Finder = Callable[[Look], Awaitable[Looked]]


@dataclass(frozen=True)
class Sample:
    """The traces to read: the failing ones, the earliest first, and others, slow ones first.

    `complete`: the window holds no others. `unsure`: the first failure may lie so much earlier than the first one here;
    None where it is exact.
    """

    failing: tuple[Brief, ...] = ()
    others: tuple[Brief, ...] = ()
    complete: bool = True
    unsure: timedelta | None = None

    @property
    def trace_ids(self) -> tuple[str, ...]:
        """Return the traces, the most telling first."""
        return tuple(dict.fromkeys(brief.trace_id for brief in (*self.failing, *self.others)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what to remark: that counts are of a sample, and how exact the first failure's time is."""
        notes = () if self.complete else (f"SAMPLED_TRACES:{len(self.trace_ids)}",)
        if self.unsure is None:
            return notes
        return (*notes, f"FIRST_FAILURE_MAY_BE_EARLIER_BY_SECONDS:{max(1, round(self.unsure.total_seconds()))}")


def merged(samples: Sequence[Sample]) -> Sample:
    """Return the samples of several targets as one."""
    failing = sorted((brief for one in samples for brief in one.failing), key=lambda brief: brief.at)
    return Sample(
        failing=tuple(failing),
        others=tuple(brief for one in samples for brief in one.others),
        complete=all(one.complete for one in samples),
        unsure=max((one.unsure for one in samples if one.unsure is not None), default=None),
    )


async def sampled(find: Finder, question: TraceQuestion, limit: int, failed: Looked | None = None) -> Sample:
    """Return at most five times `limit` traces of the question's window; `failed` where that was looked for.

    Usual traces are taken from both halves of the window: what is usual shows before a failure, not during it.
    """
    start, end = question.start, question.end
    if failed is None:
        failed = await find(Look(Wanted.FAILED, start, end, limit))
    first, unsure = await _first(find, start, failed, limit) if failed.cut and failed.briefs else ((), None)
    middle = start + (end - start) / 2
    looks = [Look(Wanted.ANY, start, middle, limit), Look(Wanted.ANY, middle, end, limit)]
    before, after = await in_turns(find, looks)
    usual = [brief.duration_ms for brief in (before.briefs or after.briefs)]
    whole = not (before.cut or after.cut)
    slow = Looked((), cut=False)
    if usual and not whole:
        slow = await find(Look(Wanted.SLOW, start, end, limit, at_least_ms=max(1, int(SLOWER * median(usual)))))
    return Sample(
        failing=tuple(sorted((*first, *failed.briefs), key=lambda brief: brief.at)),
        others=(*slow.briefs, *before.briefs, *after.briefs),
        complete=whole and not failed.cut,
        unsure=unsure,
    )


async def _first(
    find: Finder, start: datetime, failed: Looked, limit: int
) -> tuple[tuple[Brief, ...], timedelta | None]:
    """Return the earliest failing traces, and how much earlier there may be another that wasn't found."""
    low, first = start, min(brief.at for brief in failed.briefs)
    found: tuple[Brief, ...] = ()
    for _ in range(HALVINGS):
        if first - low <= CLOSE_ENOUGH:
            return found, None
        earlier = await find(Look(Wanted.FAILED, low, low + (first - low) / 2, limit))
        if not earlier.briefs:
            low = low + (first - low) / 2
            continue
        found, first = earlier.briefs, min(brief.at for brief in earlier.briefs)
        if not earlier.cut:
            return found, None
    return found, first - low
