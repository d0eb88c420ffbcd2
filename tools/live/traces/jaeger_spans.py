"""Jaeger's JSON of traces as records of spans.

Format: the `data` of https://www.jaegertracing.io/docs/latest/architecture/apis/#query-json-over-http: `traceID`,
`spans` (`spanID`, `operationName`, `references`, `startTime` and `duration` in microseconds, `tags`, `logs`,
`processID`, `warnings`) and `processes` (`serviceName`, `tags`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tools.live.traces.source import SpanRecord
from tools.live.traces.tags import peer_of, told_tags

_CALLING = frozenset({"client", "producer"})
_SERVER_ERROR = 500
_LATEST = 253_402_300_800_000_000
"""The year 10000 in microseconds: no calendar goes on, and a span begins when its program says."""
_SKEW = "clock skew"
_ADJUSTED = "timestamps were adjusted"


def records_of(trace: Mapping[str, Any]) -> list[SpanRecord]:
    """Return the spans of one trace; whatever isn't in the documented form is left out."""
    processes = trace.get("processes") or {}
    spans = (span for span in trace.get("spans") or () if isinstance(span, dict))
    records = (_record(span, processes.get(str(span.get("processID"))) or span.get("process") or {}) for span in spans)
    return [record for record in records if record is not None]


def warned(traces: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many spans Jaeger itself warns of, by code: `CLOCK_SKEW` for times that may be wrong, `WARNINGS`."""
    counts: dict[str, int] = {}
    for trace in traces:
        spans = [span for span in trace.get("spans") or () if isinstance(span, dict)]
        for told in (trace, *spans):
            texts = [str(text).casefold() for text in told.get("warnings") or ()]
            if texts:
                skewed = any(_SKEW in text or _ADJUSTED in text for text in texts)
                code = "CLOCK_SKEW" if skewed else "WARNINGS"
                counts[code] = counts.get(code, 0) + 1
    return counts


def _record(span: Mapping[str, Any], process: Mapping[str, Any]) -> SpanRecord | None:
    start, duration, service = span.get("startTime"), span.get("duration"), process.get("serviceName")
    if not isinstance(start, int) or not isinstance(duration, int | float) or not span.get("spanID") or not service:
        return None
    if not (0 <= start < _LATEST and 0 <= duration < _LATEST):
        return None
    tags = _pairs(process.get("tags")) | _pairs(span.get("tags"))
    error = _error(tags, span.get("logs") or ())
    failed = tags.get("error", "").casefold() == "true" or tags.get("otel.status_code", "").upper() == "ERROR"
    record: dict[str, Any] = {
        "trace_id": str(span.get("traceID") or ""),
        "span_id": str(span["spanID"]),
        "parent_id": _parent(span),
        "service": str(service),
        "name": str(span.get("operationName") or ""),
        "start": f"{start:016d}",
        "duration_ms": duration / 1000,
        "status": "ERROR" if failed or _status(tags) >= _SERVER_ERROR else tags.get("otel.status_code", "UNSET"),
        "attributes": told_tags(tags),
    }
    if error:
        record["status_message"] = error
    if tags.get("span.kind", "").casefold() in _CALLING and (peer := peer_of(tags)):
        record["peer.service"] = peer
    return record


def _pairs(tags: Any) -> dict[str, str]:
    """Return a list of `{key, type, value}` as texts by key; booleans as `true` and `false`."""
    told = {}
    for tag in tags or ():
        if isinstance(tag, dict) and tag.get("value") is not None:
            value = tag["value"]
            told[str(tag.get("key"))] = str(value).lower() if isinstance(value, bool) else str(value)
    return told


def _parent(span: Mapping[str, Any]) -> str | None:
    """Return the span that this one belongs below, in its own trace: CHILD_OF before FOLLOWS_FROM."""
    references = [one for one in span.get("references") or () if isinstance(one, dict)]
    own = [one for one in references if one.get("traceID") in (None, span.get("traceID"))]
    own.sort(key=lambda one: one.get("refType") != "CHILD_OF")
    return str(own[0]["spanID"]) if own and own[0].get("spanID") else (span.get("parentSpanID") or None)


def _status(tags: Mapping[str, str]) -> int:
    said = tags.get("http.response.status_code") or tags.get("http.status_code") or ""
    return int(said) if said.isdecimal() else 0


def _error(tags: Mapping[str, str], logs: Iterable[Any]) -> str | None:
    """Return the text of what went wrong: the status's own, else that of the first exception or error event."""
    if said := tags.get("otel.status_description") or tags.get("error.message") or tags.get("exception.message"):
        return said
    for log in logs:
        event = _pairs(log.get("fields")) if isinstance(log, dict) else {}
        if event.get("event", "").casefold() in {"error", "exception"} or "error.object" in event:
            sort = event.get("exception.type") or event.get("error.kind")
            text = event.get("exception.message") or event.get("message") or event.get("error.object")
            return ": ".join(part for part in (sort, text) if part) or None
    return None
