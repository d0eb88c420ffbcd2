"""The GraphQL that SkyWalking is asked, and how its replies are read.

A reply with status 200 may hold `errors`: alone they are a failure, beside data they make it partial
(https://spec.graphql.org/October2021/#sec-Response-Format).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.base import SourceFailure
from tools.live.transport import Transport
from tools.vocabulary import SourceError

CLOCK = "query { getTimeInfo { timezone currentTimestamp } }"
SERVICES = "query { services: listServices { id name layers } }"
SERVICES_BEFORE_9 = (
    'query ($duration: Duration!) { services: searchServices(duration: $duration, keyword: "") { id name } }'
)
ENDPOINTS = (
    "query ($service: ID!, $keyword: String, $limit: Int!) "
    "{ endpoints: findEndpoint(keyword: $keyword, serviceId: $service, limit: $limit) { id name } }"
)
ENDPOINTS_BEFORE_9 = (
    "query ($service: ID!, $keyword: String!, $limit: Int!) "
    "{ endpoints: searchEndpoint(keyword: $keyword, serviceId: $service, limit: $limit) { id name } }"
)
SEARCH = (
    "query ($condition: TraceQueryCondition) { found: queryBasicTraces(condition: $condition) "
    "{ traces { traceIds start duration isError endpointNames } } }"
)
_SPAN = (
    "traceId segmentId spanId parentSpanId refs { parentSegmentId parentSpanId type } serviceCode serviceInstanceName "
    "startTime endTime endpointName type peer component isError layer "
    "tags { key value } logs { time data { key value } }"
)
_REFUSED = ("ValidationError", "InvalidSyntax", "OperationNotSupported", "ExecutionAborted", "BadRequest")
_REFUSALS = ("validation error", "invalid syntax", "syntax error", "cannot query field", "variable ", "unknown ")


@dataclass(frozen=True)
class Reply:
    """What a server replied: `data` by alias, and how many `errors` stood beside it."""

    data: Mapping[str, Any]
    errors: int

    def items(self, *path: str) -> list[dict[str, Any]]:
        """Return the list of objects at `path`, empty where the reply has null there."""
        value: Any = self.data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


async def replied(transport: Transport, query: str, variables: Mapping[str, Any]) -> Reply:
    """Ask; raises SourceFailure as the transport does, QUERY_REJECTED or BACKEND_UNAVAILABLE for errors alone."""
    content = await transport.json("POST", "/graphql", body={"query": query, "variables": dict(variables)})
    if not isinstance(content, dict) or not isinstance(content.get("data") or {}, dict):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    data, errors = content.get("data") or {}, content.get("errors") or []
    if all(value is None for value in data.values()):
        if errors:
            refused = all(_is_refusal(one) for one in errors)
            raise SourceFailure(SourceError.QUERY_REJECTED if refused else SourceError.BACKEND_UNAVAILABLE)
        if not data:
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return Reply(data, len(errors))


def spans_query(trace_ids: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return a query for the spans of several traces, each under the alias `t<position>`, and its variables."""
    names = ", ".join(f"$i{at}: ID!" for at in range(len(trace_ids)))
    parts = " ".join(f"t{at}: queryTrace(traceId: $i{at}) {{ spans {{ {_SPAN} }} }}" for at in range(len(trace_ids)))
    return f"query ({names}) {{ {parts} }}", {f"i{at}": trace_id for at, trace_id in enumerate(trace_ids)}


def _is_refusal(error: Any) -> bool:
    """Whether an error is about the question (its classification, else its wording), not about the server."""
    if not isinstance(error, dict):
        return False
    sort = (error.get("extensions") or {}).get("classification")
    return sort in _REFUSED if sort else str(error.get("message", "")).casefold().startswith(_REFUSALS)
