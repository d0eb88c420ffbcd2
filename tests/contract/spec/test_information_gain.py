"""diagnosis-information-gain-stop-contract: Harness SHALL track binary information gain per Run."""

from tests.support.driving import harness, rig
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, request


async def test_new_evidence_advances_diagnosis() -> None:
    """diagnosis-information-gain-stop-contract / Harness SHALL track binary information gain per Run / New evidence
    advances diagnosis.
    """
    found = evidence(["series service=a baseline=1 extreme=9"])
    probe = ScriptedTool({"a": found, "b": found, "c": found})
    driven = rig(
        request("a"),
        request("b", previous=("r1c1", "NO_GAIN")),
        request("c", previous=("r1c2", "GAINED")),
        no_conclusion(),
        tools=probe,
    )
    run = await driven.run()
    assert probe.executed == ["a", "b", "c"]
    assert run.of("INFORMATION_GAIN", "information_gain") == ["NO_GAIN", "GAINED"]
    assert run.of("INFORMATION_GAIN", "decided_by_rule") == [False, False]
    assert run.state["collection_state"] == "COLLECTING"
    assert run.state["consecutive_no_gain"] == 0
    assert run.state["stop_reason"] is None
    assert [answer["type"] for answer in driven.seen] == ["OBSERVATION"] * 3


async def test_consecutive_observations_do_not_advance_diagnosis() -> None:
    """diagnosis-information-gain-stop-contract / Harness SHALL track binary information gain per Run / Consecutive
    observations do not advance diagnosis.
    """
    driven = rig(
        request("a"),
        request("b", previous=("r1c1", "NO_GAIN")),
        request("c", previous=("r1c2", "NO_GAIN")),
        request("d", previous=("r1c3", "NO_GAIN")),
        no_conclusion(),
        settings=harness(no_gain=3),
    )
    run = await driven.run()
    assert driven.executed == ["a", "b", "c"]
    assert run.state["consecutive_no_gain"] == 3
    assert run.state["collection_state"] == "SATURATED"
    assert run.state["stop_reason"] == "INFORMATION_SATURATED"
    assert run.of("STOP_REASON_SET", "stop_reason") == ["INFORMATION_SATURATED"]
    assert run.of("STOP_REASON_SET", "collection_state") == ["SATURATED"]
