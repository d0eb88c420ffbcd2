"""Prometheus' HTTP API, as Prometheus, VictoriaMetrics, Thanos, Mimir and Nightingale serve it.

Documentation: https://prometheus.io/docs/prometheus/latest/querying/api/
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from typing_extensions import override

from tools.base import SourceFailure
from tools.live.labels import METRIC_SERVICE_LABELS
from tools.live.metrics.replies import (
    ERROR_STATUSES,
    Matrix,
    Reply,
    label_sets_of,
    matrix_of,
    reply_of,
    strings_of,
)
from tools.live.source import Probe, Source
from tools.live.transport import Answer, Transport
from tools.vocabulary import SourceError

MAX_NAMES = 20_000
"""How many names of one sort (metrics, values of a label) are ever asked for."""
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Span:
    """A stretch of time in seconds since the epoch, both ends included."""

    start: float
    end: float


class Prometheus(Source):
    """One server of the API. Everything it is asked is a read, bounded in time, series and bytes."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        service_labels: Sequence[str] = METRIC_SERVICE_LABELS,
        *,
        max_series: int = 1_000,
    ) -> None:
        """`service_labels`: the labels that name a service; `max_series`: how many series one question may read."""
        self.name = name
        self.service_labels = tuple(service_labels)
        self.max_series = max_series
        self._transport = transport

    async def range(self, query: str, span: Span, step: int) -> Matrix:
        """Return a query's series over a span, a sample each `step` seconds; raises SourceFailure.

        More than `max_series` of them are ANSWER_TOO_LARGE.
        """
        form = [("query", query), ("start", _time(span.start)), ("end", _time(span.end)), ("step", str(step))]
        matrix = await self._matrix("/api/v1/query_range", form)
        if len(matrix.series) > self.max_series:
            raise SourceFailure(SourceError.ANSWER_TOO_LARGE)
        return matrix

    async def instant(self, query: str, at: float) -> Matrix:
        """Return a query's series at one moment, each with one sample; raises SourceFailure."""
        return await self._matrix("/api/v1/query", [("query", query), ("time", _time(at))])

    async def label_names(self, selectors: Sequence[str], span: Span) -> list[str]:
        """Return the names of the labels that the selected series (all, where no selector is given) have."""
        return strings_of(await self._post("/api/v1/labels", _selected(selectors, span)))

    async def label_values(self, label: str, selectors: Sequence[str], span: Span) -> list[str]:
        """Return the values of a label among the selected series, at most `MAX_NAMES` where the server knows limits."""
        return strings_of(await self._values(label, selectors, span))

    async def tells_all_metrics(self, span: Span) -> bool:
        """Return whether the server leaves none out of the metrics that it tells: no store of it is away, and there
        are no more than may be asked for."""
        return not (await self._values("__name__", [], span)).partial

    async def series(self, selectors: Sequence[str], span: Span, *, limit: int) -> list[dict[str, str]]:
        """Return the label sets of the selected series; `limit` is a hint that older servers don't know."""
        return label_sets_of(await self._post("/api/v1/series", [*_selected(selectors, span), ("limit", str(limit))]))

    async def metric_type(self, metric: str) -> str | None:
        """Return `counter`, `gauge`, `histogram`, … where the server has metadata of a metric, else None.

        Back-filled and pushed series have none, and some servers have no such page; neither is an error.
        """
        try:
            data = (await self._get("/api/v1/metadata", [("metric", metric), ("limit", "1")])).data
        except SourceFailure as failure:
            if failure.code not in {SourceError.QUERY_REJECTED, SourceError.SOURCE_UNREADABLE}:
                raise
            return None
        told = data.get(metric) if isinstance(data, dict) else None
        first = told[0] if isinstance(told, list) and told else None
        kind = first.get("type") if isinstance(first, dict) else None
        return kind if isinstance(kind, str) and kind != "unknown" else None

    @override
    async def probe(self) -> Probe:
        answer = await self._answer("POST", "/api/v1/query", urlencode({"query": "time()"}))
        told = matrix_of(reply_of(answer.status, answer.body)).series
        up = await self._matrix("/api/v1/query", [("query", "count(up)")])
        scraped = f"{up.series[0].values[0]:g}" if up.series else "no"
        clock = datetime.fromtimestamp(told[0].values[0], UTC) if told else answer.date
        return Probe(clock, f"{scraped} scraped targets")

    @override
    async def close(self) -> None:
        await self._transport.close()

    async def _matrix(self, path: str, form: list[tuple[str, str]]) -> Matrix:
        answer = await self._answer("POST", path, urlencode(form))
        # Millions of samples take long enough to be noticed by whoever shares the loop.
        matrix = await asyncio.to_thread(lambda: matrix_of(reply_of(answer.status, answer.body)))
        return replace(matrix, clock=answer.date.timestamp() if answer.date else None)

    async def _values(self, label: str, selectors: Sequence[str], span: Span) -> Reply:
        path = f"/api/v1/label/{quote(label, safe='')}/values"
        return await self._get(path, [*_selected(selectors, span), ("limit", str(MAX_NAMES))])

    async def _post(self, path: str, form: list[tuple[str, str]]) -> Reply:
        answer = await self._answer("POST", path, urlencode(form))
        return await asyncio.to_thread(reply_of, answer.status, answer.body)

    async def _get(self, path: str, params: list[tuple[str, str]]) -> Reply:
        answer = await self._transport.answer("GET", path, params=[*params], accept_status=ERROR_STATUSES)
        return await asyncio.to_thread(reply_of, answer.status, answer.body)

    async def _answer(self, method: str, path: str, form: str) -> Answer:
        return await self._transport.answer(method, path, body=form, headers=_FORM, accept_status=ERROR_STATUSES)


def _selected(selectors: Sequence[str], span: Span) -> list[tuple[str, str]]:
    return [*(("match[]", one) for one in selectors), ("start", _time(span.start)), ("end", _time(span.end))]


def _time(at: float) -> str:
    return f"{at:.3f}".removesuffix(".000")
