"""What Loki's HTTP API answers, read strictly.

Source: Grafana Loki documentation, "Loki HTTP API": `query_range`, `query`, `labels`, `label/<name>/values`. Times are
nanoseconds since the epoch, `end` is excluded for entries. What Loki refuses it refuses with 400 and plain text; that
text is matched against the limits it speaks of, and never told to anyone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tools.base import SourceFailure
from tools.live.transport import Answer, Transport
from tools.vocabulary import SourceError

_API = "/loki/api/v1"
_LONGEST_GET = 3_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENTRIES = re.compile(r"max entries limit[^()]*\((\d+) > (\d+)\)")
_TOO_MUCH = re.compile(r"maximum of series|maximum number of series|too many (?:bytes|chunks)|max number of chunks")
_TOO_LONG = re.compile(r"time range exceeds|query length|limit \(query")
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Entry:
    """One line: its time, the labels of its stream with its structured metadata, and the text."""

    nanoseconds: int
    labels: Mapping[str, str]
    line: str

    @property
    def at(self) -> datetime:
        """Return the time, aware UTC, cut to microseconds."""
        return _EPOCH + timedelta(microseconds=self.nanoseconds // 1000)


@dataclass(frozen=True)
class Series:
    """The numbers of one group of labels: seconds since the epoch and value."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Found:
    """What a query found. `limit`: how many entries it might have found at most, the tenant's own limit counted in.
    `warned`: Loki remarked that it isn't everything."""

    entries: tuple[Entry, ...] = ()
    limit: int = 0
    series: tuple[Series, ...] = ()
    warned: bool = False


def nanoseconds(moment: datetime) -> int:
    """Return an aware time as nanoseconds since the epoch."""
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


class LokiApi:
    """The four questions of Loki's API that are asked here."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def labels(self, start: datetime, end: datetime) -> tuple[str, ...]:
        """Return the names of all labels of streams in a time."""
        return _names(await self._asked("/labels", {"start": nanoseconds(start), "end": nanoseconds(end)}))

    async def values(self, label: str, start: datetime, end: datetime) -> tuple[str, ...]:
        """Return the values of a label (a LogQL label name) in a time."""
        asked = {"start": nanoseconds(start), "end": nanoseconds(end)}
        return _names(await self._asked(f"/label/{label}/values", asked))

    async def entries(self, query: str, start: int, end: int, limit: int, *, latest: bool) -> Found:
        """Return at most `limit` entries from `start` to `end` (nanoseconds), or as many as the tenant is allowed; the
        earliest in order of time, or the latest in reverse order."""
        direction = "backward" if latest else "forward"
        asked: dict[str, Any] = {"query": query, "start": start, "end": end, "direction": direction}
        answer = await self._sent("/query_range", {**asked, "limit": limit})
        allowed = _allowed(answer)
        if allowed is not None and 0 < allowed < limit:
            limit = allowed
            answer = await self._sent("/query_range", {**asked, "limit": limit})
        found = _found(_checked(answer))
        ordered = sorted(found.entries, key=lambda entry: entry.nanoseconds, reverse=latest)
        return Found(tuple(ordered), limit, warned=found.warned)

    async def series(self, query: str, start: int, end: int, step: timedelta) -> Found:
        """Return a metric query's values from `start` to `end` (nanoseconds, both included), a step apart."""
        if start == end:
            return _found(_checked(await self._sent("/query", {"query": query, "time": start})))
        seconds = step.total_seconds()
        asked = {"query": query, "start": start, "end": end, "step": f"{seconds:g}" if seconds >= 1 else seconds}
        return _found(_checked(await self._sent("/query_range", asked)))

    async def clock(self) -> datetime | None:
        """Return the server's own time (aware UTC), which its answer to a list of labels carries."""
        answer = await self._sent("/labels", {})
        _checked(answer)
        return answer.date

    async def _asked(self, path: str, params: dict[str, Any]) -> Any:
        return _checked(await self._sent(path, params)).get("data")

    async def _sent(self, path: str, params: dict[str, Any]) -> Answer:
        accepted = frozenset({400})
        if len(str(params.get("query", ""))) <= _LONGEST_GET:
            return await self._transport.answer("GET", _API + path, params=params, accept_status=accepted)
        # An address has a length that proxies put an end to; the same parameters may be posted as a form.
        form = urlencode(params, errors="replace")
        return await self._transport.answer("POST", _API + path, body=form, headers=_FORM, accept_status=accepted)


def _checked(answer: Answer) -> Mapping[str, Any]:
    """Return an answer's JSON; raises SourceFailure with a code for what Loki refused."""
    if answer.status == 400:
        raise _refusal(answer.body[:4_000].decode(errors="replace"))
    parsed = answer.json()
    if not isinstance(parsed, dict) or parsed.get("status") != "success":
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return parsed


def _refusal(text: str) -> SourceFailure:
    if _TOO_MUCH.search(text):
        return SourceFailure(SourceError.ANSWER_TOO_LARGE, near_names=("one service", "a shorter window"))
    if _TOO_LONG.search(text):
        return SourceFailure(SourceError.QUERY_REJECTED, near_names=("a shorter window",), field="start")
    return SourceFailure(SourceError.QUERY_REJECTED)


def _allowed(answer: Answer) -> int | None:
    if answer.status != 400:
        return None
    limited = _ENTRIES.search(answer.body[:4_000].decode(errors="replace"))
    return min(int(limited[1][:9]), int(limited[2][:9])) if limited else None


def _names(data: Any) -> tuple[str, ...]:
    # A tenant without streams answers without `data`.
    if data is None:
        return ()
    if not isinstance(data, list):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return tuple(name for name in data if isinstance(name, str))


def _found(parsed: Mapping[str, Any]) -> Found:
    try:
        data = parsed["data"]
        results, kind = data["result"] or [], data["resultType"]
        warned = bool(parsed.get("warnings") or data.get("warnings"))
        if kind == "streams":
            return Found(entries=tuple(entry for one in results for entry in _entries(one)), warned=warned)
        return Found(series=tuple(_series(one, kind) for one in results), warned=warned)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
        pass
    raise SourceFailure(SourceError.SOURCE_UNREADABLE)


def _entries(stream: Mapping[str, Any]) -> list[Entry]:
    labels = {str(key): str(value) for key, value in stream["stream"].items()}
    return [Entry(int(value[0]), labels, str(value[1])) for value in stream["values"]]


def _series(one: Mapping[str, Any], kind: str) -> Series:
    labels = {str(key): str(value) for key, value in one["metric"].items()}
    points = [one["value"]] if kind == "vector" else one["values"]
    return Series(labels, tuple((float(at), float(value)) for at, value in points))
