"""Whether a signature is new or has grown, judged by counts of a backend in slices of time.

The rules are those of `tools.frozen.signatures`, at the resolution of a slice: the window and as much again before it
are `SLICES` slices, half of them each.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from tools.frozen.signatures import GROWTH, LEAST_INFORMATIONAL, LEAST_SUSPICIOUS, SURE, SUSPICIOUS
from tools.live.logs.source import Count

SLICES = 24
WINDOW_BEGINS = SLICES // 2
"""The first slice of the window that was asked about; those before it are known only to compare with."""

_SUSPICIOUS = re.compile(SUSPICIOUS)
_PARTS = 6


@dataclass(frozen=True)
class Reach:
    """What is known of the logs: slices from `begin`, where slice 0 begins, and their first and last record of all."""

    begin: datetime
    step: timedelta
    first: datetime
    last: datetime

    @property
    def pivot(self) -> int:
        """Return the slice with which the incident part begins: the window's first, unless the logs are younger than a
        baseline of a quarter of what they hold."""
        pivot = max(self.begin + WINDOW_BEGINS * self.step, self.first + (self.last - self.first) / 4)
        return min(SLICES - 1, -((self.begin - pivot) // self.step))

    def slice_of(self, moment: datetime) -> int:
        """Return the slice that a moment lies in."""
        return min(SLICES - 1, max(0, (moment - self.begin) // self.step))


@dataclass(frozen=True)
class Verdict:
    """A signature that is told: `status` NEW or GROWN, records of the incident part and of the baseline part, and the
    slices of the first and last of the incident part's records. `rank`: 0 ERROR and worse, 1 WARN, 2 trouble, 3 else.
    """

    status: str
    rank: int
    records: int
    baseline: int
    first_slice: int
    last_slice: int


def rank_of(severity: str, signature: str) -> int:
    """Return how much a signature matters, 0 the most."""
    if severity in {"FATAL", "ERROR"}:
        return 0
    if severity == "WARN":
        return 1
    return 2 if _SUSPICIOUS.search(signature) else 3


def judged(rank: int, counts: Iterable[Count], reach: Reach) -> Verdict | None:
    """Return what is told of a signature with these counts by slice, or None where it's neither new nor grown."""
    by_slice = [0] * SLICES
    for row in counts:
        by_slice[row.slice] += row.records
    parted = _parted(by_slice, reach)
    inside = [number for number in range(max(parted, WINDOW_BEGINS), SLICES) if by_slice[number]]
    if not inside:
        return None
    records, baseline = sum(by_slice[number] for number in inside), sum(by_slice[:parted])
    densest, growth = _growth(by_slice, parted, baseline, reach)
    if baseline == 0:
        least = (1, 1, LEAST_SUSPICIOUS, LEAST_INFORMATIONAL)[rank]
        told = records >= least
    else:
        told = growth >= GROWTH and densest >= (2 if rank == 3 else 1) * LEAST_INFORMATIONAL
    status = "NEW" if baseline == 0 else "GROWN"
    return Verdict(status, rank, records, baseline, inside[0], inside[-1]) if told else None


def _parted(by_slice: list[int], reach: Reach) -> int:
    """The slice that begins the incident part of this signature: in young logs, one that came suddenly begins it."""
    seen = [number for number in range(SLICES) if by_slice[number]]
    pivot = reach.pivot
    if not seen or not WINDOW_BEGINS <= seen[0] < pivot or sum(by_slice) < SURE:
        return pivot
    silence = seen[0] - reach.slice_of(reach.first)
    took = max(1, seen[-1] - seen[0])
    return seen[0] if silence > 0 and silence * sum(by_slice) >= SURE * took else pivot


def _growth(by_slice: list[int], parted: int, baseline: int, reach: Reach) -> tuple[int, float]:
    """The records of the incident part's densest sixth, and its rate over the baseline's (at least three records)."""
    final = reach.slice_of(reach.last)
    after = max(1, final - parted + 1)
    parts = [0] * _PARTS
    for number in range(parted, final + 1):
        parts[min(_PARTS - 1, (number - parted) * _PARTS // after)] += by_slice[number]
    before = max(1, parted - reach.slice_of(reach.first))
    densest = max(parts)
    share = max(1.0, after / _PARTS)
    return densest, densest / share * before / max(baseline, 3)
