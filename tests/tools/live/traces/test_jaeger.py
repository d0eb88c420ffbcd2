"""Jaeger: what is asked of it, and what is told of its traces."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.live.servers.jaeger import JaegerStore, serving_jaeger
from tests.live.servers.told_spans import NOON, Told, checkout
from tests.tools.live.traces.asking import END, START, HttpSourceAt, answered, jaeger_over, question
from tools.base import SourceFailure
from tools.live.traces.jaeger import Jaeger
from tools.live.traces.settings import JaegerSettings
from tools.live.traces.source import TraceQuestion
from tools.live.transport import Transport
from tools.vocabulary import Evidence, SourceError

US = 1_000_000


async def of(store: JaegerStore, **asked: str | None) -> Evidence:
    with serving_jaeger(store) as url:
        return await answered(JaegerSettings(url=url), **asked)


async def test_a_slow_incident_without_errors_shows_the_slow_spans() -> None:
    spans = [one for at in range(80) for one in checkout(f"ok{at}", -9000 + 90 * at)]
    spans += [one for at in range(80) for one in checkout(f"slow{at}", -1000 + 10 * at, slow=True)]
    evidence = await of(JaegerStore(spans), service="cart")
    assert evidence.first_failing is None
    assert any("trace_id=slow" in line and "service=stock" in line for line in evidence.content)


async def test_where_no_service_is_named_those_that_fail_are_looked_at_first() -> None:
    spans = [Told(f"q{at}", "x", f"quiet{at:02d}", "tick", start=at) for at in range(30)]
    evidence = await of(JaegerStore([*spans, *checkout("t2", 60, broken=True)]))
    assert evidence.first_failing == "stock"
    assert evidence.truncated


async def test_so_many_services_are_asked_in_part_beginning_with_the_incident_s_own() -> None:
    names = [f"service{at:03d}" for at in range(90)]
    spans = [Told("t", "x", "zz-last", "tick", error="boom")]
    with serving_jaeger(JaegerStore(spans, services=names)) as url:
        source = JaegerSettings(url=url).open("jaeger")
        found = await source.spans(question())
        preferred = await source.spans(question().__class__(None, None, START, END, prefer="zz-last"))
        await source.close()
    assert found.records == ()
    assert found.truncated
    assert "SERVICES_ASKED:40/91" in found.notes
    assert len(preferred.records) == 1


async def test_an_operation_is_found_in_whichever_service_has_it() -> None:
    evidence = await of(JaegerStore(checkout("t1", 0, broken=True)), operation="take")
    assert evidence.first_failing == "stock"


async def test_warnings_of_clocks_are_remarked() -> None:
    skewed = "clock skew adjustment disabled; not applying calculated delta of 2s"
    spans = [Told("t", "a", "web", "x"), Told("t", "b", "cart", "y", "a", warnings=(skewed,))]
    spans.append(Told("t", "c", "cart", "z", "a", warnings=("trace reached the maximum allowed size",)))
    evidence = await of(JaegerStore(spans), service="web")
    assert {"CLOCK_SKEW:1", "WARNINGS:1"} <= set(evidence.notes)


async def test_errors_without_any_trace_are_no_absence() -> None:
    store = JaegerStore(services=["web"], trouble=[{"code": 500, "msg": "a shard is away"}])
    with pytest.raises(SourceFailure) as failure:
        await of(store, service="web")
    assert failure.value.code is SourceError.BACKEND_UNAVAILABLE


def services(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"data": ["web"], "total": 1, "limit": 0, "offset": 0, "errors": None})


def traces(*spans: dict[str, Any], **more: Any) -> httpx.Response:
    data = [{"traceID": "t", "spans": list(spans), "processes": {"p1": {"serviceName": "web", "tags": []}}}]
    return httpx.Response(200, json={"data": data if spans else [], "errors": None, **more})


async def test_a_search_says_service_window_in_microseconds_and_failures_as_tags() -> None:
    asked: list[httpx.Request] = []

    def wire(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return services(request) if request.url.path.endswith("/services") else traces()

    async with jaeger_over(wire) as source:
        await source.spans(question("web"))
    first, searched = asked[0], asked[1]
    assert first.url.path == "/base/api/services"
    assert dict(searched.url.params) == {
        "service": "web",
        "start": str(int(START.timestamp()) * US),
        "end": str(int(END.timestamp()) * US - 1),
        "limit": "20",
        "tags": json.dumps({"error": "true"}),
    }


async def test_a_service_s_name_stays_one_part_of_the_path() -> None:
    paths: list[str] = []

    def wire(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path.decode())
        return httpx.Response(200, json={"data": ["a/b?c"]})

    async with jaeger_over(wire) as source:
        with pytest.raises(SourceFailure):
            await source.spans(question("a/b?c", "x"))
    assert paths[1] == "/base/api/services/a%2Fb%3Fc/operations"


async def test_traces_too_large_to_read_are_asked_for_again_in_a_smaller_number() -> None:
    limits: list[str] = []
    large = {"spanID": "x", "startTime": int(NOON.timestamp()) * US, "duration": 1, "processID": "p1"}

    def wire(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/services"):
            return services(request)
        limits.append(request.url.params["limit"])
        size = int(request.url.params["limit"]) * 1024 * 1024
        return traces({**large, "tags": [{"key": "blob", "value": "x" * size}]})

    async with jaeger_over(wire) as source:
        found = await source.spans(question("web"))
    assert limits[:2] == ["20", "5"]
    assert len(found.records) == 1


@pytest.mark.parametrize(
    ("tags", "logs", "status", "error"),
    [
        ([{"key": "error", "value": True}], [], "ERROR", None),
        ([{"key": "error", "value": False}], [], "UNSET", None),
        ([{"key": "otel.status_code", "value": "OK"}], [], "OK", None),
        ([{"key": "http.status_code", "value": 503}], [], "ERROR", None),
        ([{"key": "http.response.status_code", "value": 404}], [], "UNSET", None),
        (
            [{"key": "otel.status_code", "value": "ERROR"}, {"key": "otel.status_description", "value": "deadline"}],
            [],
            "ERROR",
            "deadline",
        ),
        (
            [{"key": "error", "value": "true"}],
            [{"fields": [{"key": "event", "value": "error"}, {"key": "message", "value": "refused"}]}],
            "ERROR",
            "refused",
        ),
    ],
)
async def test_a_failure_is_read_however_it_is_tagged(
    tags: list[Any], logs: list[Any], status: str, error: str | None
) -> None:
    span = {"traceID": "t", "spanID": "x", "operationName": "op", "startTime": int(NOON.timestamp()) * US,
            "duration": 1500, "processID": "p1", "tags": tags, "logs": logs}  # fmt: skip

    def wire(request: httpx.Request) -> httpx.Response:
        return services(request) if request.url.path.endswith("/services") else traces(span)

    async with jaeger_over(wire) as source:
        (record,) = (await source.spans(question("web"))).records
    assert (record["status"], record.get("status_message"), record["duration_ms"]) == (status, error, 1.5)


@pytest.mark.parametrize("body", [{}, [], "x", {"data": "x"}, {"errors": []}])
async def test_json_of_another_shape_is_unreadable(body: Any) -> None:
    async with jaeger_over(lambda _: httpx.Response(200, json=body)) as source:
        with pytest.raises(SourceFailure) as failure:
            await source.spans(question("web"))
    assert failure.value.code is SourceError.SOURCE_UNREADABLE


BEYOND = {"spanID": "y", "startTime": 10**19, "duration": 1, "processID": "p1"}


@pytest.mark.parametrize(
    "broken",
    [
        *(None, 7, {}, {"spanID": "x"}, {"spanID": "x", "startTime": "now", "duration": 1}),
        *(BEYOND, {**BEYOND, "startTime": -1}, {**BEYOND, "startTime": 1, "duration": 10**400}),
    ],
)
async def test_a_span_out_of_form_is_left_out(broken: Any) -> None:
    span = {"traceID": "t", "spanID": "x", "startTime": int(NOON.timestamp()) * US, "duration": 1, "processID": "p1"}

    def wire(request: httpx.Request) -> httpx.Response:
        return services(request) if request.url.path.endswith("/services") else traces(span, broken)

    async with jaeger_over(wire) as source:
        assert len((await source.spans(question("web"))).records) == 1


async def test_many_answers_may_not_take_longer_than_a_few() -> None:
    async def wire(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/services"):
            await asyncio.Event().wait()
        return services(request)

    access = HttpSourceAt(url="http://jaeger.test").access()
    source = Jaeger("jaeger", Transport(access, wire=httpx.MockTransport(wire)), patience=0.02)
    with pytest.raises(SourceFailure) as failure:
        await source.spans(question("web"))
    await source.close()
    assert failure.value.code is SourceError.BACKEND_TIMEOUT
    assert failure.value.__context__ is None


async def test_what_is_pasted_has_no_address() -> None:
    async with jaeger_over(services) as source:
        pasted = source.paste({"service": "web", "start": "2026-09-08T04:02:00Z", "end": "2026-09-08T07:17:00Z"})
    assert pasted.startswith('curl "$JAEGER_URL/api/traces?service=web&')
    assert "jaeger.test" not in pasted


async def test_where_no_service_is_asked_for_the_list_of_services_is_pasted() -> None:
    async with jaeger_over(services) as source:
        pasted = source.paste({"start": "2026-09-08T04:02:00Z", "end": "2026-09-08T07:17:00Z"})
    assert pasted == 'curl "$JAEGER_URL/api/services"'


async def test_names_that_were_found_are_pasted_as_jaeger_spells_them() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        named = {"services": ["Web"], "operations": ["GET /Pay"]}
        return httpx.Response(200, json={"data": named.get(request.url.path.rpartition("/")[2], [])})

    scope = {"service": "web", "operation": "get /pay", "start": "2026-09-08T04:02:00Z", "end": "2026-09-08T07:17:00Z"}
    async with jaeger_over(answer) as source:
        assert "operation" not in source.paste(scope)
        await source.spans(TraceQuestion.of(scope))
        pasted = source.paste(scope)
    assert "service=Web&operation=GET+%2FPay&" in pasted
