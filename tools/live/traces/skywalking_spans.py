"""SkyWalking's spans as records of spans.

Format: the type `Span` of https://skywalking.apache.org/docs/main/latest/en/api/query-protocol/#trace: a span's id
counts within its segment, `parentSpanId` is -1 where the parent is in another segment, which `refs` names; times are
milliseconds; `peer` is the network address that an exit span called.
"""

from collections.abc import Mapping
from typing import Any

from tools.live.traces.source import SpanRecord
from tools.live.traces.tags import host_of, told_tags

_EXIT = "exit"


def service_name(name: str, *, grouped: bool) -> str:
    """Return a service's name as it is told: `group::name` without its group, unless the question names groups."""
    return name if grouped or "::" not in name else name.split("::", 1)[1] or name


def records_of(spans: list[Any], *, grouped: bool) -> list[SpanRecord]:
    """Return the spans of one trace; whatever isn't in the documented form is left out."""
    told = (_record(span, grouped=grouped) for span in spans if isinstance(span, dict))
    return [record for record in told if record is not None]


def _record(span: Mapping[str, Any], *, grouped: bool) -> SpanRecord | None:
    start, end, segment, number = (span.get(key) for key in ("startTime", "endTime", "segmentId", "spanId"))
    if not isinstance(start, int) or not isinstance(end, int) or segment is None or not span.get("serviceCode"):
        return None
    tags = _pairs(span.get("tags"))
    error = _error(span.get("logs"))
    record: dict[str, Any] = {
        "trace_id": str(span.get("traceId") or ""),
        "span_id": f"{segment}.{number}",
        "parent_id": _parent(span),
        "service": service_name(str(span["serviceCode"]), grouped=grouped),
        "name": str(span.get("endpointName") or ""),
        "start": f"{start:013d}",
        "duration_ms": max(0, end - start),
        "status": "ERROR" if span.get("isError") else "OK",
        "attributes": {**_circumstances(span), **told_tags(tags)},
    }
    if error:
        record["status_message"] = error
    if str(span.get("type")).casefold() == _EXIT and (peer := host_of(str(span.get("peer") or ""))):
        record["peer.service"] = peer
    return record


def _circumstances(span: Mapping[str, Any]) -> dict[str, str]:
    told = {"layer": span.get("layer"), "component": span.get("component"), "instance": span.get("serviceInstanceName")}
    return {key: str(value) for key, value in told.items() if value and value != "Unknown"}


def _pairs(pairs: Any) -> dict[str, str]:
    return {
        str(one["key"]): str(one["value"])
        for one in pairs or ()
        if isinstance(one, dict) and one.get("key") and one.get("value") is not None
    }


def _parent(span: Mapping[str, Any]) -> str | None:
    if isinstance(span.get("parentSpanId"), int) and span["parentSpanId"] >= 0:
        return f"{span['segmentId']}.{span['parentSpanId']}"
    references = [one for one in span.get("refs") or () if isinstance(one, dict)]
    return f"{references[0]['parentSegmentId']}.{references[0]['parentSpanId']}" if references else None


def _error(logs: Any) -> str | None:
    """Return what the first error event says: the exception's class and message, else the first line of its stack."""
    for log in logs or ():
        event = _pairs(log.get("data")) if isinstance(log, dict) else {}
        if event.get("event") == "error" or "error.kind" in event:
            parts = [event.get("error.kind"), event.get("message") or event.get("stack", "").partition("\n")[0]]
            return ": ".join(part for part in parts if part) or None
    return None
