"""single-react-evidence-semantic-guards: Deterministic Draft and evidence validation."""

from typing import Any

import pytest

from tests.support.drafts import changes, draft, metrics, reply, verdict
from tests.support.driving import Rig, Run, rig
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, nothing, request
from tools.base import SourceFailure
from tools.vocabulary import SourceError


async def _handed_over(body: dict[str, Any]) -> tuple[Rig, Run]:
    """A run that measures, lists changes, and hands over `body`, twice: as the draft and as its repair."""
    driven = rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        reply(body),
        repair=[reply(body)],
        review=[verdict()],
        tools=[metrics(), changes()],
    )
    return driven, await driven.run()


@pytest.mark.parametrize(("ids", "code"), [(("", "a2"), "ANALYSIS_ID_BLANK"), (("a1", "a1"), "ANALYSIS_ID_DUPLICATE")])
async def test_duplicate_or_missing_analysis_id_in_concluded_draft(ids: tuple[str, str], code: str) -> None:
    """single-react-evidence-semantic-guards / Deterministic Draft and evidence validation / Duplicate or missing
    Analysis ID in concluded Draft.
    """
    body = draft()
    for analysis, analysis_id in zip(body["analyses"], ids, strict=True):
        analysis["analysis_id"] = analysis_id
    driven, run = await _handed_over(body)
    assert [event["passed"] for event in run.events("EVIDENCE_GUARD")] == [False, False]
    assert code in run.of("EVIDENCE_GUARD", "violations")[0]
    assert driven.models["semantic_guard"].seen == []
    assert run.ended == ("FALLBACK", "EVIDENCE_VALIDATION_FAILED")


@pytest.mark.parametrize("part", ["conclusion", "action_plan", "recommendations"])
@pytest.mark.parametrize(("ids", "code"), [([], "ANALYSIS_REFERENCE_MISSING"), (["a9"], "ANALYSIS_REFERENCE_UNKNOWN")])
async def test_broken_report_reference_in_concluded_draft(part: str, ids: list[str], code: str) -> None:
    """single-react-evidence-semantic-guards / Deterministic Draft and evidence validation / Broken report reference in
    concluded Draft.
    """
    body = draft()
    item = body[part] if part == "conclusion" else body[part][0]
    item["analysis_ids"] = ids
    driven, run = await _handed_over(body)
    assert code in run.of("EVIDENCE_GUARD", "violations")[0]
    assert driven.models["semantic_guard"].seen == []
    assert run.ended == ("FALLBACK", "EVIDENCE_VALIDATION_FAILED")


async def test_no_conclusion_draft_has_valid_negative_observation() -> None:
    """single-react-evidence-semantic-guards / Deterministic Draft and evidence validation / No-conclusion Draft has
    valid negative observation.
    """
    cited = {
        "analysis_id": "a1",
        "kind": "NEGATIVE_OBSERVATION",
        "text": "payments 没有告警",
        "quotes": [],
        "tool_call_ids": ["r1c1"],
    }
    driven = rig(request("payments"), no_conclusion(cites=[cited]), tools=ScriptedTool(nothing()))
    run = await driven.run()
    assert [source["tool_call_id"] for source in run.release["verified_sources"]] == ["r1c1"]
    assert run.events("EVIDENCE_GUARD", "EVIDENCE_REPAIR", "SEMANTIC_GUARD") == []
    assert driven.models["evidence_repair"].seen == driven.models["semantic_guard"].seen == []
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert [fact["scope"] for fact in run.facts] == [{"service": "payments"}]


async def test_no_conclusion_draft_fabricates_a_tool_reference() -> None:
    """single-react-evidence-semantic-guards / Deterministic Draft and evidence validation / No-conclusion Draft
    fabricates a Tool reference.
    """
    probe = ScriptedTool(
        {
            "a": evidence(["series service=a baseline=1"], summary="a: baseline 1"),
            "b": SourceFailure(SourceError.BACKEND_TIMEOUT),
            "c": evidence(["series service=c baseline=1"], summary="c: lost"),
        }
    )
    driven = rig(request("a"), no_conclusion(), tools=probe)
    await driven.run()
    cites = [
        {"analysis_id": f"a{number}", "kind": "OBSERVATION", "text": "x", "quotes": [], "tool_call_ids": [call_id]}
        for number, call_id in enumerate(("r9c9", "r1c1", "r2c2", "r2c3"))
    ]
    driven.play(
        request("a"),
        request("b", previous=("r2c1", "GAINED")),
        request("c"),
        no_conclusion(cites=cites),
    )
    await driven.pause("close_collection")
    record = (await driven.stored())["r2c3"]
    await driven.store.aput(record.namespace, record.key, {**record.value, "status": "STARTED", "evidence": None})
    run = await driven.drive(None)
    assert run.release["verified_sources"] == []
    assert [fact["result"] for fact in run.facts] == ["a: baseline 1"]
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert driven.models["evidence_repair"].seen == []
