"""A run's record becomes a case that replays what the sources answered."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.adding import NotACase, RecordedTool, add_case, read_expectations
from evals.cases import Attempt, Case, DataAbsent
from evals.suites.recorded import Recorded, ReplayedTool
from evals.targets.zhizhi import Zhizhi, record_name
from graph.settings import HarnessSettings
from tools.base import IncidentContext, SourceFailure
from tools.frozen import frozen_tools, read_alert
from tools.vocabulary import EvidenceKind, SourceError

INCIDENT = Path(__file__).parents[2] / "examples" / "incidents" / "payment-timeout"
SETTINGS = HarnessSettings(openai_api_key=None)


async def record_of_a_run(directory: Path) -> tuple[Path, Attempt]:
    """Run the bundled incident with the offline model; return its record's file and what it left."""
    case = Case(suite="s", case_id="c", cluster="c", query="支付为什么超时?", incident=read_alert(INCIDENT))
    attempt = await Zhizhi("zhizhi", None, SETTINGS, records=directory).attempt(case, frozen_tools(INCIDENT))
    assert attempt.release is not None
    return directory / record_name(case, attempt.release), attempt


async def test_the_case_of_a_run_is_answered_as_the_run_was(tmp_path: Path) -> None:
    record, before = await record_of_a_run(tmp_path)
    assert before.conclusion is not None
    culprit = str(before.conclusion["change_id"])
    cases = tmp_path / "cases"
    path = add_case(record, [f"change={culprit[:8]}", f"component={before.conclusion['component']}"], cases)
    assert path.parent == cases
    suite = Recorded(cases)
    (case,) = suite.cases(seed=0, limit=None)
    after = await Zhizhi("zhizhi", None, SETTINGS).attempt(case.asked(), suite.tools(case))
    assert after.conclusion is not None
    assert after.conclusion["change_id"] == culprit
    scores = suite.score(case, after).values
    assert (scores["correct"], scores["change_right"], scores["component_right"]) == (True, True, True)
    assert culprit not in case.asked().model_dump_json()


async def test_a_record_that_was_changed_makes_no_case(tmp_path: Path) -> None:
    record, _ = await record_of_a_run(tmp_path)
    changed: dict[str, Any] = json.loads(record.read_text())
    changed["outputs"]["consecutive_no_gain"] += 1
    record.write_text(json.dumps(changed))
    with pytest.raises(NotACase, match="doesn't verify"):
        add_case(record, ["change=none"], tmp_path / "cases")
    assert not (tmp_path / "cases").exists()


@pytest.mark.parametrize("content", ["", "{}", "[1]"])
def test_a_file_that_is_no_record_makes_no_case(tmp_path: Path, content: str) -> None:
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(NotACase) as refused:
        add_case(tmp_path / "r.json", ["change=none"], tmp_path)
    assert "\n" not in str(refused.value)


def test_expectations_are_read_or_refused_in_one_line() -> None:
    assert read_expectations(["change=none", "first_failing=db"]) == {"change": "none", "first_failing": "db"}
    assert read_expectations(["unproven"]) == {}
    for words in ([], ["cause=x"], ["change"], ["change="], ["unproven", "change=none"]):
        with pytest.raises(NotACase):
            read_expectations(words)


def score(expected: dict[str, Any], conclusion: dict[str, Any] | None) -> dict[str, Any]:
    case = Case(suite="recorded", case_id="c", cluster="c", query="?", expected=expected)
    published = {"outcome": "SUCCESS", "draft": {"conclusion": conclusion}} if conclusion else {"outcome": "FALLBACK"}
    return Recorded(None).score(case, Attempt(release=published)).values


def test_what_a_person_expects_is_what_counts() -> None:
    flag = {"unproven": False, "change": "new_cart"}
    assert score(flag, {"change_id": "New_Cart"})["correct"] is True
    assert score(flag, {"change_id": "other"})["correct"] is False
    assert score(flag, None)["correct"] is False
    nobody = {"unproven": False, "change": "none", "component": "db"}
    assert score(nobody, {"change_id": None, "component": "DB"})["correct"] is True
    assert score(nobody, {"change_id": None, "component": "web"})["correct"] is False
    unproven = {"unproven": True}
    assert score(unproven, None)["answerable"] is False
    assert score(unproven, {"change_id": None})["released"] is True


NOW = IncidentContext.model_validate({"as_of": "2026-03-04T12:00:00Z", "zone": "UTC"})
EVIDENCE = {"status": "EVIDENCE", "provenance": "MEASURED", "content": ["series service=db"], "summary": "db"}


def replayed(*answers: dict[str, Any]) -> ReplayedTool:
    arguments = ("service", "start", "end")
    return ReplayedTool(
        RecordedTool.model_validate(
            {"name": "query_metrics", "kind": EvidenceKind.METRICS, "arguments": arguments, "answers": answers}
        )
    )


async def ask(tool: ReplayedTool, **given: str | None) -> Any:
    arguments = tool.arguments.model_validate({"service": None, "start": None, "end": None, **given})
    return await tool.collect(tool.normalize(arguments, NOW), arguments, NOW)


async def test_a_question_within_a_recorded_window_gets_its_answer_in_any_spelling() -> None:
    scope = {"service": "db", "start": "2026-03-04T09:00:00Z", "end": "2026-03-04T12:15:00Z"}
    tool = replayed({"scope": scope, "evidence": EVIDENCE})
    for given in ({"service": " DB"}, {"service": "db", "start": "2026-03-04T10:00:00Z", "end": "11:00"}):
        assert (await ask(tool, **given)).content == ("series service=db",)


@pytest.mark.parametrize("given", [{"service": "web"}, {}, {"service": "db", "start": "2026-03-04T01:00:00Z"}])
async def test_what_was_never_asked_is_an_error_and_no_absence(given: dict[str, str]) -> None:
    scope = {"service": "db", "start": "2026-03-04T09:00:00Z", "end": "2026-03-04T12:15:00Z"}
    with pytest.raises(SourceFailure) as failure:
        await ask(replayed({"scope": scope, "evidence": EVIDENCE}), **given)
    assert failure.value.code is SourceError.SOURCE_MISSING


async def test_a_recorded_error_is_the_same_error() -> None:
    scope = {"start": "2026-03-04T09:00:00Z", "end": "2026-03-04T12:15:00Z"}
    with pytest.raises(SourceFailure) as failure:
        await ask(replayed({"scope": scope, "error": "BACKEND_TIMEOUT"}))
    assert failure.value.code is SourceError.BACKEND_TIMEOUT


def test_a_directory_without_cases_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(DataAbsent, match="zhizhi eval add"):
        list(Recorded(tmp_path).cases(seed=0, limit=None))
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DataAbsent, match=r"x\.json holds no recorded case"):
        list(Recorded(tmp_path).cases(seed=0, limit=None))
