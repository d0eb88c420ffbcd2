"""Spec "Deterministic Draft and evidence validation": ids, kinds, references, calls; drafts without a conclusion."""

from collections.abc import Callable
from typing import Any

import pytest

from graph.contract.evidence import check_draft, no_conclusion_references
from graph.contract.vocabulary import DraftViolationCode as Code
from graph.contract.vocabulary import EvidenceKind
from tests.graph.contract.evidence_samples import (
    SERIES,
    ZONE,
    analysis,
    chinese_draft,
    draft,
    english_draft,
    record,
    records,
)


def codes(data: dict[str, Any]) -> set[tuple[Code, str]]:
    """What the guard holds against a draft of the sample incident, and where."""
    return {(item.code, item.path) for item in check_draft(draft(data), records(), zone=ZONE)}


@pytest.mark.parametrize("whole", [chinese_draft, english_draft])
def test_a_draft_that_stands_in_its_evidence_has_no_violation(whole: Callable[[], dict[str, Any]]) -> None:
    assert codes(whole()) == set()


@pytest.mark.parametrize(
    ("part", "key", "value", "code", "path"),
    [
        ("analyses", "analysis_id", " ", Code.ANALYSIS_ID_BLANK, "analyses[0].analysis_id"),
        ("analyses", "analysis_id", "a2", Code.ANALYSIS_ID_DUPLICATE, "analyses[0].analysis_id"),
        ("analyses", "analysis_id", " a2 ", Code.ANALYSIS_ID_DUPLICATE, "analyses[0].analysis_id"),
        ("analyses", "kind", "FACT", Code.ANALYSIS_KIND_UNKNOWN, "analyses[0].kind"),
        ("analyses", "kind", "", Code.ANALYSIS_KIND_UNKNOWN, "analyses[0].kind"),
        ("analyses", "text", " \n", Code.TEXT_BLANK, "analyses[0].text"),
        ("analyses", "tool_call_ids", [], Code.TOOL_CALL_ID_MISSING, "analyses[0].tool_call_ids"),
        ("analyses", "tool_call_ids", ["r0c1"], Code.TOOL_CALL_ID_UNRESOLVED, "analyses[0].tool_call_ids[0]"),
        ("analyses", "tool_call_ids", ["r1c1", ""], Code.TOOL_CALL_ID_UNRESOLVED, "analyses[0].tool_call_ids[1]"),
        ("action_plan", "text", "", Code.TEXT_BLANK, "action_plan[0].text"),
        ("action_plan", "analysis_ids", [], Code.ANALYSIS_REFERENCE_MISSING, "action_plan[0].analysis_ids"),
        ("action_plan", "analysis_ids", ["a99"], Code.ANALYSIS_REFERENCE_UNKNOWN, "action_plan[0].analysis_ids[0]"),
        ("recommendations", "text", "", Code.TEXT_BLANK, "recommendations[0].text"),
        ("recommendations", "analysis_ids", [], Code.ANALYSIS_REFERENCE_MISSING, "recommendations[0].analysis_ids"),
        (
            "recommendations",
            "analysis_ids",
            ["a2", " "],
            Code.ANALYSIS_REFERENCE_UNKNOWN,
            "recommendations[0].analysis_ids[1]",
        ),
    ],
)
def test_a_broken_part_is_refused_where_it_stands(part: str, key: str, value: object, code: Code, path: str) -> None:
    data = chinese_draft()
    data[part][0][key] = value

    assert (code, path) in codes(data)


@pytest.mark.parametrize(
    ("key", "value", "code", "path"),
    [
        ("text", " ", Code.TEXT_BLANK, "conclusion.text"),
        ("cause", "", Code.TEXT_BLANK, "conclusion.cause"),
        ("analysis_ids", [], Code.ANALYSIS_REFERENCE_MISSING, "conclusion.analysis_ids"),
        ("analysis_ids", ["a1", "b1"], Code.ANALYSIS_REFERENCE_UNKNOWN, "conclusion.analysis_ids[1]"),
    ],
)
def test_a_broken_conclusion_is_refused(key: str, value: object, code: Code, path: str) -> None:
    data = chinese_draft()
    data["conclusion"][key] = value

    assert (code, path) in codes(data)


def test_an_explanation_is_ruled_out_by_an_analysis_that_exists() -> None:
    data = chinese_draft()
    data["limitations"]["ruled_out"] = ["a4", "zz"]

    assert (Code.ANALYSIS_REFERENCE_UNKNOWN, "limitations.ruled_out[1]") in codes(data)


def test_a_conclusion_without_any_analysis_is_refused() -> None:
    data = chinese_draft()
    data["analyses"] = []

    assert (Code.ANALYSIS_REFERENCE_UNKNOWN, "conclusion.analysis_ids[0]") in codes(data)


def test_an_observation_cites_no_call_that_found_nothing() -> None:
    data = chinese_draft()
    data["analyses"][0]["tool_call_ids"] = ["r1c1", "r1c5"]

    assert (Code.NO_EVIDENCE_CITED_AS_OBSERVATION, "analyses[0].tool_call_ids[1]") in codes(data)


def test_an_inference_cites_at_least_one_call_with_evidence() -> None:
    data = chinese_draft()
    data["analyses"][2].update(tool_call_ids=["r1c5", "r1c8"], text="缓存变更不是原因。")
    assert (Code.INFERENCE_WITHOUT_EVIDENCE, "analyses[2].tool_call_ids") in codes(data)

    data["analyses"][2]["tool_call_ids"].append("r1c1")
    assert not [code for code, path in codes(data) if path.startswith("analyses[2]")]


def test_violations_stand_in_the_drafts_own_order_and_are_bounded() -> None:
    data = chinese_draft()
    data["conclusion"]["component"] = "nowhere-api " * 50
    data["analyses"][1]["text"] = " ".join(str(number) for number in range(500, 900))

    found = check_draft(draft(data), records(), zone=ZONE)

    assert found[0].path == "conclusion.component"
    assert len(found) < 20
    assert all(item.detail is None or len(item.detail) <= 80 for item in found)


def test_without_a_conclusion_good_references_count_and_bad_ones_are_dropped() -> None:
    data = {
        "conclusion": None,
        "analyses": [
            analysis("", "OBSERVATION", "", ["r1c1", "r1c5", "r9c9"]),
            analysis("a", "NEGATIVE_OBSERVATION", "x", ["r1c8", "r1c1", "r1c4"]),
            analysis("a", "INFERENCE", "x", ["r1c2", "r1c1", "r0c2"]),
            analysis("b", "RUMOUR", "x", ["r1c3"]),
        ],
    }

    assert no_conclusion_references(draft(data), records()) == ("r1c1", "r1c8", "r1c2")


def test_without_a_conclusion_a_truncated_absence_is_dropped() -> None:
    cut = {"r1c1": record("r1c1", EvidenceKind.LOGS, (), truncated=True)}
    data = {"conclusion": None, "analyses": [analysis("a", "NEGATIVE_OBSERVATION", "x", ["r1c1"])]}

    assert no_conclusion_references(draft(data), cut) == ()


def test_a_fabricated_reference_of_another_run_supports_nothing() -> None:
    data = chinese_draft()
    data["analyses"][0].update(tool_call_ids=["r2c1"], quotes=[SERIES])

    assert {
        (Code.TOOL_CALL_ID_UNRESOLVED, "analyses[0].tool_call_ids[0]"),
        (Code.QUOTE_NOT_FOUND, "analyses[0].quotes[0]"),
    } <= codes(data)
