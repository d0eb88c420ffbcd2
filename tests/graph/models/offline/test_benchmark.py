"""The offline models on frozen incidents of others: what is named, what is never convicted, and that nothing depends on
names, order or dates. Ground truth is read here alone."""

import csv
import json
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from graph.contract.draft import parse_draft
from graph.contract.evidence import check_draft
from graph.models.offline import OfflineSemanticGuard
from tests.graph.models.offline.driving import BENCHMARK, Played, play

pytestmark = pytest.mark.skipif(not BENCHMARK.is_dir(), reason="the shared benchmark incidents are not here")
INCIDENTS = sorted(path.name for path in BENCHMARK.iterdir() if path.is_dir()) if BENCHMARK.is_dir() else []


def truth(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BENCHMARK / name / "ground_truth.json").read_text("utf-8"))
    return found


def convicted(played: Played) -> str | None:
    conclusion = played.draft["conclusion"]
    return conclusion["change_id"] if conclusion else None


def evidence_of(played: Played) -> list[dict[str, Any]]:
    return [
        {
            "tool_call_id": record.call_id,
            "tool_name": record.tool_name,
            "kind": record.kind.value,
            "provenance": record.evidence.provenance.value,
            "relevance_level": record.evidence.relevance.value,
            "evidence_status": record.evidence.status.value,
            "truncated": record.evidence.truncated,
            "scope": dict(record.scope),
            "content": list(record.evidence.content),
        }
        for record in played.records.values()
    ]


async def reviewed(draft: dict[str, Any], played: Played) -> str:
    body = json.dumps({"draft": draft, "evidence": evidence_of(played)}, ensure_ascii=False)
    reply = await OfflineSemanticGuard().ainvoke([HumanMessage(body)])
    return str(json.loads(str(reply.content))["verdict"])


@pytest.mark.parametrize("query", ["", "Why is it failing?"], ids=["zh", "en"])
@pytest.mark.parametrize("name", INCIDENTS)
async def test_no_innocent_change_is_convicted_and_every_sentence_stands(name: str, query: str) -> None:
    played = await play(BENCHMARK / name, query)
    assert convicted(played) in (None, truth(name)["root_cause_commit"])
    assert played.problems == []
    assert len(played.asked) <= 8
    if played.draft["conclusion"] is not None:
        draft = parse_draft(json.dumps(played.draft, ensure_ascii=False))
        assert check_draft(draft, played.records, zone="Asia/Shanghai") == ()
        assert await reviewed(played.draft, played) == "SUPPORTED"


async def test_at_least_half_of_the_guilty_changes_are_named() -> None:
    guilty = [name for name in INCIDENTS if truth(name)["root_cause_commit"] != "none"]
    named = [name for name in guilty if convicted(await play(BENCHMARK / name)) == truth(name)["root_cause_commit"]]
    assert 2 * len(named) >= len(guilty)


@pytest.mark.parametrize("name", [name for name in INCIDENTS if truth(name)["root_cause_commit"] != "none"])
async def test_without_change_records_nothing_is_convicted(name: str) -> None:
    played = await play(BENCHMARK / name, without=("list_changes", "get_change"))
    assert convicted(played) is None


def _renamed(text: str, services: list[str]) -> str:
    for number, service in enumerate(sorted(services, key=len, reverse=True)):
        text = re.sub(rf"(?<![\w-]){re.escape(service)}(?![\w-])", f"node{chr(97 + number)}x-component", text)
    return re.sub(r"\b[0-9a-f]{40}\b", lambda found: found[0][::-1], text)


def _shifted(text: str, _: list[str]) -> str:
    def later(found: re.Match[str]) -> str:
        moved = datetime.fromisoformat(found[0].replace("Z", "+00:00")) + timedelta(days=93, hours=5, minutes=12)
        return moved.strftime("%Y-%m-%dT%H:%M:%SZ")

    return re.sub(r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", later, text)


def _reordered(text: str, _: list[str]) -> str:
    try:
        parsed = json.loads(text)
    except ValueError:
        head, *rows = text.splitlines()
        return "\n".join([head, *rows[::-1]] if head.startswith("timestamp,") else [*rows[::-1], head]) + "\n"
    return json.dumps(parsed[::-1] if isinstance(parsed, list) else parsed)


TRANSFORMS: dict[str, Callable[[str, list[str]], str]] = {
    "renamed": _renamed,
    "shifted": _shifted,
    "reordered": _reordered,
}


def _copy(name: str, target: Path, transform: Callable[[str, list[str]], str]) -> None:
    with (BENCHMARK / name / "metrics.csv").open(encoding="utf-8") as rows:
        services = {row["service"] for row in csv.DictReader(rows)}
    for deploy in json.loads((BENCHMARK / name / "context" / "deploys.json").read_text("utf-8")):
        services.add(deploy["service"])
    shutil.copytree(BENCHMARK / name, target)
    (target / "ground_truth.json").unlink()
    for path in [path for path in target.rglob("*") if path.is_file()]:
        path.chmod(0o644)
        path.write_text(transform(path.read_text("utf-8"), sorted(services)), "utf-8")


@pytest.mark.parametrize("how", TRANSFORMS)
@pytest.mark.parametrize("name", INCIDENTS)
async def test_the_verdict_does_not_depend_on_names_order_or_dates(name: str, how: str, tmp_path: Path) -> None:
    before = await play(BENCHMARK / name)
    _copy(name, tmp_path / "copy", TRANSFORMS[how])
    after = await play(tmp_path / "copy")
    was = convicted(before)
    assert convicted(after) == (was[::-1] if was and how == "renamed" else was)
    assert (after.draft["conclusion"] or {}).get("cause") == (before.draft["conclusion"] or {}).get("cause")
    assert [tool for tool, _ in after.asked] == [tool for tool, _ in before.asked]
