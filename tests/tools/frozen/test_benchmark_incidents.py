"""The frozen incidents of the benchmark: every tool answers, within its bounds, and dates what happened."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tools.base import EvidenceTool, IncidentContext
from tools.frozen import frozen_tools, read_alert
from tools.vocabulary import ChangeKind, Evidence, EvidenceStatus

BENCHMARK = Path(__file__).parents[4] / "shared" / "benchmarks" / "rootcausebench"
CASES = sorted(path.parent for path in BENCHMARK.glob("*/alert.json"))
pytestmark = pytest.mark.skipif(not CASES, reason="the benchmark incidents are not beside this checkout")


def context(directory: Path) -> IncidentContext:
    alert = read_alert(directory)
    assert alert is not None
    return IncidentContext(as_of=datetime.fromisoformat(alert["fired_at"]), service=alert["service"])


async def answer(directory: Path, tool: EvidenceTool, **arguments: Any) -> Evidence:
    incident = context(directory)
    asked = tool.arguments(**{field: arguments.get(field) for field in tool.arguments.model_fields})
    return await tool.collect(tool.normalize(asked, incident), asked, incident)


@pytest.mark.parametrize("directory", CASES, ids=lambda path: path.name)
async def test_every_tool_answers_within_its_bounds(directory: Path) -> None:
    tools = {tool.name: tool for tool in frozen_tools(directory)}
    answers = {name: await answer(directory, tool) for name, tool in tools.items() if name != "get_change"}
    deploy = next(one for one in answers["list_changes"].changes if one.kind is ChangeKind.DEPLOY)
    answers["get_change"] = await answer(directory, tools["get_change"], change_id=deploy.change_id)
    for name, evidence in answers.items():
        assert evidence.status is EvidenceStatus.EVIDENCE, name
        assert evidence.notes == (), name
        assert len("\n".join(evidence.content).encode()) < 24_000, name
        assert all(len(line) < 1_200 and line.isprintable() for line in evidence.content), name
        assert evidence.summary, name


@pytest.mark.parametrize("directory", CASES, ids=lambda path: path.name)
async def test_something_measured_left_its_baseline_before_the_alert(directory: Path) -> None:
    tools = {tool.name: tool for tool in frozen_tools(directory)}
    evidence = await answer(directory, tools["query_metrics"])
    assert evidence.onset is not None
    assert evidence.onset <= context(directory).as_of
    assert evidence.first_failing in evidence.components


@pytest.mark.parametrize("directory", CASES, ids=lambda path: path.name)
async def test_the_alerting_series_itself_has_changed(directory: Path) -> None:
    alert = read_alert(directory)
    assert alert is not None
    tool = next(tool for tool in frozen_tools(directory) if tool.name == "query_metrics")
    evidence = await answer(directory, tool, service=alert["service"], metric=alert["metric"])
    assert "direction=FLAT" not in evidence.content[0]
    assert evidence.onset is not None
    assert evidence.onset <= context(directory).as_of


@pytest.mark.parametrize("directory", CASES, ids=lambda path: path.name)
async def test_shifted_clocks_shift_the_answers_and_nothing_else(directory: Path, tmp_path: Path) -> None:
    rows = (directory / "metrics.csv").read_text().splitlines()
    moved = [_later(row, timedelta(days=40, hours=5)) for row in rows[1:]]
    (tmp_path / "metrics.csv").write_text("\n".join([rows[0], *reversed(moved)]))
    tool = next(tool for tool in frozen_tools(directory) if tool.name == "query_metrics")
    there = next(tool for tool in frozen_tools(tmp_path) if tool.name == "query_metrics")
    incident = context(directory)
    later = incident.model_copy(update={"as_of": incident.as_of + timedelta(days=40, hours=5)})
    asked = tool.arguments.model_validate({"service": None, "metric": None, "start": None, "end": None})
    one = await tool.collect(tool.normalize(asked, incident), asked, incident)
    other = await there.collect(there.normalize(asked, later), asked, later)
    assert one.onset is not None
    assert other.onset == one.onset + timedelta(days=40, hours=5)
    assert other.first_failing == one.first_failing


def _later(row: str, shift: timedelta) -> str:
    at, rest = row.split(",", 1)
    return f"{(datetime.fromisoformat(at) + shift).strftime('%Y-%m-%dT%H:%M:%SZ')},{rest}"
