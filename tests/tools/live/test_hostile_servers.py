"""What a server that lies, or a setting that isn't what it seems, can't do to the transport."""

import gzip
import os
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.tools.live.conformance import TOKEN, serving, whole
from tools.base import SourceFailure
from tools.live.inflating import pieces
from tools.live.source import HttpAccess, secret_of
from tools.live.transport import Transport
from tools.vocabulary import SourceError

BOUND = 100_000


class _Sent(httpx.AsyncByteStream):
    """A body in chunks; `taken` counts how many were read."""

    def __init__(self, body: bytes, size: int = 1_000) -> None:
        self._chunks = [body[at : at + size] for at in range(0, len(body), size)]
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            self.taken += 1
            yield chunk


def _answering(stream: httpx.AsyncByteStream, coding: str) -> Transport:
    wire = httpx.MockTransport(
        lambda request: httpx.Response(200, headers={"Content-Encoding": coding}, stream=stream),
    )
    return Transport(HttpAccess("http://plain.example", max_bytes=BOUND), wire=wire)


async def _code(transport: Transport) -> SourceError:
    with pytest.raises(SourceFailure) as caught:
        await transport.answer("GET", "/ask")
    assert caught.value.__context__ is None
    return caught.value.code


async def test_an_answer_that_unpacks_beyond_the_bound_is_cut_where_it_passes_it() -> None:
    stream = _Sent(gzip.compress(b"\0" * 50_000_000))
    assert await _code(_answering(stream, "gzip")) is SourceError.ANSWER_TOO_LARGE
    assert stream.taken < 5


async def test_no_piece_is_unpacked_larger_than_it_may_be() -> None:
    stream = _Sent(gzip.compress(b"\n" * 50_000_000), size=10**9)
    response = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=stream)
    assert max([len(piece) async for piece in pieces(response)]) <= 65_536


@pytest.mark.parametrize("coding", ["gzip, gzip", "deflate", "br", "zstd", "gzip,identity"])
async def test_a_coding_that_was_not_asked_for_is_not_unpacked(coding: str) -> None:
    body = gzip.compress(gzip.compress(b"[]"))
    assert await _code(_answering(_Sent(body), coding)) is SourceError.SOURCE_UNREADABLE


async def test_a_packed_answer_within_the_bound_is_read_whole() -> None:
    body = os.urandom(BOUND)
    for size in (1, 700, 10**6):
        answer = await _answering(_Sent(gzip.compress(body), size=size), "gzip").answer("GET", "/ask")
        assert answer.body == body


async def test_broken_packing_is_a_source_that_is_away() -> None:
    assert await _code(_answering(_Sent(b"no gzip at all"), "gzip")) is SourceError.BACKEND_UNAVAILABLE
    raw = zlib.compress(b"[]")
    assert await _code(_answering(_Sent(raw), "gzip")) is SourceError.BACKEND_UNAVAILABLE


async def test_no_cookie_is_kept() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, headers={"Set-Cookie": f"c{len(seen)}=x; Path=/"}, json=[])

    transport = Transport(HttpAccess("http://plain.example"), wire=httpx.MockTransport(answer))
    for _ in range(3):
        await transport.json("GET", "/ask")
    assert [request.headers.get("cookie") for request in seen] == [None] * 3


async def test_a_backend_of_this_machine_is_never_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(whole(b"[1]")) as proxy, serving(whole(b"[]")) as url:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        transport = Transport(HttpAccess(url, credentials=lambda: {"Authorization": f"Bearer {TOKEN}"}))
        assert await transport.json("GET", "/ask") == []
        await transport.close()
        elsewhere = Transport(HttpAccess("http://plain.example"))
        assert await elsewhere.json("GET", "/ask") == [1]
        await elsewhere.close()


@pytest.mark.parametrize("location", ["http://other:pw@plain.example/x", "http://evil.example/", "//evil.example/"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_brings_no_credentials_and_leads_nowhere_else(location: str, status: int) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(status, headers={"Location": location})

    transport = Transport(HttpAccess("http://plain.example"), wire=httpx.MockTransport(answer))
    with pytest.raises(SourceFailure):
        await transport.answer("POST", "/ask", body="query=secret")
    assert len(seen) == 1


async def test_connections_that_break_on_every_hop_are_retried_once_in_all() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.path)
        if seen.count(request.url.path) == 1:
            raise httpx.ReadError("broken")
        return httpx.Response(302, headers={"Location": f"/hop{len(seen)}"})

    transport = Transport(HttpAccess("http://plain.example"), wire=httpx.MockTransport(answer))
    with pytest.raises(SourceFailure):
        await transport.answer("GET", "/ask")
    assert len(seen) == 3


@pytest.mark.parametrize("date", ["Fri, 31 Dec 9999 23:59:59 -2359", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"])
async def test_an_impossible_clock_is_no_clock(date: str) -> None:
    wire = httpx.MockTransport(lambda request: httpx.Response(200, headers={"Date": date}, json=[]))
    assert (await Transport(HttpAccess("http://plain.example"), wire=wire).answer("GET", "/ask")).date is None


async def test_a_credential_of_any_script_stands_in_no_error() -> None:
    secret = "geheim-schlüssel-密"
    wire = httpx.MockTransport(lambda request: httpx.Response(403))
    transport = Transport(HttpAccess("http://plain.example", credentials=lambda: {"Authorization": secret}), wire=wire)
    assert await _code(transport) is SourceError.ACCESS_DENIED


@pytest.mark.parametrize("header", ["a\r\nX-Other: b", "a\nb", "a\0b"])
async def test_a_header_with_a_line_break_is_never_sent(header: str) -> None:
    async with serving(whole(b"[]")) as url:
        transport = Transport(HttpAccess(url))
        with pytest.raises(SourceFailure) as caught:
            await transport.answer("GET", "/ask", headers={"X-One": header})
        await transport.close()
    assert caught.value.code is SourceError.BACKEND_UNAVAILABLE


def _denied(file: Path) -> bool:
    with pytest.raises(SourceFailure) as caught:
        secret_of(None, file)
    return caught.value.code is SourceError.ACCESS_DENIED


def test_a_credential_comes_from_a_small_regular_file_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert _denied(tmp_path / "pipe")
    assert _denied(Path("/dev/zero"))
    assert _denied(tmp_path)
    (tmp_path / "huge").write_bytes(b"a" * 70_000)
    assert _denied(tmp_path / "huge")
    (tmp_path / "two").write_text("first\nsecond\n")
    assert _denied(tmp_path / "two")
    (tmp_path / "token").write_text("good\n")
    (tmp_path / "link").symlink_to(tmp_path / "token")
    assert secret_of(None, tmp_path / "link") == "good"


async def test_nothing_of_a_question_or_a_credential_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with serving(whole(b"[]")) as url:
        transport = Transport(HttpAccess(url, credentials=lambda: {"Authorization": f"Bearer {TOKEN}"}))
        await transport.json("GET", "/ask", params={"q": "very-private"})
        await transport.close()
    assert "/ask" in caplog.text
    assert TOKEN not in caplog.text
    assert "very-private" not in caplog.text
