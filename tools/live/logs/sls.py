"""Logs from Alibaba Cloud SLS (Simple Log Service).

API: https://help.aliyun.com/zh/sls/developer-reference/api-sls-2020-12-30-getlogs (`GET /logstores/{logstore}`):
records by pages of 100, SQL behind a pipe in the query. `x-log-progress: Incomplete` says that the same question, asked
again, would find more. Times are whole seconds, the end excluded.
"""

import asyncio
import shlex
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from tools.base import SourceFailure
from tools.live.logs.cloud import Analysed, CloudLogs, Entry, Page, Window
from tools.live.logs.sls_signature import authorization
from tools.live.source import secret_of
from tools.live.transport import Answer, Transport
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.logs.cloud_settings import SlsSettings

PAGE = 100
"""How many records one request asks for, the most that is allowed."""
TRIES = 3
"""How often a question is asked whose answer isn't complete yet."""
_READ_HERE = frozenset({400, 401, 403})
_CODES = {
    "Unauthorized": SourceError.ACCESS_DENIED,
    "SignatureNotMatch": SourceError.ACCESS_DENIED,
    "InvalidAccessKeyId": SourceError.ACCESS_DENIED,
    "RequestTimeExpired": SourceError.ACCESS_DENIED,
    "RequestTimeTooSkewed": SourceError.ACCESS_DENIED,
    "ReadQuotaExceed": SourceError.BACKEND_UNAVAILABLE,
    "ShardReadQuotaExceed": SourceError.BACKEND_UNAVAILABLE,
    "ProjectForbidden": SourceError.ACCESS_DENIED,
}
_BY_STATUS = {400: SourceError.QUERY_REJECTED, 401: SourceError.ACCESS_DENIED, 403: SourceError.ACCESS_DENIED}
_NANOSECONDS = "__time_ns_part__"


class Sls(CloudLogs):
    """One Logstore."""

    most_terms: ClassVar[int] = 28
    """A search statement may have 30 conditions."""
    clock: ClassVar[str] = "__time__ * 1000"
    origin: ClassVar[str] = " FROM log"

    def __init__(self, name: str, transport: Transport, settings: "SlsSettings") -> None:
        super().__init__(name, transport, settings)
        self._settings = settings

    @override
    async def _analysed(self, condition: str, sql: str, window: Window) -> Analysed:
        answer, rows = await self._completed({"query": f"{condition} | {sql}", **_times(window)})
        told = [{key: None if value == "null" else value for key, value in row.items()} for row in rows]
        return Analysed(told, _is_complete(answer))

    @override
    async def _pages(self, condition: str, window: Window, limit: int, *, latest: bool) -> AsyncIterator[Page]:
        offset, each = 0, min(limit, PAGE)
        while True:
            asked = {"offset": str(offset), "line": str(each), "reverse": "true" if latest else "false"}
            answer, rows = await self._completed({"query": condition, **_times(window), **asked})
            complete = _is_complete(answer)
            last = len(rows) < each
            yield Page([entry for row in rows if (entry := _entry(row)) is not None], last=last, complete=complete)
            if last:
                return
            offset += len(rows)

    @override
    def _command(self, condition: str, window: Window) -> str:
        times = _times(window)
        where = 'aliyunlog log get_log --project="$SLS_PROJECT" --logstore="$SLS_LOGSTORE"'
        return f"{where} --from_time={times['from']} --to_time={times['to']} --query={shlex.quote(condition)}"

    @override
    async def _clock(self) -> datetime | None:
        until = datetime.now(UTC)
        window = Window.of(until - timedelta(minutes=15), until)
        answer, _ = await self._asked({"query": "*", "line": "1", "offset": "0", **_times(window)})
        return answer.date

    async def _completed(self, params: Mapping[str, str]) -> tuple[Answer, list[dict[str, Any]]]:
        """Ask until the answer is complete, a few times at most; what the last one says is what there is."""
        for _ in range(TRIES - 1):
            answer, rows = await self._asked(params)
            if _is_complete(answer):
                return answer, rows
        return await self._asked(params)

    async def _asked(self, params: Mapping[str, str]) -> tuple[Answer, list[dict[str, Any]]]:
        path, sent = f"/logstores/{self._settings.logstore}", {"type": "log", **params}
        headers = await asyncio.to_thread(self._headers, path, sent)
        answer = await self._transport.answer("GET", path, params=sent, headers=headers, accept_status=_READ_HERE)
        if answer.status in _READ_HERE:
            raise SourceFailure(_code_of(answer))
        rows = answer.json()
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        return answer, rows

    def _headers(self, path: str, params: Mapping[str, str]) -> dict[str, str]:
        settings = self._settings
        secret = secret_of(settings.access_key_secret, settings.access_key_secret_file) or ""
        token = secret_of(settings.security_token, settings.security_token_file)
        headers = {
            "date": format_datetime(datetime.now(UTC), usegmt=True),
            "x-log-apiversion": "0.6.0",
            "x-log-bodyrawsize": "0",
            "x-log-signaturemethod": "hmac-sha1",
            **({"x-acs-security-token": token} if token else {}),
        }
        signed = authorization(settings.access_key_id, secret, path=path, params=params, headers=headers)
        return {**headers, "authorization": signed}


def _times(window: Window) -> dict[str, str]:
    """Return the whole seconds that lie in a window, the end excluded."""
    return {"from": str(-(-window.start_ms // 1000)), "to": str(-(-window.end_ms // 1000))}


def _is_complete(answer: Answer) -> bool:
    return answer.headers.get("x-log-progress", "Complete").casefold() == "complete"


def _entry(row: Mapping[str, Any]) -> Entry | None:
    try:
        seconds = int(row["__time__"])
        nanoseconds = int(row.get(_NANOSECONDS) or 0)
        at = datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=nanoseconds // 1000)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
    return Entry(at, row)


def _code_of(answer: Answer) -> SourceError:
    """Return what an error's own code means, else what its status means. Its text is never looked at."""
    try:
        content = answer.json()
    except SourceFailure:
        content = None
    code = str(content.get("errorCode") or "") if isinstance(content, dict) else ""
    return _CODES.get(code, _BY_STATUS[answer.status])
