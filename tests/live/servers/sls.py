"""A small server of our own that keeps to Alibaba Cloud SLS's documented GetLogs, over records that a test tells.

Documentation: https://help.aliyun.com/zh/sls/developer-reference/api-sls-2020-12-30-getlogs, …/request-signatures and
…/error-codes. Kept are: the signature `LOG id:signature`; `errorCode` bodies; `x-log-progress`; at most 100 records a
request by `line`, `offset` and `reverse`; the search language (`tests.live.servers.cloud_search`) with at most 30
conditions; every value of an SQL row as text, null as `null`.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.live.servers.answering import Request, Response, answering
from tests.live.servers.cloud_search import Language, StatementError, analysed, split

_SEARCH = Language(phrases=False, most=30)


@dataclass
class SlsStore:
    """What the Logstore holds: records with `__time__` (seconds) beside their fields. `incomplete`: how many answers
    say that they aren't whole; `error` a status and a code that every request is answered with."""

    records: Sequence[Mapping[str, Any]] = ()
    access_key_id: str = "LTAItest"
    access_key_secret: str = "secret"
    logstore: str = "app"
    incomplete: int = 0
    error: tuple[int, str] | None = None
    queries: list[str] = field(default_factory=list)


@contextmanager
def serving_sls(store: SlsStore) -> Iterator[str]:
    """Serve a store while the block runs; gives the address."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _answer(store: SlsStore, request: Request) -> Response:
    if request.headers.get("authorization") != _expected(store, request):
        return _error(401, "SignatureNotMatch")
    if store.error:
        return _error(*store.error)
    if request.method != "GET" or request.path != f"/logstores/{store.logstore}" or request.param("type") != "log":
        return _error(404, "LogStoreNotExist")
    try:
        start, end, line, offset = (
            int(request.param(name) or default)
            for name, default in (("from", ""), ("to", ""), ("line", 100), ("offset", 0))
        )
        rows = _found(store, request, start, end, line, offset)
    except (StatementError, ValueError):
        return _error(400, "ParameterInvalid")
    store.incomplete -= 1
    progress = "Incomplete" if store.incomplete >= 0 else "Complete"
    return Response(rows, headers={"x-log-progress": progress, "x-log-count": str(len(rows))})


def _found(store: SlsStore, request: Request, start: int, end: int, line: int, offset: int) -> list[dict[str, str]]:
    query = request.param("query") or "*"
    store.queries.append(query)
    if not 0 < line <= 100 or start >= end:
        raise ValueError
    condition, sql = split(query)
    test = _SEARCH.test_of(condition)
    found = [one for one in store.records if start <= one["__time__"] < end and test(one)]
    if sql is not None:
        columns = sorted({key for one in store.records for key in one if key != "__time__"})
        rows = analysed(sql, found, "__time__", columns)
        return [{key: "null" if value is None else str(value) for key, value in row.items()} for row in rows]
    ordered = sorted(found, key=lambda one: one["__time__"], reverse=request.param("reverse") == "true")
    return [
        {"__source__": "10.0.0.1", "__topic__": "", **{key: str(value) for key, value in one.items()}}
        for one in ordered[offset : offset + line]
    ]


def _error(status: int, code: str) -> Response:
    return Response({"errorCode": code, "errorMessage": "what the service says of it"}, status)


def _expected(store: SlsStore, request: Request) -> str:
    """The signature that the documentation asks for, computed here anew."""
    own = sorted(key for key in request.headers if key.startswith(("x-log-", "x-acs-")))
    resource = request.path
    if request.query:
        resource += "?" + "&".join("=".join(pair) for pair in sorted(request.query))
    text = "\n".join([request.method, "", "", request.headers.get("date", ""),
                      *(f"{key}:{request.headers[key]}" for key in own), resource])  # fmt: skip
    digest = hmac.new(store.access_key_secret.encode(), text.encode(), hashlib.sha1).digest()
    return f"LOG {store.access_key_id}:{base64.b64encode(digest).decode()}"
