"""What `zhizhi tools` and `zhizhi graph` print: the tools with their scope tables, and the drawing of the graph."""

import inspect
from collections.abc import Iterator, Sequence

from graph.agent import build_graph
from tools.base import EvidenceTool


def describe_tools(tools: Sequence[EvidenceTool]) -> str:
    """Return the tools in Markdown: name, description, arguments, and the docstring that holds the scope table."""
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
