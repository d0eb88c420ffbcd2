"""The tools' questions: the frozen tool's name, arguments and scope; queries in one spelling; commands to paste."""

import shlex
from pathlib import Path

import pytest

from tests.tools.live.conformance import INCIDENT
from tools.frozen import frozen_tools
from tools.live.metrics.promql import canonical_query
from tools.live.metrics.settings import PrometheusSettings
from tools.live.metrics.tools import tools_of
from tools.vocabulary import Scope

TOOLS = tools_of({"here": PrometheusSettings(url="http://127.0.0.1:9").open("here")})
METRICS, PROMQL = TOOLS


def scope(service: str | None, metric: str | None) -> Scope:
    said = METRICS.arguments.model_validate({"service": service, "metric": metric, "start": "14:05", "end": None})
    return METRICS.normalize(said, INCIDENT)


def query_scope(query: str) -> Scope:
    said = PROMQL.arguments.model_validate({"query": query, "start": None, "end": None})
    return PROMQL.normalize(said, INCIDENT)


def test_there_are_no_tools_without_a_server() -> None:
    assert tools_of({}) == ()


def test_a_question_has_the_frozen_tools_name_arguments_and_scope(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("timestamp,service,metric,value\n2026-09-08T05:15:00Z,shop,x,1\n")
    (frozen,) = [tool for tool in frozen_tools(tmp_path) if tool.name == METRICS.name]
    said = {"service": "Ｓhop ", "metric": "ERROR Rate", "start": "07:00", "end": None}
    assert METRICS.arguments is frozen.arguments
    asked = frozen.arguments.model_validate(said)
    assert METRICS.normalize(asked, INCIDENT) == frozen.normalize(asked, INCIDENT)


def test_equivalent_spellings_of_a_query_are_one_scope() -> None:
    assert query_scope('sum(up{b="2",a="1"}) by (y, x)') == query_scope('sum by (x,y) (up{a="1", b="2"})')
    assert query_scope('up{a="X"}') != query_scope('up{a="x"}')
    assert query_scope("up") == {"query": "up", "start": "2026-09-08T04:02:00Z", "end": "2026-09-08T07:17:00Z"}


def test_what_is_no_query_is_an_invalid_argument() -> None:
    with pytest.raises(ValueError, match="query") as caught:
        query_scope("errors of shop")
    assert caught.value.args == ("query",)


@pytest.mark.parametrize(
    "asked", [scope("shop", "errors"), scope(None, None), scope("shop", None), scope(None, 'a"b'), scope("it's", "x")]
)
def test_a_question_by_name_can_be_pasted(asked: Scope) -> None:
    command = shlex.split(METRICS.paste(asked))
    assert command[:3] == ["promtool", "query", "range"]
    assert command[3:6] == [f"--start={asked['start']}", f"--end={asked['end']}", "$PROMETHEUS_URL"]
    selections = canonical_query(command[-1]).selections
    assert selections
    assert not any(selection.exact for selection in selections)


def test_a_service_that_was_not_found_yet_is_pasted_under_every_likely_label() -> None:
    query = shlex.split(METRICS.paste(scope("shop", None)))[-1]
    assert query == (
        'sum by (__name__) ({service=~"(?i)shop"} or {job=~"(?i)(.*/)?shop"} or {app=~"(?i)shop"} '
        'or {application=~"(?i)shop"} or {service_name=~"(?i)shop"})'
    )


def test_a_metric_of_a_service_that_was_not_found_yet_is_pasted_with_the_labels_that_may_name_it() -> None:
    query = shlex.split(METRICS.paste(scope("shop", "jvm heap")))[-1]
    assert query.startswith('sum by (__name__, service, job, app, application, service_name) ({__name__=~"jvm_memory')


def test_a_query_can_be_pasted_as_it_is() -> None:
    asked = query_scope('rate(x{a="it\'s"}[5m])')
    assert shlex.split(PROMQL.paste(asked))[-1] == asked["query"]


def test_a_query_that_is_too_long_to_be_pasted_is_left_out() -> None:
    assert PROMQL.paste(query_scope(" + ".join(f"up_{number}" for number in range(60)))) == ""


def test_the_first_question_is_about_the_incidents_service() -> None:
    first = METRICS.suggest(INCIDENT.model_copy(update={"service": "Shop"}))
    assert first is not None
    assert first["service"] == "shop"
    assert PROMQL.suggest(INCIDENT) is None
