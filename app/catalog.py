"""What `zhizhi tools` and `zhizhi graph` print: the tools with their scope tables, and the drawing of the graph."""

import inspect
from collections.abc import Iterator
from pathlib import Path

from app.inputs import BadInput
from graph.agent import build_graph
from tools.base import EvidenceTool
from tools.frozen import IncidentDirectoryError, frozen_tools


def describe_tools(incident_dir: Path) -> str:
    """Return the tools of an incident in Markdown: name, description, arguments, and how a scope is made.

    Raises BadInput where the directory holds no incident.
    """
    try:
        tools = frozen_tools(incident_dir)
    except IncidentDirectoryError as error:
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
