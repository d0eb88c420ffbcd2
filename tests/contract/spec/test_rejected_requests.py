"""diagnosis-information-gain-stop-contract: Rejected Tool requests SHALL remain observable without payload
disclosure."""

from tests.support.driving import rig
from tests.support.scripted import no_conclusion, request

ALLOWED = {"seq", "run_id", "type", "at", "call_id", "tool_name", "code", "violation_type"}


async def test_progress_protocol_is_invalid() -> None:
    """diagnosis-information-gain-stop-contract / Rejected Tool requests SHALL remain observable without payload
    disclosure / Progress protocol is invalid.
    """
    driven = rig(request("a"), request("SECRETSCOPE"), no_conclusion())
    run = await driven.run()
    assert driven.executed == ["a"]
    rejected = run.events("TOOL_REQUEST_REJECTED")
    assert [(event["call_id"], event["tool_name"], event["code"], event["violation_type"]) for event in rejected] == [
        ("r1c2", "probe", "INVALID_PROGRESS_PROTOCOL", "MISSING_PREVIOUS_OBSERVATION")
    ]
    assert set(rejected[0]) == ALLOWED
    told = driven.seen[-1]
    assert told["repair_required"] is True
    assert told["missing_field"] == "previous_observation"
    assert told["expected_previous_tool_call_id"] == "r1c1"
    assert "SECRETSCOPE" not in str(told)
    assert "secretscope" not in str(run.state["trace"]).lower()


async def test_duplicate_or_saturated_request_is_blocked() -> None:
    """diagnosis-information-gain-stop-contract / Rejected Tool requests SHALL remain observable without payload
    disclosure / Duplicate or saturated request is blocked.
    """
    driven = rig(
        request("a"),
        request("a", previous=("r1c1", "NO_GAIN")),
        request("b"),
    )
    run = await driven.run()
    assert driven.executed == ["a"]
    assert run.rejected == ["DUPLICATE_SCOPE", "CONTROLLED_STOP"]
    assert all(set(event) <= ALLOWED for event in run.events("TOOL_REQUEST_REJECTED"))
    assert run.of("TOOL_INVOCATION", "call_id") == ["r1c1"]
    assert len(run.state["invocation_keys"]) == 1
    assert run.state["budget"]["tool_calls"] == 1
