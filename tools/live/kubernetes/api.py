"""The API server through the official client, narrowed to reading: one kind of request, bounded, to one address.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/ (limit and continue, tables, verbs). Nothing but
GET leaves, and no `watch`; a redirect is never followed: an API server sends none to those who only read. One retry,
on connection errors alone; the client's own are off. Cancelling the asking task closes the connection.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

import aiohttp
from kubernetes.aio.client import ApiClient

from tools.base import SourceFailure
from tools.live.kubernetes.access import Access
from tools.live.loops import PerLoop
from tools.live.source import raise_alone
from tools.live.transport import CONNECT_SECONDS
from tools.vocabulary import SourceError

PAGE = 500
MAX_ITEMS = 1_000
"""How many objects of one list are read, at most."""
MAX_ROWS = 5_000
"""How many rows of one table are read, at most: they are small, and who isn't well may stand anywhere among them."""
LIST_CUT = "LIST_CUT"
"""The remark on an answer whose list was longer than what was read of it."""
JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_CONNECTIONS = 8
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._-]{0,252}")
_DENIED = (401, 403)
_TIMED_OUT = (408, 504)
_REJECTED = (400, 404, 405, 406, 409, 410, 413, 414, 415, 422, 501)

Params: TypeAlias = Mapping[str, str | int]


class _NotThere(Exception):
    """The API server knows the place and has no such object in it (404)."""


class _Broken(aiohttp.ClientError):
    """The connection failed. The client's own library would try again by itself on the errors that this stands for."""


class _Expired(Exception):
    """The snapshot that a list is read from in pages is gone (410)."""


@dataclass(frozen=True)
class Limits:
    """The wait for one answer in seconds, and how many bytes of it are read."""

    timeout_seconds: float
    max_bytes: int


@dataclass
class Listed:
    """The items of a list, as far as they were read; `cut` where there are more. `columns` of a table."""

    items: list[Any] = field(default_factory=list)
    cut: bool = False
    columns: list[Mapping[str, Any]] = field(default_factory=list)


@dataclass
class _Line:
    """What an event loop asks through: the client, and room for so many requests at once, the others wait unclocked."""

    client: ApiClient | None = None
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_CONNECTIONS))


class ApiServer:
    """Asks an API server. Connections are reused within an event loop; it may be used from several."""

    def __init__(self, access: Access, limits: Limits) -> None:
        self._access = access
        self._limits = limits
        self._lines: PerLoop[_Line] = PerLoop()
        self.now = datetime.now(UTC)
        """The server's own clock, at its last answer."""
        self.told_time = False

    async def object(self, path: str, *, accept: str = JSON) -> Any:
        """Return the object at a path, None where it isn't there. Raises SourceFailure: ACCESS_DENIED (401, 403),
        UNKNOWN_SELECTOR (a kind that isn't served), BACKEND_TIMEOUT, BACKEND_UNAVAILABLE (429, 500s, redirects), …"""
        try:
            async with self._response(path, {}, accept) as response:
                return _parsed(await self._whole(response))
        except _NotThere:
            return None

    async def listed(
        self, path: str, params: Params | None = None, *, accept: str = JSON, most: int = MAX_ITEMS
    ) -> Listed:
        """Return the objects of a list, page by page, at most `most`; raises SourceFailure as `object` does.

        A list whose snapshot is gone on the way (410) ends there, and says that it is cut.
        """
        found = Listed()
        onward: Params = {}
        while True:
            asked: Params = {**(params or {}), "limit": min(PAGE, most - len(found.items)), **onward}
            page = await self._page(path, asked, accept)
            if page is None:
                return _ended(found)
            items = page.get("rows" if accept == TABLE else "items", "none")
            if not isinstance(items, list | None):
                raise SourceFailure(SourceError.SOURCE_UNREADABLE)
            found.items += items or []
            found.columns = found.columns or list(page.get("columnDefinitions") or ())
            token = (page.get("metadata") or {}).get("continue")
            found.cut = bool(token)
            if not token or len(found.items) >= most:
                return found
            onward = {"continue": str(token)}

    async def _page(self, path: str, params: Params, accept: str) -> Mapping[str, Any] | None:
        """Return one page of a list, None where its snapshot is gone."""
        try:
            async with self._response(path, params, accept) as response:
                page = _parsed(await self._whole(response))
        except _Expired:
            return None
        except _NotThere:
            page = None
        if not isinstance(page, Mapping):
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        return page

    async def text(self, path: str, params: Params, *, limit: int) -> tuple[str, bool]:
        """Return at most `limit` bytes of a plain text, and whether it was cut; blank where the object isn't there.

        Raises SourceFailure as `object` does, QUERY_REJECTED where the object has no such text.
        """
        try:
            async with self._response(path, params, "text/plain, */*") as response:
                content = bytearray()
                async for chunk in response.content.iter_chunked(65_536):
                    content += chunk
                    if len(content) >= limit:
                        break
        except _NotThere:
            return "", False
        return content[:limit].decode("utf-8", "replace"), len(content) >= limit

    async def close(self) -> None:
        """Close the connections of this event loop."""
        line = self._lines.take()
        if line is not None and line.client is not None:
            close: Callable[[], Awaitable[None]] = line.client.close
            await close()

    @asynccontextmanager
    async def _response(self, path: str, params: Params, accept: str) -> AsyncIterator[aiohttp.ClientResponse]:
        """Give the response to a GET; what goes wrong is raised outside of the handlers, without a context."""
        told: Exception | None = None
        line = self._lines.ensure(_Line)
        try:
            async with line.room, asyncio.timeout(self._limits.timeout_seconds):
                client = await self._client(line)
                response = await self._sent(client, path, params, accept)
                try:
                    self._note_time(response)
                    if response.status == 200:
                        yield response
                    else:
                        told = await self._refusal(response)
                finally:
                    response.close() if not response.content.at_eof() else response.release()
        except TimeoutError:
            told = SourceFailure(SourceError.BACKEND_TIMEOUT)
        except (aiohttp.ClientError, OSError, ValueError):
            told = SourceFailure(SourceError.BACKEND_UNAVAILABLE)
        if told is not None:
            raise_alone(told)

    async def _sent(self, client: ApiClient, path: str, params: Params, accept: str) -> aiohttp.ClientResponse:
        try:
            return await self._once(client, path, params, accept)
        except _Broken:
            return await self._once(client, path, params, accept)

    async def _once(self, client: ApiClient, path: str, params: Params, accept: str) -> aiohttp.ClientResponse:
        seconds = self._limits.timeout_seconds
        method, url, headers, _, _ = await client.param_serialize(
            "GET",
            path,
            query_params=list(params.items()),
            header_params={"Accept": accept},
            auth_settings=["BearerToken"],
        )
        waits = aiohttp.ClientTimeout(total=seconds, sock_connect=min(CONNECT_SECONDS, seconds))
        answer = await client.call_api(method, url, headers, _request_timeout=waits)
        response: aiohttp.ClientResponse = answer.response
        return response

    async def _client(self, line: "_Line") -> ApiClient:
        if line.client is None:
            configuration = await self._access.configure()
            configuration.connection_pool_maxsize = _CONNECTIONS
            # No credential of ~/.netrc is ever sent, and no cookie kept.
            configuration.client_session_kwargs = {
                "middlewares": (_reading_only,),
                "trust_env": False,
                "cookie_jar": aiohttp.DummyCookieJar(),
            }
            line.client = line.client or ApiClient(configuration)
            line.client.user_agent = "zhizhi"
        return line.client

    async def _whole(self, response: aiohttp.ClientResponse) -> bytes:
        content = bytearray()
        async for chunk in response.content.iter_chunked(65_536):
            content += chunk
            if len(content) > self._limits.max_bytes:
                raise SourceFailure(SourceError.ANSWER_TOO_LARGE)
        return bytes(content)

    async def _refusal(self, response: aiohttp.ClientResponse) -> Exception:
        status = response.status
        if status in _DENIED:
            return SourceFailure(SourceError.ACCESS_DENIED)
        if status in _TIMED_OUT:
            return SourceFailure(SourceError.BACKEND_TIMEOUT)
        if status not in _REJECTED:
            return SourceFailure(SourceError.BACKEND_UNAVAILABLE)
        try:
            told = json.loads(await self._whole(response))
        except (ValueError, RecursionError, SourceFailure):
            told = None
        known = isinstance(told, Mapping) and told.get("kind") == "Status"
        if status == 410 and known:
            return _Expired()
        if status == 404 and known:
            details = told.get("details")
            named = isinstance(details, Mapping) and details.get("name")
            return _NotThere() if named else SourceFailure(SourceError.UNKNOWN_SELECTOR, field="resource_type")
        return SourceFailure(SourceError.QUERY_REJECTED)

    def _note_time(self, response: aiohttp.ClientResponse) -> None:
        try:
            self.now = parsedate_to_datetime(response.headers["Date"]).astimezone(UTC)
        except (KeyError, ValueError, TypeError, OverflowError):
            self.now = datetime.now(UTC)
        else:
            self.told_time = True


async def _reading_only(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Let nothing but a GET leave, and nothing through that sends it elsewhere; runs before a redirect is followed."""
    if request.method != "GET":
        raise aiohttp.ClientError
    try:
        response = await handler(request)
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
        response = None
    if response is None:
        raise _Broken
    if 300 <= response.status < 400:
        response.close()
        raise aiohttp.ClientError
    return response


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        pass
    raise SourceFailure(SourceError.SOURCE_UNREADABLE)


def _ended(found: Listed) -> Listed:
    if not found.items:
        raise SourceFailure(SourceError.QUERY_REJECTED)
    found.cut = True
    return found


def fit_for_path(name: str) -> bool:
    """Return whether a name can be an object's: nothing else becomes part of a path, which it could lead elsewhere."""
    return _NAME.fullmatch(name) is not None
