"""Small frozen incidents that the tests write themselves, and one way to ask a tool."""

import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tools.base import EvidenceTool, IncidentContext
from tools.frozen import frozen_tools
from tools.vocabulary import Evidence

AS_OF = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)

Files = dict[str, str | bytes | list[dict[str, Any]]]
Writer = Callable[..., Path]
Asker = Callable[..., Coroutine[Any, Any, Evidence]]


@pytest.fixture
def incident() -> IncidentContext:
    """An incident at noon UTC whose zone-less times are Shanghai's."""
    return IncidentContext(as_of=AS_OF, zone="Asia/Shanghai", service="shop")


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Write an incident directory: text, bytes, or records by file name; records become NDJSON or a JSON array."""

    def write_files(files: Files) -> Path:
        directory = tmp_path / "incident"
        for name, content in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, list):
                rows = [json.dumps(row, ensure_ascii=False) for row in content]
                content = "[\n" + ",\n".join(rows) + "\n]" if path.suffix == ".json" else "\n".join(rows) + "\n"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return directory

    return write_files


@pytest.fixture
def ask(incident: IncidentContext) -> Asker:
    """Ask one tool of an incident directory; arguments that aren't given are null."""

    async def ask_tool(directory: Path, name: str, **arguments: Any) -> Evidence:
        tool = tool_of(directory, name)
        asked = tool.arguments(**{field: arguments.get(field) for field in tool.arguments.model_fields})
        return await tool.collect(tool.normalize(asked, incident), asked, incident)

    return ask_tool


@pytest.fixture
def tool() -> Callable[[Path, str], EvidenceTool]:
    """Return one of a directory's tools by name."""
    return tool_of


def tool_of(directory: Path, name: str) -> EvidenceTool:
    return next(one for one in frozen_tools(directory) if one.name == name)
