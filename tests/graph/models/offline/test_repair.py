"""The offline repair: what was refused is taken away, and nothing is invented."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, SystemMessage

from graph.contract.draft import parse_draft
from graph.models.offline import OfflineEvidenceRepair
from graph.models.offline.repair import repaired


def analysis(number: int) -> dict[str, Any]:
    return {
        "analysis_id": f"a{number}",
        "kind": "OBSERVATION",
        "text": f"t{number}",
        "quotes": ["q"],
        "tool_call_ids": ["r1c1"],
    }


def draft() -> dict[str, Any]:
    return {
        "conclusion": {
            "text": "c",
            "component": "cart",
            "cause": "x",
            "change_id": None,
            "first_failing": "cart",
            "affected": ["web", "shop"],
            "alternatives": [{"component": "y", "cause": "z", "change_id": None}],
            "analysis_ids": ["a0", "a1"],
        },
        "analyses": [analysis(0), analysis(1), analysis(2)],
        "action_plan": [{"text": "p0", "analysis_ids": ["a0"]}, {"text": "p1", "analysis_ids": ["a2"]}],
        "recommendations": [{"text": "r0", "analysis_ids": ["a1", "a2"]}],
        "limitations": {"missing_info": [], "ruled_out": ["a2"]},
    }


def test_a_refused_analysis_goes_with_everything_that_rested_on_it_alone() -> None:
    result = repaired(draft(), ["analyses[2].quotes[0]"])
    assert [one["analysis_id"] for one in result["analyses"]] == ["a0", "a1"]
    assert [one["text"] for one in result["action_plan"]] == ["p0"]
    assert result["recommendations"] == [{"text": "r0", "analysis_ids": ["a1"]}]
    assert result["limitations"]["ruled_out"] == []
    assert result["conclusion"] == draft()["conclusion"]


def test_a_conclusion_stands_on_what_is_left_and_falls_with_the_last() -> None:
    assert repaired(draft(), ["analyses[0].text"])["conclusion"]["analysis_ids"] == ["a1"]
    assert repaired(draft(), ["analyses[0].text", "analyses[1].text"])["conclusion"] is None


def test_optional_parts_of_a_conclusion_go_alone() -> None:
    paths = ["conclusion.affected[1]", "conclusion.alternatives[0]", "conclusion.first_failing"]
    conclusion = repaired(draft(), paths)["conclusion"]
    assert (conclusion["affected"], conclusion["alternatives"], conclusion["first_failing"]) == (["web"], [], None)


def test_a_refused_conclusion_is_taken_back_with_its_actions() -> None:
    for path in ("conclusion.component", "conclusion.analysis_ids", "somewhere else", ""):
        result = repaired(draft(), [path])
        assert result["conclusion"] is None
        assert result["action_plan"] == result["recommendations"] == []


@given(
    st.lists(
        st.sampled_from(
            [
                "analyses[0]",
                "analyses[1].kind",
                "analyses[2].tool_call_ids[0]",
                "action_plan[0]",
                "recommendations[0].text",
                "conclusion.affected[0]",
                "conclusion.text",
                "limitations.ruled_out[0]",
            ]
        )
    )
)
def test_a_repair_can_be_read_refers_to_nothing_that_is_gone_and_adds_nothing(paths: list[str]) -> None:
    body = json.dumps({"draft": draft(), "violations": [{"code": "X", "path": path} for path in paths], "evidence": []})
    reply = OfflineEvidenceRepair().invoke([SystemMessage("…"), HumanMessage(body)])
    result = parse_draft(str(reply.content))
    known = {one.analysis_id for one in result.analyses}
    references = [*result.limitations.ruled_out]
    for item in (*result.action_plan, *result.recommendations):
        references += item.analysis_ids
    references += result.conclusion.analysis_ids if result.conclusion else ()
    assert set(references) <= known
    assert known <= {"a0", "a1", "a2"}
