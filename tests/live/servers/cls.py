"""A small server of our own that keeps to Tencent Cloud CLS's documented SearchLog, over records that a test tells.

Documentation: https://cloud.tencent.com/document/api/614/56447 (SearchLog), …/614/56474 (signature v3). Kept are: the
signature over content type, host and body; errors with status 200; CQL (`tests.live.servers.cloud_search`); raw records
by `Limit`, `Sort`, `Context` and `ListOver`; SQL rows as JSON texts in `AnalysisRecords`.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.live.servers.answering import Request, Response, answering
from tests.live.servers.cloud_search import Language, StatementError, analysed, split

_CQL = Language(phrases=True)


@dataclass
class ClsStore:
    """What the topic holds: records with `__TIMESTAMP__` (ms) beside their fields. `sampling` is what SQL says of
    itself; `statistics` whether the index has them; `error` a code that every request is answered with."""

    records: Sequence[Mapping[str, Any]] = ()
    secret_id: str = "AKIDtest"
    secret_key: str = "secret"
    topic: str = "topic-1"
    sampling: float = 1
    statistics: bool = True
    error: str | None = None
    queries: list[str] = field(default_factory=list)


@contextmanager
def serving_cls(store: ClsStore) -> Iterator[str]:
    """Serve a store while the block runs; gives the address."""
    with answering(lambda request: Response({"Response": {**_answer(store, request), "RequestId": "r-1"}})) as url:
        yield url


def _answer(store: ClsStore, request: Request) -> dict[str, Any]:
    if request.headers.get("authorization") != _expected(store, request):
        return _error("AuthFailure.SignatureFailure")
    if store.error:
        return _error(store.error)
    if request.headers.get("x-tc-action") != "SearchLog" or request.headers.get("x-tc-version") != "2020-10-16":
        return _error("InvalidAction")
    asked = json.loads(request.body)
    if asked["TopicId"] != store.topic:
        return _error("ResourceNotFound.TopicNotExist")
    store.queries.append(asked["Query"])
    try:
        condition, sql = split(asked["Query"])
        test = _CQL.test_of(condition)
        inside = [one for one in store.records if asked["From"] <= one["__TIMESTAMP__"] <= asked["To"]]
        found = [one for one in inside if test(one)]
        return _counted(store, sql, found) if sql is not None and store.statistics else _listed(store, asked, found)
    except StatementError:
        return _error("FailedOperation.SyntaxError")


def _error(code: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": "what the service says of it"}}


def _counted(store: ClsStore, sql: str, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    columns = sorted({key for one in store.records for key in one if key != "__TIMESTAMP__"})
    rows = analysed(sql, found, "__TIMESTAMP__", columns)
    return {
        "Context": "", "ListOver": True, "Analysis": True, "Results": [], "ColNames": None, "AnalysisResults": [],
        "AnalysisRecords": [json.dumps(row, default=str) for row in rows], "SamplingRate": store.sampling,
    }  # fmt: skip


def _listed(store: ClsStore, asked: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    down = asked.get("Sort", "desc") == "desc"
    ordered = sorted(found, key=lambda one: one["__TIMESTAMP__"], reverse=down)
    offset = int(asked.get("Context") or 0)
    page = ordered[offset : offset + min(asked.get("Limit", 100), 1000)]
    over = offset + len(page) >= len(ordered)
    results = [
        {"Time": one["__TIMESTAMP__"], "TopicId": store.topic, "TopicName": "app", "Source": "10.0.0.1",
         "FileName": "app.log", "PkgId": "p", "PkgLogId": str(number), "HighLights": [], "RawLog": "",
         "LogJson": json.dumps({key: value for key, value in one.items() if not key.startswith("__")})}
        for number, one in enumerate(page)
    ]  # fmt: skip
    return {
        "Context": "" if over else str(offset + len(page)), "ListOver": over, "Analysis": False, "Results": results,
        "ColNames": None, "AnalysisResults": None, "AnalysisRecords": None, "SamplingRate": 1,
    }  # fmt: skip


def _expected(store: ClsStore, request: Request) -> str:
    """The signature that the documentation asks for, computed here anew."""
    moment = int(request.headers.get("x-tc-timestamp") or 0)
    day = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
    lines = ["POST", "/", "", f"content-type:{request.headers.get('content-type', '')}",
             f"host:{request.headers.get('host', '')}", "", "content-type;host",
             hashlib.sha256(request.body).hexdigest()]  # fmt: skip
    to_sign = "\n".join(["TC3-HMAC-SHA256", str(moment), f"{day}/cls/tc3_request",
                         hashlib.sha256("\n".join(lines).encode()).hexdigest()])  # fmt: skip
    dated = hmac.digest(f"TC3{store.secret_key}".encode(), day.encode(), "sha256")
    key = hmac.digest(hmac.digest(dated, b"cls", "sha256"), b"tc3_request", "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    scope = f"Credential={store.secret_id}/{day}/cls/tc3_request"
    return f"TC3-HMAC-SHA256 {scope}, SignedHeaders=content-type;host, Signature={signature}"
