"""The cloud-opsbench suite: what a case shows, what is right, and the benchmark's scores of a run's questions."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.cases import Attempt, Case, DataAbsent, ToolCall
from evals.suites.opsbench import OpsBench, fit, is_right, redundant_rate, step_of
from tests.support.clusters import Cluster

ENTRY = {"fault_taxonomy": "Runtime_Fault", "object_kind": "app"}
VOCABULARY = {"oom_killed": [ENTRY], "kubelet_unavailable": [{"fault_taxonomy": "Node_Fault", "object_kind": "node"}]}
PATH = ["GetResources::pods", "DescribeResource::pods::orders", "GetAppYAML::orders"]


def write_case(root: Path, place: str, *, vocabulary: bool = True) -> None:
    directory = root / place
    directory.mkdir(parents=True)
    truth = {
        "namespace": "shop",
        "query": "Service down.",
        "result": {"fault_taxonomy": "Runtime_Fault", "fault_object": "app/orders", "root_cause": "oom_killed"},
        "process": {"path1": PATH, "path2": PATH[:2]},
    }
    (directory / "metadata.json").write_text(json.dumps(truth), "utf-8")
    (directory / "tool_cache.json").write_text(json.dumps(Cluster().cache()), "utf-8")
    if vocabulary:
        (root / "candidates.json").write_text(json.dumps(VOCABULARY), "utf-8")


@pytest.fixture
def case(tmp_path: Path) -> Case:
    write_case(tmp_path, "shop/runtime/1")
    return next(iter(OpsBench(tmp_path).cases(seed=0, limit=None)))


def release(cause: str, component: str, *others: tuple[str, str]) -> dict[str, Any]:
    alternatives = [{"cause": one, "component": two} for one, two in others]
    conclusion = {"cause": cause, "component": component, "alternatives": alternatives}
    return {"outcome": "SUCCESS", "draft": {"conclusion": conclusion}, "verified_sources": []}


def calls(*steps: tuple[str, dict[str, Any]], status: str = "READY") -> tuple[ToolCall, ...]:
    return tuple(ToolCall(tool_name=tool, scope=scope, status=status) for tool, scope in steps)


PODS = ("GetResources", {"resource_type": "pods", "namespace": "shop"})
POD = ("DescribeResource", {"resource_type": "pods", "namespace": "shop", "name": "orders-7c5f46fc47-x7k2p"})
YAML = ("GetAppYAML", {"app_name": "orders"})


def test_a_target_sees_namespace_query_and_vocabulary_only(case: Case) -> None:
    asked = case.asked()
    assert asked.query == "Service down."
    assert asked.incident == {"namespace": "shop", "vocabulary": VOCABULARY}
    assert "orders" not in json.dumps(asked.model_dump(mode="json"))


def test_the_ten_tools_are_over_the_case(case: Case, tmp_path: Path) -> None:
    assert len(OpsBench(tmp_path).tools(case)) == 10


def test_without_a_vocabulary_the_labels_of_all_cases_are_one(tmp_path: Path) -> None:
    write_case(tmp_path, "benchmark/shop/runtime/1", vocabulary=False)
    case = next(iter(OpsBench(tmp_path).cases(seed=0, limit=None)))
    assert case.incident is not None
    assert case.incident["vocabulary"] == {"oom_killed": [ENTRY]}


def test_absent_data_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataAbsent, match="cloud-opsbench"):
        list(OpsBench(tmp_path).cases(seed=0, limit=None))


@pytest.mark.parametrize("cause", ["oom_killed", "OOM killed", " oom-killed "])
@pytest.mark.parametrize("component", ["orders", "app/orders", "App/Orders"])
def test_the_right_answer_in_any_spelling(case: Case, cause: str, component: str) -> None:
    assert is_right((cause, component), case.expected, VOCABULARY)


@pytest.mark.parametrize(
    "answer", [("kubelet_unavailable", "orders"), ("oom_killed", "web"), ("oom_killed", "node/orders"), ("", "orders")]
)
def test_one_part_wrong_is_wrong(case: Case, answer: tuple[str, str]) -> None:
    assert not is_right(answer, case.expected, VOCABULARY)


def scores(case: Case, tmp_path: Path, attempt: Attempt) -> dict[str, Any]:
    return dict(OpsBench(tmp_path).score(case, attempt).values)


def test_a_right_conclusion_along_the_expert_path(case: Case, tmp_path: Path) -> None:
    attempt = Attempt(release=release("oom_killed", "orders"), calls=calls(PODS, POD, YAML))
    found = scores(case, tmp_path, attempt)
    expected = {"a_at_1": True, "a_at_3": True, "tcr": True, "steps": 3.0, "rar": 0.0, "iac": 0.0, "coverage": 1.0}
    assert found | expected == found
    assert (found["relevance"], found["in_order"], found["sufficed_after"]) == (1.0, True, 2)


def test_an_alternative_counts_for_three_answers_only(case: Case, tmp_path: Path) -> None:
    attempt = Attempt(release=release("kubelet_unavailable", "node-b", ("oom_killed", "orders")))
    found = scores(case, tmp_path, attempt)
    assert (found["a_at_1"], found["a_at_3"]) == (False, True)


def test_without_an_answer_nothing_is_right_and_one_action_is_invalid(case: Case, tmp_path: Path) -> None:
    failed = calls(POD, status="ERROR")
    found = scores(case, tmp_path, Attempt(release={"outcome": "FALLBACK"}, calls=(*calls(PODS), *failed)))
    assert (found["tcr"], found["a_at_3"], found["iac"], found["coverage"]) == (False, False, 2.0, 1.0)


def test_repeated_questions_are_redundant() -> None:
    assert redundant_rate(calls(PODS, POD, PODS, PODS)) == 0.5
    assert redundant_rate(()) == 0.0


def test_the_expert_path_that_fits_best_is_taken() -> None:
    paths = [[step_of(text) for text in PATH], [step_of("GetResources::nodes")]]
    asked = [step_of("GetResources::po"), step_of("GetAlerts::")]
    found = fit(asked, paths)
    assert (round(found.coverage, 3), found.relevance, found.in_order) == (0.333, 0.5, False)
    assert step_of("DescribeResource::pvc::cart").same(step_of("DescribeResource::persistentvolumeclaims::cart-data"))
