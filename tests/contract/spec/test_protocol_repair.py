"""diagnosis-information-gain-stop-contract: Invalid progress protocol SHALL be repairable before bounded stop."""

from tests.support.driving import rig
from tests.support.scripted import no_conclusion, request


async def test_missing_previous_observation_is_repairable() -> None:
    """diagnosis-information-gain-stop-contract / Invalid progress protocol SHALL be repairable before bounded stop /
    Missing previous observation is repairable.
    """
    driven = rig(request("a"), request("b"), request("b", previous=("r1c1", "GAINED")), no_conclusion())
    run = await driven.run()
    assert run.answers[1] == {
        "type": "REJECTED",
        "tool_call_id": "r1c2",
        "code": "INVALID_PROGRESS_PROTOCOL",
        "repair_required": True,
        "violation_type": "MISSING_PREVIOUS_OBSERVATION",
        "missing_field": "previous_observation",
        "expected_previous_tool_call_id": "r1c1",
        "allowed_information_gain": ["GAINED", "NO_GAIN"],
        "consecutive_protocol_violations": 1,
    }
    assert driven.executed == ["a", "b"]
    assert run.state["consecutive_protocol_violations"] == 0
    assert run.state["consecutive_no_gain"] == 0


async def test_wrong_previous_observation_id_is_repairable() -> None:
    """diagnosis-information-gain-stop-contract / Invalid progress protocol SHALL be repairable before bounded stop /
    Wrong previous observation id is repairable.
    """
    driven = rig(
        request("a"),
        request("b", previous=("provider-id", "GAINED")),
        request("b", previous=("r1c1", "GAINED")),
        no_conclusion(),
    )
    run = await driven.run()
    assert run.answers[1]["violation_type"] == "OUT_OF_ORDER_PREVIOUS_OBSERVATION"
    assert run.answers[1]["expected_previous_tool_call_id"] == "r1c1"
    assert "provider-id" not in str(run.answers[1])
    assert run.of("TOOL_REQUEST_REJECTED", "violation_type") == ["OUT_OF_ORDER_PREVIOUS_OBSERVATION"]
    assert driven.executed == ["a", "b"]


async def test_repeated_repair_failure_stops_collection() -> None:
    """diagnosis-information-gain-stop-contract / Invalid progress protocol SHALL be repairable before bounded stop /
    Repeated repair failure stops collection.
    """
    driven = rig(request("a"), request("b"), request("b"), request("b"), request("b", previous=("r1c1", "GAINED")))
    run = await driven.run()
    assert driven.executed == ["a"]
    assert [answer["type"] for answer in run.answers] == [
        "OBSERVATION",
        "REJECTED",
        "REJECTED",
        "STOP_REQUIRED",
        "REJECTED",
    ]
    assert run.answers[3]["reason"] == "PROGRESS_PROTOCOL_VIOLATED"
    assert run.rejected == [*["INVALID_PROGRESS_PROTOCOL"] * 3, "CONTROLLED_STOP"]
    assert run.of("CONTROLLED_STOP", "stop_reason") == ["PROGRESS_PROTOCOL_VIOLATED"]
    assert run.state["consecutive_no_gain"] == 0
    assert run.state["collection_state"] == "COLLECTING"
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
