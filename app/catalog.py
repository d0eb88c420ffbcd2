"""What `zhizhi tools` and `zhizhi graph` print: the tools with their scope tables, and the drawing of the graph."""

import inspect
from collections.abc import Iterator
from pathlib import Path

from app.demo import SCENES
from app.inputs import BadInput
from graph.settings import HarnessSettings
from graph.wiring import build_graph
from tools.base import EvidenceTool
from tools.frozen import IncidentDirectoryError, frozen_tools
from tools.live.registry import open_evidence


def describe_tools(incident_dir: Path | None, settings: HarnessSettings) -> str:
    """Return tools in Markdown: name, description, arguments, and how a scope is made.

    Those of the incident; without one those of the configured live sources, and without these a bundled incident's.
    Raises BadInput where the directory holds no incident.
    """
    try:
        tools = (
            open_evidence(settings.sources).tools
            if incident_dir is None and settings.sources
            else frozen_tools(incident_dir or SCENES[0].directory)
        )
    except (IncidentDirectoryError, ValueError) as error:
        raise BadInput(str(error)) from None
    return "\n".join(line for tool in tools for line in _tool(tool))


def _tool(tool: EvidenceTool) -> Iterator[str]:
    yield f"## {tool.name} ({tool.kind})"
    yield ""
    yield tool.description.strip()
    yield ""
    for name, field in tool.arguments.model_fields.items():
        yield f"- `{name}`: {field.description or ''}".rstrip(": ")
    yield ""
    yield inspect.getdoc(type(tool)) or ""
    yield ""


def draw_graph() -> str:
    """Return the graph as a Mermaid drawing."""
    return build_graph().get_graph().draw_mermaid()
