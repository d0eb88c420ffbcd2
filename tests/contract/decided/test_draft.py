"""Contract, "Draft"."""

import json
from typing import Any

import pytest

from tests.support.drafts import changes, draft, metrics, reply, verdict
from tests.support.driving import Run, rig
from tests.support.scripted import request, text


async def _handed_over(said: str, repair: dict[str, Any] | None = None) -> Run:
    driven = rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        text(said),
        repair=[reply(repair or draft())],
        review=[verdict()],
        tools=[metrics(), changes()],
    )
    return await driven.run()


WHOLE = json.dumps(draft(), ensure_ascii=False)


@pytest.mark.parametrize(
    "said",
    [WHOLE, f"```json\n{WHOLE}\n```", f"```\n{WHOLE}\n```", f"\n {WHOLE} \n"],
    ids=["bare", "json", "fence", "blanks"],
)
async def test_one_surrounding_code_fence_is_peeled_off(said: str) -> None:
    run = await _handed_over(said)
    assert run.release["draft"] == draft()


def _with(path: str, value: Any) -> str:
    body = draft()
    *parents, name = path.split(".")
    part: Any = body
    for parent in parents:
        part = part[int(parent)] if parent.isdigit() else part[parent]
    part[name] = value
    return json.dumps(body, ensure_ascii=False)


@pytest.mark.parametrize(
    "said",
    [
        f"以下是结论:{WHOLE}",
        f"```json\n{WHOLE}\n```\n```json\n{WHOLE}\n```",
        _with("confidence", "high"),
        _with("conclusion.score", "1"),
        _with("analyses.0.extra", "x"),
        _with("conclusion.text", 5),
        _with("conclusion.affected", "checkout"),
        _with("analyses", {}),
        "[]",
        "null",
        '"text"',
        "{}",
    ],
)
async def test_any_other_shape_is_no_draft_and_is_not_repaired(said: str) -> None:
    run = await _handed_over(said)
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert "DRAFT_UNREADABLE" in run.limitations
    assert run.events("EVIDENCE_GUARD", "EVIDENCE_REPAIR") == []


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("analyses.0.analysis_id", "  ", "ANALYSIS_ID_BLANK"),
        ("analyses.0.kind", "GUESS", "ANALYSIS_KIND_UNKNOWN"),
        ("analyses.0.text", "", "TEXT_BLANK"),
        ("conclusion.text", " ", "TEXT_BLANK"),
    ],
)
async def test_meaning_is_the_guards_and_may_be_repaired(path: str, value: str, code: str) -> None:
    run = await _handed_over(_with(path, value))
    assert code in run.of("EVIDENCE_GUARD", "violations")[0]
    assert run.of("EVIDENCE_REPAIR", "passed") == [True]
    assert run.of("EVIDENCE_GUARD", "passed") == [False, True]
    assert run.ended == ("SUCCESS", None)


async def test_an_unknown_missing_info_becomes_other() -> None:
    body = {"conclusion": None, "limitations": {"missing_info": ["service", "moon phase"], "ruled_out": []}}
    run = await rig(text(json.dumps(body))).run()
    assert run.release["missing_info"] == ["service", "other"]
