"""Logs from Elasticsearch or OpenSearch, over their HTTP API.

Source: Elasticsearch and OpenSearch documentation, "Search API", "Field capabilities API", "Multiple indices". A search
that timed out, lost shards or skipped a cluster answers with 200 and in part: it is told as `AT_LEAST`, with a note.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from typing_extensions import override

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.logs.es_answers import (
    REFUSALS,
    ExpensiveRefused,
    counts_of,
    everything_of,
    known_of,
    partial,
    read,
    records_of,
)
from tools.live.logs.es_fields import Fields, fields_of, wanted
from tools.live.logs.es_query import MAX_SERVICES, counting, knowing, of_phrase, question_query
from tools.live.logs.pasting import elasticsearch_command
from tools.live.logs.records import LogRecord
from tools.live.logs.source import Counts, Known, LogQuestion, LogSource, Phrase, Records
from tools.live.source import Probe
from tools.live.transport import Transport
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.logs.settings import ElasticsearchSettings

KNOWN_FOR = timedelta(days=7)
"""A service that wrote nothing for so long isn't known any more."""
PAGE = 500
"""How many documents one request asks for."""
PHRASES = 6
"""How many phrases one request counts: each has buckets of its own, and a cluster allows so many."""
_REMEMBERED_SECONDS = 60.0
_WORDS = re.compile(r"[\w\s]*")
_LEFT_OUT = ("event.original", "agent", "ecs", "host", "input", "@metadata", "log.file", "log.offset")


class Elasticsearch(LogSource):
    """One index pattern of a cluster. Services are values of its service field."""

    def __init__(self, name: str, transport: Transport, settings: "ElasticsearchSettings") -> None:
        self.name = name
        self._transport = transport
        self._settings = settings
        self._path = "/" + quote(settings.index, safe="*,-.:_")
        self._fields: tuple[float, Fields] | None = None
        self._spelled: dict[str, str] = {}
        self._costly = True

    @override
    async def known(self, asked: str | None, until: datetime) -> Known:
        fields = await self._known_fields()
        if fields.service is None:
            return Known(())
        period = question_query(LogQuestion(until - KNOWN_FOR, until), fields)
        body = {"size": 0, "query": period, "aggs": knowing(asked, fields.service)}
        known = known_of(await self._search(body), MAX_SERVICES)
        self._spelled = {fold(name): name for name in known.names}
        return known

    @override
    async def counts(self, question: LogQuestion, slices: int) -> Counts:
        fields = await self._known_fields()
        body = {"size": 0, "track_total_hits": True, "aggs": counting(question, fields, slices)}
        answer, notes = await self._asked(question, fields, body)
        counts = counts_of(everything_of(answer), notes, question, fields, slices)
        if question.contains is None or _WORDS.fullmatch(question.contains) or not fields.message.analyzed:
            return counts
        return replace(counts, notes=(*counts.notes, f"PUNCTUATION_IGNORED:{self.name}"))

    @override
    async def counts_each(self, question: LogQuestion, phrases: Sequence[Phrase], slices: int) -> tuple[Counts, ...]:
        fields = await self._known_fields()
        found: list[Counts] = []
        for start in range(0, len(phrases), PHRASES):
            filters = {"filters": [of_phrase(phrase, fields) for phrase in phrases[start : start + PHRASES]]}
            aggregation = {"phrases": {"filters": filters, "aggs": counting(question, fields, slices)}}
            answer, notes = await self._asked(question, fields, {"size": 0, "aggs": aggregation})
            each = _each(answer)
            found += [counts_of(one, notes, question, fields, slices) for one in each]
        if len(found) != len(phrases):
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        return tuple(found)

    @override
    async def records(self, question: LogQuestion, limit: int, *, latest: bool = False) -> Records:
        fields = await self._known_fields()
        rows: list[LogRecord] = []
        remarks: dict[str, None] = {}
        total = 0
        while len(rows) < limit:
            size = min(PAGE, limit - len(rows))
            body = _listing(fields, size, len(rows), limit, latest=latest)
            answer, notes = await self._asked(question, fields, body)
            page, total = records_of(answer, notes, fields, self._settings)
            rows += page.rows
            remarks |= dict.fromkeys(page.notes)
            if len(page.rows) < size:
                break
        if question.severities is not None and fields.level is None:
            # What is found by a word in the text may name another severity than it has.
            rows = [row for row in rows if row.severity in question.severities]
        ordered = tuple(sorted(rows, key=lambda row: row.at))
        return Records(ordered, not remarks and len(rows) >= total, tuple(remarks))

    @override
    def paste(self, question: LogQuestion) -> str:
        """Return a search by URI, as curl asks it."""
        spelled = next((self._spelled[fold(name)] for name in question.services if fold(name) in self._spelled), None)
        return elasticsearch_command(question, self._path[1:], self._fields[1] if self._fields else None, spelled)

    @override
    async def probe(self) -> Probe:
        fields = await self._known_fields()
        now = {"date_range": {"field": fields.time, "ranges": [{"from": "now-1h"}]}}
        answer = await self._search({"size": 0, "aggs": {"hour": now}})
        try:
            hour = answer["aggregations"]["hour"]["buckets"][0]
            clock = datetime.fromtimestamp(float(hour["from"]) / 1000, UTC) + timedelta(hours=1)
            return Probe(clock, f"{int(hour['doc_count'])} records in the last hour")
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, OSError):
            pass
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)

    @override
    async def close(self) -> None:
        await self._transport.close()

    async def _asked(
        self, question: LogQuestion, fields: Fields, body: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Search for a question; return the answer and codes of what is missing of it.

        Where a cluster refuses searches for parts of words, whole words are searched, which is remarked.
        """
        if question.contains is None or self._costly:
            try:
                answer = await self._search({**body, "query": question_query(question, fields)})
                return answer, partial(answer, self.name)
            except ExpensiveRefused:
                self._costly = False
        answer = await self._search({**body, "query": question_query(question, fields, costly=False)})
        return answer, (*partial(answer, self.name), f"WHOLE_WORDS:{self.name}")

    async def _search(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        # The cluster gives up a little before we do, so that what it found until then still comes.
        timed = {"timeout": f"{max(1, int(self._settings.timeout_seconds * 800))}ms", **body}
        params = {"allow_partial_search_results": "true"}
        answer = await self._transport.answer(
            "POST", f"{self._path}/_search", params=params, body=timed, accept_status=REFUSALS
        )
        return read(answer)

    async def _known_fields(self) -> Fields:
        """The fields of the pattern's indices, asked again after a minute; raises as `fields_of` does."""
        now = monotonic()
        if self._fields is None or now - self._fields[0] > _REMEMBERED_SECONDS:
            params = {"fields": ",".join(wanted(self._settings))}
            answer = await self._transport.answer(
                "GET", f"{self._path}/_field_caps", params=params, accept_status=REFUSALS
            )
            self._fields = (now, fields_of(read(answer), self._settings))
        return self._fields[1]


def _listing(fields: Fields, size: int, begin: int, limit: int, *, latest: bool) -> dict[str, Any]:
    order = {"order": "desc" if latest else "asc", "unmapped_type": "date"}
    return {
        "size": size,
        "from": begin,
        "track_total_hits": limit + 1,
        "sort": [{fields.time: order}],
        "_source": {"excludes": list(_LEFT_OUT)},
    }


def _each(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    try:
        return list(answer["aggregations"]["phrases"]["buckets"])
    except (KeyError, TypeError):
        pass
    raise SourceFailure(SourceError.SOURCE_UNREADABLE)
