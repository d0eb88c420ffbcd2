"""Each frozen incident of the benchmark runs through the compiled graph to one Release, with the offline model.

The ground truth is read here, by the scorer, and by nothing else.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from graph.contract import ReleaseOutcome
from graph.settings import DiagnosisContext, HarnessSettings
from graph.wiring import build_graph
from tools.frozen import frozen_tools, read_alert

INCIDENTS = Path(__file__).parents[3] / "shared" / "benchmarks" / "rootcausebench"
CASES = sorted(path for path in INCIDENTS.glob("*") if (path / "alert.json").is_file())

pytestmark = pytest.mark.skipif(not CASES, reason="the frozen incidents of rootcausebench aren't beside the checkout")


async def _release(incident: Path) -> dict[str, Any]:
    graph: Any = build_graph(tools=frozen_tools(incident), settings=HarnessSettings(openai_api_key=None))
    inputs = {"messages": [{"role": "user", "content": "为什么告警？"}], "incident": read_alert(incident)}
    state = await graph.ainvoke(inputs, context=DiagnosisContext())
    release: dict[str, Any] = state["release"]
    return release


def _convicted(release: dict[str, Any]) -> str | None:
    change = release["draft"]["conclusion"]["change_id"] if release["draft"] else None
    assert change is None or isinstance(change, str)
    return change


@pytest.mark.parametrize("incident", CASES, ids=lambda path: path.name)
async def test_an_incident_runs_to_a_release_and_convicts_no_innocent_change(incident: Path) -> None:
    release = await _release(incident)
    truth = json.loads((incident / "ground_truth.json").read_text(encoding="utf-8"))
    assert release["outcome"] in {ReleaseOutcome.SUCCESS, ReleaseOutcome.FALLBACK}
    convicted = _convicted(release)
    assert convicted not in truth["decoy_deploy_commits"]
    assert convicted is None or truth["root_cause_commit"].startswith(convicted)


async def test_at_least_half_of_the_guilty_changes_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    named = guilty = spared = innocent = 0
    for incident in CASES:
        truth = json.loads((incident / "ground_truth.json").read_text(encoding="utf-8"))["root_cause_commit"]
        convicted = _convicted(await _release(incident))
        if truth == "none":
            innocent += 1
            spared += convicted is None
        else:
            guilty += 1
            named += convicted == truth
    with capsys.disabled():
        print(f"\nculprits named {named}/{guilty}, none-cases left unconvicted {spared}/{innocent}")  # noqa: T201
    assert 2 * named >= guilty
