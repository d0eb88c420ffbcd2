"""Questions in Elasticsearch's query language: JSON, in which every text of a question stands as a value.

Source: Elasticsearch and OpenSearch documentation, "Query DSL" (bool, range, terms, match_phrase, intervals, wildcard)
and "Aggregations" (terms, date_histogram, filters, min, max).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from tools.base import SourceFailure
from tools.canonical import iso_utc
from tools.live.logs.es_fields import Field, Fields
from tools.live.logs.records import SEVERITIES, SPELLINGS, UNLEVELLED
from tools.live.logs.source import LogQuestion, Phrase
from tools.vocabulary import SourceError

Clause: TypeAlias = dict[str, Any]

MAX_SERVICES = 300
MAX_LEVELS = 40
NO_NAME = "-"

_EDGES = re.compile(r"^\W+|\W+$")
_WILD = re.compile(r"([*?\\])")
_NUMBERED = {
    severity: [*range(21 - 4 * place, 25 - 4 * place), *([60 - 10 * place] if place < 4 else [])]
    for place, severity in enumerate(SEVERITIES)
}


def question_query(question: LogQuestion, fields: Fields, *, costly: bool = True) -> Clause:
    """Return the query of a question. `costly`: parts of words may be searched, which some clusters refuse.

    Raises SourceFailure(QUERY_REJECTED) where a searched text has neither letter nor digit: nothing could find it.
    """
    must = [_between(question.start, question.end, fields.time)]
    if question.services:
        must.append(_of_services(question.services, fields))
    if question.severities is not None:
        must.append(_of_severities(question.severities, fields))
    if question.contains is not None:
        must.append(_any(_containing(question.contains, text, costly=costly) for text in fields.texts))
    if question.words:
        must.append(_any(_holding(word, fields.message) for word in question.words))
    if question.phrase is not None:
        must.append(of_phrase(question.phrase, fields))
    without = [of_phrase(phrase, fields) for phrase in question.without]
    return {"bool": {"filter": must, **({"must_not": without} if without else {})}}


def of_phrase(phrase: Phrase, fields: Fields) -> Clause:
    """Return the query of a phrase: all of its runs, whose order isn't looked at."""
    return {"bool": {"filter": [_holding(run, fields.message) for run in phrase.runs]}}


def counting(question: LogQuestion, fields: Fields, slices: int) -> Clause:
    """Return aggregations that count by service, severity and slice, with the times of the first and last record."""
    edges: Clause = {"first": {"min": {"field": fields.time}}, "last": {"max": {"field": fields.time}}}
    if slices == 1:
        inner = edges
    else:
        interval = interval_of(question, slices)
        start = milliseconds(question.start)
        histogram = {
            "field": fields.time,
            "fixed_interval": f"{interval}ms",
            "offset": f"+{start % interval}ms",
            "min_doc_count": 1,
        }
        inner = {"slices": {"date_histogram": histogram, "aggs": edges}}
    if fields.level is not None:
        inner = {"levels": {"terms": _terms(fields.level, MAX_LEVELS), "aggs": inner}}
    if fields.service is not None:
        inner = {"services": {"terms": _terms(fields.service, MAX_SERVICES), "aggs": inner}}
    return inner


def knowing(asked: str | None, service: Field) -> Clause:
    """Return aggregations that name services: the most talkative, and those that `asked` (folded) may mean."""
    named: Clause = {"all": {"terms": {"field": service.name, "size": MAX_SERVICES}}}
    if asked is not None:
        meant = {"term": {service.name: {"value": asked, "case_insensitive": True}}}
        named["asked"] = {"filter": meant, "aggs": {"names": {"terms": {"field": service.name, "size": 20}}}}
    return named


def interval_of(question: LogQuestion, slices: int) -> int:
    """Return the milliseconds of a slice."""
    return max(1, (milliseconds(question.end) - milliseconds(question.start)) // slices)


def milliseconds(moment: datetime) -> int:
    """Return an aware time as milliseconds since the epoch."""
    return int(moment.timestamp() * 1000)


def _terms(field: Field, size: int) -> Clause:
    return {"field": field.name, "size": size, "missing": 0 if field.number else NO_NAME}


def _between(start: datetime, end: datetime, time: str) -> Clause:
    within = {"gte": iso_utc(start), "lt": iso_utc(end), "format": "strict_date_optional_time"}
    return {"range": {time: within}}


def _of_services(services: Sequence[str], fields: Fields) -> Clause:
    if fields.service is None:
        return {"match_none": {}}
    named: Clause = {"terms": {fields.service.name: list(services)}}
    nameless: Clause = {"bool": {"must_not": [{"exists": {"field": fields.service.name}}]}}
    return _any([named, nameless]) if NO_NAME in services else named


def _of_severities(severities: Iterable[str], fields: Fields) -> Clause:
    asked = set(severities)
    if fields.level is None:
        # No field tells the severity: a record of one names it in its text, if anywhere.
        words = [word for severity in asked & set(SEVERITIES) for word in SPELLINGS[severity] if len(word) > 2]
        named = [_holding(word, fields.message) for word in words]
        return {"match_all": {}} if UNLEVELLED in asked else _any(named)
    level = fields.level
    options: list[Clause] = [
        {
            "terms": {
                level.name: [spelled for one in sorted(asked & set(SEVERITIES)) for spelled in _spelled(one, level)]
            }
        }
    ]
    if UNLEVELLED in asked:
        known = [spelled for severity in SEVERITIES for spelled in _spelled(severity, level)]
        options.append({"bool": {"must_not": [{"terms": {level.name: known}}]}})
    return _any(options)


def _spelled(severity: str, level: Field) -> list[Any]:
    if level.number:
        return list(_NUMBERED[severity])
    words = SPELLINGS[severity]
    return [*words, *map(str.upper, words), *map(str.capitalize, words), *map(str, _NUMBERED[severity])]


def _holding(words: str, text: Field) -> Clause:
    """Whole words, one behind the other. A field that isn't taken apart into words is searched for the text."""
    if text.analyzed:
        return {"match_phrase": {text.name: {"query": words}}}
    return _wild(text, words)


def _containing(contains: str, text: Field, *, costly: bool) -> Clause:
    """A text anywhere, its first and last word perhaps only as part of one: as far as the field can tell."""
    if not text.analyzed:
        return _wild(text, contains)
    words = [trimmed for word in contains.split() if (trimmed := _EDGES.sub("", word))]
    if not words:
        raise SourceFailure(SourceError.QUERY_REJECTED, field="contains")
    whole: list[Clause] = [{"match_phrase": {text.name: {"query": contains}}}]
    if not costly:
        return _any(whole)
    first, *middle = words
    if not middle:
        return _any([*whole, _wild(text, first)])
    *middle, last = middle
    parts = [
        {"wildcard": {"pattern": f"*{_escaped(first)}"}},
        *({"match": {"query": word, "ordered": True, "max_gaps": 0}} for word in middle),
        {"prefix": {"prefix": last}},
    ]
    ordered = {"all_of": {"intervals": parts, "ordered": True, "max_gaps": 0}}
    return _any([*whole, {"intervals": {text.name: ordered}}])


def _wild(text: Field, contains: str) -> Clause:
    return {"wildcard": {text.name: {"value": f"*{_escaped(contains)}*", "case_insensitive": True}}}


def _escaped(text: str) -> str:
    return _WILD.sub(r"\\\1", text)


def _any(clauses: Iterable[Clause]) -> Clause:
    options = list(clauses)
    return options[0] if len(options) == 1 else {"bool": {"should": options, "minimum_should_match": 1}}


def buckets(holder: Mapping[str, Any], name: str) -> Iterable[Mapping[str, Any]]:
    """Return the buckets of an aggregation; raises KeyError or TypeError where there are none."""
    found: Iterable[Mapping[str, Any]] = holder[name]["buckets"]
    return found
