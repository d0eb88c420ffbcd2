"""A small server of our own that keeps to Loki's documented HTTP API, over lines that a test tells.

Documentation: https://grafana.com/docs/loki/latest/reference/loki-http-api/ (`query_range`, `query`, `labels`,
`label/<name>/values`). Kept are: nanoseconds, `start` included and `end` excluded for entries, ranges that reach from
behind their beginning to their end, directions and limits, GET and posted forms, 400s in plain text, the labels that
Loki adds (`service_name` to the stream, `detected_level` as structured metadata shown among the labels), a tenant's
limits, and an answer without `data` where there is nothing to list.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from tests.live.servers.answering import Request, Response, answering
from tests.live.servers.logql import Labels, Query, Refused, parsed

_SECOND = 10**9
_HOUR = 3600 * _SECOND
_LEVEL = re.compile(r'(?i)(?:level"?\s*[=:]\s*"?|\b)(fatal|critical|error|warn|info|debug|trace)(?:ing)?\b')


@dataclass(frozen=True)
class Told:
    """Lines one by one: nanoseconds and text, in order of time."""

    lines: Sequence[tuple[int, str]]

    def texts(self) -> Iterator[tuple[str, Sequence[int]]]:
        """Yield each text with its times."""
        for at, text in self.lines:
            yield text, (at,)


@dataclass(frozen=True)
class Repeated:
    """One sort of line, every so many nanoseconds from `first` to `last`; nothing is kept of its many lines."""

    first: int
    last: int
    every: int
    text: Callable[[int], str]

    def texts(self) -> Iterator[tuple[str, Sequence[int]]]:
        """Yield the first text, which stands for all, with the times of all."""
        yield self.text(0), range(self.first, self.last + 1, self.every)


@dataclass
class Stream:
    """A stream's labels and lines; `metadata` is structured metadata of each line."""

    labels: Labels
    lines: Told | Repeated
    metadata: Labels = field(default_factory=dict)


@dataclass
class LokiStore:
    """What the server knows, and what it allows. `adds_labels`: as Loki 3 does by default."""

    streams: Sequence[Stream] = ()
    adds_labels: bool = True
    tenant: str | None = None
    token: str | None = None
    max_entries: int = 5000
    max_series: int = 500
    max_hours: int = 721
    warnings: Sequence[str] = ()
    queries: list[str] = field(default_factory=list)


@contextmanager
def serving_loki(store: LokiStore) -> Iterator[str]:
    """Serve a store while the block runs; gives the address below which `/loki/api/v1` answers."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _answer(store: LokiStore, request: Request) -> Response:
    if store.token and request.headers.get("authorization") != f"Bearer {store.token}":
        return Response("Unauthorized\n", 401)
    if store.tenant and request.headers.get("x-scope-orgid") != store.tenant:
        return Response("no org id\n", 401)
    params = dict(request.query) | dict(parse_qsl(request.body.decode(), keep_blank_values=True))
    name = request.path.removeprefix("/loki/api/v1/")
    try:
        if name == "labels":
            return _listed({label for one in _within(store, params) for label in _stream_labels(store, one)})
        if values := re.fullmatch(r"label/([A-Za-z_]\w*)/values", name):
            labels = [_stream_labels(store, one) for one in _within(store, params)]
            return _listed({one[values[1]] for one in labels if values[1] in one})
        if name in {"query", "query_range"}:
            store.queries.append(params["query"])
            return Response(_queried(store, name, params))
    except Refused as refusal:
        return Response(f"{refusal}\n", 400)
    return Response("404 page not found\n", 404)


def _listed(names: set[str]) -> Response:
    return Response({"status": "success", **({"data": sorted(names)} if names else {})})


def _within(store: LokiStore, params: Mapping[str, str]) -> list[Stream]:
    start, end = int(params.get("start", 0)), int(params.get("end", 2**63))
    return [one for one in store.streams if any(_some(times, start, end) for _, times in one.lines.texts())]


def _some(times: Sequence[int], start: int, end: int) -> bool:
    return bisect_left(times, end) > bisect_left(times, start)


def _stream_labels(store: LokiStore, stream: Stream) -> dict[str, str]:
    """A stream's labels; Loki adds `service_name` from the first of the labels that it takes for one."""
    labels = dict(stream.labels)
    if store.adds_labels and "service_name" not in labels:
        taken = (
            labels.get(name) for name in ("service", "app", "application", "name", "container", "component", "job")
        )
        labels["service_name"] = next((value for value in taken if value), "unknown_service")
    return labels


def _line_labels(store: LokiStore, stream: Stream, text: str) -> dict[str, str]:
    labels = _stream_labels(store, stream) | dict(stream.metadata)
    if store.adds_labels:
        told = next((labels[name] for name in ("level", "severity") if name in labels), None)
        found = _LEVEL.search(text)
        labels.setdefault("detected_level", (told or (found[1] if found else "unknown")).lower())
    return labels


def _queried(store: LokiStore, name: str, params: Mapping[str, str]) -> dict[str, Any]:
    query = parsed(params["query"])
    if name == "query":
        moment = int(params["time"])
        result = _vector(_groups(store, query), query, moment)
        kind = "vector"
    else:
        start, end = int(params["start"]), int(params["end"])
        if end <= start:
            raise Refused("end timestamp must not be before or equal to start time")
        if end - start > store.max_hours * _HOUR:
            hours = f"{(end - start) // _HOUR}h"
            raise Refused(f"the query time range exceeds the limit (query length: {hours}, limit: {store.max_hours}h)")
        if query.span is None:
            result, kind = _streams(store, query, start, end, params), "streams"
        else:
            step = round(float(params["step"]) * _SECOND)
            result, kind = _matrix(_groups(store, query), query, range(start, end + 1, step)), "matrix"
    if query.span is not None and len(result) > store.max_series:
        raise Refused(f"maximum of series ({store.max_series}) reached for a single query")
    warned = {"warnings": list(store.warnings)} if store.warnings else {}
    return {"status": "success", **warned, "data": {"resultType": kind, "result": result, "stats": {}}}


def _passing(store: LokiStore, query: Query) -> Iterator[tuple[Stream, str, dict[str, str], Sequence[int]]]:
    for stream in store.streams:
        if query.streams(_stream_labels(store, stream)):
            for text, times in stream.lines.texts():
                labels = query.passes(text, _line_labels(store, stream, text))
                if labels is not None:
                    yield stream, text, labels, times


def _streams(store: LokiStore, query: Query, start: int, end: int, params: Mapping[str, str]) -> list[dict[str, Any]]:
    limit, backward = int(params.get("limit", 100)), params.get("direction", "backward") == "backward"
    if limit > store.max_entries:
        raise Refused(
            f"max entries limit per query exceeded, limit > max_entries_limit_per_query ({limit} > {store.max_entries})"
        )
    found: list[tuple[int, str, dict[str, str]]] = []
    for stream, text, labels, times in _passing(store, query):
        first, last = bisect_left(times, start), bisect_left(times, end)
        chosen = range(max(first, last - limit), last) if backward else range(first, min(last, first + limit))
        for number in chosen:
            told = stream.lines.text(number) if isinstance(stream.lines, Repeated) else text
            found.append((times[number], told, labels))
    found.sort(key=lambda one: one[0], reverse=backward)
    grouped: dict[tuple[tuple[str, str], ...], list[list[str]]] = defaultdict(list)
    for at, text, labels in found[:limit]:
        grouped[tuple(sorted(labels.items()))].append([str(at), text])
    return [{"stream": dict(labels), "values": values} for labels, values in grouped.items()]


def _groups(store: LokiStore, query: Query) -> dict[tuple[tuple[str, str], ...], list[Sequence[int]]]:
    groups: dict[tuple[tuple[str, str], ...], list[Sequence[int]]] = defaultdict(list)
    for _, _, labels, times in _passing(store, query):
        groups[tuple((name, labels[name]) for name in sorted(query.by) if labels.get(name))].append(times)
    return groups


def _count(times: Iterable[Sequence[int]], moment: int, span: int) -> int:
    return sum(bisect_right(one, moment) - bisect_right(one, moment - span) for one in times)


def _vector(groups: Mapping[Any, list[Sequence[int]]], query: Query, moment: int) -> list[dict[str, Any]]:
    counts = {labels: _count(times, moment, query.span or 0) for labels, times in groups.items()}
    return [
        {"metric": dict(labels), "value": [round(moment / _SECOND, 3), str(number)]}
        for labels, number in counts.items()
        if number
    ]


def _matrix(groups: Mapping[Any, list[Sequence[int]]], query: Query, moments: range) -> list[dict[str, Any]]:
    result = []
    for labels, times in groups.items():
        counts = [(moment, _count(times, moment, query.span or 0)) for moment in moments]
        values = [[round(moment / _SECOND, 3), str(number)] for moment, number in counts if number]
        if values:
            result.append({"metric": dict(labels), "values": values})
    return result
