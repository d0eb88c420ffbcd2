"""diagnosis-information-gain-stop-contract: Information stop reasons SHALL remain distinct from release outcomes."""

from typing import Any

import pytest

from tests.support.driving import Clock, Rig, harness, rig
from tests.support.scripted import ScriptedTool, Step, evidence, no_conclusion, nothing, request
from tools.vocabulary import Evidence, Scope


async def test_low_gain_stops_before_budget_exhaustion() -> None:
    """diagnosis-information-gain-stop-contract / Information stop reasons SHALL remain distinct from release outcomes /
    Low gain stops before budget exhaustion.
    """
    driven = rig(*[request(target) for target in "abcd"], tools=ScriptedTool(nothing()))
    run = await driven.run()
    assert run.of("STOP_REASON_SET", "stop_reason") == ["INFORMATION_SATURATED"]
    assert run.of("STOP_REASON_SET", "budget") == [None]
    assert run.state["budget"]["tool_calls"] < run.state["limits"]["max_tool_calls"]
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert [event["type"] for event in run.events("RUN_FAILURE")] == []


def _after_one_call(**limits: Any) -> Rig:
    """A run that has one safe observation when the given budget forbids the next step."""
    return rig(request("a"), request("b", previous=("r1c1", "GAINED")), no_conclusion(), settings=harness(**limits))


def _after_a_slow_call() -> Rig:
    clock = Clock()

    def slow(scope: Scope) -> Evidence:
        clock.advance(200)
        return evidence(["x"])

    return rig(request("a"), tools=ScriptedTool(slow), clock=clock)


BUDGETS = {
    "model_calls": lambda: _after_one_call(max_model_calls=3),
    "tool_calls": lambda: _after_one_call(max_tool_calls=1),
    "tool_requests": lambda: _after_one_call(max_tool_requests=1),
    "tokens": lambda: _after_one_call(max_tokens=15),
    "observation_bytes": lambda: _after_one_call(max_observation_bytes=10),
    "seconds": _after_a_slow_call,
}


@pytest.mark.parametrize("budget", sorted(BUDGETS))
async def test_hard_budget_terminates_collection(budget: str) -> None:
    """diagnosis-information-gain-stop-contract / Information stop reasons SHALL remain distinct from release outcomes /
    Hard budget terminates collection.
    """
    driven = BUDGETS[budget]()
    run = await driven.run()
    stops = [(event["stop_reason"], event.get("budget")) for event in run.events("STOP_REASON_SET")]
    assert stops == [("BUDGET_LIMIT_REACHED", budget)]
    assert run.state["stop_reason"] == "BUDGET_LIMIT_REACHED"
    assert driven.executed == ["a"]
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert [fact["scope"] for fact in run.facts] == [{"service": "a"}]
    assert "BUDGET_LIMIT_REACHED" in run.limitations
    for component in ("evidence_repair", "semantic_guard"):
        assert driven.models[component].seen == []


GARBLED: list[Step] = [request("b"), request("b", previous=("r9c9", "GAINED")), request("b", previous={})]


@pytest.mark.parametrize(("found", "ended"), [(True, ("FALLBACK", "INSUFFICIENT_EVIDENCE")), (False, ("FAILED", None))])
async def test_progress_protocol_violations_exceed_threshold(found: bool, ended: tuple[str, str | None]) -> None:
    """diagnosis-information-gain-stop-contract / Information stop reasons SHALL remain distinct from release outcomes /
    Progress protocol violations exceed threshold.
    """
    driven = rig(request("a"), *GARBLED, request("c"))
    await driven.pause("close_collection")
    if not found:
        # The progress that was made is lost with its record: nothing safe is left.
        record = (await driven.stored())["r1c1"]
        await driven.store.adelete(record.namespace, record.key)
    run = await driven.drive(None)
    assert run.of("STOP_REASON_SET", "stop_reason") == ["PROGRESS_PROTOCOL_VIOLATED"]
    assert run.of("STOP_REQUIRED_DELIVERED", "stop_reason") == ["PROGRESS_PROTOCOL_VIOLATED"]
    assert [a["reason"] for a in run.answers if a["type"] == "STOP_REQUIRED"] == ["PROGRESS_PROTOCOL_VIOLATED"]
    assert driven.executed == ["a"]
    assert run.ended == ended
