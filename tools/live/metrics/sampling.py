"""How finely a window is asked about: as finely as the series are scraped, as far as the bound on points allows.

Times are seconds since the epoch.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from tools.live.metrics.prometheus import Span

MAX_POINTS_A_SERIES = 1_600
"""Enough for the usual window and the hours before it at a sample each 15 seconds."""
MAX_POINTS = 120_000
"""How many points all series of an answer may have together."""
PROBED = timedelta(minutes=10)
"""Over how long samples are counted to learn how often a series is scraped."""
_LEAST_HISTORY = 3_600.0
_USUAL_INTERVAL = 60
_LEAST_RATE = 15
_SAMPLES_OF_A_RATE = 4
_SLACK = 0.95
"""A sample less in ten minutes is chance."""
_STEPS = (
    1,
    2,
    5,
    10,
    15,
    20,
    30,
    60,
    120,
    180,
    300,
    600,
    900,
    1_200,
    1_800,
    3_600,
    7_200,
    14_400,
    21_600,
    43_200,
    86_400,
)


@dataclass(frozen=True)
class Frame:
    """What is asked about, and what is read to judge it: `start` (included) to `end` (excluded), and as much again
    before it, at least an hour, which serves as baseline."""

    start: float
    end: float

    @classmethod
    def of(cls, start: datetime, end: datetime) -> "Frame":
        """Return the frame of a window of aware times."""
        return cls(start.timestamp(), end.timestamp())

    @property
    def read(self) -> Span:
        """Return the span that is read."""
        return Span(self.start - max(self.end - self.start, _LEAST_HISTORY), self.end)


@dataclass(frozen=True)
class Sampling:
    """`step`: seconds between the points; `interval`: between the samples that the server has; `extent`: where samples
    are. Behind its end a server would go on telling the last ones, and rates would fall where nothing fell."""

    step: int
    interval: int
    extent: Span

    @property
    def rate(self) -> timedelta:
        """Return over how long counters are told: four samples at least, so that a missing one makes no gap."""
        return timedelta(seconds=max(_LEAST_RATE, _SAMPLES_OF_A_RATE * self.interval, self.step))

    @property
    def patience(self) -> timedelta:
        """Return how long a sample stands for a series: no longer than until the next should have come."""
        return timedelta(seconds=max(self.step, 2 * self.interval))

    @property
    def is_coarse(self) -> bool:
        """Whether several samples fall between two points."""
        return self.step > 2 * self.interval

    def grid(self, frame: Frame) -> Span:
        """Return the first and the last point of a frame: multiples of the step, so that equal questions are equal."""
        first = math.ceil(max(frame.read.start, self.extent.start) / self.step) * self.step
        behind = math.ceil(frame.end / self.step) * self.step - self.step
        return Span(first, max(first, min(behind, math.floor(self.extent.end / self.step) * self.step)))


def sampling(extent: Span, *, samples: float | None, series: int) -> Sampling:
    """Return how finely to ask about where samples are. `samples`: the most that any series has in ten minutes (or in
    all of a shorter extent), None where none has any; `series`: how many series are expected."""
    covered = min(PROBED.total_seconds(), extent.end - extent.start)
    interval = _USUAL_INTERVAL if not samples else _nice(_SLACK * covered / samples)
    points = max(2, min(MAX_POINTS_A_SERIES, MAX_POINTS // max(series, 1)))
    return Sampling(_nice(max(interval, (extent.end - extent.start) / points)), interval, extent)


def _nice(seconds: float) -> int:
    return next((step for step in _STEPS if step >= seconds), math.ceil(seconds / 86_400) * 86_400)
