"""Declared MCP tools in the shape of evidence tools."""

import re
from collections.abc import Mapping
from typing import Any

from langchain_core.tools import StructuredTool

from tools.adapters import evidence_tool_from
from tools.base import EvidenceTool, SourceFailure
from tools.live.mcp.declaration import DeclaredTool
from tools.live.mcp.source import McpSource
from tools.vocabulary import Scope, SourceError


def tools_of(sources: Mapping[str, McpSource]) -> tuple[EvidenceTool, ...]:
    """Return the declared tools of every server. Raises ValueError where two have one name."""
    tools = [evidence_tool(source, declared) for source in sources.values() for declared in source.declared]
    names = [tool.name for tool in tools]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two MCP servers declare a tool called {twice}; give one of them another name")
    return tuple(tools)


def evidence_tool(source: McpSource, declared: DeclaredTool) -> EvidenceTool:
    """Return a declared tool of `source` as an evidence tool."""

    async def ask(**arguments: Any) -> Any:
        answer = await source.ask(declared, arguments)
        if declared.is_unknown(_text_of(answer.content)):
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR)
        return answer

    base = StructuredTool(
        name=declared.called,
        description=declared.description,
        args_schema=declared.schema_of_arguments(),
        coroutine=ask,
    )
    window = set(declared.window or ())
    return evidence_tool_from(
        base,
        kind=declared.kind,
        scope_fields=tuple(name for name in declared.arguments if name not in {*declared.display, *window}),
        provenance=declared.provenance,
        relevance=declared.relevance,
        window_fields=declared.window,
        exact_fields=frozenset(declared.exact),
        component_field=declared.component,
        is_empty=declared.is_empty,
        summarize=lambda text, scope: _summary(text, scope, declared),
        timeout_seconds=source.timeout_seconds,
    )


def _text_of(content: Any) -> str:
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(one if isinstance(one, str) else str(one.get("text", "")) for one in blocks)


def _summary(text: str, scope: Scope, declared: DeclaredTool) -> str:
    """Fill the template in. No text of the answer stands in a summary, only how much there is of it."""
    found = {"lines": 0 if declared.is_empty(text) else len(text.splitlines())}
    values = {**dict.fromkeys(declared.arguments, "any"), **scope, **found}
    return re.sub(r"\{(\w+)\}", lambda match: str(values.get(match[1], match[0])), declared.summary)
