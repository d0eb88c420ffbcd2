"""An MCP server as a source: its session, and whether it still offers what was declared."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import httpx
from langchain_mcp_adapters.sessions import StreamableHttpConnection, create_session
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
from mcp.types import Tool
from typing_extensions import override

from tools.base import SourceFailure
from tools.live.mcp.declaration import DeclaredTool, read_declaration, schema_digest, writing_word
from tools.live.mcp.session import BoundedWire, HeldSession, LetIn
from tools.live.source import HttpAccess, Probe, Source
from tools.live.transport import CONNECT_SECONDS, trust
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.mcp.settings import McpConnection, McpSettings


class McpSource(Source):
    """A server's declared tools, asked in one held session."""

    def __init__(self, name: str, settings: "McpSettings") -> None:
        """Blocking I/O: the declaration is read. Raises DeclarationError."""
        self.name = name
        self.timeout_seconds = settings.timeout_seconds
        self.declared = read_declaration(settings.declaration)
        self._session = HeldSession(lambda: _opened(settings))

    async def offered(self) -> Mapping[str, Tool]:
        """Return what the server lists, by name; raises SourceFailure where it can't be reached."""
        return (await self._session.opened()).listed

    async def ask(self, declared: DeclaredTool, arguments: Mapping[str, Any]) -> Any:
        """Return the answer of a declared tool (a ToolMessage).

        Raises SourceFailure(BACKEND_UNAVAILABLE) where the server is away, or offers the tool no more as it was
        declared.
        """
        await self.check(declared)
        return await self._session.call(declared.tool, {**arguments, **declared.fixed})

    async def check(self, declared: DeclaredTool) -> None:
        """Raise SourceFailure where the server's tool isn't the one that was declared, or isn't said to only read."""
        tool = (await self.offered()).get(declared.tool)
        if tool is None or not only_reads(tool) or digest_of(tool) != declared.digest:
            raise SourceFailure(SourceError.BACKEND_UNAVAILABLE, detail=f"{declared.tool} is not as it was declared")

    @override
    async def probe(self) -> Probe:
        for declared in self.declared:
            await self.check(declared)
        return Probe(None, f"{len(self.declared)} tools as declared")

    @override
    async def close(self) -> None:
        await self._session.close()


async def listed_tools(connection: "McpConnection") -> Mapping[str, Tool]:
    """Return what a server lists, by name, in a session of its own; raises SourceFailure where it can't be reached."""
    session = HeldSession(lambda: _opened(connection))
    try:
        async with asyncio.timeout(connection.timeout_seconds):
            return (await session.opened()).listed
    except TimeoutError:
        pass
    finally:
        await session.close()
    raise SourceFailure(SourceError.BACKEND_TIMEOUT)


def only_reads(tool: Tool) -> bool:
    """Return whether a server says that a tool changes nothing, and its name doesn't say otherwise.

    Source: Model Context Protocol, tool annotations: `readOnlyHint` is false by default.
    """
    return tool.annotations is not None and tool.annotations.readOnlyHint is True and not writing_word(tool.name)


def digest_of(tool: Tool) -> str:
    """Return the digest that pins a tool as the server offers it."""
    hints = tool.annotations.model_dump(exclude_none=True, exclude={"title"}) if tool.annotations else None
    return schema_digest(tool.name, tool.inputSchema, hints)


@asynccontextmanager
async def _opened(connection: "McpConnection") -> AsyncIterator[ClientSession]:
    if connection.url is not None:
        async with create_session(_over_http(connection.access())) as session:
            yield session
        return
    passed = {name: os.environ[name] for name in connection.environment if name in os.environ}
    command = StdioServerParameters(
        command=connection.command or "",
        args=list(connection.arguments),
        env={**get_default_environment(), **passed},
    )
    # What a server writes on its standard error may hold anything.
    with _nowhere() as nowhere:
        async with stdio_client(command, errlog=nowhere) as (read, write), ClientSession(read, write) as session:
            yield session


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _over_http(access: HttpAccess) -> StreamableHttpConnection:
    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx.Timeout | None = None,
        auth: httpx.Auth | None = None,
    ) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(access.timeout_seconds, connect=min(CONNECT_SECONDS, access.timeout_seconds)),
            auth=LetIn(access),
            transport=BoundedWire(access.max_bytes, trust(access)),
        )

    return StreamableHttpConnection(
        transport="streamable_http", url=access.base_url, httpx_client_factory=client, timeout=access.timeout_seconds
    )
