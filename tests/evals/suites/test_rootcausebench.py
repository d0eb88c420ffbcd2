"""RootCauseBench's scores on answers made by hand, and its cases from a directory of that layout."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evals.cases import Attempt, Case, DataAbsent, ToolCall
from evals.data import USUAL_PLACE
from evals.suites import load_suite
from evals.suites.rootcausebench import RootCauseBench, jaccard, same_change, sufficed_after
from evals.targets.naive import Abstain, LastDeploy

INCIDENT = Path(__file__).parents[3] / "examples" / "incidents" / "payment-timeout"
GUILTY = "0123456789abcdef0123456789abcdef01234567"
DECOY = "fedcba9876543210fedcba9876543210fedcba98"
TRUTH: dict[str, Any] = {
    "root_cause_commit": GUILTY,
    "first_failing_service": "payment",
    "blast_radius": ["checkout", "frontend"],
    "remediation": "rollback",
    "decoy_deploy_commits": [DECOY],
}


def score(conclusion: dict[str, Any] | None, truth: dict[str, Any] | None = None, **release: Any) -> dict[str, Any]:
    case = Case(suite="rootcausebench", case_id="c", cluster="c", query="?", expected={**TRUTH, **(truth or {})})
    published = {"outcome": "SUCCESS", "draft": {"conclusion": conclusion, **release}} if conclusion else {
        "outcome": "FALLBACK", **release}  # fmt: skip
    return RootCauseBench(None).score(case, Attempt(release=published)).values


@pytest.mark.parametrize(
    ("named", "exact", "decoy", "innocent"),
    [
        (GUILTY, True, False, False),
        (GUILTY[:7].upper(), True, False, False),
        (GUILTY[:6], False, False, True),
        (DECOY[:10], False, True, True),
        ("aaaaaaaaaa", False, False, True),
        (None, False, False, False),
    ],
)
def test_the_culprit_is_exact_by_seven_digits_or_more(
    named: str | None, exact: bool, decoy: bool, innocent: bool
) -> None:
    found = score({"change_id": named})
    assert found["culprit_exact"] is found["correct"] is exact
    assert (found["decoy_convicted"], found["innocent_convicted"]) == (decoy, innocent)
    assert found["none_right"] is None


@pytest.mark.parametrize(("named", "right"), [(None, True), ("none", True), ("", True), (DECOY, False)])
def test_where_nobody_is_guilty_a_cause_without_a_change_is_right(named: str | None, right: bool) -> None:
    found = score({"change_id": named}, {"root_cause_commit": "none"})
    assert found["none_right"] is found["correct"] is right
    assert found["culprit_exact"] is None


def test_who_publishes_nothing_convicts_nobody_and_is_not_right() -> None:
    for truth in (TRUTH, {"root_cause_commit": "none"}):
        found = score(None, truth)
        assert (found["released"], found["correct"], found["innocent_convicted"]) == (False, False, False)
        assert (found["blast_radius"], found["remediation"]) == (0.0, False)


def test_first_failing_blast_radius_and_remediation_are_scored_in_any_spelling() -> None:
    found = score(
        {"change_id": GUILTY, "first_failing": " Payment", "affected": ["Checkout", "cart"]},
        action_plan=[{"text": "确认影响面"}, {"text": "回滚 payment"}],
    )
    assert (found["first_failing"], found["remediation"]) == (True, True)
    assert found["blast_radius"] == pytest.approx(1 / 3)


def test_a_fallback_that_measured_the_first_failing_service_gets_it_counted() -> None:
    assert score(None, first_failing="payment")["first_failing"] is True


def test_two_empty_sets_are_alike() -> None:
    assert (jaccard([], []), jaccard(["a"], [])) == (1.0, 0.0)
    assert not same_change(None, GUILTY)


def test_evidence_suffices_once_the_change_and_a_symptom_have_been_seen() -> None:
    alert = ToolCall(tool_name="get_alerts", content=("alert service=payment",))
    changes = ToolCall(tool_name="list_changes", content=(f"change kind=DEPLOY id={GUILTY} service=payment",))
    empty = ToolCall(tool_name="search_logs")
    assert sufficed_after([alert, empty, changes, empty], GUILTY) == 3
    assert sufficed_after([changes, empty, alert], GUILTY) == 3
    assert sufficed_after([changes, empty], GUILTY) is None
    assert sufficed_after([alert, empty], GUILTY) is None
    assert sufficed_after([alert, changes], "none") is None


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("one", "two", "three"):
        shutil.copytree(INCIDENT, tmp_path / name)
        (tmp_path / name / "ground_truth.json").write_text(json.dumps({**TRUTH, "notes": "seen by nobody"}))
    (tmp_path / "no incident").mkdir()
    return tmp_path


def test_any_directory_of_the_layout_gives_cases_whose_answer_no_target_sees(data: Path) -> None:
    cases = list(load_suite("rootcausebench", data).cases(seed=0, limit=None))  # type: ignore[union-attr]
    assert [case.case_id for case in cases] == ["one", "three", "two"]
    assert cases[0].source_digest == cases[1].source_digest
    shown = cases[0].asked().model_dump_json()
    assert GUILTY not in shown
    assert str(data) not in shown
    assert "rollback" not in shown


def test_the_digest_follows_the_data(data: Path) -> None:
    suite = RootCauseBench(data)
    before = [case.source_digest for case in suite.cases(seed=0, limit=None)]
    with (data / "two" / "alert.json").open("a") as file:
        file.write("\n")
    after = [case.source_digest for case in suite.cases(seed=0, limit=None)]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, True, False]


def test_absent_data_is_one_clear_line(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(DataAbsent) as absent:
            list(RootCauseBench(place).cases(seed=0, limit=None))
        assert str(place) in str(absent.value)
        assert "\n" not in str(absent.value)


@pytest.mark.parametrize("content", ["", "[]", '{"root_cause_commit": "none"}'])
def test_a_truth_that_cannot_be_read_is_one_clear_line(data: Path, content: str) -> None:
    (data / "one" / "ground_truth.json").write_text(content)
    with pytest.raises(DataAbsent, match="can't be read"):
        list(RootCauseBench(data).cases(seed=0, limit=None))


async def test_naive_targets_abstain_and_blame_the_last_deploy(data: Path) -> None:
    suite = RootCauseBench(data)
    case = next(iter(suite.cases(seed=0, limit=1)))
    abstained = await Abstain().attempt(case.asked(), suite.tools(case))
    assert (abstained.calls, abstained.conclusion) == ((), None)
    blamed = await LastDeploy().attempt(case.asked(), suite.tools(case))
    deploys = json.loads((data / "one" / "context" / "deploys.json").read_text())
    fired_at = json.loads((data / "one" / "alert.json").read_text())["fired_at"]
    last = max((one for one in deploys if one["timestamp"] <= fired_at), key=lambda one: one["timestamp"])
    assert blamed.conclusion is not None
    assert blamed.conclusion["change_id"] == last["commit_sha"]
    assert [call.tool_name for call in blamed.calls] == ["list_changes"]


async def test_without_change_records_the_last_deploy_is_not_guessed(data: Path) -> None:
    suite = RootCauseBench(data)
    case = next(iter(suite.cases(seed=0, limit=1)))
    others = [tool for tool in suite.tools(case) if tool.kind != "changes"]
    assert (await LastDeploy().attempt(case.asked(), others)).conclusion is None


@pytest.mark.skipif(not (USUAL_PLACE / "rootcausebench").is_dir(), reason="the benchmark isn't beside the checkout")
async def test_blaming_the_last_deploy_is_about_never_right_on_the_benchmark_as_published() -> None:
    suite = RootCauseBench(None)
    found = [
        suite.score(case, await LastDeploy().attempt(case.asked(), suite.tools(case))).values
        for case in suite.cases(seed=0, limit=None)
    ]
    right = sum(bool(one["correct"]) for one in found)
    decoys = sum(bool(one["decoy_convicted"]) for one in found)
    assert right <= len(found) / 8
    assert decoys >= len(found) / 2
