"""What Elasticsearch and OpenSearch answer, read strictly: counts, records, names, and how much of it is missing."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tools.base import SourceFailure
from tools.live.logs.es_fields import Fields
from tools.live.logs.es_query import interval_of, milliseconds
from tools.live.logs.records import LEVEL_FIELDS, UNLEVELLED, LogRecord, name_of, record_of, said, severity_of
from tools.live.logs.source import Bound, Count, Counts, Known, LogQuestion, Records
from tools.live.transport import Answer
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.logs.settings import ElasticsearchSettings

REFUSALS = frozenset({400, 404, 429, 500, 503})
"""Statuses whose body says more than they do."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)
_TOO_LARGE = frozenset({"too_many_buckets_exception", "circuit_breaking_exception"})
_DEPTH = 4


class ExpensiveRefused(SourceFailure):
    """The cluster is set up to refuse searches for parts of words."""


def read(answer: Answer) -> Mapping[str, Any]:
    """Return a search's JSON; raises SourceFailure for what was refused, in codes alone."""
    if answer.status in REFUSALS:
        raise _refusal(answer)
    parsed = answer.json()
    if not isinstance(parsed, dict):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return parsed


def partial(answer: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return codes for what is missing of an answer: the search's time, shards, other clusters."""
    shards, clusters = answer.get("_shards"), answer.get("_clusters")
    missing = {
        "TIMED_OUT": answer.get("timed_out") is True,
        "SHARDS_FAILED": isinstance(shards, dict) and bool(shards.get("failed")),
        "CLUSTERS_SKIPPED": isinstance(clusters, dict)
        and any(clusters.get(state) for state in ("skipped", "partial", "failed")),
    }
    return tuple(f"{code}:{name}" for code, is_so in missing.items() if is_so)


def everything_of(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer's aggregations as one bucket of all that matches; raises SourceFailure where it has none."""
    try:
        return {**answer.get("aggregations", {}), "doc_count": int(answer["hits"]["total"]["value"])}
    except _BROKEN:
        pass
    raise SourceFailure(SourceError.SOURCE_UNREADABLE)


def counts_of(
    holder: Mapping[str, Any],
    missing: tuple[str, ...],
    question: LogQuestion,
    fields: Fields,
    slices: int,
) -> Counts:
    """Return counts from the aggregations of `es_query.counting`; `missing` is told by `partial`."""
    cut: list[str] = []
    rows: tuple[Count, ...] | None = None
    with suppress(*_BROKEN):
        rows = _merged(_rows(holder, question, fields, slices, cut))
    if rows is None:
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    guessed = question.severities is not None and fields.level is None
    bound = Bound.AT_LEAST if missing or cut else Bound.ABOUT if guessed else Bound.EXACT
    return Counts(rows, bound, (*missing, *dict.fromkeys(cut)))


def known_of(answer: Mapping[str, Any], most: int) -> Known:
    """Return the services that the aggregations of `es_query.knowing` name."""
    try:
        aggregations = answer["aggregations"]
        everyone = [str(one["key"]) for one in aggregations["all"]["buckets"]]
        asked = aggregations.get("asked", {}).get("names", {}).get("buckets", [])
        return Known(tuple(dict.fromkeys([*(str(one["key"]) for one in asked), *everyone])), len(everyone) < most)
    except _BROKEN:
        pass
    raise SourceFailure(SourceError.SOURCE_UNREADABLE)


def records_of(
    answer: Mapping[str, Any], missing: tuple[str, ...], fields: Fields, settings: "ElasticsearchSettings"
) -> tuple[Records, int]:
    """Return the records of a page, and how many match in all (as far as that was counted)."""
    try:
        hits = answer["hits"]
        rows = tuple(_record(hit, fields, settings) for hit in hits["hits"])
        return Records(rows, not missing, missing), int(hits["total"]["value"])
    except _BROKEN:
        pass
    raise SourceFailure(SourceError.SOURCE_UNREADABLE)


def _refusal(answer: Answer) -> SourceFailure:
    kinds, reasons = _errors(answer.body)
    if "index_not_found_exception" in kinds:
        return SourceFailure(SourceError.SOURCE_MISSING)
    if "allow_expensive_queries" in reasons:
        return ExpensiveRefused(SourceError.QUERY_REJECTED, field="contains")
    if kinds & _TOO_LARGE:
        return SourceFailure(SourceError.ANSWER_TOO_LARGE, near_names=("one service", "a shorter window"))
    if answer.status >= 429:
        return SourceFailure(SourceError.BACKEND_UNAVAILABLE)
    return SourceFailure(SourceError.QUERY_REJECTED)


def _errors(body: bytes) -> tuple[set[str], str]:
    """The types of an error and its causes, and the text of their reasons, which is matched and never told."""
    try:
        error = json.loads(body)["error"]
    except _BROKEN:
        return set(), ""
    found: list[Mapping[str, Any]] = []
    left = [error]
    while left and len(found) < 50:
        one = left.pop()
        if isinstance(one, dict):
            found.append(one)
            left += [value for value in one.values() if isinstance(value, dict)]
            left += [item for value in one.values() if isinstance(value, list) for item in value]
    return {str(one.get("type")) for one in found}, " ".join(str(one.get("reason")) for one in found)


def _rows(
    holder: Mapping[str, Any], question: LogQuestion, fields: Fields, slices: int, cut: list[str]
) -> Iterator[Count]:
    """Unfold services, levels and slices; `cut` takes a code where there were more names than buckets."""
    for service, of_service in _parts(holder, "services", fields.service is not None, cut):
        for level, of_level in _parts(of_service, "levels", fields.level is not None, cut):
            for number, one in _slices(of_level, question, slices):
                if one["doc_count"]:
                    first, last = (_moment(one[edge]["value"]) for edge in ("first", "last"))
                    yield Count(name_of(service), severity_of(level), number, int(one["doc_count"]), first, last)


def _parts(
    holder: Mapping[str, Any], name: str, apart: bool, cut: list[str]
) -> Iterable[tuple[str | None, Mapping[str, Any]]]:
    if not apart:
        return [(None, holder)]
    aggregation = holder[name]
    if aggregation.get("sum_other_doc_count") or aggregation.get("doc_count_error_upper_bound"):
        cut.append(f"MORE_{name.upper()}")
    return [(str(one["key"]), one) for one in aggregation["buckets"]]


def _slices(holder: Mapping[str, Any], question: LogQuestion, slices: int) -> Iterable[tuple[int, Mapping[str, Any]]]:
    if slices == 1:
        return [(0, holder)]
    interval, start = interval_of(question, slices), milliseconds(question.start)
    return [
        (min(slices - 1, max(0, (int(one["key"]) - start) // interval)), one) for one in holder["slices"]["buckets"]
    ]


def _merged(rows: Iterable[Count]) -> tuple[Count, ...]:
    """Several spellings of a level are one severity."""
    merged: dict[tuple[str, str, int], Count] = {}
    for row in rows:
        key = (row.service, row.severity, row.slice)
        merged[key] = merged[key].added(row) if key in merged else row
    return tuple(merged[key] for key in sorted(merged))


def _record(hit: Mapping[str, Any], fields: Fields, settings: "ElasticsearchSettings") -> LogRecord:
    flat = dict(_flat(hit["_source"], ""))
    names = [name.rpartition(".")[0] if name.endswith((".keyword", ".raw")) else name for name in _named(fields)]
    message = said(flat, (fields.message.name, *settings.message_fields)) or ""
    stack = said(flat, settings.stack_fields)
    level = said(flat, (names[1], *LEVEL_FIELDS)) if fields.level else None
    told = {*settings.message_fields, *settings.stack_fields, *settings.time_fields, *settings.trace_fields}
    told |= {*names, *settings.level_fields}
    return record_of(
        _moment(hit["sort"][0]) or _EPOCH,
        said(flat, (names[0],)) if fields.service else None,
        f"{message}\n{stack}" if stack and stack not in message else message,
        severity=level if severity_of(level) != UNLEVELLED else None,
        trace_id=said(flat, settings.trace_fields),
        fields=((key, value) for key, value in flat.items() if key not in told),
    )


def _named(fields: Fields) -> tuple[str, str]:
    return (fields.service.name if fields.service else "", fields.level.name if fields.level else "")


def _flat(source: Any, prefix: str, depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    for key, value in source.items():
        if isinstance(value, dict):
            if depth:
                yield from _flat(value, f"{prefix}{key}.", depth - 1)
        elif isinstance(value, list):
            if len(value) == 1 and not isinstance(value[0], dict | list):
                yield prefix + key, value[0]
        else:
            yield prefix + key, value


def _moment(value: Any) -> datetime | None:
    """A time in milliseconds since the epoch, or in nanoseconds where a field keeps those."""
    if value is None:
        return None
    number = float(value)
    return _EPOCH + timedelta(milliseconds=number / 1_000_000 if abs(number) > 1e15 else number)
