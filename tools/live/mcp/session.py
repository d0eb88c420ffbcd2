"""One MCP session, held open between questions: an answer takes a fraction of what opening a session a call takes.

A session's tasks have to end where they began, so that a task of its own holds it, one in each event loop.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool
from mcp import ClientSession
from mcp.types import Tool
from typing_extensions import override

from tools.base import SourceFailure
from tools.live.loops import PerLoop
from tools.live.source import HttpAccess
from tools.vocabulary import SourceError

OpenSession = Callable[[], AbstractAsyncContextManager[ClientSession]]
_MAX_PAGES = 20
_MAX_TOOLS = 1_000
_OPENING_SECONDS = 120.0
"""How long a server may take to start and to list its tools, whoever still waits for it."""

# The client logs what a server said, also as the text of exceptions, which Python would print without any set-up.
logging.getLogger("mcp.client").setLevel(logging.CRITICAL + 1)


@dataclass(frozen=True)
class Opened:
    """An initialized session: the tools as the server lists them, and as LangChain calls them, by name."""

    listed: Mapping[str, Tool]
    callable: Mapping[str, BaseTool]


@dataclass
class _Held:
    opened: asyncio.Future[Opened]
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    asking: int = 0


class HeldSession:
    """Opens a session when it is first asked for, and again where the one before has ended."""

    def __init__(self, open_session: OpenSession) -> None:
        self._open = open_session
        self._held: PerLoop[_Held] = PerLoop()

    async def opened(self) -> Opened:
        """Return the open session; raises SourceFailure where none can be had."""
        return await asyncio.shield(self._current().opened)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return what a tool answers (a ToolMessage). A broken session is opened again once.

        Raises SourceFailure where the server can't be reached. Cancelling the last question of a session closes it,
        which is how the server hears that nobody waits any more.
        """
        call = {"type": "tool_call", "id": "evidence", "name": name, "args": dict(arguments)}
        for last in (False, True):
            held = self._current()
            opened = await asyncio.shield(held.opened)
            held.asking += 1
            try:
                # No callbacks: what a source said is not for the run's streams before it is cleaned.
                return await opened.callable[name].ainvoke(call, config={"callbacks": []})
            except asyncio.CancelledError:
                if held.asking == 1:
                    await self._end(held)
                raise
            except TimeoutError:
                raise
            except Exception:  # noqa: BLE001 - a broken session raises whatever its transport does
                await self._end(held)
                if last:
                    break
            finally:
                held.asking -= 1
        raise SourceFailure(SourceError.BACKEND_UNAVAILABLE)

    async def close(self) -> None:
        """End the session of this event loop."""
        held = self._held.take()
        if held is not None:
            await self._end(held)

    def _current(self) -> _Held:
        loop = asyncio.get_running_loop()
        held = self._held.get()
        if held is None or held.task is None or held.task.done():
            held = self._held.put(_Held(loop.create_future()))
            held.task = loop.create_task(self._hold(held))
        return held

    async def _hold(self, held: _Held) -> None:
        try:
            async with self._open() as session:
                async with asyncio.timeout(_OPENING_SECONDS):
                    await session.initialize()
                    listed = await _listed(session)
                callables = {name: convert_mcp_tool_to_langchain_tool(session, tool) for name, tool in listed.items()}
                held.opened.set_result(Opened(listed, callables))
                await held.closing.wait()
        except Exception as error:  # noqa: BLE001 - whatever a transport raises, the source is away
            if not held.opened.done():
                held.opened.set_exception(SourceFailure(_code_of(error)))
        finally:
            if held.opened.done():
                held.opened.exception()  # retrieved here, since whoever waited may be gone
            else:
                held.opened.cancel()

    async def _end(self, held: _Held) -> None:
        held.closing.set()
        if held.task is not None:
            _, late = await asyncio.wait([held.task], timeout=5)
            for task in late:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def _listed(session: ClientSession) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await session.list_tools(cursor)
        tools |= {tool.name: tool for tool in page.tools if _in_form(tool)}
        cursor = page.nextCursor
        if not cursor or len(tools) > _MAX_TOOLS:
            break
    return tools


def _in_form(tool: Tool) -> bool:
    """Whether a tool can be declared at all: names that can be printed, of a schema of the usual shape. What a server
    calls its tools and arguments is shown on a terminal, and written into a declaration."""
    properties, required = tool.inputSchema.get("properties", {}), tool.inputSchema.get("required", [])
    return (
        tool.name.isascii()
        and tool.name.isprintable()
        and isinstance(properties, Mapping)
        and all(name.isprintable() and isinstance(schema, Mapping) for name, schema in properties.items())
        and isinstance(required, list)
    )


def _code_of(error: BaseException) -> SourceError:
    """Return what an error at opening means; an exception group means what its first member does."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SourceFailure):
        return error.code
    if isinstance(error, httpx.HTTPStatusError) and error.response.status_code in (401, 403):
        return SourceError.ACCESS_DENIED
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return SourceError.BACKEND_TIMEOUT
    return SourceError.BACKEND_UNAVAILABLE


class LetIn(httpx.Auth):
    """Puts an access' credentials on each request, files read anew."""

    def __init__(self, access: HttpAccess) -> None:
        self._access = access

    @override
    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        request.headers.update(await asyncio.to_thread(self._access.credentials))
        yield request


class BoundedWire(httpx.AsyncHTTPTransport):
    """Cuts the answer to a question while it streams. The server's own channel (a GET) has no end: each event of it is
    bounded. Nothing packed is asked for or read: unpacked, it would be beyond every bound before it is counted."""

    def __init__(self, max_bytes: int, verify: ssl.SSLContext | bool) -> None:
        super().__init__(verify=verify)
        self._max_bytes = max_bytes

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["Accept-Encoding"] = "identity"
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity").strip().casefold() not in {"", "identity"}:
            await response.aclose()
            raise httpx.DecodingError("a packed answer")
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _Cut(response.stream, self._max_bytes, each_event=request.method == "GET")
        return response


class _Cut(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, max_bytes: int, *, each_event: bool) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
        self._each_event = each_event

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        read, tail = 0, b""
        async for chunk in self._stream:
            read += len(chunk)
            if self._each_event:
                tail += chunk
                ended = max(tail.rfind(b"\n\n"), tail.rfind(b"\r\n\r\n"))
                read = len(tail) - ended if ended >= 0 else read
                tail = tail[-3:]
            if read > self._max_bytes:
                raise httpx.ReadError("the answer is beyond the bound")
            yield chunk

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()
