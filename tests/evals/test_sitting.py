"""A sitting: cells run, failures are counted, what's done isn't done again, and the files that it leaves."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from evals.plan import BadPlan, Plan
from evals.report import report
from evals.results import Results, ResultsUnreadable, Row, read_results
from evals.sitting import evaluate, publish
from graph.models.offline import offline_models
from graph.settings import HarnessSettings
from tests.evals import toy

PLAN = Plan(suites=("toy",), baselines=("abstain",), version="0")
pytestmark = pytest.mark.usefixtures("toys")

MODELS: Any = {component.value: model for component, model in offline_models().items()}


def contents(directory: Path, *suffixes: str) -> dict[str, str]:
    """The texts of the files of some kinds."""
    return {path.name: path.read_text() for kind in suffixes for path in directory.glob(f"*.{kind}")}


async def sit(out: Path, plan: Plan = PLAN, settings: HarnessSettings | None = None, **more: Any) -> Results:
    return await evaluate(plan, settings or HarnessSettings(openai_api_key=None), out, models=MODELS, **more)


async def test_every_case_is_run_by_every_target_as_often_as_asked(tmp_path: Path) -> None:
    found = await sit(tmp_path, PLAN.model_copy(update={"repeat": 2, "limit": 3}))
    cells = [(row.case_id, row.target, row.repetition) for row in found.rows]
    assert cells == [(c, t, r) for c in ("c0", "c2", "c4") for t in ("zhizhi", "abstain") for r in (0, 1)]
    assert found.figures["toy"]["zhizhi"]["accuracy"]["value"] == 1
    assert found.figures["toy"]["abstain"]["accuracy"]["value"] == 0


async def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    first = await sit(tmp_path)
    toy.TRACE.clear()
    second = await sit(tmp_path)
    assert toy.TRACE == []
    assert (second.rows, second.manifest.resumed) == (first.rows, 12)


async def test_what_failed_is_done_again_and_alone(tmp_path: Path) -> None:
    toy.BROKEN.update({"target:c1", "scorer:c3", "tools:c5"})
    failed = await sit(tmp_path)
    codes = {(row.case_id, row.failure) for row in failed.rows if row.failure}
    assert codes == {("c1", "TARGET:RuntimeError"), ("c3", "SCORER:KeyError"), ("c5", "TOOLS:OSError")}
    assert "of no interest" not in (tmp_path / "attempts.ndjson").read_text()
    toy.BROKEN.clear()
    toy.TRACE.clear()
    mended = await sit(tmp_path)
    assert {case_id for _, case_id in toy.TRACE} == {"c1", "c3", "c5"}
    assert [row.failure for row in mended.rows] == [None] * 12


@pytest.mark.parametrize("change", ["seed", "settings", "prompts"])
async def test_another_seed_setting_or_prompt_is_another_cell(tmp_path: Path, change: str) -> None:
    await sit(tmp_path / "out")
    toy.TRACE.clear()
    settings = HarnessSettings(openai_api_key=None)
    if change == "seed":
        await sit(tmp_path / "out", PLAN.model_copy(update={"seed": 8}))
    elif change == "settings":
        chat = settings.chat.model_copy(update={"stop_after_consecutive_no_gain": 9})
        await sit(tmp_path / "out", settings=settings.model_copy(update={"chat": chat}))
    else:
        await sit(tmp_path / "out", PLAN.model_copy(update={"prompts": other_prompts(tmp_path)}))
    assert len(toy.TRACE) == 12


async def test_a_torn_line_costs_its_own_cell_alone(tmp_path: Path) -> None:
    await sit(tmp_path)
    kept = (tmp_path / "attempts.ndjson").read_text()
    (tmp_path / "attempts.ndjson").write_text(kept[:-40])
    toy.TRACE.clear()
    again = await sit(tmp_path)
    assert len(toy.TRACE) == 1
    toy.TRACE.clear()
    assert (await sit(tmp_path)).rows == again.rows
    assert toy.TRACE == []


async def test_a_cancelled_sitting_keeps_what_is_done(tmp_path: Path) -> None:
    def cancel_after_five(done: int, total: int, row: Row) -> None:
        if done == 5:
            this.cancel()

    this = asyncio.ensure_future(sit(tmp_path, on_row=cancel_after_five))
    with pytest.raises(asyncio.CancelledError):
        await this
    toy.TRACE.clear()
    found = await sit(tmp_path)
    assert found.manifest.resumed == 5
    assert len(toy.TRACE) == 7


async def test_results_say_how_they_were_made_and_read_back_equal(tmp_path: Path) -> None:
    secret = "sk-very-secret"
    settings = HarnessSettings(openai_api_key=secret, openai_base_url="http://user:pass@h/v1")
    found = await sit(tmp_path, settings=settings)
    publish(found, tmp_path)
    assert read_results(tmp_path) == read_results(tmp_path / "results.json") == found
    made = found.manifest
    assert made.prompts.keys() == {"diagnosis", "router", "evidence_repair", "semantic_guard"}
    assert made.versions.keys() >= {"zhizhi", "python", "langgraph"}
    assert made.data.keys() == {"toy"}
    everything = "".join(contents(tmp_path, "json", "ndjson", "md").values())
    assert secret not in everything
    assert "user:pass" not in everything
    assert "a secret line" not in everything


async def test_the_report_shows_figures_differences_faults_and_failures(tmp_path: Path) -> None:
    toy.BROKEN.add("target:c1")
    publish(await sit(tmp_path), tmp_path)
    shown = (tmp_path / "report.md").read_text()
    assert "| right outcome | 100.0 % [56.6, 100.0] | 0.0 % [0.0, 43.4] |" in shown
    assert "| zhizhi - abstain | 100.0 % [38.6, 100.0] |" in shown
    assert "| odd | 5/5 | 0/5 |" in shown
    assert "### Failed: 2 of 12 runs" in shown
    for name in ("risk-coverage", "calls", "faults"):
        assert f"(toy-{name}.svg)" in shown
        assert (tmp_path / f"toy-{name}.svg").read_bytes().startswith(b"<?xml")
        assert (tmp_path / f"toy-{name}.png").read_bytes().startswith(b"\x89PNG")


async def test_equal_results_make_equal_files(tmp_path: Path) -> None:
    found = await sit(tmp_path)
    publish(found, tmp_path)
    before = contents(tmp_path, "svg", "json", "md")
    assert len(before) == 5
    publish(found, tmp_path)
    assert contents(tmp_path, "svg", "json", "md") == before


async def test_a_suite_without_data_is_said_and_the_rest_runs(tmp_path: Path) -> None:
    found = await sit(tmp_path / "out", PLAN.model_copy(update={"data": tmp_path / "nowhere"}))
    assert found.manifest.absent == {"toy": f"no data in {tmp_path / 'nowhere'}"}
    assert found.rows == ()
    assert "Not run: no data in" in report(found)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"suites": ("nonsense",)}, "no suite is called 'nonsense'"),
        ({"baselines": ("nonsense",)}, "no baseline is called 'nonsense'"),
        ({"models": ("gpt-x",)}, "--model gpt-x needs an endpoint"),
        ({"url": "http://h", "models": ("offline",)}, "--url and --model exclude each other"),
        ({"prompts": Path("/nowhere")}, "--prompts /nowhere lacks diagnosis.zh.md"),
    ],
)
async def test_what_cannot_be_run_is_one_clear_line(tmp_path: Path, change: dict[str, Any], line: str) -> None:
    plan = Plan(suites=("rootcausebench",), version="0").model_copy(update=change)
    with pytest.raises(BadPlan) as refused:
        await sit(tmp_path, plan)
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


async def test_an_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(BadPlan, match="can't be used for output"):
        await sit(tmp_path / "out")


def other_prompts(directory: Path) -> Path:
    """Copies of the prompts, one of them with a word more."""
    source = Path(__file__).parents[2] / "prompts"
    place = directory / "prompts"
    place.mkdir()
    for path in source.glob("*.zh.md"):
        (place / path.name).write_text(path.read_text() + "\nAnother word.\n")
    return place


def test_results_that_are_none_are_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps({"figures": 1}))
    for place in (tmp_path, tmp_path / "nothing.json"):
        with pytest.raises(ResultsUnreadable, match="can't be read"):
            read_results(place)
