"""single-react-evidence-semantic-guards: Fail-closed release policy."""

import json

import pytest
from langchain_core.messages import AIMessage

from tests.support.drafts import ANALYSIS_TEXT, CONCLUSION_TEXT, changes, draft, metrics, reply, route, verdict
from tests.support.driving import Rig, Run, rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedTool, Step, no_conclusion, nothing, request, text


def _concluding(*review: Step, repair: tuple[Step, ...] = (), handed: AIMessage | None = None) -> Rig:
    return rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        handed or reply(draft()),
        repair=repair,
        review=review,
        tools=[metrics(), changes()],
    )


def _assert_no_draft(run: Run) -> None:
    published = spoken([run.release, run.state["messages"]])
    assert CONCLUSION_TEXT not in published
    assert ANALYSIS_TEXT not in published
    assert run.release["draft"] is None
    assert run.state["draft"] is None


async def test_supported_report_release() -> None:
    """single-react-evidence-semantic-guards / Fail-closed release policy / Supported report release."""
    driven = _concluding(verdict("SUPPORTED"))
    run = await driven.run()
    assert run.ended == ("SUCCESS", None)
    assert run.release["draft"] == draft()
    assert run.state["draft"] == draft()
    for said in (CONCLUSION_TEXT, ANALYSIS_TEXT):
        assert said in run.release["text"]
    assert [source["tool_call_id"] for source in run.release["verified_sources"]] == ["r1c1", "r1c2"]
    shown = json.loads(str(driven.models["semantic_guard"].seen[0][-1].content))
    assert shown["draft"] == draft()
    assert [item["tool_call_id"] for item in shown["evidence"]] == ["r1c1", "r1c2"]
    assert run.of("EVIDENCE_GUARD", "passed") == [True]
    assert run.of("SEMANTIC_GUARD", "verdict") == ["SUPPORTED"]


async def test_unsupported_report_fallback() -> None:
    """single-react-evidence-semantic-guards / Fail-closed release policy / Unsupported report fallback."""
    driven = _concluding(verdict("UNSUPPORTED", reason="REVIEWERSREASON"))
    run = await driven.run()
    assert run.ended == ("FALLBACK", "SEMANTIC_UNSUPPORTED")
    snapshot = {fact["result"] for fact in run.state["progress_snapshot"]["observed_facts"]}
    assert [source["tool_call_id"] for source in run.release["verified_sources"]] == ["r1c1", "r1c2"]
    assert {source["result"] for source in run.release["verified_sources"]} <= snapshot
    assert "REVIEWERSREASON" not in spoken([run.state, run.chunks])
    _assert_no_draft(run)


@pytest.mark.parametrize("review", [(TimeoutError("HOSTNAME"), TimeoutError("HOSTNAME")), (text("maybe"), text("{}"))])
async def test_semantic_review_remains_unavailable(review: tuple[Step, ...]) -> None:
    """single-react-evidence-semantic-guards / Fail-closed release policy / Semantic review remains unavailable."""
    driven = _concluding(*review)
    run = await driven.run()
    assert run.ended == ("FALLBACK", "SEMANTIC_UNAVAILABLE")
    assert len(driven.models["semantic_guard"].seen) == run.state["limits"]["model_attempts"] == 2
    assert "HOSTNAME" not in spoken([run.state, run.chunks])
    assert "MODEL_" not in spoken(run.release)
    _assert_no_draft(run)


@pytest.mark.parametrize("mended", [None, "not a draft"])
async def test_evidence_validation_fallback_sources(mended: str | None) -> None:
    """single-react-evidence-semantic-guards / Fail-closed release policy / Evidence validation fallback sources."""
    broken = draft()
    broken["analyses"][1]["tool_call_ids"] = ["r1c9"]
    driven = _concluding(handed=reply(broken), repair=(text(mended) if mended else reply(broken),))
    run = await driven.run()
    assert run.ended == ("FALLBACK", "EVIDENCE_VALIDATION_FAILED")
    assert run.release["verified_sources"] == []
    assert len(driven.models["evidence_repair"].seen) == 1
    assert driven.models["semantic_guard"].seen == []
    _assert_no_draft(run)


async def test_missing_context_ends_without_tool_calls() -> None:
    """single-react-evidence-semantic-guards / Fail-closed release policy / Missing context ends without Tool calls."""
    driven = rig(no_conclusion(missing=["service"]), router=[route()])
    run = await driven.run("系统坏了", incident=None)
    assert run.ended == ("FALLBACK", "MISSING_REQUIRED_CONTEXT")
    assert run.release["missing_info"] == ["service"]
    assert driven.models["evidence_repair"].seen == driven.models["semantic_guard"].seen == []
    assert driven.executed == []


@pytest.mark.parametrize("last", [no_conclusion(missing=["service"]), request("d")], ids=["draft", "controlled stop"])
async def test_finite_checks_do_not_support_a_conclusion(last: AIMessage) -> None:
    """single-react-evidence-semantic-guards / Fail-closed release policy / Finite checks do not support a
    conclusion.
    """
    driven = rig(request("a"), request("b"), request("c"), last, tools=ScriptedTool(nothing()))
    run = await driven.run()
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert driven.executed == ["a", "b"]
    assert [fact["scope"] for fact in run.facts] == [{"service": "a"}, {"service": "b"}]
    assert driven.models["evidence_repair"].seen == driven.models["semantic_guard"].seen == []


async def test_invalid_draft_has_publishable_progress() -> None:
    """single-react-evidence-semantic-guards / Fail-closed release policy / Invalid Draft has publishable progress."""
    driven = _concluding(handed=text("根因是 DRAFTPROSE,请立即重启。"))
    run = await driven.run()
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert "DRAFT_UNREADABLE" in run.limitations
    assert len(run.facts) == 2
    assert "DRAFTPROSE" not in spoken([run.release, run.state["messages"], run.state["progress_snapshot"]])
    assert run.state["draft_text"] is None
    assert driven.models["evidence_repair"].seen == []
