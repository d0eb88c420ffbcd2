"""Asking the log tools as the graph does, and what a frozen incident of the same lines says."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.tools.live.logs.told import INCIDENT, Line
from tools.base import EvidenceTool
from tools.canonical import iso_utc
from tools.frozen import frozen_tools
from tools.live.logs import tools_of
from tools.live.logs.source import LogSource
from tools.vocabulary import Evidence


async def asked(sources: Mapping[str, LogSource], name: str, **given: Any) -> Evidence:
    """Ask a live tool by name; arguments that aren't given are null."""
    return await _ask(tools_of(sources), name, given)


async def frozen(directory: Path, lines: Iterable[Line], name: str, **given: Any) -> Evidence:
    """Ask the frozen tool of the same name, over the same lines."""
    rows = (
        {
            "timestamp": iso_utc(line.at),
            "service": line.service,
            "severity_text": line.level if line.level != "-" else None,
            "msg": line.message,
            "trace_id": line.trace_id,
        }
        for line in lines
    )
    (directory / "logs.ndjson").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return await _ask(tuple(frozen_tools(directory)), name, given)


async def _ask(tools: tuple[EvidenceTool, ...], name: str, given: dict[str, Any]) -> Evidence:
    tool = next(one for one in tools if one.name == name)
    arguments = tool.arguments(**{field: given.get(field) for field in tool.arguments.model_fields})
    return await tool.collect(tool.normalize(arguments, INCIDENT), arguments, INCIDENT)
