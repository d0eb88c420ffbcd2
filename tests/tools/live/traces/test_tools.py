"""`query_traces` over several backends at once."""

import pytest

from tests.live.servers.jaeger import JaegerStore, serving_jaeger
from tests.live.servers.skywalking import SkyWalkingStore, serving_skywalking
from tests.live.servers.told_spans import checkout
from tests.tools.live.conformance import INCIDENT
from tests.tools.live.traces.asking import answered
from tools.base import SourceFailure
from tools.frozen.traces import TracesArguments, TracesTool
from tools.live.traces.settings import JaegerSettings, SkyWalkingSettings
from tools.live.traces.tools import tools_of
from tools.vocabulary import EvidenceStatus, SourceError

BROKEN = checkout("t2", 60, broken=True)


async def test_two_backends_answer_as_one() -> None:
    with serving_jaeger(JaegerStore(checkout("t1", 0))) as one, serving_skywalking(SkyWalkingStore(BROKEN)) as two:
        evidence = await answered(JaegerSettings(url=one), SkyWalkingSettings(url=two), service="web")
    assert evidence.first_failing == "stock"
    assert "edge caller=web callee=cart calls=2 errors=1 max_ms=4020" in evidence.content
    assert not evidence.truncated


async def test_spans_that_two_sources_keep_count_once() -> None:
    with serving_jaeger(JaegerStore(BROKEN)) as url:
        evidence = await answered(JaegerSettings(url=url), JaegerSettings(url=url), service="web")
    assert "edge caller=web callee=cart calls=1 errors=1 max_ms=4020" in evidence.content


async def test_what_one_source_does_not_know_another_may() -> None:
    with serving_jaeger(JaegerStore(services=["billing"])) as one, serving_jaeger(JaegerStore(BROKEN)) as two:
        evidence = await answered(JaegerSettings(url=one), JaegerSettings(url=two), service="web")
    assert evidence.first_failing == "stock"
    assert not evidence.truncated


async def test_a_source_that_fails_beside_one_that_answers_makes_it_partial() -> None:
    with serving_jaeger(JaegerStore(BROKEN)) as one, serving_jaeger(JaegerStore(BROKEN, token="other")) as two:
        evidence = await answered(JaegerSettings(url=one), JaegerSettings(url=two), service="web")
    assert evidence.truncated
    assert "SOURCE_FAILED:source1" in evidence.notes


async def test_nothing_beside_a_source_that_fails_is_no_absence() -> None:
    with (
        serving_jaeger(JaegerStore(services=["web"])) as one,
        serving_jaeger(JaegerStore(token="other")) as two,
        pytest.raises(SourceFailure) as failure,
    ):
        await answered(JaegerSettings(url=one), JaegerSettings(url=two), service="web")
    assert failure.value.code is SourceError.ACCESS_DENIED


async def test_nothing_in_any_source_is_an_absence() -> None:
    with serving_jaeger(JaegerStore(services=["web"])) as one, serving_jaeger(JaegerStore(services=["web"])) as two:
        evidence = await answered(JaegerSettings(url=one), JaegerSettings(url=two), service="web")
    assert evidence.status is EvidenceStatus.NO_EVIDENCE


async def test_a_name_that_no_source_knows_has_the_near_names_of_all() -> None:
    with (
        serving_jaeger(JaegerStore(services=["webb"])) as one,
        serving_jaeger(JaegerStore(services=["web2"])) as two,
        pytest.raises(SourceFailure) as failure,
    ):
        await answered(JaegerSettings(url=one), JaegerSettings(url=two), service="web")
    assert failure.value.code is SourceError.UNKNOWN_SELECTOR
    assert set(failure.value.near_names) == {"webb", "web2"}


def test_the_tool_is_the_frozen_tool_to_whoever_asks() -> None:
    (tool,) = tools_of({"jaeger": JaegerSettings(url="http://jaeger.test").open("jaeger")})
    assert isinstance(tool, TracesTool)
    asked = TracesArguments(service="Web", operation=None, start=None, end=None)
    assert tool.normalize(asked, INCIDENT)["service"] == "web"
    assert tools_of({}) == ()
