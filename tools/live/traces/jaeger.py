"""Traces from Jaeger's query service.

API: https://www.jaegertracing.io/docs/latest/architecture/apis/#query-json-over-http (`/api/services`,
`/api/services/{service}/operations`, `/api/traces`), also spoken by VictoriaTraces:
https://docs.victoriametrics.com/victoriatraces/querying/#jaeger-http-api. A search needs a service; times are
microseconds; what is found are whole traces, the latest first.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from typing_extensions import override

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.concurrency import in_turns
from tools.live.pasting import whole
from tools.live.source import Probe
from tools.live.traces.jaeger_spans import records_of, warned
from tools.live.traces.sampling import Brief, Finder, Look, Looked, Sample, Wanted, merged, sampled
from tools.live.traces.source import FoundSpans, SpanRecord, TraceQuestion, TraceSource, within_bounds
from tools.live.transport import Transport
from tools.names import near
from tools.vocabulary import Scope, SourceError

MAX_SERVICES = 40
"""How many services are asked for failures where none is named."""
MAX_FOLLOWED = 8
"""How many of those are looked at more closely: those with failures, else the first ones."""
LIMIT = 20
"""How many traces one search asks for."""
LIMIT_OF_MANY = 5
_NARROWER = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Target = tuple[str, str | None]
"""A service and an operation of it (None is any), in Jaeger's own spelling."""


class Jaeger(TraceSource):
    """One Jaeger query service."""

    type: ClassVar[str] = "jaeger"

    def __init__(self, name: str, transport: Transport, *, patience: float) -> None:
        super().__init__(name, transport, patience=patience)
        self._spelled: dict[tuple[str | None, str | None], Target] = {}

    @override
    async def probe(self) -> Probe:
        answer = await self._transport.answer("GET", "/api/services")
        return Probe(answer.date, f"{len(_data(answer.json()))} services")

    @override
    async def _spans(self, question: TraceQuestion) -> FoundSpans:
        known = [str(name) for name in _data(await self._transport.json("GET", "/api/services"))]
        services = _services(known, question)
        targets = await self._targets(services, question)
        if targets and (question.service or question.operation):
            self._spelled[question.service, question.operation] = targets[0]
        reading = _Reading(self._transport)
        sample = await _sampled(reading, targets, question)
        if reading.errors and not sample.trace_ids:
            raise SourceFailure(SourceError.BACKEND_UNAVAILABLE)
        records, cut = within_bounds(reading.traces[trace] for trace in sample.trace_ids)
        left_out = question.service is None and len(services) < len(known)
        asked = (f"SERVICES_ASKED:{len(services)}/{len(known)}",) if left_out else ()
        truncated = not sample.complete or cut or left_out or reading.errors > 0
        return FoundSpans(records, truncated, (*sample.notes, *asked, *reading.notes))

    async def _targets(self, services: Sequence[str], question: TraceQuestion) -> list[Target]:
        """Return what to search for; raises SourceFailure(UNKNOWN_SELECTOR) where no service knows the operation."""
        if question.operation is None:
            return [(service, None) for service in services]
        answers = await in_turns(self._operations, services)
        told = dict(zip(services, answers, strict=True))
        targets: list[Target] = [
            (service, name) for service, names in told.items() for name in names if fold(name) == question.operation
        ]
        if not targets:
            names = [name for names in told.values() for name in names]
            raise SourceFailure(
                SourceError.UNKNOWN_SELECTOR, near_names=near(question.operation, names), field="operation"
            )
        return targets

    async def _operations(self, service: str) -> list[str]:
        path = f"/api/services/{quote(service, safe='')}/operations"
        return [str(name) for name in _data(await self._transport.json("GET", path))]

    @override
    def paste(self, scope: Scope) -> str:
        """Return a search as curl asks it; the list of services where none is named, as a search needs one."""
        question = TraceQuestion.of(scope)
        looked_for = Look(Wanted.FAILED, question.start, question.end, LIMIT)
        service, operation = self._spelled.get((question.service, question.operation), (question.service, None))
        targets: list[Target] = [(service, operation), (service, None)] if service else []
        searches = (urlencode(_params(target, looked_for, LIMIT)) for target in targets)
        paths = (*(f"traces?{search}" for search in searches), "services")
        return whole(f'curl "$JAEGER_URL/api/{path}"' for path in paths)


class _Reading:
    """The traces that were found by the searches of one question, and what Jaeger said beside them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.traces: dict[str, list[SpanRecord]] = {}
        self.errors = 0
        self._warned: dict[str, int] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        errors = (f"SOURCE_ERRORS:{self.errors}",) if self.errors else ()
        return (*errors, *(f"{code}:{count}" for code, count in sorted(self._warned.items())))

    def finder(self, target: Target) -> Finder:
        """Return how to look for the traces of a target."""
        return partial(self.find, target)

    async def find(self, target: Target, look: Look) -> Looked:
        """Search for traces of a target."""
        content, limit = await self._searched(target, look)
        errors = len(_errors(content))
        found = [trace for trace in _items(content) if isinstance(trace, dict)]
        self.errors += errors
        fresh = [trace for trace in found if str(trace.get("traceID")) not in self.traces]
        for code, count in warned(fresh).items():
            self._warned[code] = self._warned.get(code, 0) + count
        self.traces |= {str(trace.get("traceID")): records_of(trace) for trace in fresh}
        briefs = [_brief(str(trace.get("traceID")), self.traces[str(trace.get("traceID"))], target) for trace in found]
        return Looked(tuple(brief for brief in briefs if brief), len(found) >= limit or bool(errors))

    async def _searched(self, target: Target, look: Look) -> tuple[Any, int]:
        """Return the answer and how many traces it was asked for: fewer where so many are more than may be read."""
        too_large: SourceFailure | None = None
        for limit in (look.limit, max(1, look.limit // _NARROWER)):
            try:
                return await self._transport.json("GET", "/api/traces", params=_params(target, look, limit)), limit
            except SourceFailure as failure:
                if failure.code is not SourceError.ANSWER_TOO_LARGE:
                    raise
                too_large = failure
        raise too_large or SourceFailure(SourceError.INTERNAL_ERROR)


async def _sampled(reading: _Reading, targets: Sequence[Target], question: TraceQuestion) -> Sample:
    """Look closely at one target; of many, at those with most failures."""
    if len(targets) == 1:
        return await sampled(reading.finder(targets[0]), question, LIMIT)
    look = Look(Wanted.FAILED, question.start, question.end, LIMIT_OF_MANY)
    failed = await in_turns(lambda target: reading.find(target, look), targets)
    order = sorted(range(len(targets)), key=lambda at: -len(failed[at].briefs))
    samples = await in_turns(
        lambda at: sampled(reading.finder(targets[at]), question, LIMIT_OF_MANY, failed[at]), order[:MAX_FOLLOWED]
    )
    return merged([*samples, *(Sample(failing=failed[at].briefs, complete=False) for at in order[MAX_FOLLOWED:])])


def _services(known: list[str], question: TraceQuestion) -> list[str]:
    """Return which services to ask, at most `MAX_SERVICES`, in Jaeger's spelling; raises UNKNOWN_SELECTOR."""
    if question.service is None:
        return sorted(known, key=lambda name: (fold(name) != question.prefer, name))[:MAX_SERVICES]
    matching = [name for name in known if fold(name) == question.service]
    if not matching:
        raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(question.service, known), field="service")
    return matching


def _data(content: Any) -> list[Any]:
    """Return the `data` of an answer; raises SourceFailure where errors stand in it alone."""
    items = _items(content)
    if not items and (errors := _errors(content)):
        raise _failure(errors)
    return items


def _items(content: Any) -> list[Any]:
    """Return the `data` of an answer, whatever stands beside it; raises SourceFailure(SOURCE_UNREADABLE)."""
    items = content.get("data", ...) if isinstance(content, dict) else ...
    if items is None:
        return []
    if not isinstance(items, list):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return items


def _errors(content: Any) -> list[Any]:
    errors = content.get("errors") if isinstance(content, dict) else None
    return errors if isinstance(errors, list) else []


def _failure(errors: Sequence[Any]) -> SourceFailure:
    """Return the failure that errors tell of by their codes, which are HTTP's."""
    codes = [one.get("code") for one in errors if isinstance(one, dict)]
    refused = bool(codes) and all(isinstance(code, int) and 400 <= code < 500 for code in codes)
    return SourceFailure(SourceError.QUERY_REJECTED if refused else SourceError.BACKEND_UNAVAILABLE)


def _params(target: Target, look: Look, limit: int) -> dict[str, str | int]:
    service, operation = target
    params: dict[str, str | int] = {"service": service}
    if operation:
        params["operation"] = operation
    params |= {"start": _micros(look.start), "end": _micros(look.end) - 1, "limit": limit}
    if look.wanted is Wanted.FAILED:
        params["tags"] = json.dumps({"error": "true"})
    if look.wanted is Wanted.SLOW:
        params["minDuration"] = f"{look.at_least_ms}ms"
    return params


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _brief(trace_id: str, spans: list[SpanRecord], target: Target) -> Brief | None:
    """Return the trace as the target saw it: from its first failing span, else its first; its longest span's time."""
    service, operation = target
    own = [span for span in spans if span["service"] == service and operation in (None, span["name"])] or spans
    if not own:
        return None
    begun = [span["start"] for span in own if span["status"] == "ERROR"] or [span["start"] for span in own]
    return Brief(trace_id, _EPOCH + int(min(begun)) * _MICROSECOND, max(span["duration_ms"] for span in own))
