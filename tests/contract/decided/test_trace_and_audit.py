"""Contract, "Trace and audit"."""

from typing import Any

import pytest
from langchain_core.messages import ToolCall

from graph.contract.trace import MAX_EVENTS, NEVER_DROPPED, TraceEvent
from tests.support.driving import harness, rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedTool, calls, evidence, no_conclusion, request

KEPT = sorted(NEVER_DROPPED)


async def test_every_event_is_numbered_owned_typed_and_timed() -> None:
    run = await rig(request("a"), no_conclusion()).run()
    events = run.state["trace"]
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert {event["run_id"] for event in events} == {run.state["run_id"]}
    assert [event["type"] for event in events] == [
        "RUN_OPENED",
        "MODEL_TOKEN_USAGE",
        "TOOL_INVOCATION",
        "MODEL_TOKEN_USAGE",
        "COLLECTION_CLOSED",
        "TOKEN_RECONCILIATION",
        "RELEASE",
    ]


async def test_a_rejection_holds_call_tool_and_code_alone() -> None:
    run = await rig(
        request("a"), request("b"), request("senseless", previous=("r1c1", "GAINED")), no_conclusion()
    ).run()
    common = {"seq", "run_id", "type", "at", "call_id", "tool_name", "code"}
    violated, refused = run.events("TOOL_REQUEST_REJECTED")
    assert set(violated) == common | {"violation_type"}
    assert set(refused) == common


async def test_the_trace_is_streamed_while_the_run_goes_on() -> None:
    run = await rig(request("a"), no_conclusion()).run()
    assert run.streamed == run.state["trace"]
    first = next(i for i, (mode, data) in enumerate(run.chunks) if mode == "custom" and data["stream"] == "trace")
    last = max(i for i, (mode, _) in enumerate(run.chunks) if mode == "updates")
    assert first < last


async def test_the_trace_is_bounded_and_keeps_usage_stop_and_release() -> None:
    """One message with more calls than the trace has room for."""
    many = [ToolCall(name="nothing", args={}, id="x", type="tool_call") for _ in range(MAX_EVENTS + 100)]
    driven = rig(calls(many), request("a"), no_conclusion(), settings=harness(max_tokens=16))
    run = await driven.run()
    assert run.state["trace_dropped"] >= 100
    kept = [event["type"] for event in run.state["trace"]]
    assert len([kind for kind in kept if kind not in NEVER_DROPPED]) <= MAX_EVENTS
    assert kept.count("MODEL_TOKEN_USAGE") == 2
    assert "STOP_REASON_SET" in kept
    assert kept[-2:] == ["TOKEN_RECONCILIATION", "RELEASE"]
    assert run.events("TOKEN_RECONCILIATION")[0]["dropped_events"] == run.state["trace_dropped"]
    seqs = [event["seq"] for event in run.state["trace"]]
    assert len(set(seqs)) == len(seqs)


async def test_progress_is_another_stream_and_may_hold_scopes_and_summaries() -> None:
    probe = ScriptedTool(evidence(["x"], summary="a: baseline 1"))
    run = await rig(request("a"), request("a", previous=("r1c1", "GAINED")), no_conclusion(), tools=probe).run()
    kinds = [event["kind"] for event in run.progress]
    assert kinds[:4] == ["ASKED", "ANSWERED", "SETTLED", "SETTLED"]
    assert "REJECTED" in kinds
    asked, answered = run.progress[0], run.progress[1]
    assert asked["scope"] == {"service": "a"}
    assert answered["summary"] == "a: baseline 1"
    assert "baseline 1" not in spoken(run.state["trace"])


async def test_agent_steps_hold_round_and_count_or_none() -> None:
    run = await rig(request("a", tokens=None), no_conclusion()).run()
    assert run.state["agent_steps"] == [{"round": 1, "token_count": None}, {"round": 2, "token_count": 15}]


@pytest.mark.parametrize(("tokens", "unavailable"), [((10, 5), 0), (None, 1), ((-1, 5), 1)])
async def test_reconciliation_is_false_where_anything_is_unavailable(tokens: Any, unavailable: int) -> None:
    run = await rig(request("a", tokens=tokens), no_conclusion()).run()
    sums = run.events("TOKEN_RECONCILIATION")[0]
    assert sums["usage_unavailable"] == unavailable
    assert sums["reconciled"] is (unavailable == 0)
    assert sums["audited_tokens"] == sums["budget_tokens"] == run.state["budget"]["tokens"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tool_name", "a name with blanks"),
        ("call_id", "x" * 65),
        ("code", "SOMETHING_ELSE"),
        ("budget", 7),
        ("scope", {"service": "a"}),
        ("summary", "text"),
    ],
)
def test_an_event_takes_no_payload(field: str, value: Any) -> None:
    event = {"seq": 0, "run_id": "r", "type": "RELEASE", "at": "2026-06-18T15:04:00.000+00:00"}
    TraceEvent.model_validate(event)
    with pytest.raises(ValueError, match=field):
        TraceEvent.model_validate({**event, field: value})
