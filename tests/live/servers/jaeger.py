"""A small server of our own that keeps to Jaeger's documented query API, over spans that a test tells.

Documentation: https://www.jaegertracing.io/docs/latest/architecture/apis/#query-json-over-http and the grammar of a
trace query at the head of Jaeger's query parser; https://docs.victoriametrics.com/victoriatraces/querying/ for the same
API elsewhere. Kept are: the envelope (`data`, `total`, `limit`, `offset`, `errors`), a required service, microseconds,
Go durations, `tag` and `tags`, the latest traces first up to `limit`, and plain-text bodies of refusals.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.live.servers.answering import Request, Response, answering
from tests.live.servers.told_spans import Told

_UNITS = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9}


@dataclass
class JaegerStore:
    """What the server knows. `services` may know names without spans; `trouble` stands in `errors` beside the data."""

    spans: Sequence[Told] = ()
    services: Sequence[str] = ()
    trouble: Sequence[dict[str, Any]] = ()
    token: str | None = None
    asked: int = 0
    searches: int = 0


@contextmanager
def serving_jaeger(store: JaegerStore) -> Iterator[str]:
    """Serve a store while the block runs; gives the address below which `/api` answers."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _answer(store: JaegerStore, request: Request) -> Response:
    store.asked += 1
    if store.token and request.headers.get("authorization") != f"Bearer {store.token}":
        return Response("unauthorized", 401)
    if request.method == "GET" and request.path == "/api/services":
        return _listed(sorted({*store.services, *(span.service for span in store.spans)}))
    if operations := re.fullmatch(r"/api/services/(.+)/operations", request.path):
        return _listed(sorted({one.operation for one in store.spans if one.service == operations[1]}))
    if request.path == "/api/traces":
        store.searches += 1
        return _searched(store, request)
    return Response("404 page not found\n", 404)


def _listed(names: list[str]) -> Response:
    return Response({"data": names or None, "total": len(names), "limit": 0, "offset": 0, "errors": None})


def _refused(message: str) -> Response:
    body = {"data": None, "total": 0, "limit": 0, "offset": 0, "errors": [{"code": 400, "msg": message}]}
    return Response(json.dumps(body) + "\n", 400)


def _searched(store: JaegerStore, request: Request) -> Response:
    if not request.param("service"):
        return _refused("parameter 'service' is required")
    try:
        tags = {key: value for one in _all(request, "tags") for key, value in json.loads(one).items()}
        start, end, limit = (int(request.param(name) or default) for name, default in
                             (("start", "0"), ("end", str(2**62)), ("limit", "100")))  # fmt: skip
        least = _micros(request.param("minDuration"))
    except (ValueError, KeyError):
        return _refused("unable to parse a parameter")
    matching: dict[str, float] = {}
    for span in store.spans:
        at = round(span.at.timestamp() * 1e6)
        fits = span.service == request.param("service") and request.param("operation") in (None, "", span.operation)
        tagged = all(_tags(span).get(key) == value for key, value in tags.items())
        if fits and tagged and start <= at <= end and span.milliseconds * 1000 >= least:
            matching[span.trace] = max(at, matching.get(span.trace, 0))
    latest = sorted(matching, key=lambda trace: (-matching[trace], trace))[:limit]
    data = [_trace([span for span in store.spans if span.trace == trace]) for trace in latest]
    return Response({"data": data, "total": 0, "limit": 0, "offset": 0, "errors": list(store.trouble) or None})


def _all(request: Request, name: str) -> list[str]:
    return [value for key, value in request.query if key == name]


def _micros(duration: str | None) -> float:
    if not duration:
        return 0.0
    parts = re.findall(r"([\d.]+)(ns|us|µs|ms|s|m|h)", duration)
    if "".join(number + unit for number, unit in parts) != duration:
        raise ValueError(duration)
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _tags(span: Told) -> dict[str, str]:
    told = {key: str(value) for key, value in span.tags.items()}
    return {**told, **({"error": "true"} if span.error else {})}


def _trace(spans: Sequence[Told]) -> dict[str, Any]:
    services = sorted({span.service for span in spans})
    return {
        "traceID": spans[0].trace,
        "spans": [_span(span, f"p{services.index(span.service) + 1}") for span in spans],
        "processes": {
            f"p{at + 1}": {"serviceName": name, "tags": [_tag("hostname", f"{name}-0")]}
            for at, name in enumerate(services)
        },
        "warnings": None,
    }


def _span(span: Told, process: str) -> dict[str, Any]:
    tags = [_tag(key, value) for key, value in span.tags.items()]
    logs = []
    if span.error:
        sort, _, text = span.error.rpartition(": ")
        tags += [_tag("error", True), _tag("otel.status_code", "ERROR")]
        fields = [_tag("event", "exception"), _tag("exception.message", text)]
        logs = [{"timestamp": round(span.at.timestamp() * 1e6),
                 "fields": fields + ([_tag("exception.type", sort)] if sort else [])}]  # fmt: skip
    if span.calls:
        host, _, port = span.calls.rpartition(":")
        tags += [_tag("span.kind", "client"), _tag("server.address", host), _tag("server.port", int(port))]
    return {
        "traceID": span.trace,
        "spanID": span.span,
        "flags": 1,
        "operationName": span.operation,
        "references": [{"refType": "CHILD_OF", "traceID": span.trace, "spanID": span.parent}] if span.parent else [],
        "startTime": round(span.at.timestamp() * 1e6),
        "duration": round(span.milliseconds * 1000),
        "tags": tags,
        "logs": logs,
        "processID": process,
        "warnings": list(span.warnings) or None,
    }


def _tag(key: str, value: str | int | bool) -> dict[str, Any]:
    kind = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "string"
    return {"key": key, "type": kind, "value": value}
