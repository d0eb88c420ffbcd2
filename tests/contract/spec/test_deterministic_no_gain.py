"""diagnosis-information-gain-stop-contract: Harness SHALL assign only deterministic no-gain signals."""

from tests.support.driving import rig
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, nothing, request
from tools.vocabulary import EvidenceKind, Provenance, RelevanceLevel


async def test_empty_scoped_result() -> None:
    """diagnosis-information-gain-stop-contract / Harness SHALL assign only deterministic no-gain signals / Empty scoped
    result.
    """
    probe = ScriptedTool({"a": nothing(), "b": evidence(["series service=b baseline=1"])})
    driven = rig(request("a"), request("b"), no_conclusion(), tools=probe)
    run = await driven.run()
    assert probe.executed == ["a", "b"]
    assert [answer["evidence_status"] for answer in driven.seen] == ["NO_EVIDENCE", "EVIDENCE"]
    settled = run.events("INFORMATION_GAIN")
    assert [(event["call_id"], event["information_gain"]) for event in settled] == [("r1c1", "NO_GAIN")]
    assert settled[0]["decided_by_rule"] is True
    assert run.rejected == []
    assert run.state["consecutive_no_gain"] == 1


async def test_reference_material_is_non_empty() -> None:
    """diagnosis-information-gain-stop-contract / Harness SHALL assign only deterministic no-gain signals / Reference
    material is non-empty.
    """
    page = evidence(["runbook file=a.md"], provenance=Provenance.TEXT, relevance=RelevanceLevel.REFERENCE)
    manual = ScriptedTool(page, name="manual", kind=EvidenceKind.RUNBOOKS)
    driven = rig(
        request("a", tool="manual"),
        request("b", tool="manual"),
        request("b", tool="manual", previous=("r1c1", "GAINED")),
        no_conclusion(),
        tools=manual,
    )
    run = await driven.run()
    assert driven.seen[0]["relevance_level"] == "REFERENCE"
    assert driven.seen[1]["code"] == "INVALID_PROGRESS_PROTOCOL"
    assert driven.seen[1]["expected_previous_tool_call_id"] == "r1c1"
    assert manual.executed == ["a", "b"]
    assert run.of("INFORMATION_GAIN", "information_gain") == ["GAINED"]
    assert run.state["consecutive_no_gain"] == 0


async def test_equivalent_structured_scope_repeats() -> None:
    """diagnosis-information-gain-stop-contract / Harness SHALL assign only deterministic no-gain signals / Equivalent
    structured scope repeats.
    """
    driven = rig(request("a"), request(" Ａ ", previous=("r1c1", "GAINED"), limit=5), no_conclusion())
    run = await driven.run()
    assert driven.executed == ["a"]
    assert driven.seen[1]["code"] == "DUPLICATE_SCOPE"
    assert driven.seen[1]["earlier_tool_call_id"] == "r1c1"
    assert run.state["consecutive_no_gain"] == 1
    assert len(run.state["invocation_keys"]) == 1
    assert run.of("TOOL_INVOCATION", "call_id") == ["r1c1"]
    assert run.rejected == ["DUPLICATE_SCOPE"]
    by_rule = [event["call_id"] for event in run.events("INFORMATION_GAIN") if event["decided_by_rule"]]
    assert by_rule == ["r1c2"]
