"""SkyWalking: what is asked of it in GraphQL, and what is told of its traces."""

import json
import shlex
from datetime import timedelta, timezone
from typing import Any

import httpx
import pytest

from tests.live.servers.skywalking import SkyWalkingStore, serving_skywalking
from tests.live.servers.told_spans import NOON, Told, checkout
from tests.tools.live.traces.asking import answered, question, sent, skywalking_over
from tools.base import SourceFailure
from tools.live.traces.settings import SkyWalkingSettings
from tools.live.traces.source import TraceQuestion
from tools.vocabulary import Evidence, SourceError


async def of(store: SkyWalkingStore, **asked: str | None) -> Evidence:
    with serving_skywalking(store) as url:
        return await answered(SkyWalkingSettings(url=url), **asked)


async def test_where_no_service_is_named_failures_of_all_are_looked_for() -> None:
    store = SkyWalkingStore([*checkout("t1", 0), *checkout("t2", 60, broken=True)])
    evidence = await of(store)
    assert evidence.first_failing == "stock"
    assert not any("listServices" in query for query in store.queries)


@pytest.mark.parametrize("hours", [-8, 0, 5.5, 8])
async def test_the_window_is_told_in_the_server_s_own_zone(hours: float) -> None:
    store = SkyWalkingStore(checkout("t1", 0, broken=True), zone=timezone(timedelta(hours=hours)))
    assert (await of(store, service="web")).first_failing == "stock"


@pytest.mark.parametrize("operation", [None, "post /CHECKOUT"])
async def test_a_server_before_9_is_asked_in_its_own_words(operation: str | None) -> None:
    store = SkyWalkingStore(checkout("t1", 0, broken=True), before_9=True)
    assert (await of(store, service="web", operation=operation)).first_failing == "stock"


async def test_so_many_services_need_one_to_be_named_for_an_operation() -> None:
    store = SkyWalkingStore(checkout("t1", 0), services=[f"service{at}" for at in range(60)])
    with pytest.raises(SourceFailure) as failure:
        await of(store, operation="Take")
    assert (failure.value.code, failure.value.field) == (SourceError.QUERY_REJECTED, "service")
    assert failure.value.near_names


async def test_a_database_seen_from_its_clients_has_no_spans_of_its_own() -> None:
    store = SkyWalkingStore(checkout("t1", 0), virtual=["stock-db:5432"])
    with pytest.raises(SourceFailure) as failure:
        await of(store, service="stock-db:5432")
    assert failure.value.code is SourceError.UNKNOWN_SELECTOR


GROUPED = [Told("t", "a", "shop::web", "GET /"), Told("t", "b", "shop::cart", "Add", "a", error="boom")]


@pytest.mark.parametrize(("asked", "told"), [("cart", "cart"), ("shop::cart", "shop::cart"), (None, "cart")])
async def test_a_group_is_told_where_it_was_asked_for(asked: str | None, told: str) -> None:
    evidence = await of(SkyWalkingStore(GROUPED), service=asked)
    assert evidence.first_failing == told


async def test_traces_whose_spans_are_gone_make_the_answer_partial() -> None:
    spans = [*checkout("t1", 0), *checkout("t2", 60, broken=True)]
    evidence = await of(SkyWalkingStore(spans, lost=frozenset({"t1"})), service="web")
    assert evidence.truncated
    assert "TRACES_MISSING:1" in evidence.notes


@pytest.mark.parametrize("trouble", ["queryBasicTraces", "listServices"])
async def test_errors_without_data_are_no_absence(trouble: str) -> None:
    with pytest.raises(SourceFailure) as failure:
        await of(SkyWalkingStore(checkout("t1", 0), trouble=trouble), service="web")
    assert failure.value.code is SourceError.BACKEND_UNAVAILABLE


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"message": "x", "extensions": {"classification": "ValidationError"}}, SourceError.QUERY_REJECTED),
        ({"message": "x", "extensions": {"classification": "InvalidSyntax"}}, SourceError.QUERY_REJECTED),
        ({"message": "Validation error (FieldUndefined@[x])"}, SourceError.QUERY_REJECTED),
        ({"message": "Exception while fetching data (/x) : y"}, SourceError.BACKEND_UNAVAILABLE),
        ({"message": "x", "extensions": {"classification": "DataFetchingException"}}, SourceError.BACKEND_UNAVAILABLE),
        ("x", SourceError.BACKEND_UNAVAILABLE),
    ],
)
async def test_errors_beside_status_200_are_told_apart(error: Any, code: SourceError) -> None:
    async with skywalking_over(lambda _: httpx.Response(200, json={"data": None, "errors": [error]})) as source:
        with pytest.raises(SourceFailure) as failure:
            await source.spans(question())
    assert failure.value.code is code
    assert failure.value.__context__ is None


@pytest.mark.parametrize("body", [{}, [], "x", {"data": "x"}, {"data": {}}])
async def test_json_of_another_shape_is_unreadable(body: Any) -> None:
    async with skywalking_over(lambda _: httpx.Response(200, json=body)) as source:
        with pytest.raises(SourceFailure) as failure:
            await source.spans(question())
    assert failure.value.code is SourceError.SOURCE_UNREADABLE


async def test_a_search_says_window_state_and_order() -> None:
    asked: list[dict[str, Any]] = []

    def wire(request: httpx.Request) -> httpx.Response:
        asked.append(sent(request))
        if "getTimeInfo" in asked[-1]["query"]:
            return httpx.Response(200, json={"data": {"getTimeInfo": {"timezone": "+0800", "currentTimestamp": 0}}})
        return httpx.Response(200, json={"data": {"found": {"traces": []}}})

    async with skywalking_over(wire) as source:
        assert (await source.spans(question())).records == ()
    assert asked[1]["variables"]["condition"] == {
        "queryDuration": {"start": "2026-09-08 120200", "end": "2026-09-08 151659", "step": "SECOND"},
        "traceState": "ERROR",
        "queryOrder": "BY_START_TIME",
        "paging": {"pageNum": 1, "pageSize": 16},
    }


@pytest.mark.parametrize("start", ["99999999999999999", "9" * 400, "now", None])
async def test_a_trace_from_beyond_the_calendar_hides_no_other(start: str | None) -> None:
    def wire(request: httpx.Request) -> httpx.Response:
        query = sent(request)["query"]
        if "getTimeInfo" in query:
            return httpx.Response(200, json={"data": {"getTimeInfo": {"timezone": "+0000", "currentTimestamp": start}}})
        if "queryTrace(" in query:
            return httpx.Response(200, json={"data": {"t0": {"spans": []}}})
        begun = str(int(NOON.timestamp() * 1000))
        traces = [{"traceIds": [f"t{at}"], "start": at, "duration": 1} for at in (begun, start)]
        return httpx.Response(200, json={"data": {"found": {"traces": traces}}})

    async with skywalking_over(wire) as source:
        assert "TRACES_MISSING:1" in (await source.spans(question())).notes


async def test_names_never_become_part_of_the_query_s_text() -> None:
    hostile = 'x") { id } } mutation { y(z: "'
    store = SkyWalkingStore([Told("t", "a", hostile, hostile, error="boom")])
    evidence = await of(store, service=hostile, operation=hostile)
    assert evidence.first_failing == hostile
    assert not any("mutation" in query for query in store.queries)


async def test_traces_too_large_together_are_read_one_by_one() -> None:
    spans = [one for at in range(4) for one in checkout(f"t{at}", at, broken=True)]
    store = SkyWalkingStore([*spans, Told("huge", "a", "web", "POST /checkout", start=9, tags={"x": "x" * 5000})])
    with serving_skywalking(store) as url:
        evidence = await answered(SkyWalkingSettings(url=url, max_bytes=5000), service="web")
    assert evidence.first_failing == "stock"
    assert "TRACES_MISSING:1" in evidence.notes
    assert evidence.truncated


async def test_what_is_pasted_has_no_address() -> None:
    async with skywalking_over(lambda _: httpx.Response(200)) as source:
        pasted = source.paste({"service": "web", "start": "2026-09-08T04:02:00Z", "end": "2026-09-08T07:17:00Z"})
    assert pasted.startswith('curl "$SKYWALKING_URL/graphql" -H content-type:application/json -d ')
    assert "oap.test" not in pasted


async def test_a_service_that_was_found_is_pasted_by_its_id_in_the_servers_zone() -> None:
    store = SkyWalkingStore([Told("t", "a", "Web", "/pay", error="boom")])
    with serving_skywalking(store) as url:
        source = SkyWalkingSettings(url=url).open("skywalking")
        asked = {"service": "web", "start": "2026-09-08T04:02:00Z", "end": "2026-09-08T07:17:00Z"}
        await source.spans(TraceQuestion.of(asked))
        body = json.loads(shlex.split(source.paste(asked))[-1])
        await source.close()
    assert 'serviceId:"' in body["query"]
    assert 'start:"2026-09-08 1202",end:"2026-09-08 1517",step:MINUTE' in body["query"]
