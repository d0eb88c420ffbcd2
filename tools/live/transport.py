"""HTTP to a backend, with the rules that hold for every one: bounded waits, one retry, bounded answers, no way out.

Only connection errors are retried, once. A response beyond the bound is cut while it streams, never read whole, and
counted unpacked. A redirect is followed on the same origin only; no cookie is kept, and what asks this machine itself
asks no proxy. Cancelling the asking task closes the connection, which is how an HTTP
backend hears that nobody waits any more. What is raised is a code, raised outside of the handler, so that no foreign
exception, address or credential is its context.
"""

import asyncio
import ipaddress
import json
import logging
import ssl
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeAlias

import httpx
from typing_extensions import override

from tools.base import SourceFailure
from tools.live.inflating import ASKED, pieces
from tools.live.source import HttpAccess, raise_alone
from tools.vocabulary import SourceError

CONNECT_SECONDS = 3.0
_REDIRECTS = 3
_KEPT_CONNECTIONS = 4
_NO_STATUS: frozenset[int] = frozenset()
_CODES = {
    401: SourceError.ACCESS_DENIED,
    403: SourceError.ACCESS_DENIED,
    408: SourceError.BACKEND_TIMEOUT,
    504: SourceError.BACKEND_TIMEOUT,
}
_REJECTED = frozenset({400, 404, 405, 406, 409, 410, 413, 414, 415, 422, 501})


class _QuestionLeftOut(logging.Filter):
    """httpx logs each address whole, and so what was asked; what is logged ends before the question."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(one.copy_with(query=None) if isinstance(one, httpx.URL) else one for one in record.args)
        return True


logging.getLogger("httpx").addFilter(_QuestionLeftOut())

_Value: TypeAlias = str | int | float | bool | None
Params: TypeAlias = Mapping[str, _Value | Sequence[_Value]] | list[tuple[str, _Value]] | None
Body: TypeAlias = Mapping[str, Any] | list[Any] | str | bytes | None
"""A mapping or list is sent as JSON, a text or bytes as they are."""


@dataclass(frozen=True)
class Answer:
    """A whole response: `headers` with lower-case names, `date` the server's own clock (aware, UTC) or None."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    date: datetime | None

    def json(self) -> Any:
        """Return the parsed body; raises SourceFailure(SOURCE_UNREADABLE) where it is no JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            pass
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)


class Lines:
    """The lines of a streamed response; `cut` is True once the bound was reached, and the last line is then whole."""

    def __init__(self, response: httpx.Response, max_bytes: int) -> None:
        self._response = response
        self._left = max_bytes
        self.cut = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest: list[bytes] = []
        async for chunk in pieces(self._response):
            self._left -= len(chunk)
            *whole, last = chunk.split(b"\n")
            for line in whole:
                yield b"".join([*rest, line])
                rest = []
            rest.append(last)
            if self._left < 0:
                self.cut = True
                return
        if any(rest):
            yield b"".join(rest)


class Transport:
    """Asks one backend over HTTP. Connections are reused within an event loop; it may be used from several."""

    def __init__(self, access: HttpAccess, *, wire: httpx.AsyncBaseTransport | None = None) -> None:
        """`wire` stands in for the network where a test wants to see what is sent."""
        self._access = access
        self._wire = wire
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = (
            weakref.WeakKeyDictionary()
        )

    async def json(
        self,
        method: str,
        path: str,
        *,
        params: Params = None,
        body: Body = None,
        headers: Mapping[str, str] | None = None,
        accept_status: frozenset[int] = _NO_STATUS,
    ) -> Any:
        """Return the parsed answer; raises SourceFailure as `answer` does, SOURCE_UNREADABLE where it is no JSON."""
        answer = await self.answer(method, path, params=params, body=body, headers=headers, accept_status=accept_status)
        return answer.json()

    async def answer(
        self,
        method: str,
        path: str,
        *,
        params: Params = None,
        body: Body = None,
        headers: Mapping[str, str] | None = None,
        accept_status: frozenset[int] = _NO_STATUS,
    ) -> Answer:
        """Return the whole response to a request below the base address (`path` begins with a slash, or is empty).

        A status of `accept_status` is an answer like any of the 200s. Raises SourceFailure: ACCESS_DENIED (401, 403),
        QUERY_REJECTED (400, 404, 422, …), BACKEND_TIMEOUT (the wait's end, 408, 504), ANSWER_TOO_LARGE,
        BACKEND_UNAVAILABLE (anything else, redirects to another origin included).
        """
        async with self._response(method, path, params, body, headers, accept_status) as response:
            content = bytearray()
            async for chunk in pieces(response):
                content += chunk
                if len(content) > self._access.max_bytes:
                    raise SourceFailure(SourceError.ANSWER_TOO_LARGE)
        return Answer(response.status_code, dict(response.headers), bytes(content), _date(response))

    @asynccontextmanager
    async def lines(
        self,
        method: str,
        path: str,
        *,
        params: Params = None,
        body: Body = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Lines]:
        """Give the lines of a response as they come, up to the bound; raises SourceFailure as `answer` does."""
        async with self._response(method, path, params, body, headers, _NO_STATUS) as response:
            yield Lines(response, self._access.max_bytes)

    async def close(self) -> None:
        """Close the connections of this event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def _response(
        self,
        method: str,
        path: str,
        params: Params,
        body: Body,
        headers: Mapping[str, str] | None,
        accept_status: frozenset[int],
    ) -> AsyncIterator[httpx.Response]:
        code: SourceError | None = None
        try:
            async with asyncio.timeout(self._access.timeout_seconds):
                client = self._client()
                # Bytes: the error at a text that is no ASCII would hold the whole credential.
                given = {**ASKED, **self._access.credentials(), **(headers or {})}
                sent = [(key.encode(), value.encode("utf-8", "replace")) for key, value in given.items()]
                request = client.build_request(
                    method, self._access.base_url + path, params=params, headers=sent, **_content(body)
                )
                response = await self._sent(client, request)
                try:
                    code = _code_of(response, accept_status)
                    if code is None:
                        yield response
                finally:
                    await response.aclose()
        except (TimeoutError, httpx.TimeoutException):
            code = SourceError.BACKEND_TIMEOUT
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError):
            code = SourceError.BACKEND_UNAVAILABLE
        if code is not None:
            raise_alone(SourceFailure(code))

    async def _sent(self, client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        """Send, again once where the connection failed, and follow redirects that stay on the origin."""
        retried = False
        for _ in range(_REDIRECTS):
            try:
                response = await client.send(request, stream=True)
            except (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if retried:
                    raise
                retried = True
                response = await client.send(request, stream=True)
            onward = response.next_request
            if onward is None or not _same_origin(request.url, onward.url):
                return response
            await response.aclose()
            request = onward
        return response

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            access = self._access
            client = self._clients[loop] = httpx.AsyncClient(
                timeout=httpx.Timeout(access.timeout_seconds, connect=min(CONNECT_SECONDS, access.timeout_seconds)),
                limits=httpx.Limits(max_keepalive_connections=_KEPT_CONNECTIONS),
                verify=trust(access),
                transport=self._wire,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                mounts=_past_the_proxy(access.base_url),
            )
        return client


def trust(access: HttpAccess) -> ssl.SSLContext | bool:
    """Return what verifies the server's certificate; raises SourceFailure where the CA file can't be used."""
    if access.ca_file is None:
        return True
    with suppress(OSError, ssl.SSLError):
        return ssl.create_default_context(cafile=str(access.ca_file))
    raise SourceFailure(SourceError.BACKEND_UNAVAILABLE)


def _content(body: Body) -> dict[str, Any]:
    if body is None:
        return {}
    return {"content": body} if isinstance(body, str | bytes) else {"json": body}


def _past_the_proxy(address: str) -> dict[str, None]:
    """Return what keeps a configured proxy (HTTP_PROXY, ALL_PROXY) from being asked for this machine's own backends:
    it would be handed their credentials, and reach its own machine."""
    url = httpx.URL(address)
    try:
        own = ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        own = url.host == "localhost" or url.host.endswith(".localhost")
    return {f"all://{f'[{url.host}]' if ':' in url.host else url.host}": None} if own else {}


def _same_origin(first: httpx.URL, second: httpx.URL) -> bool:
    """Whether a redirect stays where we asked; one that brings credentials of its own doesn't."""
    if second.userinfo:
        return False
    return (first.scheme, first.host, first.port) == (second.scheme, second.host, second.port)


def _code_of(response: httpx.Response, accepted: frozenset[int]) -> SourceError | None:
    status = response.status_code
    if status in accepted or 200 <= status < 300:
        return None
    if status in _REJECTED:
        return SourceError.QUERY_REJECTED
    return _CODES.get(status, SourceError.BACKEND_UNAVAILABLE)


def _date(response: httpx.Response) -> datetime | None:
    try:
        at = parsedate_to_datetime(response.headers["date"])
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (KeyError, ValueError, OverflowError):
        return None
