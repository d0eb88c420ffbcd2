# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""Metrics of a frozen incident, each series reduced to when and how it left its baseline."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from pydantic import Field

from tools.base import Arguments, EvidenceTool, IncidentContext
from tools.frozen.database import Database, Loaded, Quality, Rows, Source
from tools.frozen.layout import expected
from tools.frozen.lines import Page, moment, number, unit
from tools.frozen.records import load_documents
from tools.frozen.scopes import bounds, windowed
from tools.frozen.selectors import resolve
from tools.frozen.series import Reduced, Series, reduce_series
from tools.frozen.sql import literal, said
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope

MAX_SERIES = 60
MAX_SAMPLES = 1_500
_MAX_SERIES_READ = 2_000
_MAX_SERIES_WITH_POINTS = 3
_LEAST_HISTORY = timedelta(hours=1)

_SERVICE = said("service", "service_name", "service.name")
_METRIC = said("metric", "name", "__name__")
_TIMED = said("timestamp", "time", "ts", "at")
_SAID_VALUE = f"nullif(trim({said('value')}), '')"
_VALUE = f"TRY_CAST({_SAID_VALUE} AS DOUBLE)"

_TABLE = f"""
    CREATE TABLE metrics AS
    SELECT service, metric, moment, avg(value) AS value FROM (
        SELECT {_SERVICE} AS service, {_METRIC} AS metric, instant({_TIMED}, $zone) AS moment, {_VALUE} AS value
        FROM documents)
    WHERE service IS NOT NULL AND metric IS NOT NULL AND moment IS NOT NULL AND isfinite(value)
    GROUP BY ALL
    """
_UNUSABLE = f"""
    SELECT count(*) FILTER (usable), count(*) FILTER (usable AND NOT zoned(timed)) FROM (
        SELECT {_TIMED} AS timed, coalesce({_SERVICE} IS NOT NULL AND {_METRIC} IS NOT NULL
            AND instant({_TIMED}, $zone) IS NOT NULL AND ({_SAID_VALUE} IS NULL OR isfinite({_VALUE})), false) AS usable
        FROM documents)
    """
_SIZES = """
    SELECT service, metric, count(*) AS samples, epoch(max(moment)) AS last FROM metrics
    WHERE moment >= $history AND moment < $end AND list_contains($services, service) AND list_contains($metrics, metric)
    GROUP BY ALL ORDER BY service, metric LIMIT $limit
    """
_SAMPLES = """
    SELECT service, metric, epoch(min(moment)), avg(value) AS value FROM metrics
    WHERE moment >= $history AND moment < $end AND list_contains($services, service) AND list_contains($metrics, metric)
    GROUP BY service, metric, time_bucket(to_microseconds(CAST($bucket AS BIGINT)), moment) ORDER BY service, metric, 3
    """


def load_metrics(rows: Rows, source: Source, zone: str) -> Quality:
    """Create table `metrics(service, metric, moment, value)`, times in UTC; a row without a finite value is broken.

    A value that is null is a gap, not a broken line. Several samples of a series at one time become their mean.
    """
    broken = load_documents(rows, source)
    total = rows.all("SELECT count(*) FROM documents")[0][0]
    usable, zoneless = rows.all(_UNUSABLE, zone=zone)[0]
    rows.run(_TABLE, zone=zone)
    rows.run("DROP TABLE documents")
    return Quality(broken + total - usable, zoneless)


class MetricsArguments(Arguments):
    """What may be asked of the metrics; null leaves a field open."""

    service: str | None = Field(description="服务名；不限时填 null")
    metric: str | None = Field(description="指标名；不限时填 null")
    start: str | None = Field(description="起始时间，ISO 或相对时间；默认事发前 3 小时，填 null")
    end: str | None = Field(description="结束时间，ISO 或相对时间；默认事发后 15 分钟，填 null")


class MetricsTool(EvidenceTool):
    """Reduces metric series: baseline, onset, direction, extreme, gaps. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |
    | metric | yes, unless null | `fold` |
    | start, end | yes | resolved to UTC, aligned outward to the minute; default [as_of - 3 h, as_of + 15 min] |

    Samples before `start` (as much again as the window is long, at least an hour) serve as baseline, too. A running
    counter is told as its increase a minute (`rate=per_minute`); a series that is one straight slope has `trend=steady`
    and an onset only where a countdown reaches zero; `silent_since` marks a series that stopped before the others did.
    """

    name = "query_metrics"
    description = "查询指标序列，归纳为基线、变化起点、方向、极值与缺口；按变化起点先后排列。"
    kind = EvidenceKind.METRICS
    arguments = MetricsArguments

    def __init__(self, database: Database) -> None:
        self._database = database
        self._path = expected(database.directory, "metrics")

    def normalize(self, arguments: MetricsArguments, incident: IncidentContext) -> Scope:
        return windowed(incident, arguments.start, arguments.end, service=arguments.service, metric=arguments.metric)

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        return await self._database.ask(incident.zone, lambda rows, loaded: _answer(rows, loaded, scope))

    def suggest(self, incident: IncidentContext) -> Scope | None:
        return windowed(incident, None, None)

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
    return _told(sorted(reduced, key=_importance), cut, loaded.notes)


def _reduced(rows: Rows, scope: Scope, services: Sequence[str], metrics: Sequence[str]) -> tuple[list[Reduced], bool]:
    start, end = bounds(scope)
    history = start - max(end - start, _LEAST_HISTORY)
    selection: dict[str, object] = {
        "history": history,
        "end": end,
        "services": list(services),
        "metrics": list(metrics),
    }
    sizes = rows.all(_SIZES, limit=_MAX_SERIES_READ + 1, **selection)
    largest = max((samples for _, _, samples, _ in sizes), default=0)
    bucket = 1 if largest <= MAX_SAMPLES else int((end - history).total_seconds() * 1e6 / MAX_SAMPLES)
    ends = max((last for *_, last in sizes), default=0.0)
    begins, stops = start.replace(tzinfo=UTC).timestamp(), end.replace(tzinfo=UTC).timestamp()
    samples = rows.stream(_SAMPLES, bucket=bucket, **selection)
    reduced = [
        one
        for series in _series(samples)
        if (one := reduce_series(series, start=begins, end=stops, source_end=ends)) is not None
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


def _told(reduced: Sequence[Reduced], cut: bool, notes: tuple[str, ...]) -> Evidence:
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
        summary="; ".join(_sentence(one) for one in reduced[:4]),
        truncated=page.truncated or cut,
        components=tuple(dict.fromkeys(one.series.service for one in shown)),
        onset=datetime.fromtimestamp(first.onset, UTC) if first and first.onset is not None else None,
        first_failing=first.series.service if first else None,
        notes=notes,
    )


def _sentence(one: Reduced) -> str:
    measured = f"{number(one.baseline)} -> {number(one.extreme)}"
    name = f"{one.series.service} {one.series.metric}"
    units = "/min" if one.rate else (unit(one.series.metric) or "")
    since = f" since {moment(datetime.fromtimestamp(one.onset, UTC))}" if one.onset is not None else ""
    return f"{name} {one.direction} {measured} {units}".rstrip() + since


def _asked(scope: Scope) -> str:
    return " ".join(str(scope[key]) for key in ("service", "metric") if key in scope) or "any series"
