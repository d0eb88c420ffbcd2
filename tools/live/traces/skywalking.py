"""Traces from a SkyWalking OAP server, asked in GraphQL.

API: https://skywalking.apache.org/docs/main/latest/en/api/query-protocol/ (`getTimeInfo`, `listServices`,
`findEndpoint`, `queryBasicTraces`, `queryTrace`; servers before 9 know `searchServices` and `searchEndpoint` instead).
A duration is told in the server's own zone, both ends included. A search gives the latest or the longest traces, by
pages; their spans are asked for apart.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any, ClassVar

from typing_extensions import override

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.concurrency import in_turns
from tools.live.pasting import whole
from tools.live.source import Probe
from tools.live.traces.sampling import Brief, Look, Looked, Sample, Wanted, merged, sampled
from tools.live.traces.skywalking_graphql import (
    CLOCK,
    ENDPOINTS,
    ENDPOINTS_BEFORE_9,
    SEARCH,
    SERVICES,
    SERVICES_BEFORE_9,
    Reply,
    replied,
    spans_query,
)
from tools.live.traces.skywalking_spans import records_of, service_name
from tools.live.traces.source import FoundSpans, SpanRecord, TraceQuestion, TraceSource, within_bounds
from tools.live.transport import Transport
from tools.names import near
from tools.vocabulary import Scope, SourceError

LIMIT = 16
"""How many traces one search asks for."""
MAX_SERVICES = 40
"""How many services are asked for an operation where none is named."""
MAX_TARGETS = 4
MAX_ENDPOINTS = 500
_BATCH = 5
_SECOND = timedelta(seconds=1)
_ORDER = {Wanted.FAILED: "BY_START_TIME", Wanted.ANY: "BY_START_TIME", Wanted.SLOW: "BY_DURATION"}
_STATE = {Wanted.FAILED: "ERROR", Wanted.ANY: "ALL", Wanted.SLOW: "ALL"}

Target = Mapping[str, str]
"""Conditions of a search: `serviceId` and `endpointId`, as far as they are asked for."""


class SkyWalking(TraceSource):
    """One SkyWalking OAP server."""

    type: ClassVar[str] = "skywalking"

    def __init__(self, name: str, transport: Transport, *, patience: float) -> None:
        super().__init__(name, transport, patience=patience)
        self._zone = UTC
        self._targeted: dict[tuple[str | None, str | None], Target] = {}

    @override
    async def probe(self) -> Probe:
        data = (await self._asked(CLOCK)).data
        zone = _zone(data)
        services = await self._services(TraceQuestion(None, None, datetime.now(UTC) - timedelta(hours=1), _now()), zone)
        stamp = (data.get("getTimeInfo") or {}).get("currentTimestamp")
        return Probe(_moment(stamp), f"{len(services)} services")

    @override
    async def _spans(self, question: TraceQuestion) -> FoundSpans:
        reading = _Reading(self._transport, _zone((await self._asked(CLOCK)).data), grouped=_grouped(question.service))
        targets = await self._targets(question, reading.zone)
        self._zone = reading.zone
        if targets:
            self._targeted[question.service, question.operation] = targets[0]
        samples = await in_turns(
            lambda target: sampled(partial(reading.find, target), question, LIMIT), targets[:MAX_TARGETS]
        )
        sample = merged([*samples, Sample(complete=len(targets) <= MAX_TARGETS)])
        traces = await reading.traces(sample.trace_ids)
        records, cut = within_bounds(spans for spans in traces if spans)
        missing = sum(not spans for spans in traces)
        notes = (*sample.notes, *((f"TRACES_MISSING:{missing}",) if missing else ()), *reading.notes)
        return FoundSpans(records, not sample.complete or cut or missing > 0 or reading.errors > 0, notes)

    async def _targets(self, question: TraceQuestion, zone: timezone) -> list[Target]:
        """Return what to search for; raises SourceFailure(UNKNOWN_SELECTOR) for names that were never seen."""
        if question.service is None and question.operation is None:
            return [{}]
        services = await self._services(question, zone)
        if question.operation is None:
            return [{"serviceId": one} for one in services.values()]
        if len(services) > MAX_SERVICES:
            raise SourceFailure(SourceError.QUERY_REJECTED, near_names=tuple(sorted(services)), field="service")
        operation = question.operation
        found = await in_turns(lambda service: self._endpoints(service, operation), services.values())
        targets: list[Target] = [
            {"serviceId": service, "endpointId": identifier}
            for service, endpoints in zip(services.values(), found, strict=True)
            for name, identifier in endpoints
            if fold(name) == question.operation
        ]
        if not targets:
            names = [name for endpoints in found for name, _ in endpoints]
            raise SourceFailure(
                SourceError.UNKNOWN_SELECTOR, near_names=near(question.operation, names), field="operation"
            )
        return targets

    async def _services(self, question: TraceQuestion, zone: timezone) -> dict[str, str]:
        """Return the ids of the services asked for, by name; raises SourceFailure(UNKNOWN_SELECTOR)."""
        reply = await self._either(
            (SERVICES, {}), (SERVICES_BEFORE_9, {"duration": _duration(question.start, question.end, zone)})
        )
        known = {str(one["name"]): str(one["id"]) for one in reply.items("services") if _traced(one)}
        if question.service is None:
            return known
        grouped = _grouped(question.service)
        matching = {
            name: one for name, one in known.items() if fold(service_name(name, grouped=grouped)) == question.service
        }
        if not matching:
            names = [service_name(name, grouped=grouped) for name in known]
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(question.service, names), field="service")
        return matching

    async def _endpoints(self, service: str, operation: str) -> list[tuple[str, str]]:
        """Return endpoints of a service as (name, id): those like the operation, else whichever there are."""
        for keyword in (operation, ""):
            variables = {"service": service, "keyword": keyword, "limit": MAX_ENDPOINTS}
            reply = await self._either((ENDPOINTS, variables), (ENDPOINTS_BEFORE_9, variables))
            found = [(str(one["name"]), str(one["id"])) for one in reply.items("endpoints")]
            if any(fold(name) == operation for name, _ in found):
                break
        return found

    async def _either(self, now: tuple[str, Mapping[str, Any]], before: tuple[str, Mapping[str, Any]]) -> Reply:
        """Ask in today's protocol, and in the one before where the server doesn't know today's."""
        try:
            return await self._asked(*now)
        except SourceFailure as failure:
            if failure.code is not SourceError.QUERY_REJECTED:
                raise
        return await self._asked(*before)

    async def _asked(self, query: str, variables: Mapping[str, Any] | None = None) -> Reply:
        return await replied(self._transport, query, variables or {})

    @override
    def paste(self, scope: Scope) -> str:
        """Return a search as curl asks it: of the service and operation where their ids are known and short enough."""
        question = TraceQuestion.of(scope)
        target = self._targeted.get((question.service, question.operation), {})
        service = {key: value for key, value in target.items() if key == "serviceId"}
        return whole(
            f"""curl "$SKYWALKING_URL/graphql" -H content-type:application/json -d {shlex.quote(body)}"""
            for narrowed in (target, service, {})
            for body in _bodies(narrowed, question, self._zone)
        )


class _Reading:
    """The searches of one question, and what the server said beside them."""

    def __init__(self, transport: Transport, zone: timezone, *, grouped: bool) -> None:
        self._transport = transport
        self._grouped = grouped
        self.zone = zone
        self.errors = 0

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"SOURCE_ERRORS:{self.errors}",) if self.errors else ()

    async def find(self, target: Target, look: Look) -> Looked:
        """Search for traces of a target."""
        reply = await replied(self._transport, SEARCH, {"condition": _condition(target, look, self.zone)})
        self.errors += reply.errors
        found = [one for one in reply.items("found", "traces") if one.get("traceIds")]
        briefs = tuple(
            Brief(trace_id=str(one["traceIds"][0]), at=at, duration_ms=float(one["duration"]))
            for one in found
            if (at := _moment(one.get("start"))) and isinstance(one.get("duration"), int | float)
        )
        return Looked(briefs, len(found) >= look.limit or reply.errors > 0)

    async def traces(self, trace_ids: Sequence[str]) -> list[list[SpanRecord]]:
        """Return the spans of each trace, none where the server has them no more."""
        batches = [trace_ids[at : at + _BATCH] for at in range(0, len(trace_ids), _BATCH)]
        return [spans for batch in await in_turns(self._batch, batches) for spans in batch]

    async def _batch(self, trace_ids: Sequence[str]) -> list[list[SpanRecord]]:
        """Several traces in one request; one by one where they are too large together."""
        try:
            reply = await replied(self._transport, *spans_query(trace_ids))
        except SourceFailure as failure:
            if failure.code is not SourceError.ANSWER_TOO_LARGE:
                raise
            if len(trace_ids) == 1:
                return [[]]
        else:
            self.errors += reply.errors
            return [records_of(reply.items(f"t{at}", "spans"), grouped=self._grouped) for at in range(len(trace_ids))]
        return [spans for one in trace_ids for spans in await self._batch([one])]


def _bodies(target: Target, question: TraceQuestion, zone: timezone) -> Iterator[str]:
    """Yield a search for failing traces without variables, to the minute, and one in fewer words, to the hour."""
    named = "".join(f"{key}:{json.dumps(value)}," for key, value in target.items())
    for step, form, told in (("MINUTE", "%Y-%m-%d %H%M", "traceIds start"), ("HOUR", "%Y-%m-%d %H", "traceIds")):
        start, end = (one.astimezone(zone).strftime(form) for one in (question.start, question.end))
        window = f'queryDuration:{{start:"{start}",end:"{end}",step:{step}}}'
        wanted = f"{named}{window},traceState:ERROR,queryOrder:BY_START_TIME,paging:{{pageSize:{LIMIT}}}"
        query = f"{{queryBasicTraces(condition:{{{wanted}}}){{traces{{{told}}}}}}}"
        yield json.dumps({"query": query}, separators=(",", ":"))


def _condition(target: Target, look: Look, zone: timezone) -> dict[str, Any]:
    condition: dict[str, Any] = {
        **target,
        "queryDuration": _duration(look.start, look.end, zone),
        "traceState": _STATE[look.wanted],
        "queryOrder": _ORDER[look.wanted],
        "paging": {"pageNum": 1, "pageSize": look.limit},
    }
    return condition | ({"minTraceDuration": look.at_least_ms} if look.at_least_ms else {})


def _duration(start: datetime, end: datetime, zone: timezone) -> dict[str, str]:
    """Return a window as the protocol's Duration: whole seconds in the server's zone, the last one included."""
    last = max(start, end - _SECOND)
    told = [moment.astimezone(zone).strftime("%Y-%m-%d %H%M%S") for moment in (start, last)]
    return {"start": told[0], "end": told[1], "step": "SECOND"}


def _zone(data: Mapping[str, Any]) -> timezone:
    """Return the server's zone, told as `+0800`; UTC where it tells none."""
    said = str((data.get("getTimeInfo") or {}).get("timezone") or "")
    try:
        offset = datetime.strptime(said, "%z").utcoffset()
    except ValueError:
        return UTC
    return timezone(offset or timedelta())


def _traced(service: Mapping[str, Any]) -> bool:
    """Databases, caches and queues that SkyWalking infers from their clients have no spans of their own."""
    layers = service.get("layers") or ()
    return bool(service.get("name")) and not (layers and all(str(one).startswith("VIRTUAL_") for one in layers))


def _moment(milliseconds: Any) -> datetime | None:
    """Return a time as aware UTC; None where it's none. An agent says when a span began, as it likes."""
    if not str(milliseconds).isdecimal():
        return None
    try:
        return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _grouped(service: str | None) -> bool:
    return service is not None and "::" in service


def _now() -> datetime:
    return datetime.now(UTC)
