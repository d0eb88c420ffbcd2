"""What `zhizhi doctor` finds out of each configured source: is it reachable, does it let us in, do the clocks agree,
does a sample query work."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tools.base import SettingFault, SourceFailure
from tools.live.source import Source
from tools.vocabulary import SourceError

LARGEST_SKEW_SECONDS = 30.0
"""Further apart, and what happened in a minute is asked of another."""
LONGEST_PROBE_SECONDS = 60.0

_NOT_REACHED = frozenset({SourceError.BACKEND_UNAVAILABLE, SourceError.BACKEND_TIMEOUT})


@dataclass(frozen=True)
class Finding:
    """What one source turned out to be. What a failure left open is None.

    `skew_seconds`: the source's clock minus ours; None where it tells none. `sample`: what a small query found.
    `failure`: why there is no sample; `fault`: what is at fault, where that is known.
    """

    name: str
    reachable: bool | None
    authorized: bool | None
    skew_seconds: float | None
    sample: str | None
    failure: SourceError | None
    fault: str | None = None

    @property
    def clock_agrees(self) -> bool | None:
        """Whether the clocks are near enough to each other; None where the source tells no time."""
        return None if self.skew_seconds is None else abs(self.skew_seconds) <= LARGEST_SKEW_SECONDS

    @property
    def well(self) -> bool:
        """Whether the source can be asked as it is."""
        return self.failure is None and self.clock_agrees is not False


async def examine(
    sources: Mapping[str, Source], *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> list[Finding]:
    """Probe every source at once, none for longer than a minute; `now` is our own clock (aware)."""
    return list(await asyncio.gather(*(_finding(name, source, now) for name, source in sources.items())))


async def _finding(name: str, source: Source, now: Callable[[], datetime]) -> Finding:
    try:
        asked = now()
        async with asyncio.timeout(LONGEST_PROBE_SECONDS):
            probe = await source.probe()
        answered = now()
    except TimeoutError:
        return _of(name, SourceFailure(SourceError.BACKEND_TIMEOUT))
    except SourceFailure as failure:
        return _of(name, failure)
    skew = None
    if probe.server_time is not None:
        # The backend read its clock at some moment between the two of ours; a header's has no fractions of a second.
        middle = asked + (answered - asked) / 2
        skew = round((probe.server_time - middle).total_seconds(), 1)
    return Finding(name, True, True, skew, probe.sample, None)


def _of(name: str, failure: SourceFailure) -> Finding:
    """Return what a failure says; one with a detail beside it was an answer, unless nothing was sent."""
    fault = ", ".join(filter(None, (failure.detail, failure.field, *failure.near_names))) or None
    if isinstance(failure, SettingFault):
        return Finding(name, None, None, None, None, failure.code, fault)
    away = failure.code in _NOT_REACHED and failure.detail is None
    authorized = None if failure.code in _NOT_REACHED else failure.code is not SourceError.ACCESS_DENIED
    return Finding(name, not away, authorized, None, None, failure.code, fault)
