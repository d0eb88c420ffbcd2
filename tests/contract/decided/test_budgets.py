"""Contract, "Budgets": before, at and after the limit of each of the six."""

from typing import Any

import pytest

from graph.settings import HarnessSettings
from tests.support.drafts import changes, draft, metrics, reply, verdict
from tests.support.driving import Clock, Run, harness, rig
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, request
from tools.vocabulary import Evidence, Scope

ROUND_TOKENS = 15


def _limited(field: str, value: int) -> HarnessSettings:
    budget: dict[str, Any] = {field: value}
    return harness(**budget)


async def _three_calls(settings: HarnessSettings) -> tuple[list[str], Run]:
    """Three requests and a draft: 4 model calls, 3 tool requests and calls, 60 tokens."""
    driven = rig(
        request("a"),
        request("b", previous=("r1c1", "GAINED")),
        request("c", previous=("r1c2", "GAINED")),
        no_conclusion(),
        settings=settings,
    )
    run = await driven.run()
    return driven.executed, run


CASES = {
    # budget field, its kind: the least limit that lets the run end by itself, and the targets asked one unit below it
    "max_model_calls": ("model_calls", 4 + 2, "abc"),
    "max_tool_calls": ("tool_calls", 3, "ab"),
    "max_tool_requests": ("tool_requests", 3, "ab"),
    "max_tokens": ("tokens", 3 * ROUND_TOKENS + 1, "abc"),
}


@pytest.mark.parametrize("field", CASES)
async def test_a_run_below_its_limit_ends_by_itself(field: str) -> None:
    _, least, _ = CASES[field]
    executed, run = await _three_calls(_limited(field, least + 1))
    assert executed == ["a", "b", "c"]
    assert run.events("STOP_REASON_SET") == []


@pytest.mark.parametrize("field", CASES)
async def test_using_the_last_unit_ends_nothing(field: str) -> None:
    _, least, _ = CASES[field]
    executed, run = await _three_calls(_limited(field, least))
    assert executed == ["a", "b", "c"]
    assert run.events("STOP_REASON_SET") == []
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")


@pytest.mark.parametrize("field", CASES)
async def test_what_would_begin_beyond_the_limit_is_not_begun(field: str) -> None:
    kind, least, asked = CASES[field]
    executed, run = await _three_calls(_limited(field, least - 1))
    assert executed == list(asked)
    assert [(e["stop_reason"], e["budget"]) for e in run.events("STOP_REASON_SET")] == [("BUDGET_LIMIT_REACHED", kind)]
    assert [fact["scope"]["service"] for fact in run.facts] == list(asked)


async def test_what_crosses_a_limit_is_kept() -> None:
    """The reply that crosses the token limit still asks, and its answer still counts."""
    driven = rig(request("a", tokens=(500, 500)), settings=harness(max_tokens=100))
    run = await driven.run()
    assert driven.executed == ["a"]
    assert run.state["budget"]["tokens"] == 1000
    assert run.of("STOP_REASON_SET", "budget") == ["tokens"]
    assert len(run.facts) == 1


async def _sized(limit: int) -> tuple[list[str], Run]:
    driven = rig(
        request("a"),
        request("b", previous=("r1c1", "GAINED")),
        no_conclusion(),
        tools=ScriptedTool(evidence(["x"])),
        settings=harness(max_observation_bytes=limit),
    )
    run = await driven.run()
    return driven.executed, run


async def test_observation_bytes_are_known_afterwards() -> None:
    _, free = await _sized(10**6)
    first = len(str(free.state["transcript"][1].content).encode())
    assert free.state["budget"]["observation_bytes"] == 2 * first
    executed, above = await _sized(first + 1)
    assert executed == ["a", "b"]
    assert above.events("STOP_REASON_SET") == []
    for limit in (first, first - 1):
        executed, run = await _sized(limit)
        assert executed == ["a"]
        assert run.of("STOP_REASON_SET", "budget") == ["observation_bytes"]
        assert len(run.facts) == 1


@pytest.mark.parametrize(("seconds", "stopped"), [(99, False), (100, True), (101, True)])
async def test_time_is_checked_before_the_next_step(seconds: float, stopped: bool) -> None:
    clock = Clock()

    def slow(scope: Scope) -> Evidence:
        clock.advance(seconds)
        return evidence(["x"])

    driven = rig(
        request("a"), no_conclusion(), tools=ScriptedTool(slow), clock=clock, settings=harness(max_seconds=100)
    )
    run = await driven.run()
    assert len(run.facts) == 1
    assert run.of("STOP_REASON_SET", "budget") == (["seconds"] if stopped else [])
    assert len(driven.diagnosis.seen) == (1 if stopped else 2)


async def test_time_forbids_a_tool_that_the_model_asks_for_too_late() -> None:
    clock = Clock()

    def late(messages: Any) -> Any:
        clock.advance(101)
        return request("a")

    driven = rig(late, clock=clock, settings=harness(max_seconds=100))
    run = await driven.run()
    assert driven.executed == []
    assert run.rejected == ["BUDGET_LIMIT_REACHED"]
    assert run.of("STOP_REASON_SET", "budget") == ["seconds"]
    assert run.ended == ("FAILED", None)


async def test_one_repair_and_one_review_are_reserved() -> None:
    body = draft()
    body["analyses"][0]["tool_call_ids"] = ["r9c9"]
    driven = rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        reply(body),
        repair=[reply(draft())],
        review=[verdict()],
        tools=[metrics(), changes()],
        settings=harness(max_model_calls=5),
    )
    run = await driven.run()
    assert run.state["budget"]["model_calls"] == 5
    assert run.ended == ("SUCCESS", None)


async def test_collection_never_takes_what_is_reserved() -> None:
    driven = rig(
        *[request(target) for target in "abcdefgh"], settings=harness(max_model_calls=4, no_gain=9, violations=9)
    )
    run = await driven.run()
    assert len(driven.diagnosis.seen) == 2
    assert run.of("STOP_REASON_SET", "budget") == ["model_calls"]


async def test_a_rejected_request_spends_a_request_and_no_call() -> None:
    driven = rig(request("senseless"), request("a"), no_conclusion())
    run = await driven.run()
    assert run.state["budget"]["tool_requests"] == 2
    assert run.state["budget"]["tool_calls"] == 1


async def test_the_defaults() -> None:
    run = await rig(no_conclusion(), settings=HarnessSettings()).run()
    limits = run.state["limits"]
    assert {name: limits[name] for name in limits if name.startswith("max_")} == {
        "max_model_calls": 12,
        "max_tool_calls": 10,
        "max_tool_requests": 16,
        "max_tokens": 60_000,
        "max_observation_bytes": 256 * 1024,
        "max_seconds": 180.0,
    }
    assert limits["stop_after_consecutive_protocol_violations"] == 3


async def test_a_callers_recursion_limit_never_ends_a_run_by_an_error() -> None:
    driven = rig(*[request(target, previous=None) for target in "abcdefgh"], settings=harness(violations=9))
    config: Any = {**driven.config(), "recursion_limit": 14}
    given: Any = {"messages": [{"role": "user", "content": "why?"}], "incident": {"service": "a"}}
    run = await driven.drive(given, config=config)
    assert run.of("STOP_REASON_SET", "budget") == ["steps"]
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
