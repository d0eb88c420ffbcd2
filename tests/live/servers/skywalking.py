"""A small server of our own that keeps to SkyWalking's documented query protocol, over spans that a test tells.

Documentation: https://skywalking.apache.org/docs/main/latest/en/api/query-protocol/ and the protocol's schema at
https://github.com/apache/skywalking-query-protocol (`common`, `metadata-v2`, `metadata`, `trace`). Questions are
parsed, validated and executed by graphql-core against a schema with the documented names. Kept are: durations in the
server's own zone, step by step, both ends included; the latest or longest first by pages; segments of one service each;
validation errors with status 400 (or 200, as older servers send them), data fetching errors beside null with 200.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from graphql import GraphQLError, build_schema, graphql_sync, parse, validate

from tests.live.servers.answering import Request, Response, answering
from tests.live.servers.told_spans import Told

_SHARED = """
    scalar Long
    type KeyValue { key: String! value: String }
    enum Step { DAY HOUR MINUTE SECOND }
    input Duration { start: String! end: String! step: Step! }
    input Pagination { pageNum: Int pageSize: Int! }
    enum TraceState { ALL SUCCESS ERROR }
    enum QueryOrder { BY_START_TIME BY_DURATION }
    enum RefType { CROSS_PROCESS CROSS_THREAD }
    input SpanTag { key: String! value: String }
    input TraceQueryCondition {
        serviceId: ID serviceInstanceId: ID traceId: String endpointId: ID queryDuration: Duration
        minTraceDuration: Int maxTraceDuration: Int traceState: TraceState! queryOrder: QueryOrder! tags: [SpanTag!]
        paging: Pagination!
    }
    type BasicTrace {
        segmentId: String! endpointNames: [String!]! duration: Int! start: String! isError: Boolean
        traceIds: [String!]!
    }
    type TraceBrief { traces: [BasicTrace!]! }
    type Ref { traceId: ID! parentSegmentId: ID! parentSpanId: Int! type: RefType! }
    type LogEntity { time: Long! data: [KeyValue!] }
    type Span {
        traceId: ID! segmentId: ID! spanId: Int! parentSpanId: Int! refs: [Ref!]! serviceCode: String!
        serviceInstanceName: String! startTime: Long! endTime: Long! endpointName: String type: String! peer: String
        component: String isError: Boolean layer: String tags: [KeyValue!]! logs: [LogEntity!]!
    }
    type Trace { spans: [Span!]! }
    type Endpoint { id: ID! name: String! }
    type TimeInfo { timezone: String currentTimestamp: Long }
    """
_TRACES = """
        queryBasicTraces(condition: TraceQueryCondition): TraceBrief
        queryTrace(traceId: ID!): Trace
        getTimeInfo: TimeInfo
    """
_TODAY = build_schema(f"""{_SHARED}
    type Service {{
        id: ID! name: String! group: String! shortName: String! layers: [String!]! normal: Boolean
    }}
    type Query {{ {_TRACES}
        listServices(layer: String): [Service!]!
        findEndpoint(keyword: String, serviceId: ID!, limit: Int!, duration: Duration): [Endpoint!]!
    }}""")
_BEFORE_9 = build_schema(f"""{_SHARED}
    type Service {{ id: ID! name: String! }}
    type Query {{ {_TRACES}
        searchServices(duration: Duration!, keyword: String!): [Service!]!
        searchEndpoint(keyword: String!, serviceId: ID!, limit: Int!): [Endpoint!]!
    }}""")
_FORMATS = {"DAY": "%Y-%m-%d", "HOUR": "%Y-%m-%d %H", "MINUTE": "%Y-%m-%d %H%M", "SECOND": "%Y-%m-%d %H%M%S"}
_STEPS = {"DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}


@dataclass
class SkyWalkingStore:
    """What the server knows. `virtual` are databases and caches seen from their clients; `lost` are traces whose spans
    are gone; `trouble` is a field that fails to be fetched."""

    spans: Sequence[Told] = ()
    services: Sequence[str] = ()
    virtual: Sequence[str] = ()
    lost: frozenset[str] = frozenset()
    trouble: str | None = None
    before_9: bool = False
    zone: timezone = field(default_factory=lambda: timezone(timedelta(hours=8)))
    token: str | None = None
    queries: list[str] = field(default_factory=list)


@contextmanager
def serving_skywalking(store: SkyWalkingStore) -> Iterator[str]:
    """Serve a store while the block runs; gives the address below which `/graphql` answers."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _answer(store: SkyWalkingStore, request: Request) -> Response:
    if store.token and request.headers.get("authorization") != f"Bearer {store.token}":
        return Response("unauthorized", 401)
    if request.method != "POST" or request.path != "/graphql":
        return Response("Status: 404\n", 404)
    asked = json.loads(request.body)
    store.queries.append(asked["query"])
    schema = _BEFORE_9 if store.before_9 else _TODAY
    if errors := validate(schema, parse(asked["query"])):
        return _refused(store, errors[0])
    result = graphql_sync(schema, asked["query"], root_value=_Root(store), variable_values=asked.get("variables"))
    if result.data is None and result.errors and result.errors[0].path is None:
        return _refused(store, result.errors[0])
    body: dict[str, Any] = {"data": result.data}
    if result.errors:
        body["errors"] = [
            {"message": f"Exception while fetching data (/{'/'.join(map(str, one.path or ()))}) : {one.message}",
             "path": one.path, "extensions": {"classification": "DataFetchingException"}}
            for one in result.errors
        ]  # fmt: skip
    return Response(body)


def _refused(store: SkyWalkingStore, error: GraphQLError) -> Response:
    told: dict[str, Any] = {"message": f"Validation error : {error.message}"}
    if not store.before_9:
        told["extensions"] = {"classification": "ValidationError"}
    return Response({"errors": [told]}, 200 if store.before_9 else 400)


class _Root:
    """The resolvers: graphql-core calls the method of a field's name."""

    def __init__(self, store: SkyWalkingStore) -> None:
        self._store = store

    def _fetching(self, name: str) -> None:
        if self._store.trouble == name:
            raise RuntimeError("storage is away")

    def getTimeInfo(self, _: Any) -> dict[str, Any]:
        now = datetime.now(self._store.zone)
        return {"timezone": now.strftime("%z"), "currentTimestamp": int(now.timestamp() * 1000)}

    def listServices(self, _: Any, layer: str | None = None) -> list[dict[str, Any]]:
        self._fetching("listServices")
        told = [(name, "GENERAL") for name in _services(self._store)]
        told += [(name, "VIRTUAL_DATABASE") for name in self._store.virtual]
        return [
            {"id": _id(name), "name": name, "group": name.rpartition("::")[0], "shortName": name.rpartition("::")[2],
             "layers": [own], "normal": own == "GENERAL"}
            for name, own in told if layer in (None, own)
        ]  # fmt: skip

    def searchServices(self, _: Any, duration: dict[str, str], keyword: str) -> list[dict[str, Any]]:
        _window(duration, self._store.zone)
        return [{"id": _id(name), "name": name} for name in _services(self._store) if keyword in name]

    def findEndpoint(
        self,
        _: Any,
        serviceId: str,
        limit: int,
        keyword: str | None = None,
        duration: Any = None,
    ) -> list[dict[str, Any]]:
        self._fetching("findEndpoint")
        entries = [span for span in self._store.spans if _is_entry(self._store, span)]
        names = sorted({span.operation for span in entries if _id(span.service) == serviceId})
        found = [name for name in names if (keyword or "") in name]
        return [{"id": f"{serviceId}_{_id(name)}", "name": name} for name in found[:limit]]

    def searchEndpoint(self, info: Any, keyword: str, serviceId: str, limit: int) -> list[dict[str, Any]]:
        return self.findEndpoint(info, serviceId, limit, keyword)

    def queryBasicTraces(self, _: Any, condition: dict[str, Any]) -> dict[str, Any]:
        self._fetching("queryBasicTraces")
        start, end = _window(condition["queryDuration"], self._store.zone)
        segments = [
            span for span in self._store.spans
            if _is_entry(self._store, span) and start <= span.at < end
            and condition.get("serviceId") in (None, "", _id(span.service))
            and condition.get("endpointId") in (None, "", f"{_id(span.service)}_{_id(span.operation)}")
            and condition["traceState"] in ("ALL", "ERROR" if span.error else "SUCCESS")
            and span.milliseconds >= condition.get("minTraceDuration", 0)
        ]  # fmt: skip
        by_time = condition["queryOrder"] == "BY_START_TIME"
        segments.sort(key=lambda span: -span.at.timestamp() if by_time else -span.milliseconds)
        size, page = condition["paging"]["pageSize"], condition["paging"].get("pageNum") or 1
        return {"traces": [
            {"segmentId": _segment(span), "endpointNames": [span.operation], "duration": int(span.milliseconds),
             "start": str(int(span.at.timestamp() * 1000)), "isError": bool(span.error), "traceIds": [span.trace]}
            for span in segments[(page - 1) * size:page * size]
        ]}  # fmt: skip

    def queryTrace(self, _: Any, traceId: str) -> dict[str, Any]:
        spans = [one for one in self._store.spans if one.trace == traceId and traceId not in self._store.lost]
        if self._store.trouble == f"queryTrace:{traceId}":
            raise RuntimeError("storage is away")
        return {"spans": [_span(self._store, span) for span in spans]}


def _services(store: SkyWalkingStore) -> list[str]:
    return sorted({*store.services, *(span.service for span in store.spans)})


def _id(name: str) -> str:
    return base64.b64encode(name.encode()).decode() + ".1"


def _segment(span: Told) -> str:
    return f"{span.trace}.{span.service}"


def _is_entry(store: SkyWalkingStore, span: Told) -> bool:
    parent = _parent(store, span)
    return parent is None or parent.service != span.service


def _parent(store: SkyWalkingStore, span: Told) -> Told | None:
    return next((one for one in store.spans if one.trace == span.trace and one.span == span.parent), None)


def _number(store: SkyWalkingStore, span: Told) -> int:
    return [one.span for one in store.spans if _segment(one) == _segment(span)].index(span.span)


def _window(duration: dict[str, str], zone: timezone) -> tuple[datetime, datetime]:
    step = duration["step"]
    start, end = (datetime.strptime(duration[key], _FORMATS[step]).replace(tzinfo=zone) for key in ("start", "end"))
    return start, end + timedelta(seconds=_STEPS[step])


def _span(store: SkyWalkingStore, span: Told) -> dict[str, Any]:
    parent = _parent(store, span)
    within = parent is not None and parent.service == span.service
    logs = []
    if span.error:
        sort, _, text = span.error.rpartition(": ")
        data = {"event": "error", "error.kind": sort or "Error", "message": text, "stack": f"{sort}: {text}\n at x"}
        logs = [{"time": int(span.at.timestamp() * 1000),
                 "data": [{"key": key, "value": value} for key, value in data.items()]}]  # fmt: skip
    refs = [] if parent is None or within else [
        {"traceId": span.trace, "parentSegmentId": _segment(parent), "parentSpanId": _number(store, parent),
         "type": "CROSS_PROCESS"}
    ]  # fmt: skip
    return {
        "traceId": span.trace,
        "segmentId": _segment(span),
        "spanId": _number(store, span),
        "parentSpanId": _number(store, parent) if parent is not None and within else -1,
        "refs": refs,
        "serviceCode": span.service,
        "serviceInstanceName": f"{span.service}-0",
        "startTime": int(span.at.timestamp() * 1000),
        "endTime": int(span.at.timestamp() * 1000 + span.milliseconds),
        "endpointName": span.operation,
        "type": "Exit" if span.calls else "Entry" if not within else "Local",
        "peer": span.calls or "",
        "component": "PostgreSQL" if span.calls else "Tomcat",
        "isError": bool(span.error),
        "layer": "Database" if span.calls else "Http",
        "tags": [{"key": key, "value": str(value)} for key, value in span.tags.items()],
        "logs": logs,
    }
