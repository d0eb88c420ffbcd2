"""What every backend of live evidence has to keep, whatever it speaks.

A backend's test module subclasses `HttpConformance` and says how its tool is built against an address and what it is
asked. The faulty servers here speak HTTP by hand, so that they can break off, flood, redirect and watch the peer leave.
"""

import asyncio
import logging
import ssl
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from tools.base import EvidenceTool, IncidentContext, SourceFailure
from tools.live.source import Source
from tools.vocabulary import Evidence, EvidenceStatus, SourceError

TOKEN = "conformance-token-7f3c9a"
LIMIT = 64 * 1024
"""The bound of one response in these tests."""
INCIDENT = IncidentContext(as_of=datetime(2026, 9, 8, 7, 2, tzinfo=UTC), zone="UTC")

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Conformance(ABC):
    """What is told apart by every backend: evidence, an absence, an unknown name, and a partial answer."""

    incident: IncidentContext = INCIDENT

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the tool's question; every field of its model."""

    @abstractmethod
    async def found(self) -> Evidence:
        """Ask a backend that holds what is asked for."""

    @abstractmethod
    async def empty(self) -> Evidence:
        """Ask a backend that knows the names and holds nothing in the scope."""

    @abstractmethod
    async def unknown(self) -> Evidence:
        """Ask a backend for a name that it has never known, and that resembles one it knows."""

    @abstractmethod
    async def partial(self) -> Evidence:
        """Ask a backend that answers in part and says so."""

    async def test_what_is_there_is_evidence(self) -> None:
        evidence = await self.found()
        assert evidence.status is EvidenceStatus.EVIDENCE
        assert evidence.content
        assert evidence.summary
        assert not evidence.truncated

    async def test_nothing_in_a_known_scope_is_an_absence(self) -> None:
        evidence = await self.empty()
        assert evidence.status is EvidenceStatus.NO_EVIDENCE
        assert evidence.content == ()

    async def test_a_name_never_known_is_an_error_with_near_names(self) -> None:
        with pytest.raises(SourceFailure) as caught:
            await self.unknown()
        assert caught.value.code is SourceError.UNKNOWN_SELECTOR
        assert caught.value.near_names

    async def test_a_partial_answer_is_told_as_one(self) -> None:
        evidence = await self.partial()
        assert evidence.status is EvidenceStatus.EVIDENCE
        assert evidence.truncated


async def ask(tool: EvidenceTool, arguments: dict[str, Any], incident: IncidentContext = INCIDENT) -> Evidence:
    """Ask a tool as the graph does: validated arguments, normalized scope, evidence."""
    said: BaseModel = tool.arguments.model_validate(arguments)
    return await tool.collect(tool.normalize(said, incident), said, incident)


class HttpConformance(Conformance):
    """What holds for every backend behind HTTP."""

    @abstractmethod
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        """Return one opened source at `url`, let in by `TOKEN`, with `max_bytes=LIMIT`.

        A backend that is let in by another kind of credential uses TOKEN as its secret part.
        """

    @abstractmethod
    def tool_over(self, source: Any) -> EvidenceTool:
        """Return the tool under test over one source of `source_at`."""

    async def asked(self, url: str, *, timeout_seconds: float = 10.0) -> Evidence:
        """Ask the tool over a source at `url`, which is closed afterwards."""
        source = self.source_at(url, timeout_seconds=timeout_seconds)
        try:
            return await ask(self.tool_over(source), self.arguments(), self.incident)
        finally:
            await source.close()

    async def code_at(self, url: str, *, timeout_seconds: float = 10.0) -> SourceError:
        with pytest.raises(SourceFailure) as caught:
            await self.asked(url, timeout_seconds=timeout_seconds)
        assert_tells_nothing(caught.value)
        return caught.value.code

    @pytest.mark.parametrize("status", [401, 403])
    async def test_a_refusal_of_credentials_is_denied(self, status: int) -> None:
        async with serving(_status(status)) as url:
            assert await self.code_at(url) is SourceError.ACCESS_DENIED

    @pytest.mark.parametrize("status", [400, 422])
    async def test_a_refused_query_is_rejected(self, status: int) -> None:
        async with serving(_status(status)) as url:
            assert await self.code_at(url) is SourceError.QUERY_REJECTED

    @pytest.mark.parametrize("status", [429, 500, 502, 503])
    async def test_a_server_in_trouble_is_unavailable(self, status: int) -> None:
        async with serving(_status(status)) as url:
            assert await self.code_at(url) is SourceError.BACKEND_UNAVAILABLE

    async def test_a_server_that_is_not_there_is_unavailable(self) -> None:
        async with serving(_status(200)) as url:
            gone = url
        assert await self.code_at(gone) is SourceError.BACKEND_UNAVAILABLE

    async def test_an_answer_that_is_no_json_is_an_error_and_no_absence(self) -> None:
        async with serving(whole(b"<html>login</html>")) as url:
            assert await self.code_at(url) in {SourceError.SOURCE_UNREADABLE, SourceError.QUERY_REJECTED}

    async def test_a_silent_server_ends_in_a_time_out(self) -> None:
        async with serving(_silent(asyncio.Event())) as url:
            assert await self.code_at(url, timeout_seconds=0.2) is SourceError.BACKEND_TIMEOUT

    async def test_a_flood_is_cut_while_it_streams(self) -> None:
        sent: list[int] = []
        async with serving(_flood(sent)) as url:
            code = await self.code_at(url)
        assert code in {SourceError.ANSWER_TOO_LARGE, SourceError.SOURCE_UNREADABLE}
        assert sum(sent) < FLOOD

    async def test_no_redirect_to_another_host_is_followed(self) -> None:
        visits: list[bytes] = []
        async with serving(_breaking_off(visits)) as elsewhere, serving(_redirect(elsewhere)) as url:
            assert await self.code_at(url) is SourceError.BACKEND_UNAVAILABLE
        assert visits == []

    async def test_a_broken_connection_is_tried_once_more_and_no_oftener(self) -> None:
        visits: list[bytes] = []
        async with serving(_breaking_off(visits)) as url:
            assert await self.code_at(url) is SourceError.BACKEND_UNAVAILABLE
        assert set(Counter(visits).values()) == {2}

    async def test_a_cancellation_reaches_the_server(self) -> None:
        left = asyncio.Event()
        heard = asyncio.Event()
        async with serving(_silent(left, heard)) as url:
            task = asyncio.ensure_future(self.asked(url))
            await asyncio.wait_for(heard.wait(), 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(left.wait(), 10)

    async def test_no_credential_stands_in_a_log_or_in_the_tool(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        async with serving(_status(403)) as url:
            await self.code_at(url)
        source = self.source_at(url)
        tool = self.tool_over(source)
        assert TOKEN not in caplog.text
        assert TOKEN not in repr(source)
        assert TOKEN not in repr(tool)
        scope = tool.normalize(tool.arguments.model_validate(self.arguments()), self.incident)
        assert TOKEN not in tool.paste(scope)
        assert TOKEN not in str(scope)


def assert_tells_nothing(failure: SourceFailure) -> None:
    """A failure carries its code alone: no other exception behind it, no credential in it."""
    assert failure.__cause__ is None
    assert failure.__context__ is None
    assert TOKEN not in repr(failure) + str(failure.args)


@asynccontextmanager
async def serving(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Serve `handler` on a free loopback port while the block runs, over TLS with a `context`; gives the address."""
    tasks: set[asyncio.Task[None]] = set()

    async def contained(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(task) if (task := asyncio.current_task()) else None
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await handler(reader, writer)
        finally:
            writer.close()
            if context is None:
                # Else the socket may outlive the loop.
                with suppress(ConnectionError):
                    await writer.wait_closed()

    server = await asyncio.start_server(contained, "127.0.0.1", 0, ssl=context)
    try:
        yield f"http{'s' if context else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        # A connection that was accepted a moment ago gets its task only when the loop turns.
        for _ in range(3):
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def request_of(reader: asyncio.StreamReader) -> bytes:
    """Return a request, head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return head + await reader.readexactly(int(line.split(b":")[1]))
    return head


FLOOD = 64 * 1024 * 1024
"""How much the flooding server would send, were it let."""


def _status(status: int) -> Handler:
    return whole(f'{{"error": "{status}"}}'.encode(), status)


def whole(body: bytes, status: int = 200) -> Handler:
    """Return a server's answer to every request on a connection."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await request_of(reader)
            head = f"HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            await writer.drain()

    return handler


def _silent(left: asyncio.Event, heard: asyncio.Event | None = None) -> Handler:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        if heard is not None:
            heard.set()
        with suppress(ConnectionError):
            await reader.read()
        left.set()

    return handler


def _flood(sent: list[int]) -> Handler:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n["')
        chunk = b"x" * LIMIT
        while sum(sent) < FLOOD:
            writer.write(chunk)
            await writer.drain()
            sent.append(len(chunk))

    return handler


def _redirect(elsewhere: str) -> Handler:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(f"HTTP/1.1 302 x\r\nLocation: {elsewhere}/here\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()

    return handler


def _breaking_off(visits: list[bytes]) -> Handler:
    """Return a server that notes what it is asked and hangs up."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.append(await request_of(reader))

    return handler
