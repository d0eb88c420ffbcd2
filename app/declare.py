"""`zhizhi declare`: a declaration to start from, out of what an MCP server offers. A person reads and trims it."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mcp.types import Tool
from pydantic import ValidationError

from app.inputs import BadInput
from graph.setting_errors import first_words
from tools.base import SourceFailure
from tools.hygiene import clean_text
from tools.live.mcp.settings import McpConnection
from tools.live.mcp.source import digest_of, listed_tools, only_reads

_PLAIN = frozenset({"string", "integer", "number", "boolean"})


def declare(target: Sequence[str], token_file: Path | None) -> str:
    """Return the declaration of every reading tool of a server: an address, or a command with its arguments.

    Raises BadInput where it can't be reached, or offers no tool that only reads.
    """
    given: dict[str, Any] = {"token_file": token_file}
    if target[0].startswith(("http://", "https://")):
        given["url"] = target[0]
    else:
        given |= {"command": target[0], "arguments": tuple(target[1:])}
    try:
        offered = asyncio.run(listed_tools(McpConnection(**given)))
    except ValidationError as error:
        raise BadInput(first_words(error)) from None
    except SourceFailure as failure:
        raise BadInput(f"the MCP server can't be asked: {failure.code}") from None
    reading = [tool for tool in offered.values() if only_reads(tool)]
    if not reading:
        raise BadInput(
            f"none of the server's {len(offered)} tools says that it only reads (readOnlyHint), so none can be declared"
        )
    left = len(offered) - len(reading)
    head = (
        f"# {left} more of the server's tools don't say that they only read, and can't be declared.\n\n" if left else ""
    )
    return head + "\n".join(line for tool in reading for line in _tool(tool))


def _tool(tool: Tool) -> Iterator[str]:
    yield "[[tool]]"
    yield f"tool = {_text(tool.name)}"
    yield f"digest = {_text(digest_of(tool))}"
    yield f"description = {_text(_line(tool.description or tool.name))}  # what the model reads: your words"
    yield 'kind = "metrics"        # alerts, metrics, logs, traces, changes, resources, database, runbooks'
    yield 'provenance = "TEXT"     # MEASURED only where no application can write what stands in the answer'
    yield 'relevance = "DIRECT"    # REFERENCE for manuals and past cases'
    yield "display = []            # arguments that change only how an answer looks"
    yield '# window = ["start", "end"]   # the two arguments that hold the window'
    yield '# empty = ["no data.*"]        # how an answer looks that found nothing'
    yield 'summary = "{lines} lines"'
    needed = set(tool.inputSchema.get("required", ()))
    for name, schema in tool.inputSchema.get("properties", {}).items():
        kind = schema.get("type") if isinstance(schema, dict) else None
        if isinstance(kind, str) and kind in _PLAIN:
            shape = f"type = {_text(kind)}, " if kind != "string" else ""
            optional = "" if name in needed else ", required = false"
            said = _text(_line(str(schema.get("description") or name)))
            yield f"arguments.{_text(name)} = {{ {shape}description = {said}{optional} }}"
        else:
            yield f"# {_line(name)}: of a shape that can't be an argument; leave it out, or set it under `fixed`"
    yield ""


def _line(text: str) -> str:
    return " ".join(clean_text(text, limit=400).split())


def _text(value: str) -> str:
    """Return a TOML basic string; what JSON escapes, TOML reads alike."""
    return json.dumps(value, ensure_ascii=False)
