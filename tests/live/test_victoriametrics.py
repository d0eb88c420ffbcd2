"""Metrics from a real VictoriaMetrics that holds a past incident."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.live.servers.metrics_questions import MetricsQuestions
from tests.live.servers.prometheus import import_into_victoriametrics, start_victoriametrics
from tests.live.servers.shop_metrics import AS_OF, shop_series
from tests.tools.live.conformance import ask
from tools.base import IncidentContext, SourceFailure
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.settings import PrometheusSettings
from tools.live.metrics.tools import tools_of
from tools.vocabulary import SourceError


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("victoriametrics")
    options = ["-search.maxUniqueTimeseries=25"]
    with start_victoriametrics(directory, path="/select/0/prometheus", options=options) as url:
        import_into_victoriametrics(url, shop_series())
        yield url


@pytest_asyncio.fixture
async def source(address: str) -> AsyncIterator[Prometheus]:
    opened = PrometheusSettings(url=address).open("victoriametrics")
    yield opened
    await opened.close()


class TestVictoriaMetrics(MetricsQuestions):
    """What is asked of every server of the API, here below a path of its own."""


async def test_a_query_beyond_the_servers_own_limit_is_too_large(source: Prometheus) -> None:
    _, promql = tools_of({"victoriametrics": source})
    with pytest.raises(SourceFailure) as caught:
        await ask(
            promql, {"query": '{__name__=~".+"}', "start": None, "end": None}, IncidentContext(as_of=AS_OF, zone="UTC")
        )
    assert caught.value.code is SourceError.ANSWER_TOO_LARGE
    assert "application" in caught.value.near_names
