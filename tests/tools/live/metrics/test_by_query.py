"""A query is put in its one spelling, bounded before it's fetched, and its silence is looked into."""

import httpx
import pytest

from tests.tools.live.conformance import ask
from tests.tools.live.metrics.answering import Answering, every
from tools.base import SourceFailure
from tools.live.labels import METRIC_SERVICE_LABELS
from tools.live.metrics.by_query import service_asked
from tools.live.metrics.promql import canonical_query
from tools.live.metrics.questions import compact
from tools.live.metrics.tools import tools_of
from tools.vocabulary import Evidence, EvidenceStatus, SourceError

SERIES = [{"__name__": "orders_open", "service": "shop", "pod": "shop-1"}]
FLAT = every(60, lambda at: 3.0)


async def asked(server: Answering, query: str, max_series: int = 1_000) -> Evidence:
    _, tool = tools_of({"server": server.source(max_series=max_series)})
    return await ask(tool, {"query": query, "start": None, "end": None})


async def test_the_one_spelling_is_what_is_asked() -> None:
    server = Answering(SERIES, FLAT)
    await asked(server, ' 3 < ( {__name__="orders_open", service = "shop"} ) # why')
    assert server.asked[-1][1]["query"] == ['orders_open{service="shop"} > 3']


async def test_series_are_counted_before_they_are_fetched() -> None:
    vector = {"resultType": "vector", "result": [{"metric": {}, "value": [1, "50"]}]}
    count = httpx.Response(200, json={"status": "success", "data": vector})
    server = Answering(SERIES, FLAT, replies={"/query": count})
    with pytest.raises(SourceFailure) as caught:
        await asked(server, "orders_open", max_series=49)
    assert caught.value.code is SourceError.ANSWER_TOO_LARGE
    assert caught.value.near_names == ("service", "pod")
    assert all(path != "/query_range" for path, _ in server.asked)


async def test_more_series_than_were_counted_are_refused_all_the_same() -> None:
    server = Answering([{**SERIES[0], "pod": f"p{i}"} for i in range(5)], FLAT)
    with pytest.raises(SourceFailure) as caught:
        await asked(server, "orders_open", max_series=4)
    assert caught.value.code is SourceError.ANSWER_TOO_LARGE
    assert caught.value.near_names == ("service", "pod")


async def test_an_answer_that_is_cut_while_it_streams_is_refused_with_hints() -> None:
    long = [{**SERIES[0], "pod": "p" * 1_000 + str(i)} for i in range(80)]
    with pytest.raises(SourceFailure) as caught:
        await asked(Answering(long, FLAT), "orders_open")
    assert caught.value.code is SourceError.ANSWER_TOO_LARGE
    assert caught.value.near_names == ("service", "pod")


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ('orders_open{service="shoop"}', "shop"),
        ('orders_open{servicce="shop"}', "service"),
        ("order_open", "orders_open"),
        ('{service="shoop"}', "shop"),
        ('orders_open or orders_open{pod="shop-11"}', "shop-1"),
    ],
)
async def test_silence_about_something_never_known_is_an_error(query: str, near: str) -> None:
    with pytest.raises(SourceFailure) as caught:
        await asked(Answering(SERIES), query)
    assert caught.value.code is SourceError.UNKNOWN_SELECTOR
    assert near in caught.value.near_names


async def test_silence_about_what_is_known_is_an_absence() -> None:
    evidence = await asked(Answering(SERIES), 'orders_open{service="shop"} > 100')
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert evidence.summary == "no samples of this query from 2026-09-08T04:02:00Z to 2026-09-08T07:17:00Z"


async def test_a_number_needs_no_series() -> None:
    server = Answering([{}], FLAT)
    evidence = await asked(server, "1 + 2")
    assert [path for path, _ in server.asked] == ["/query_range"]
    assert evidence.content[0].startswith("series service=- metric=1+2 ")
    assert evidence.components == ()


@pytest.mark.parametrize(
    ("query", "service"),
    [
        ('sum(a{service="shop"})', "shop"),
        ('sum(a{job="prod/shop"}) / sum(b{service="shop"})', "shop"),
        ('sum(a{service="shop"}) / sum(b{service="bank"})', None),
        ('sum(a{service="shop"}) / sum(b)', None),
        ("1", None),
    ],
)
def test_the_service_is_the_one_that_every_selector_names(query: str, service: str | None) -> None:
    assert service_asked(canonical_query(query).selections, METRIC_SERVICE_LABELS) == service


def test_a_query_is_a_name_without_blanks() -> None:
    assert compact('sum by (a, b) (rate(x{c="d e"}[5m])) / 2') == 'sum_by(a,b)(rate(x{c="d_e"}[5m]))/2'
    assert len(compact("a + " * 200 + "a")) == 100
