"""Expert replay: paths as they're read, what counts as the same question, and how a replay is scored."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.cases import Attempt, DataAbsent, Result, ToolCall
from evals.data import USUAL_PLACE
from evals.suites.expert_replay import DATA, ExpertReplay, Step, UnreadablePath, read_path, score_replay
from graph.settings import HarnessSettings

SETTINGS = HarnessSettings(openai_api_key=None)
PODS = "NAME      READY   STATUS    RESTARTS   AGE\ncart-7d9c8b5f4-abcde   1/1   Running   0   5m\n"
EMPTY = ""


def calling(tool: str, **arguments: Any) -> str:
    return f"tool_name='{tool}' arguments={{{', '.join(f'{k}: {v!r}' for k, v in arguments.items())}}}"


def pods(**more: Any) -> tuple[str, Any]:
    whole = {"namespace": "shop", "resource_type": "pod", "name": None, "show_labels": False, **more}
    return calling("GetResources", **whole), PODS


def write_case(root: Path, *steps: tuple[str, Any]) -> Path:
    """A case of two kinds of objects: pods, and no events; error logs of nobody."""
    case = root / "shop" / "runtime" / "1"
    case.mkdir(parents=True)
    metadata = {"namespace": "shop", "query": "It restarts.", "result": {"root_cause": "oom_killed"}}
    (case / "metadata.json").write_text(json.dumps(metadata))
    cache = {
        'GetResources:{"resource_type":"pods","name":"","namespace":"shop"}': PODS,
        'GetResources:{"resource_type":"events","name":"","namespace":"shop"}': EMPTY,
        'GetResources:{"resource_type":"configmaps","name":"","namespace":"shop"}': EMPTY,
        "GetAlerts:{}": {"alerts": []},
    }
    (case / "tool_cache.json").write_text(json.dumps(cache))
    trace = [{"tool_name": "any", "calling": text, "output": output} for text, output in steps]
    path = case / "expert_path1.json"
    path.write_text(json.dumps({"diagnostic_trace": trace}))
    return path


async def replay(root: Path) -> Result:
    results = [result async for result in ExpertReplay(root).run(seed=1, limit=None, models=None)]
    assert len(results) == 1
    return results[0]


def listed(kind: str) -> tuple[str, Any]:
    return calling("GetResources", namespace="shop", resource_type=kind, name=None), EMPTY


async def test_a_path_that_asks_something_new_each_time_is_played_to_its_end(tmp_path: Path) -> None:
    write_case(tmp_path, pods(), listed("event"), pods(name="cart-7d9c8b5f4-abcde"))
    result = await replay(tmp_path)
    assert result.score is not None
    assert result.score.values["correct"] is True
    assert result.score.values["empty_answers"] == 1.0
    assert (result.case.case_id, result.case.fault) == ("shop/runtime/1/expert_path1", "oom_killed")


async def test_display_options_make_no_new_question(tmp_path: Path) -> None:
    write_case(tmp_path, pods(), pods(show_labels=True), listed("event"))
    result = await replay(tmp_path)
    assert result.score is not None
    values = result.score.values
    assert (values["repeats_refused"], values["wrongly_refused"], values["repeats_missed"]) == (1.0, 0.0, 0.0)
    assert values["correct"] is True


async def test_a_path_that_is_stopped_says_where_and_why(tmp_path: Path) -> None:
    write_case(tmp_path, pods(), listed("event"), listed("configmap"), pods(name="cart-7d9c8b5f4-abcde"))
    result = await replay(tmp_path)
    assert result.score is not None
    assert result.score.values["stopped_early"] is True
    explained = result.attempt.trace[-1]
    assert explained["reason"] == "INFORMATION_SATURATED"
    assert explained["calls"][-1] == "GetResources:STOP_REQUIRED"


async def test_a_path_of_another_layout_is_a_failure_and_not_a_pass(tmp_path: Path) -> None:
    write_case(tmp_path, ("GetResources(pods)", PODS))
    result = await replay(tmp_path)
    assert (result.attempt.failure, result.score) == ("EXPERT_PATH_UNREADABLE", None)


async def test_without_data_it_says_so_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataAbsent, match="no expert_path"):
        await anext(ExpertReplay(tmp_path).run(seed=1, limit=None, models=None))


NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
TEXTS = st.from_regex(r"[a-z0-9=,. :-]{0,12}", fullmatch=True)


@given(st.dictionaries(NAMES, st.one_of(st.none(), st.booleans(), st.integers(-9999, 9999), TEXTS)))
def test_arguments_are_read_as_they_were_written(tmp_path_factory: Any, arguments: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("path") / "expert_path1.json"
    trace = [{"calling": calling("GetResources", **arguments), "output": {"a": 1}}]
    path.write_text(json.dumps({"diagnostic_trace": trace}))
    (step,) = read_path(path)
    assert (step.tool, step.arguments, step.output) == ("GetResources", arguments, '{"a": 1}')


@pytest.mark.parametrize("spoiled", ["tool_name='A' arguments={a: b}", "tool_name='A' arguments={a 'b'}", "A{}"])
def test_a_calling_that_is_not_understood_is_refused(tmp_path: Path, spoiled: str) -> None:
    path = tmp_path / "expert_path1.json"
    path.write_text(json.dumps({"diagnostic_trace": [{"calling": spoiled, "output": ""}]}))
    with pytest.raises(UnreadablePath):
        read_path(path)


def step(output: str = "", **arguments: Any) -> Step:
    return Step("GetResources", arguments, output)


@pytest.mark.parametrize(("one", "other", "same"), [
    (step(resource_type="po"), step(resource_type="Pods"), True),
    (step(resource_type="svc", name=None), step(resource_type="services"), True),
    (step(resource_type="pod", output_wide=True), step(resource_type="pod", output_wide=False), True),
    (step(resource_type="pod", name="a"), step(resource_type="pod", name="b"), False),
    (step(resource_type="pod"), step(resource_type="pod", label_selector="app=a"), False),
    (step(resource_type="pv"), step(resource_type="pvc"), False),
])  # fmt: skip
def test_what_makes_two_questions_the_same(one: Step, other: Step, same: bool) -> None:
    assert (one.question == other.question) is same


def played(*statuses: str) -> Attempt:
    executed = ("READY", "ERROR")
    return Attempt(calls=tuple(ToolCall(tool_name="t", status=one, executed=one in executed) for one in statuses))


A, B = step("one", resource_type="pod"), step("two", resource_type="svc")


@pytest.mark.parametrize(("steps", "statuses", "expected"), [
    ((A, B), ("READY", "READY"), {}),
    ((A, B), ("READY", "DUPLICATE_SCOPE"), {"wrongly_refused": 1.0}),
    ((A, A), ("READY", "READY"), {"repeats_missed": 1.0}),
    ((A, A), ("READY", "DUPLICATE_SCOPE"), {"repeats_refused": 1.0}),
    ((A, A), ("ERROR", "READY"), {"unanswered": 1.0}),
    ((A, B, A), ("READY", "STOP_REQUIRED"), {"stopped_early": True}),
    ((A, B), ("READY",), {"stopped_early": True}),
    ((A, B), ("READY", "INVALID_TOOL_ARGUMENTS"), {"otherwise_rejected": 1.0}),
])  # fmt: skip
def test_each_mistake_has_its_score(
    steps: tuple[Step, ...], statuses: tuple[str, ...], expected: dict[str, Any]
) -> None:
    values = score_replay(steps, played(*statuses), SETTINGS).values
    names = (
        "wrongly_refused",
        "repeats_missed",
        "repeats_refused",
        "unanswered",
        "stopped_early",
        "otherwise_rejected",
    )
    assert {name: values[name] for name in names if values[name]} == expected
    mistakes = {"wrongly_refused", "repeats_missed", "stopped_early"} & set(expected)
    assert values["correct"] is not bool(mistakes)


@pytest.mark.parametrize(
    ("steps", "unexplained"),
    [
        ((A, A, A, B), False),
        ((A, step("", resource_type="ev"), step('""', resource_type="cm"), B), False),
        ((A, B, A, B), True),
        ((A, B, step("three", resource_type="ev"), B), True),
    ],
)
def test_a_stop_is_explained_where_the_expert_learned_nothing_right_before(
    steps: tuple[Step, ...], unexplained: bool
) -> None:
    attempt = played("READY", "READY", "READY", "STOP_REQUIRED")
    assert score_replay(steps, attempt, SETTINGS).values["stopped_unexplained"] is unexplained


def test_an_answer_that_was_the_same_makes_a_refusal_right() -> None:
    named, listed_one = step("row", resource_type="pod", name="a"), step("row", resource_type="pod")
    assert (
        score_replay((listed_one, named), played("READY", "DUPLICATE_SCOPE"), SETTINGS).values["wrongly_refused"] == 0.0
    )


@pytest.mark.skipif(not (USUAL_PLACE / DATA).is_dir(), reason="Cloud-OpsBench isn't beside the checkout")
async def test_no_distinct_question_of_an_expert_is_refused_and_no_repeat_missed() -> None:
    async for result in ExpertReplay(None).run(seed=1, limit=8, models=None):
        assert result.score is not None
        assert (result.score.values["wrongly_refused"], result.score.values["repeats_missed"]) == (0.0, 0.0)
