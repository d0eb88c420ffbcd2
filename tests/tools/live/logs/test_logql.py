"""Whatever a service is called and whatever is searched for, a LogQL query means just that.

The queries are read by the parser of the tests' own Loki (`tests.live.servers.logql`), which shares no code with what
writes them.
"""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.servers.logql import parsed
from tools.canonical import fold
from tools.live.logs.logql import counted, pipeline, selector
from tools.live.logs.records import SEVERITIES, UNLEVELLED, severity_of
from tools.live.logs.source import LogQuestion, Phrase

START = datetime(2026, 3, 4, 11, 0, tzinfo=UTC)
LEVELS = ("level", "detected_level")
ATTACKS = (
    'x"} | line_format "{{.password}}',
    '"} or {job=~".+',
    "`} |= `",
    'a" |= "b',
    "\\",
    'trailing\\"',
    "new\nline",
    "}",
    "#comment",
    ".*",
    "(?i)",
    "a|b",
)
TEXTS = st.one_of(st.sampled_from(ATTACKS), st.text(min_size=1, max_size=40))


def asked(**more: object) -> LogQuestion:
    return LogQuestion(START, START + timedelta(hours=1), **more)  # type: ignore[arg-type]


@given(st.lists(TEXTS, min_size=1, max_size=3, unique=True), TEXTS)
def test_a_selector_means_the_services_and_no_other(services: list[str], other: str) -> None:
    services = [name.encode(errors="replace").decode() for name in services]
    query = parsed(selector("", "app", services))
    assert all(query.streams({"app": name}) for name in services)
    assert other in services or not query.streams({"app": other})
    assert not query.streams({"job": services[0]})


@given(TEXTS.map(fold).filter(bool), st.text(max_size=20), st.text(max_size=20))
def test_a_searched_text_is_found_as_it_stands_plain_or_in_json(text: str, before: str, after: str) -> None:
    query = parsed(f'{{app="x"}} {pipeline(asked(contains=text), LEVELS, in_lines=False)}')
    assert len(query.stages) == 1
    plain = f"{before} {text} {after}"
    for line in (plain, json.dumps({"msg": plain}), json.dumps({"msg": plain}, ensure_ascii=False)):
        assert query.passes(line, {}) is not None


@given(TEXTS.map(fold).filter(bool))
def test_a_searched_text_is_not_found_where_it_does_not_stand(text: str) -> None:
    query = parsed(f'{{app="x"}} {pipeline(asked(contains=text + "q"), LEVELS, in_lines=False)}')
    assert query.passes(text, {}) is None


def test_white_space_case_and_escapes_do_not_count() -> None:
    query = parsed(f'{{app="x"}} {pipeline(asked(contains="pool is empty"), LEVELS, in_lines=False)}')
    assert query.passes("the POOL\tis  Empty now", {}) is not None
    assert query.passes('{"msg":"pool\\nis empty"}', {}) is not None
    assert query.passes("pool isempty", {}) is None


@pytest.mark.parametrize("severity", [*SEVERITIES, UNLEVELLED])
def test_a_severity_is_found_by_the_first_label_that_tells_one(severity: str) -> None:
    query = parsed(f'{{app="x"}} {pipeline(asked(severities=frozenset({severity})), LEVELS, in_lines=False)}')
    told = ["error", "ERR", "Warning", "info", "I", "17", "50", "unknown", "", "critical", "trace", "debug", "9"]
    for first in told:
        for second in told:
            known = [severity_of(one) for one in (first, second) if severity_of(one) != UNLEVELLED]
            meant = known[0] if known else UNLEVELLED
            labels = {"level": first, "detected_level": second}
            assert (query.passes("x", labels) is not None) == (meant == severity)


def test_a_severity_that_stands_in_lines_alone_is_found_there() -> None:
    levels = ("told_level", "bare_level")
    query = parsed(f'{{app="x"}} {pipeline(asked(severities=frozenset({"ERROR"})), levels, in_lines=True)}')
    for line in ("t=1 level=error msg=x", '{"level":"ERROR"}', "12:00 ERROR [main] x"):
        assert query.passes(line, {}) is not None
    for line in ("level=info msg=error", "an error of nobody", "INFO no ERROR"):
        assert query.passes(line, {}) is None


def test_phrases_are_wanted_in_their_order_and_others_left_out() -> None:
    question = asked(phrase=Phrase(("pool exhausted", "for db")), without=(Phrase(("known",)),), words=("exhausted",))
    query = parsed(f'{{app="x"}} {pipeline(question, LEVELS, in_lines=False)}')
    assert query.passes("pool exhausted after 3ms\nwaiting for db", {}) is not None
    assert query.passes("for db pool exhausted", {}) is None
    assert query.passes("pool exhausted, known for db", {}) is None


@given(TEXTS)
def test_a_count_is_of_one_log_query_whatever_it_holds(text: str) -> None:
    inner = f"{selector('', 'app', [text])} {pipeline(asked(contains=fold(text) or 'x'), LEVELS, in_lines=False)}"
    query = parsed(counted(inner, timedelta(seconds=975), ("app", *LEVELS)))
    assert (query.span, query.by) == (975 * 10**9, ("app", *LEVELS))
