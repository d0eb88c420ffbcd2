"""What an MCP server that lies can't do: list without end, pack its answers, flood its channel, speak in logs."""

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
import pytest
from mcp import ClientSession
from mcp.types import ListToolsResult, Tool

from tests.tools.live.conformance import request_of, serving
from tools.live.mcp.session import BoundedWire, HeldSession

BOUND = 4_096


class _Endless:
    """A session whose every page of tools has another one behind it."""

    def __init__(self, a_page: int = 1, *strange: Tool) -> None:
        self._a_page = a_page
        self._strange = strange
        self.asked = 0

    async def initialize(self) -> None:
        pass

    async def list_tools(self, cursor: str | None = None) -> ListToolsResult:
        self.asked += 1
        tools = [
            Tool(name=f"tool_{self.asked}_{number}", inputSchema={"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#"}}})
            for number in range(self._a_page)
        ]
        return ListToolsResult(tools=[*tools, *self._strange], nextCursor="on")


@pytest.mark.parametrize(("a_page", "pages"), [(1, 20), (600, 2)])
async def test_a_list_of_tools_without_an_end_is_read_to_a_bound(a_page: int, pages: int) -> None:
    endless = _Endless(a_page)

    @asynccontextmanager
    async def opened() -> AsyncIterator[ClientSession]:
        yield cast("ClientSession", endless)

    session = HeldSession(opened)
    assert len((await session.opened()).listed) == pages * a_page
    await session.close()
    assert endless.asked == pages


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("shown\x9b2J", {}),
        ("shown\x7f", {}),
        ("shown\u202e", {}),
        ("shown\nsecond", {}),
        ("shown", {"properties": {"a\x1b[2J": {"type": "string"}}}),
        ("shown", {"properties": {"a": True}}),
        ("shown", {"properties": 7}),
        ("shown", {"required": 7}),
    ],
)
async def test_a_tool_that_can_not_be_shown_is_not_listed(name: str, schema: dict[str, Any]) -> None:
    strange = Tool(name=name, inputSchema=schema)

    @asynccontextmanager
    async def opened() -> AsyncIterator[ClientSession]:
        yield cast("ClientSession", _Endless(1, strange))

    session = HeldSession(opened)
    assert all(one.startswith("tool_") for one in (await session.opened()).listed)
    await session.close()


def _saying(head: bytes, *chunks: bytes) -> Any:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + head + b"\r\n\r\n")
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
        writer.close()

    return handler


async def _read(method: str, head: bytes, *chunks: bytes) -> int:
    async with (
        serving(_saying(head, *chunks)) as url,
        httpx.AsyncClient(transport=BoundedWire(BOUND, True)) as client,
    ):
        return len((await client.request(method, url)).content)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_packed_answer_is_never_unpacked(method: str) -> None:
    with pytest.raises(httpx.DecodingError):
        await _read(method, b"Content-Encoding: gzip", gzip.compress(b"\0" * 1_000_000))


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_one_event_without_an_end_is_cut(method: str) -> None:
    with pytest.raises(httpx.ReadError):
        await _read(method, b"Content-Type: text/event-stream", b"data: " + b"x" * 20 * BOUND)


async def test_the_servers_own_channel_may_go_on_for_ever() -> None:
    events = [b"data: " + b"x" * 1_000 + b"\n\n"] * 40
    assert await _read("GET", b"Content-Type: text/event-stream", *events) == 40 * 1_008


def test_what_a_server_says_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    for name in ("mcp.client.streamable_http", "mcp.client.stdio", "mcp.client.session"):
        logging.getLogger(name).error("Error parsing JSON response: token=sk-secret")
    assert "sk-secret" not in caplog.text
