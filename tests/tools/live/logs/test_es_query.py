"""Whatever a question holds stands in an Elasticsearch query as a value, never as a part of the language."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.logs.es_fields import Field, Fields, fields_of, wanted
from tools.live.logs.es_query import counting, question_query
from tools.live.logs.settings import ElasticsearchSettings
from tools.live.logs.source import LogQuestion, Phrase
from tools.vocabulary import SourceError

START = datetime(2026, 3, 4, 11, 0, tzinfo=UTC)
MESSAGE = Field("message", analyzed=True)
FIELDS = Fields("@timestamp", MESSAGE, (MESSAGE,), Field("service.name"), Field("log.level"))
ATTACKS = ('"}},{"match_all":{}}', "*", "\\*", "a OR b", "service.name:x", "_exists_:x", "?", "{{template}}", "now-1d")
TEXTS = st.one_of(st.sampled_from(ATTACKS), st.text(max_size=40))


def shape(value: Any) -> Any:
    """A query with every text value but those of fixed parts replaced, and lists of texts as one."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value if not isinstance(inner, str)] or "texts"
    return "text" if isinstance(value, str) else value


@given(st.lists(TEXTS, min_size=1, max_size=3), TEXTS, TEXTS)
def test_the_language_of_a_query_is_the_same_whatever_is_asked(services: list[str], run: str, other: str) -> None:
    def query(names: list[str], first: str, second: str) -> Any:
        question = LogQuestion(
            START,
            START + timedelta(hours=1),
            services=tuple(names),
            phrase=Phrase((first,)),
            without=(Phrase((second,)),),
            words=(first, second),
        )
        return json.loads(json.dumps(question_query(question, FIELDS)))

    assert shape(query(services, run, other)) == shape(query(["shop"], "pool", "known"))


@given(TEXTS.map(fold).filter(lambda text: any(character.isalnum() for character in text)))
def test_a_searched_texts_wildcards_mean_themselves(text: str) -> None:
    query = question_query(LogQuestion(START, START + timedelta(hours=1), contains=text), FIELDS)
    for pattern in _patterns(query):
        bare = pattern.removeprefix("*").replace("\\\\", "").replace("\\*", "").replace("\\?", "").removesuffix("*")
        assert "*" not in bare
        assert "?" not in bare


@pytest.mark.parametrize("text", ["*", "?!", "—", "{}"])
def test_what_no_index_could_find_is_rejected_and_no_absence(text: str) -> None:
    with pytest.raises(SourceFailure) as caught:
        question_query(LogQuestion(START, START + timedelta(hours=1), contains=text), FIELDS)
    assert (caught.value.code, caught.value.field) == (SourceError.QUERY_REJECTED, "contains")


def _patterns(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value[key] for key in ("pattern", "value") if isinstance(value.get(key), str)]
        return own + [pattern for inner in value.values() for pattern in _patterns(inner)]
    return [pattern for inner in value for pattern in _patterns(inner)] if isinstance(value, list) else []


def test_slices_begin_with_the_window() -> None:
    question = LogQuestion(START, START + timedelta(hours=1))
    levels = counting(question, FIELDS, 24)["services"]["aggs"]["levels"]["aggs"]
    histogram = levels["slices"]["date_histogram"]
    assert histogram["fixed_interval"] == "150000ms"
    assert histogram["offset"] == f"+{int(START.timestamp() * 1000) % 150_000}ms"


def capabilities(**types: str | list[str]) -> dict[str, Any]:
    fields = {
        name.replace("__", "."): {kind: {"type": kind} for kind in ([kinds] if isinstance(kinds, str) else kinds)}
        for name, kinds in types.items()
    }
    return {"indices": ["logs-1"], "fields": fields}


def test_of_a_text_field_the_keyword_below_it_is_counted() -> None:
    found = fields_of(
        capabilities(timestamp="date", msg="text", service="text", service__keyword="keyword", level="long"),
        ElasticsearchSettings(url="http://es:9200"),
    )
    assert (found.time, found.message) == ("timestamp", Field("msg", analyzed=True))
    assert found.service == Field("service.keyword")
    assert found.level == Field("level", number=True)


def test_a_field_that_is_counted_in_some_indices_alone_is_not_asked() -> None:
    settings = ElasticsearchSettings(url="http://es:9200")
    types: dict[str, str | list[str]] = {"@timestamp": "date", "message": "text", "service__name": ["text", "keyword"]}
    assert fields_of(capabilities(**types), settings).service is None
    types["service__name"] = ["keyword", "unmapped"]
    assert fields_of(capabilities(**types), settings).service == Field("service.name")


def test_a_pattern_without_an_index_is_missing() -> None:
    with pytest.raises(SourceFailure) as caught:
        fields_of({"indices": [], "fields": {}}, ElasticsearchSettings(url="http://es:9200"))
    assert caught.value.code is SourceError.SOURCE_MISSING


def test_indices_without_a_message_can_not_be_read() -> None:
    with pytest.raises(SourceFailure) as caught:
        fields_of(capabilities(timestamp="date"), ElasticsearchSettings(url="http://es:9200"))
    assert caught.value.code is SourceError.SOURCE_UNREADABLE


def test_every_configured_name_and_its_subfields_are_asked_for() -> None:
    settings = ElasticsearchSettings(url="http://es:9200", service_fields="svc, team.svc")
    assert {"svc", "svc.keyword", "team.svc.raw", "@timestamp"} <= set(wanted(settings))
