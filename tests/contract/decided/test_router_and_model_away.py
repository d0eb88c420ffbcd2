"""Contract, "Router" and "When the model is away"."""

import json
from typing import Any

import pytest

from graph.models.offline import OFFLINE_MODEL_NAME
from tests.support.drafts import route
from tests.support.driving import harness, rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, request, text


async def test_the_router_is_one_call_and_is_skipped_with_an_incident() -> None:
    driven = rig(no_conclusion(), router=[route()])
    await driven.run(incident={"service": "a"})
    assert driven.models["router"].seen == []
    driven.play(no_conclusion())
    await driven.run("why is a slow?", incident=None)
    assert len(driven.models["router"].seen) == 1
    assert json.loads(str(driven.models["router"].seen[0][-1].content)) == {"query": "why is a slow?"}
    assert driven.models["router"].bound == [[]]


async def test_what_the_router_found_goes_to_the_diagnosis() -> None:
    found = {"enterprise": "acme", "service": "checkout", "environment": "prod", "window": "刚才", "error": "慢"}
    driven = rig(no_conclusion(), router=[route(**found)])
    run = await driven.run("checkout 慢", incident=None)
    body = json.loads(str(driven.diagnosis.seen[0][-1].content).partition("\n")[0])
    assert body["type"] == "INCIDENT_CONTEXT"
    window = body["context"].pop("window")
    assert window["start"] < body["as_of"] < window["end"]
    assert body["context"] == {name: value for name, value in found.items() if name != "window"}
    assert body["alert"] is None
    assert run.of("RUN_CLASSIFIED", "passed") == [True]


async def test_another_request_is_told_what_is_missing() -> None:
    driven = rig(router=[route("other")])
    run = await driven.run("写一首诗", incident=None)
    assert run.ended == ("FALLBACK", "MISSING_REQUIRED_CONTEXT")
    assert driven.diagnosis.seen == []
    assert run.release["model"] is None
    assert "service" in run.release["missing_info"]


async def test_another_request_that_names_it_all_is_asked_for_something_else() -> None:
    context = dict.fromkeys(("enterprise", "service", "window", "error"), "x")
    run = await rig(router=[route("other", **context)]).run("写一首诗", incident=None)
    assert run.release["missing_info"] == ["other"]


@pytest.mark.parametrize("query", [None, "", "   "])
async def test_a_request_that_says_nothing_is_told_what_is_missing(query: str | None) -> None:
    driven = rig()
    run = await driven.run(query, incident=None)
    assert run.ended == ("FALLBACK", "MISSING_REQUIRED_CONTEXT")
    assert driven.models["router"].seen == []


@pytest.mark.parametrize("said", [TimeoutError("down"), text("I think it is a diagnosis"), text('{"route": "maybe"}')])
async def test_a_router_that_is_down_or_unreadable_means_diagnosis(said: Any) -> None:
    driven = rig(no_conclusion(), router=[said])
    run = await driven.run(incident=None)
    assert len(driven.models["router"].seen) == 1
    assert len(driven.diagnosis.seen) == 1
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")


async def test_a_router_that_may_not_be_afforded_is_skipped() -> None:
    driven = rig(no_conclusion(), settings=harness(max_model_calls=3))
    run = await driven.run(incident=None)
    assert driven.models["router"].seen == []
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")


async def test_an_endpoint_away_at_the_first_call_hands_the_run_over() -> None:
    driven = rig(ConnectionError("ENDPOINTHOST"), ConnectionError("ENDPOINTHOST"), settings=harness(fallback="offline"))
    run = await driven.run()
    assert run.of("MODEL_HANDED_OVER", "code") == ["MODEL_UNREACHABLE"]
    assert run.state["handed_over"] is True
    assert run.release["model"] == OFFLINE_MODEL_NAME
    assert run.release["outcome"] in ("FALLBACK", "SUCCESS")
    assert driven.models["semantic_guard"].seen == []
    assert "ENDPOINTHOST" not in spoken([run.chunks, run.state])


async def test_no_run_is_handed_over_where_the_settings_say_none() -> None:
    driven = rig(ConnectionError(), ConnectionError(), settings=harness(fallback="none"))
    run = await driven.run()
    assert run.events("MODEL_HANDED_OVER") == []
    assert run.ended == ("FAILED", None)


async def test_no_run_is_handed_over_after_its_first_call() -> None:
    driven = rig(request("a"), ConnectionError(), ConnectionError(), settings=harness(fallback="offline"))
    run = await driven.run()
    assert run.events("MODEL_HANDED_OVER") == []
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert run.release["model"] == "scripted"


@pytest.mark.parametrize("error", [ValueError("garbage"), RuntimeError("bug")])
async def test_an_endpoint_that_answers_garbage_is_not_away(error: Exception) -> None:
    driven = rig(error, error, settings=harness(fallback="offline"))
    run = await driven.run()
    assert run.events("MODEL_HANDED_OVER") == []
    assert run.ended == ("FAILED", None)


async def test_a_run_without_a_model_call_left_is_not_handed_over() -> None:
    driven = rig(ConnectionError(), settings=harness(fallback="offline", max_model_calls=3))
    run = await driven.run()
    assert run.events("MODEL_HANDED_OVER") == []
    assert run.release["model"] == "scripted"
    assert run.ended == ("FAILED", None)


async def test_the_release_names_the_model_that_diagnosed() -> None:
    run = await rig(request("a"), no_conclusion(), tools=ScriptedTool(evidence(["x"]))).run()
    assert run.release["model"] == "scripted"
