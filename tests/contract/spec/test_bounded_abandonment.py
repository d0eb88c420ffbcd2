"""diagnosis-information-gain-stop-contract: Diagnosis Prompt SHALL license bounded abandonment."""

from tests.support.drafts import route
from tests.support.driving import rig
from tests.support.scripted import no_conclusion, request


async def test_required_context_is_missing_before_any_tool_call() -> None:
    """diagnosis-information-gain-stop-contract / Diagnosis Prompt SHALL license bounded abandonment / Required context
    is missing before any Tool call.
    """
    driven = rig(no_conclusion(missing=["service", "time"]), router=[route("diagnosis")])
    run = await driven.run("出问题了", incident=None)
    prompt = str(driven.diagnosis.seen[0][0].text)
    for licence in ("conclusion=null", "limitations.missing_info", "可以"):
        assert licence in prompt
    assert driven.executed == []
    assert run.ended == ("FALLBACK", "MISSING_REQUIRED_CONTEXT")
    assert run.release["missing_info"] == ["service", "time"]
    assert run.rejected == []


async def test_correct_content_is_diagnostically_useless() -> None:
    """diagnosis-information-gain-stop-contract / Diagnosis Prompt SHALL license bounded abandonment / Correct content
    is diagnostically useless.
    """
    driven = rig(request("a"), request("b", previous=("r1c1", "NO_GAIN")), no_conclusion())
    run = await driven.run()
    prompt = str(driven.diagnosis.seen[0][0].text)
    rule = next(line for line in prompt.splitlines() if line.startswith("- NO_GAIN"))
    assert "正确" in rule
    assert "重复" in rule
    assert "STOP_REQUIRED" in prompt
    first = run.events("INFORMATION_GAIN")[0]
    assert (first["call_id"], first["information_gain"], first["decided_by_rule"]) == ("r1c1", "NO_GAIN", False)
    assert driven.executed == ["a", "b"]
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
