"""HTTP to a backend, with the rules that hold for every one: bounded waits, one retry, bounded answers, no way out.

Only connection errors are retried, once. A response beyond the bound is cut while it streams, never read whole, and
counted unpacked. A redirect is followed on the same origin only; no cookie is kept, and what asks this machine itself
asks no proxy. Cancelling the asking task closes the connection, which is how an HTTP backend hears that nobody waits
any more. What is raised is a code, raised outside of the handler, so that no foreign exception, address or credential
is its context.
"""

import asyncio
import ipaddress
import json
import logging
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeAlias, Unpack

import httpx
from typing_extensions import TypedDict, override

from tools.base import SettingFault, SourceFailure
from tools.live.inflating import ASKED, pieces
from tools.live.loops import PerLoop
from tools.live.source import HttpAccess, raise_alone
from tools.vocabulary import SourceError

CONNECT_SECONDS = 3.0
_REDIRECTS = 3
_KEPT_CONNECTIONS = 4
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


class Asked(TypedDict, total=False):
    """What a request carries besides its method and path. A status of `accept_status` is an answer like any of the
    200s."""

    params: Params
    body: Body
    headers: Mapping[str, str]
    accept_status: frozenset[int]


class Transport:
    """Asks one backend over HTTP. Connections are reused within an event loop; it may be used from several."""

    def __init__(self, access: HttpAccess, *, wire: httpx.AsyncBaseTransport | None = None) -> None:
        """`wire` stands in for the network where a test wants to see what is sent."""
        self._access = access
        self._wire = wire
        self._clients: PerLoop[httpx.AsyncClient] = PerLoop()

    async def json(self, method: str, path: str, **asked: Unpack[Asked]) -> Any:
        """Return the parsed answer; raises SourceFailure as `answer` does, SOURCE_UNREADABLE where it is no JSON."""
        return (await self.answer(method, path, **asked)).json()

    async def answer(self, method: str, path: str, **asked: Unpack[Asked]) -> Answer:
        """Return the whole response to a request below the base address (`path` begins with a slash, or is empty).

        Raises SourceFailure: ACCESS_DENIED (401, 403), QUERY_REJECTED (400, 404, 422, …), BACKEND_TIMEOUT (the wait's
        end, 408, 504), ANSWER_TOO_LARGE, BACKEND_UNAVAILABLE (anything else, redirects to another origin included).
        """
        async with self._response(method, path, asked) as response:
            content = bytearray()
            async for chunk in pieces(response):
                content += chunk
                if len(content) > self._access.max_bytes:
                    raise SourceFailure(SourceError.ANSWER_TOO_LARGE)
        return Answer(response.status_code, dict(response.headers), bytes(content), _date(response))

    async def close(self) -> None:
        """Close the connections of this event loop."""
        client = self._clients.take()
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def _response(self, method: str, path: str, asked: Asked) -> AsyncIterator[httpx.Response]:
        failure: SourceFailure | None = None
        try:
            async with asyncio.timeout(self._access.timeout_seconds):
                client = self._clients.ensure(self._opened)
                # A credential may stand in a file, and reading one blocks.
                credentials = await asyncio.to_thread(self._access.credentials)
                response = await self._sent(client, self._request(client, method, path, credentials, asked))
                try:
                    failure = _failure_of(response, asked.get("accept_status", frozenset()))
                    if failure is None:
                        yield response
                finally:
                    await response.aclose()
        except (TimeoutError, httpx.TimeoutException):
            failure = SourceFailure(SourceError.BACKEND_TIMEOUT)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError):
            failure = SourceFailure(SourceError.BACKEND_UNAVAILABLE)
        if failure is not None:
            raise_alone(failure)

    def _request(
        self, client: httpx.AsyncClient, method: str, path: str, credentials: Mapping[str, str], asked: Asked
    ) -> httpx.Request:
        # Bytes: the error at a text that is no ASCII would hold the whole credential.
        given = {**ASKED, **credentials, **asked.get("headers", {})}
        headers = [(key.encode(), value.encode("utf-8", "replace")) for key, value in given.items()]
        url, content = self._access.base_url + path, _content(asked.get("body"))
        return client.build_request(method, url, params=asked.get("params"), headers=headers, **content)

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

    def _opened(self) -> httpx.AsyncClient:
        access = self._access
        return httpx.AsyncClient(
            timeout=httpx.Timeout(access.timeout_seconds, connect=min(CONNECT_SECONDS, access.timeout_seconds)),
            limits=httpx.Limits(max_keepalive_connections=_KEPT_CONNECTIONS),
            verify=trust(access),
            transport=self._wire,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            mounts=_past_the_proxy(access.base_url),
        )


def trust(access: HttpAccess) -> ssl.SSLContext | bool:
    """Return what verifies the server's certificate; raises SourceFailure where the CA file can't be used."""
    if access.ca_file is None:
        return True
    with suppress(OSError, ssl.SSLError):
        return ssl.create_default_context(cafile=str(access.ca_file))
    raise SettingFault(SourceError.BACKEND_UNAVAILABLE, detail=f"{access.ca_file} holds no certificates")


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


def _failure_of(response: httpx.Response, accepted: frozenset[int]) -> SourceFailure | None:
    status = response.status_code
    if status in accepted or 200 <= status < 300:
        return None
    code = SourceError.QUERY_REJECTED if status in _REJECTED else _CODES.get(status, SourceError.BACKEND_UNAVAILABLE)
    said = f"HTTP {status}, a redirect to somewhere else" if response.has_redirect_location else f"HTTP {status}"
    return SourceFailure(code, detail=said)


def _date(response: httpx.Response) -> datetime | None:
    try:
        at = parsedate_to_datetime(response.headers["date"])
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (KeyError, ValueError, OverflowError):
        return None
