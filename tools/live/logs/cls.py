"""Logs from Tencent Cloud CLS.

API: https://cloud.tencent.com/document/api/614/56447 (SearchLog, version 2020-10-16): conditions in CQL
(`SyntaxRule` 1), raw records by pages (`Context`, `ListOver`), SQL behind a pipe (`UseNewAnalysis`). An error comes
with status 200.
"""

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from typing_extensions import override

from tools.base import SourceFailure
from tools.live.logs.cloud import Analysed, CloudLogs, Entry, Page, Window
from tools.live.logs.cls_signature import authorization
from tools.live.source import secret_of
from tools.live.transport import Answer, Transport
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.logs.cloud_settings import ClsSettings

PAGE = 1_000
"""How many records one request asks for, the most that is allowed."""
_LEAST_PAGE = 10
"""Where a page is more than may be read of one response, smaller ones are asked for, down to this."""
_VERSION = "2020-10-16"
_CONTENT_TYPE = "application/json; charset=utf-8"
_DENIED = ("AuthFailure", "UnauthorizedOperation", "UnsupportedRegion")
_REFUSED = (
    "InvalidParameter", "MissingParameter", "UnknownParameter", "ResourceNotFound", "OperationDenied", "InvalidAction",
    "NoSuchVersion", "UnsupportedOperation", "FailedOperation.SyntaxError", "FailedOperation.InvalidContext",
    "FailedOperation.QueryError", "FailedOperation.TopicNotExist",
)  # fmt: skip
_LATE = ("FailedOperation.SearchTimeout", "FailedOperation.Timeout", "InternalError.SearchTimeout")
_CODES = (
    *((prefix, SourceError.ACCESS_DENIED) for prefix in _DENIED),
    *((prefix, SourceError.BACKEND_TIMEOUT) for prefix in _LATE),
    *((prefix, SourceError.QUERY_REJECTED) for prefix in _REFUSED),
)


class Cls(CloudLogs):
    """One log topic."""

    most_terms: ClassVar[int] = 80
    clock: ClassVar[str] = "__TIMESTAMP__"

    def __init__(self, name: str, transport: Transport, settings: "ClsSettings") -> None:
        super().__init__(name, transport, settings)
        self._settings = settings
        public = f"https://cls.{settings.region}.tencentcloudapi.com"
        self._host = urlsplit(settings.url or public).netloc

    @override
    async def _analysed(self, condition: str, sql: str, window: Window) -> Analysed:
        _, answer = await self._searched(f"{condition} | {sql}", window, {"UseNewAnalysis": True, "SamplingRate": 1})
        records = answer.get("AnalysisRecords")
        if not answer.get("Analysis") or not isinstance(records, list):
            # Statistics aren't enabled for the topic's index: raw records come back for a count.
            raise SourceFailure(SourceError.QUERY_REJECTED)
        rate = answer.get("SamplingRate")
        return Analysed([_object(record) for record in records], complete=rate in (None, 1))

    @override
    async def _pages(self, condition: str, window: Window, limit: int, *, latest: bool) -> AsyncIterator[Page]:
        context, each = "", min(limit, PAGE)
        while True:
            asked = {"Limit": each, "Sort": "desc" if latest else "asc", "Context": context}
            try:
                _, answer = await self._searched(condition, window, asked)
            except SourceFailure as failure:
                if failure.code is not SourceError.ANSWER_TOO_LARGE or each <= _LEAST_PAGE:
                    raise
                each = max(_LEAST_PAGE, each // 4)
                continue
            results = answer.get("Results") or []
            context = str(answer.get("Context") or "")
            over = bool(answer.get("ListOver"))
            stuck = not over and (not context or not results)
            rows = [entry for one in results if isinstance(one, dict) and (entry := _entry(one)) is not None]
            yield Page(rows, last=over, complete=not stuck)
            if over or stuck:
                return

    @override
    def _command(self, condition: str, window: Window) -> str:
        asked = f"--From {window.start_ms} --To {window.end_ms - 1} --SyntaxRule 1 --Query {shlex.quote(condition)}"
        return f'tccli cls SearchLog --TopicId "$CLS_TOPIC_ID" {asked}'

    @override
    async def _clock(self) -> datetime | None:
        until = datetime.now(UTC)
        answer, _ = await self._searched("*", Window.of(until - timedelta(minutes=15), until), {"Limit": 1})
        return answer.date

    async def _searched(self, query: str, window: Window, more: Mapping[str, Any]) -> tuple[Answer, dict[str, Any]]:
        """Return the answer and the `Response` in it; raises SourceFailure."""
        body = json.dumps({
            "TopicId": self._settings.topic_id, "From": window.start_ms, "To": window.end_ms - 1, "Query": query,
            "SyntaxRule": 1, **more,
        }).encode()  # fmt: skip
        headers = await asyncio.to_thread(self._headers, body)
        answer = await self._transport.answer("POST", "/", body=body, headers=headers)
        content = answer.json()
        response = content.get("Response") if isinstance(content, dict) else None
        if not isinstance(response, dict):
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        if "Error" in response:
            raise SourceFailure(_code_of(response["Error"]))
        return answer, response

    def _headers(self, body: bytes) -> dict[str, str]:
        settings = self._settings
        secret = secret_of(settings.secret_key, settings.secret_key_file) or ""
        token = secret_of(settings.security_token, settings.security_token_file)
        timestamp = int(datetime.now(UTC).timestamp())
        signed = {"content-type": _CONTENT_TYPE, "host": self._host}
        return {
            "Content-Type": _CONTENT_TYPE,
            "Host": self._host,
            "X-TC-Action": "SearchLog",
            "X-TC-Version": _VERSION,
            "X-TC-Region": settings.region,
            "X-TC-Timestamp": str(timestamp),
            **({"X-TC-Token": token} if token else {}),
            "Authorization": authorization(
                settings.secret_id, secret, service="cls", timestamp=timestamp, headers=signed, body=body
            ),
        }


def _entry(result: Mapping[str, Any]) -> Entry | None:
    """Return a raw record; its own fields are JSON text in `LogJson`, a text without structure is `RawLog`."""
    at = _moment(result.get("Time"))
    if at is None:
        return None
    fields = _object(result.get("LogJson"))
    if not fields and result.get("RawLog"):
        fields = {"message": result["RawLog"]}
    return Entry(at, _flattened(fields))


def _moment(milliseconds: Any) -> datetime | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if isinstance(milliseconds, int) else None
    except (ValueError, OverflowError, OSError):
        return None


def _flattened(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested objects as `outer.inner`, which is how the index names them."""
    flat: dict[str, Any] = {}
    for key, value in fields.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": one for inner, one in value.items()}
        else:
            flat[key] = value
    return flat


def _object(text: Any) -> dict[str, Any]:
    """Return a JSON object that came as text (or as itself), an empty one where it is none."""
    if isinstance(text, dict):
        return text
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _code_of(error: Any) -> SourceError:
    code = str(error.get("Code") or "") if isinstance(error, dict) else ""
    return next((meaning for prefix, meaning in _CODES if code.startswith(prefix)), SourceError.BACKEND_UNAVAILABLE)
