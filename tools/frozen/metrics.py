# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""Metrics of a frozen incident, each series reduced to when and how it left its baseline."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby, islice
from typing import Any

from pydantic import Field

from tools.base import IncidentContext
from tools.frozen.database import Loaded, Quality, Rows, Source
from tools.frozen.lines import Page, field, moment, number, unit
from tools.frozen.records import judged, load_documents
from tools.frozen.scopes import WindowedArguments, bounds, windowed
from tools.frozen.selectors import resolve
from tools.frozen.series import Reduced, Series, reduce_series
from tools.frozen.sql import Document, literal
from tools.frozen.windowed import WindowedTool
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope

MAX_SERIES = 60
MAX_SAMPLES = 1_500
_MAX_SERIES_READ = 600
_MAX_SERIES_WITH_POINTS = 3
_NOBODY = "-"
_LEAST_HISTORY = timedelta(hours=1)

_SERVICES = ("service", "service_name", "service.name")
_METRICS = ("metric", "name", "__name__")
_TIMES = ("timestamp", "time", "ts", "at")
_DOC = Document(*_SERVICES, *_METRICS, *_TIMES, "value")
_STAGED = f"""
    CREATE TABLE metrics AS
    SELECT service, metric, timed, instant(timed, $zone) AS moment, nullif(trim(said), '') AS said,
        TRY_CAST(nullif(trim(said), '') AS DOUBLE) AS value
    FROM (
        SELECT {_DOC.said(*_SERVICES)} AS service, {_DOC.said(*_METRICS)} AS metric, {_DOC.said(*_TIMES)} AS timed,
            {_DOC.said("value")} AS said
        FROM (SELECT {_DOC.taken} AS taken FROM documents))
    """
_USABLE = """
    service IS NOT NULL AND metric IS NOT NULL AND moment IS NOT NULL
        AND (said IS NULL OR coalesce(isfinite(value), false))
    """
_QUALITY = f"""
    SELECT count(*) FILTER (NOT ({_USABLE})), count(*) FILTER (({_USABLE}) AND NOT zoned(timed)) FROM metrics
    """
_SELECTED = """
    FROM metrics
    WHERE moment >= $history AND moment < $end
        AND list_contains($services, service) AND list_contains($metrics, metric)
    """
_SIZES = f"""
    SELECT service, metric, count(DISTINCT moment), count(DISTINCT moment) FILTER (moment >= $start),
        epoch(min(moment)), epoch(max(moment))
    {_SELECTED} GROUP BY ALL ORDER BY service, metric LIMIT $limit
    """
_SAMPLES = f"""
    SELECT service, metric, epoch(min(moment)), avg(value) {_SELECTED}
    GROUP BY service, metric, time_bucket(to_microseconds(CAST($bucket AS BIGINT)), moment) ORDER BY service, metric, 3
    """


def load_metrics(rows: Rows, source: Source, zone: str) -> Quality:
    """Create table `metrics(service, metric, moment, value)`, times in UTC; a row without a finite value is broken.

    A value that is null or blank is a gap, not a broken line.
    """
    broken = load_documents(rows, source)
    rows.run(_STAGED, zone=zone)
    rows.run("DROP TABLE documents")
    unusable, zoneless = rows.all(_QUALITY)[0]
    rows.run(f"DELETE FROM metrics WHERE NOT ({_USABLE})")
    quality = judged(rows, "metrics", broken + int(unusable), int(zoneless))
    rows.run("DELETE FROM metrics WHERE value IS NULL")
    return quality


class MetricsArguments(WindowedArguments):
    """What may be asked of the metrics; null leaves a field open."""

    metric: str | None = Field(description="指标名；不限时填 null")


class MetricsTool(WindowedTool):
    """Reduces metric series: baseline, onset, direction, extreme, gaps. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |
    | metric | yes, unless null | `fold` |
    | start, end | yes | resolved to UTC, aligned outward to the minute; default [as_of - 3 h, as_of + 15 min] |

    Samples before `start` (as much again as the window is long, at least an hour) serve as baseline, too. A running
    counter is told as its increase a minute (`rate=per_minute`); a series that is one straight slope has `trend=steady`
    and an onset only where a countdown reaches zero; `silent_since` marks a series that stopped before the others did.
    Where a series has more than 1,500 samples, means of equal stretches stand for them. At most 600 series are read,
    and 60 told.
    """

    name = "query_metrics"
    description = "查询指标序列，归纳为基线、变化起点、方向、极值与缺口；按变化起点先后排列。"
    kind = EvidenceKind.METRICS
    arguments = MetricsArguments
    part = "metrics"

    def normalize(self, arguments: MetricsArguments, incident: IncidentContext) -> Scope:
        return windowed(incident, arguments.start, arguments.end, service=arguments.service, metric=arguments.metric)

    def answer(self, rows: Rows, loaded: Loaded, scope: Scope) -> Evidence:
        return _answer(rows, loaded, scope)

    def paste(self, scope: Scope) -> str:
        start, end = bounds(scope)
        where = [f"timestamp >= {literal(moment(start))}", f"timestamp < {literal(moment(end))}"]
        where += [f"lower({key}) = {literal(scope[key])}" for key in ("service", "metric") if key in scope]
        return (
            f"SELECT service, metric, timestamp, value FROM {literal(str(self._path))} "
            f"WHERE {' AND '.join(where)} ORDER BY service, metric, timestamp;"
        )


def _answer(rows: Rows, loaded: Loaded, scope: Scope) -> Evidence:
    known = rows.all("SELECT DISTINCT service, metric FROM metrics")
    services = resolve(scope.get("service"), (service for service, _ in known), field="service")
    metrics = resolve(scope.get("metric"), (metric for _, metric in known), field="metric")
    reduced, cut = _reduced(
        rows,
        scope,
        services if services is not None else sorted({service for service, _ in known}),
        metrics if metrics is not None else sorted({metric for _, metric in known}),
    )
    if not reduced:
        return Evidence(
            status=EvidenceStatus.NO_EVIDENCE,
            provenance=Provenance.MEASURED,
            summary=f"no samples of {_asked(scope)} from {scope['start']} to {scope['end']}",
            notes=loaded.notes,
        )
    return told(reduced, cut, loaded.notes)


def _reduced(rows: Rows, scope: Scope, services: Sequence[str], metrics: Sequence[str]) -> tuple[list[Reduced], bool]:
    start, end = bounds(scope)
    selection = {
        "history": start - max(end - start, _LEAST_HISTORY),
        "end": end,
        "services": list(services),
        "metrics": list(metrics),
    }
    sizes = rows.all(_SIZES, start=start, limit=_MAX_SERIES_READ + 1, **selection)
    counts = {(service, metric): inside for service, metric, _, inside, _, _ in sizes}
    largest = max((count for _, _, count, *_ in sizes), default=0)
    first, last = min((row[4] for row in sizes), default=0.0), max((row[5] for row in sizes), default=0.0)
    bucket = 1 if largest <= MAX_SAMPLES else int((last - first) * 1e6 / MAX_SAMPLES)
    begins, stops = start.replace(tzinfo=UTC).timestamp(), end.replace(tzinfo=UTC).timestamp()
    reduced = [
        replace(one, samples=counts.get((series.service, series.metric), one.samples))
        for series in islice(_series(rows.stream(_SAMPLES, bucket=bucket, **selection)), _MAX_SERIES_READ)
        if (one := reduce_series(series, start=begins, end=stops, source_end=last)) is not None
    ]
    return reduced, len(sizes) > _MAX_SERIES_READ


def _series(samples: Iterator[tuple[Any, ...]]) -> Iterator[Series]:
    for (service, metric), group in groupby(samples, key=lambda row: (row[0], row[1])):
        pairs = [(at, value) for _, _, at, value in group]
        yield Series(service, metric, [at for at, _ in pairs], [value for _, value in pairs])


def _importance(reduced: Reduced) -> tuple[object, ...]:
    """Changed series in order of onset, then steady slopes, then flat ones; at one onset the clearer change first."""
    name = (reduced.series.service, reduced.series.metric)
    if reduced.onset is not None:
        return (0, reduced.onset, -reduced.strength, *name)
    return (1 if reduced.direction != "FLAT" else 2, 0.0, 0.0, *name)


def told(
    series: Sequence[Reduced], cut: bool, notes: tuple[str, ...], *, unit_of: Callable[[str], str | None] = unit
) -> Evidence:
    """Return the evidence of series, at least one: those that changed first. `cut`: not all could be read.

    A series of service `-` is nobody's. `unit_of` tells the unit of a metric by its name.
    """
    reduced = sorted(series, key=_importance)
    page = Page(lines=MAX_SERIES)
    shown = [one for one in reduced if page.add([one.line()])]
    if len(reduced) <= _MAX_SERIES_WITH_POINTS:
        for one in reduced:
            page.add([one.points()])
    first = reduced[0] if reduced[0].onset is not None else None
    return Evidence(
        status=EvidenceStatus.EVIDENCE,
        provenance=Provenance.MEASURED,
        content=tuple(page.lines),
        summary="; ".join(_sentence(one, unit_of) for one in _telling(reduced)[:4]),
        truncated=page.truncated or cut,
        components=tuple(dict.fromkeys(service for one in shown if (service := one.series.service) != _NOBODY)),
        onset=datetime.fromtimestamp(first.onset, UTC) if first and first.onset is not None else None,
        first_failing=first.series.service if first and first.series.service != _NOBODY else None,
        notes=notes,
    )


def _telling(reduced: Sequence[Reduced]) -> Sequence[Reduced]:
    """Return the series that changed, in the order given; all of them where none did."""
    return [one for one in reduced if one.onset is not None or one.direction != "FLAT"] or reduced


def _sentence(one: Reduced, unit_of: Callable[[str], str | None]) -> str:
    measured = f"{number(one.baseline)} -> {number(one.extreme)}"
    name = f"{field(one.series.service)} {one.series.metric}"
    units = "/min" if one.rate else (unit_of(one.series.metric) or "")
    since = f" since {moment(datetime.fromtimestamp(one.onset, UTC))}" if one.onset is not None else ""
    return f"{name} {one.direction} {measured} {units}".rstrip() + since


def _asked(scope: Scope) -> str:
    return " ".join(str(scope[key]) for key in ("service", "metric") if key in scope) or "any series"
