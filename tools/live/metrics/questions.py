"""What is put to one server of metrics, and what it found."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tools.base import SourceFailure
from tools.live.concurrency import in_turns
from tools.live.labels import service_of, short_name
from tools.live.metrics.discovery import narrowing_labels, ranked_labels
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.replies import Matrix, RawSeries
from tools.live.metrics.sampling import Frame, Sampling
from tools.live.metrics.spelling import duration, selector
from tools.vocabulary import SourceError

_NAME = "__name__"
_COUNTER_ENDINGS = ("_total", "_count", "_sum", "_bucket")
_BLANK_AROUND = re.compile(r"\s*([(){},=+*/<>^-])\s*")


@dataclass(frozen=True)
class Measured:
    """One series as it will be told: of which service, under which name, apart by which other labels. `counter`: it
    counts up and starts anew; times in seconds since the epoch."""

    service: str
    metric: str
    labels: Mapping[str, str]
    times: Sequence[float]
    values: Sequence[float]
    counter: bool = False


@dataclass(frozen=True)
class Found:
    """What one server found; `until`: where its samples end (seconds since the epoch); `partial` where it, or we, left
    something out; `notes` in codes; `worth`: what says most, for who asks by hand, each from the fullest form to the
    shortest."""

    series: tuple[Measured, ...] = ()
    until: float = 0.0
    partial: bool = False
    notes: tuple[str, ...] = ()
    worth: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Plan:
    """One query. `name`: what its series are called where they have no name of their own; `service`: whose they are,
    None where a label says it; `by`: the label that holds it, blank for the first of the server's service labels that a
    series has; `counter`: whether they count up, None where their names say so."""

    name: str
    query: str
    service: str | None = None
    by: str = ""
    counter: bool | None = None


async def run(source: Prometheus, frame: Frame, plans: Sequence[Plan], sampled: Sampling) -> Found:
    """Put the plans' queries and return their series together; raises SourceFailure.

    Where two plans give the same series (one name, one service), the earlier plan's is kept.
    """
    grid = sampled.grid(frame)
    matrices = await in_turns(lambda plan: source.range(plan.query, grid, sampled.step), plans)
    told: dict[tuple[str, str, tuple[tuple[str, str], ...]], Measured] = {}
    for plan, matrix in zip(plans, matrices, strict=True):
        for raw in matrix.series:
            one = _measured(plan, raw, source.service_labels)
            told.setdefault((one.service, one.metric, tuple(sorted(one.labels.items()))), one)
    if len(told) > source.max_series:
        raise SourceFailure(SourceError.ANSWER_TOO_LARGE, near_names=tuple(plan.name for plan in plans))
    return _joined(told.values(), matrices, grid.end)


def raw_query(name: str, matchers: Iterable[tuple[str, str, str]], sampled: Sampling, *, counter: bool) -> str:
    """Return the query of a metric's own samples.

    A sample stands until the next should have come, not for the five minutes that a server would fill in, so that gaps
    show. Where several samples fall between two points, their mean stands for a level; a counter's last one tells all.
    """
    function = "avg_over_time" if sampled.is_coarse and not counter else "last_over_time"
    return f"{function}({selector(name, matchers)}[{duration(sampled.patience)}])"


async def counted_series(source: Prometheus, selectors: Sequence[str], frame: Frame) -> list[dict[str, str]]:
    """Return the label sets that the selectors select; raises ANSWER_TOO_LARGE, naming labels to narrow by, where they
    are more than the server's `max_series`."""
    found = None
    try:
        found = await source.series(selectors, frame.read, limit=source.max_series + 1)
    except SourceFailure as failure:
        if failure.code is not SourceError.ANSWER_TOO_LARGE:
            raise
    if found is None:
        hints = await narrowing_labels(source, selectors, frame.read)
        raise SourceFailure(SourceError.ANSWER_TOO_LARGE, near_names=hints)
    if len(found) > source.max_series:
        hints = ranked_labels({name for labels in found for name in labels}, source.service_labels)
        raise SourceFailure(SourceError.ANSWER_TOO_LARGE, near_names=hints)
    return found


def compact(query: str) -> str:
    """Return a query as a series' name: without blanks where they mean nothing, at most 100 characters."""
    bare = _BLANK_AROUND.sub(r"\1", query).replace(" ", "_")
    return bare if len(bare) <= 100 else bare[:99] + "…"


async def narrowed(source: Prometheus, failure: SourceFailure, selectors: Sequence[str], frame: Frame) -> SourceFailure:
    """Return a failure, with labels to narrow by where an answer was too large."""
    if failure.code is not SourceError.ANSWER_TOO_LARGE or failure.near_names:
        return failure
    names = await narrowing_labels(source, selectors, frame.read)
    return SourceFailure(failure.code, near_names=names, field="query")


def _measured(plan: Plan, raw: RawSeries, service_labels: Sequence[str]) -> Measured:
    named = raw.labels.get(plan.by) if plan.by else service_of(raw.labels, service_labels)
    service = plan.service or short_name(named or "") or "-"
    own_name = raw.labels.get(_NAME, "")
    counter = own_name.endswith(_COUNTER_ENDINGS) if plan.counter is None else plan.counter
    others = {
        label: value
        for label, value in sorted(raw.labels.items())
        if label not in {_NAME, plan.by} and value and not (label in service_labels and short_name(value) == service)
    }
    return Measured(service, own_name or plan.name, others, raw.times, raw.values, counter)


def _joined(series: Iterable[Measured], matrices: Sequence[Matrix], until: float) -> Found:
    notes = dict.fromkeys(note for matrix in matrices for note in matrix.notes)
    return Found(tuple(series), until, any(matrix.partial for matrix in matrices), tuple(notes))
