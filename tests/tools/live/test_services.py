"""Which services the sources of metrics know, asked on behalf of sources that can't tell a typo from quiet."""

import httpx
import pytest

from tests.tools.live.conformance import INCIDENT
from tools.base import SourceFailure
from tools.live.alerts.settings import AlertmanagerSettings
from tools.live.metrics.prometheus import Prometheus
from tools.live.services import service_check
from tools.live.source import HttpAccess
from tools.live.transport import Transport
from tools.vocabulary import SourceError


def server(*services: str, status: int = 200) -> Prometheus:
    """A Prometheus whose series have the label `job` with these values."""

    def answer(request: httpx.Request) -> httpx.Response:
        values = list(services) if "/label/job/" in request.url.path else ["job"]
        return httpx.Response(status, json={"status": "success", "data": values})

    return Prometheus("metrics", Transport(HttpAccess("http://metrics"), wire=httpx.MockTransport(answer)))


async def test_a_service_that_one_of_the_sources_knows_is_known() -> None:
    check = service_check({"one": server("order"), "other": server("shop/payment")})
    assert check is not None
    await check("payment", INCIDENT)


async def test_a_service_that_none_knows_is_unknown_with_the_near_names_of_all() -> None:
    check = service_check({"one": server("payments"), "other": server("payment-api")})
    assert check is not None
    with pytest.raises(SourceFailure) as caught:
        await check("payment", INCIDENT)
    assert caught.value.code is SourceError.UNKNOWN_SELECTOR
    assert set(caught.value.near_names) == {"payments", "payment-api"}


async def test_a_source_that_fails_beside_one_that_knows_nothing_leaves_it_open() -> None:
    check = service_check({"one": server("order"), "other": server(status=503)})
    assert check is not None
    with pytest.raises(SourceFailure) as caught:
        await check("payment", INCIDENT)
    assert caught.value.code is SourceError.BACKEND_UNAVAILABLE


def test_without_metrics_and_logs_there_is_no_check() -> None:
    alerts = AlertmanagerSettings(url="http://alertmanager").open("alerts")
    assert service_check({"alerts": alerts}) is None
