"""What docs/tools.md shows can be done as written."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from app.cli import commands
from tests.tools.live.conformance import INCIDENT, ask
from tools.base import EvidenceTool
from tools.live.mcp.declaration import DeclaredTool, read_declaration
from tools.live.mcp.settings import McpSettings
from tools.live.mcp.source import McpSource
from tools.live.mcp.tools import tools_of
from tools.vocabulary import EvidenceStatus

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for block in blocks("python"):
        exec(block, names)  # noqa: S102 - the page's own code
    return names


@pytest.mark.parametrize(("queue", "status"), [("Refund ", "EVIDENCE"), ("payment", "NO_EVIDENCE")])
async def test_the_tool_in_a_few_lines_answers(shown: dict[str, Any], queue: str, status: str) -> None:
    evidence = await ask(shown["QueueTool"](), {"queue": queue})
    assert evidence.status is EvidenceStatus(status)


async def test_the_langchain_tool_answers(shown: dict[str, Any]) -> None:
    flags: EvidenceTool = shown["flags"]
    evidence = await ask(flags, {"service": "checkout", "limit": None})
    assert "new-checkout" in evidence.content[1]


def test_the_graph_takes_the_tool(shown: dict[str, Any]) -> None:
    assert "tool_gate" in shown["graph"].get_graph().nodes


@pytest.fixture
def declarations(tmp_path: Path) -> list[Path]:
    paths = []
    for number, block in enumerate(blocks("toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        paths.append(path)
    return paths


def test_every_declaration_makes_tools(declarations: list[Path]) -> None:
    assert len(declarations) == 2
    for path in declarations:
        settings = McpSettings.model_validate({"declaration": path, "url": "http://127.0.0.1:9/mcp"})
        for tool in tools_of({"mcp": McpSource("mcp", settings)}):
            said = {name: "x" if field.is_required() else None for name, field in tool.arguments.model_fields.items()}
            said |= {name: None for name in said if "ime" in name or "3339" in name or name in ("stepSeconds", "limit")}
            assert tool.normalize(tool.arguments.model_validate(said), INCIDENT)
        assert read_declaration(path)


def test_every_field_of_a_declaration_is_told() -> None:
    told = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
    assert told == set(DeclaredTool.model_fields) - {"description"}


def test_every_command_is_one_that_the_launcher_takes() -> None:
    group = typer.main.get_group(commands)
    lines = [shlex.split(line) for block in blocks("sh") for line in block.splitlines() if line.startswith("./zhizhi")]
    assert lines
    for _, command, *arguments in lines:
        group.commands[command].make_context(command, arguments)
