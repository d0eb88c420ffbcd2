"""Conditions of CLS and SLS: what is searched for is data, whatever it holds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.servers.cloud_search import Language, split
from tests.tools.live.logs.cloud_asking import question
from tools.live.logs.phrases import TROUBLE_WORDS
from tools.live.logs.searching import Condition, condition_of, counting, named, quoted
from tools.live.logs.source import Phrase

LANGUAGES = [Language(phrases=True), Language(phrases=False)]
hostile = st.text(alphabet=st.sampled_from('ab"\\*?|() :\n\t\u0000中NOTandOR'), max_size=30)
nasty = hostile.map(lambda text: text.replace("\u0000", "x"))
worded = nasty.filter(lambda text: any(map(str.isalnum, text)))


def condition(**more: Any) -> Condition:
    told = condition_of(question(**more), service="service", level="level", levels=None, most=100)
    assert told is not None
    return told


@given(hostile)
def test_a_text_is_one_term_whatever_it_holds(text: str) -> None:
    search, sql = split(quoted(text))
    assert sql is None
    assert search == quoted(text)


@given(worded)
def test_a_record_with_the_very_text_is_found(text: str) -> None:
    for language in LANGUAGES:
        assert language.test_of(quoted(text))({"message": f"x {text} y"})


@given(hostile, hostile)
def test_no_service_s_name_lets_another_one_in(name: str, contains: str) -> None:
    told = condition(services=(f"s{name}",), contains=contains)
    assert split(told.text) == (told.text, None)
    for language in LANGUAGES:
        assert not language.test_of(told.text)({"service": "another", "message": contains})


@given(st.lists(worded, max_size=5))
def test_what_is_left_out_stays_out(runs: list[str]) -> None:
    told = condition(without=tuple(Phrase((run,)) for run in runs))
    for language in LANGUAGES:
        test = language.test_of(told.text)
        assert not any(test({"message": run}) for run in runs)
        assert test({"message": "zzz"})


def test_words_that_begin_others_stand_for_them() -> None:
    told = condition(words=("fail", "failed", "failure", "timed out"))
    assert told == Condition('(fail* OR "timed out")', about=True)


@pytest.mark.parametrize("most", [3, 10, 28])
def test_a_condition_keeps_to_its_number_of_terms(most: int) -> None:
    asked = question(services=("a",), words=TROUBLE_WORDS, without=(Phrase(("x y", "z")),) * 9)
    told = condition_of(asked, service="service", level="level", levels=None, most=most)
    assert told is not None
    assert told.about
    Language(phrases=False, most=most).test_of(told.text)


@pytest.mark.parametrize(
    ("severities", "text"),
    [
        ({"ERROR"}, '(level:"17" OR level:"err")'),
        ({"ERROR", "-"}, '* NOT (level:"INFO")'),
        ({"-"}, '* NOT (level:"17") NOT (level:"INFO") NOT (level:"err")'),
        ({"DEBUG"}, None),
    ],
)
def test_severities_are_asked_for_as_the_source_spells_them(severities: set[str], text: str | None) -> None:
    told = condition_of(
        question(severities=frozenset(severities)),
        service="service",
        level="level",
        levels=["err", "17", "INFO", "odd", ""],
        most=28,
    )
    assert (told.text if told else None) == text


def test_a_field_s_name_with_a_colon_is_quoted() -> None:
    assert named("service") == "service"
    assert named("__tag__:app") == '"__tag__:app"'


def test_sql_holds_nothing_of_a_question() -> None:
    sql = counting({"z_service": "service"}, "__TIMESTAMP__", 24, 1000, 240, "")
    assert sql == (
        "SELECT coalesce(CAST(\"service\" AS varchar), '') AS z_service, "
        "((__TIMESTAMP__) - 1000) * 24 / 240 AS z_slice, count(*) AS z_records, "
        "min(__TIMESTAMP__) AS z_first, max(__TIMESTAMP__) AS z_last GROUP BY z_service, z_slice"
    )
