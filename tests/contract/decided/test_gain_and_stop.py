"""Contract, "Gain and stop"."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graph.settings import load_settings
from tests.support.drafts import changes, draft, metrics, reply, verdict
from tests.support.driving import Rig, harness, rig
from tests.support.scripted import ScriptedTool, calls, evidence, no_conclusion, nothing, request, text, usage


async def test_nothing_found_is_settled_as_soon_as_the_answer_is_in() -> None:
    driven = rig(request("a"), no_conclusion(), tools=ScriptedTool(nothing()))
    state = await driven.pause("diagnose")
    assert state["consecutive_no_gain"] == 0
    await driven.graph.ainvoke(None, driven.config(), interrupt_after=["evaluate_gain"])
    settled = await driven.values()
    assert settled["consecutive_no_gain"] == 1
    assert settled["pending_observation"] is None


async def test_a_draft_settles_what_is_pending_without_a_count_and_may_cite_it() -> None:
    driven = rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        reply(draft()),
        review=[verdict()],
        tools=[metrics(), changes()],
    )
    run = await driven.run()
    assert run.state["pending_observation"] is None
    assert run.state["consecutive_no_gain"] == 0
    assert run.of("INFORMATION_GAIN", "call_id") == ["r1c1"]
    assert "r1c2" in [source["tool_call_id"] for source in run.release["verified_sources"]]
    assert run.ended == ("SUCCESS", None)


async def test_a_protocol_stop_leaves_collection_collecting_and_still_stops() -> None:
    driven = rig(request("a"), request("b"), request("b", previous=("r1c1", "GAINED")), settings=harness(violations=1))
    run = await driven.run()
    assert run.state["collection_state"] == "COLLECTING"
    assert run.state["stop_reason"] == "PROGRESS_PROTOCOL_VIOLATED"
    assert driven.executed == ["a"]
    assert run.rejected == ["INVALID_PROGRESS_PROTOCOL", "CONTROLLED_STOP"]


async def test_the_first_stop_reason_stays_and_later_ones_are_events() -> None:
    driven = rig(
        request("a"),
        request("b"),
        request("c"),
        tools=ScriptedTool(nothing()),
        settings=harness(max_tool_requests=2),
    )
    run = await driven.run()
    assert run.state["stop_reason"] == "INFORMATION_SATURATED"
    assert run.of("STOP_REASON_SET", "stop_reason") == ["INFORMATION_SATURATED", "BUDGET_LIMIT_REACHED"]
    assert run.release["outcome"] == "FALLBACK"


def _after_the_stop(*, delivered: bool, after_stop: str = "verify") -> Rig:
    """A run that concludes while saturated, or after it was told to stop."""
    steps: list[AIMessage] = [
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        request("nowhere", previous=("r1c2", "NO_GAIN")),
    ]
    if delivered:
        steps.append(request("elsewhere"))
    return rig(
        *steps,
        reply(draft()),
        review=[verdict()],
        tools=[metrics(), changes()],
        settings=harness(no_gain=2, after_stop=after_stop),
    )


@pytest.mark.parametrize("delivered", [False, True])
async def test_a_draft_after_the_stop_is_a_draft(delivered: bool) -> None:
    run = await _after_the_stop(delivered=delivered).run()
    assert run.state["collection_state"] == "SATURATED"
    assert run.state["stop_delivered"] is delivered
    assert run.ended == ("SUCCESS", None)


@pytest.mark.parametrize("delivered", [False, True])
async def test_the_other_reading_publishes_a_fallback(delivered: bool) -> None:
    driven = _after_the_stop(delivered=delivered, after_stop="fallback")
    run = await driven.run()
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert driven.models["semantic_guard"].seen == []
    assert len(run.facts) == 3


REPLIES: dict[str, Any] = {
    "blank": AIMessage(content=" \n", **usage(10, 5)),
    "cut": AIMessage(content='{"conclusion": nu', response_metadata={"finish_reason": "length"}, **usage(10, 5)),
    "unreadable": ValueError("no choices"),
}


@pytest.mark.parametrize("name", sorted(REPLIES))
async def test_a_reply_that_cannot_be_used_is_a_failed_attempt_and_no_draft(name: str) -> None:
    driven = rig(REPLIES[name], no_conclusion())
    run = await driven.run()
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert run.of("MODEL_TOKEN_USAGE", "code") == ["MODEL_REPLY_INVALID", None]
    assert run.of("MODEL_TOKEN_USAGE", "component_round") == [1, 2]
    assert run.state["budget"]["model_calls"] == 2
    assert "DRAFT_UNREADABLE" not in run.limitations


@pytest.mark.parametrize("attempts", [1, 3])
async def test_attempts_are_bounded_and_each_is_an_admitted_call(attempts: int) -> None:
    driven = rig(*[TimeoutError()] * 4, settings=harness(attempts=attempts))
    run = await driven.run()
    assert len(driven.diagnosis.seen) == attempts
    assert run.state["budget"]["model_calls"] == attempts
    assert run.of("MODEL_TOKEN_USAGE", "component_round") == list(range(1, attempts + 1))
    assert len(run.state["agent_steps"]) == attempts
    assert run.ended == ("FAILED", None)
    assert run.limitations[0] == "MODEL_UNREACHABLE"


async def test_a_cut_tool_call_is_no_request() -> None:
    cut = calls([]).model_copy(update={"response_metadata": {"finish_reason": "length"}})
    cut.tool_calls = request("a").tool_calls
    driven = rig(cut, no_conclusion(), tools=ScriptedTool(evidence(["x"])))
    run = await driven.run()
    assert driven.executed == []
    assert run.state["transcript"] == []


async def test_prose_is_a_draft_that_cannot_be_read() -> None:
    run = await rig(request("a"), text("重启就好")).run()
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert "DRAFT_UNREADABLE" in run.limitations


@pytest.mark.parametrize(("value", "expected"), [(None, "verify"), ("verify", "verify"), ("fallback", "fallback")])
def test_the_reading_is_a_setting(value: str | None, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if value:
        monkeypatch.setenv("HARNESS_RELEASE_CONCLUSION_AFTER_STOP", value)
    assert load_settings().limits().conclusion_after_stop == expected
