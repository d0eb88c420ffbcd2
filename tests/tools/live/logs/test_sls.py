"""Alibaba Cloud SLS: what is asked of it, and what is told of its records."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from pydantic import SecretStr, ValidationError
from typing_extensions import override

from tests.live.servers.sls import SlsStore, serving_sls
from tests.tools.live.conformance import LIMIT, TOKEN
from tests.tools.live.logs.cloud_asking import ERRORS, CloudConformance, fields_of, question, searched
from tests.tools.live.logs.told import AS_OF, Line, incident
from tools.base import SourceFailure
from tools.live.logs.cloud_settings import SlsSettings
from tools.live.logs.sls import TRIES, Sls
from tools.live.logs.source import Bound, Phrase
from tools.live.source import Source
from tools.live.transport import Transport
from tools.vocabulary import SourceError


def records(lines: Sequence[Line]) -> list[dict[str, Any]]:
    return [{"__time__": int(line.at.timestamp()), **fields_of(line)} for line in lines]


def settings(url: str, **more: Any) -> SlsSettings:
    own: dict[str, Any] = {"access_key_secret": SecretStr("secret")} | more
    return SlsSettings(
        url=url,
        endpoint="cn-hangzhou.log.aliyuncs.com",
        project="shop",
        logstore="app",
        access_key_id="LTAItest",
        **own,
    )


class TestSls(CloudConformance):
    """SLS keeps what every backend keeps."""

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        own = {"access_key_secret": SecretStr(TOKEN), "timeout_seconds": timeout_seconds, "max_bytes": LIMIT}
        return settings(url, **own).open("sls")

    @override
    def serving(self, lines: Sequence[Line], *, partial: bool = False) -> AbstractContextManager[str]:
        return serving_sls(SlsStore(records(lines), access_key_secret=TOKEN, incomplete=99 if partial else 0))


async def test_an_answer_that_is_not_whole_yet_is_asked_for_again() -> None:
    store = SlsStore(records(incident()), incomplete=TRIES - 1)
    with serving_sls(store) as url:
        source = settings(url).open("sls")
        counts = await source.counts(question(), 1)
        await source.close()
    assert counts.bound is Bound.EXACT
    assert len(store.queries) == TRIES


async def test_an_answer_that_never_is_whole_is_partial() -> None:
    store = SlsStore(records(incident()), incomplete=99)
    with serving_sls(store) as url:
        source = settings(url).open("sls")
        counts = await source.counts(question(), 1)
        found = await source.records(question(), 5)
        await source.close()
    assert counts.bound is Bound.AT_LEAST
    assert counts.notes == ("INCOMPLETE_RESULT",)
    assert not found.complete
    assert found.notes == ("INCOMPLETE_RESULT",)


async def test_a_name_that_an_incomplete_answer_lacks_is_not_called_unknown() -> None:
    with serving_sls(SlsStore(records(incident()), incomplete=99)) as url, pytest.raises(SourceFailure) as failure:
        await searched(settings(url).open("sls"), service="billing")
    assert failure.value.code is SourceError.BACKEND_TIMEOUT


async def test_no_more_conditions_are_asked_than_a_statement_may_have() -> None:
    known = tuple(Phrase((f"number{at} one", f"number{at} two")) for at in range(40))
    with serving_sls(SlsStore(records(incident()))) as url:
        source = settings(url).open("sls")
        counts = await source.counts(question(services=("stock",), without=known), 1)
        await source.close()
    assert counts.total
    assert counts.bound is Bound.ABOUT


@pytest.mark.parametrize(
    ("status", "code", "meaning"),
    [
        (401, "Unauthorized", SourceError.ACCESS_DENIED),
        (401, "SignatureNotMatch", SourceError.ACCESS_DENIED),
        (400, "RequestTimeExpired", SourceError.ACCESS_DENIED),
        (400, "ParameterInvalid", SourceError.QUERY_REJECTED),
        (404, "LogStoreNotExist", SourceError.QUERY_REJECTED),
        (403, "ReadQuotaExceed", SourceError.BACKEND_UNAVAILABLE),
        (403, "Forbidden", SourceError.ACCESS_DENIED),
        (500, "InternalServerError", SourceError.BACKEND_UNAVAILABLE),
        (503, "ServerBusy", SourceError.BACKEND_UNAVAILABLE),
    ],
)
async def test_errors_are_told_apart_by_their_codes(status: int, code: str, meaning: SourceError) -> None:
    store = SlsStore(records(incident()), error=(status, code))
    with serving_sls(store) as url, pytest.raises(SourceFailure) as failure:
        await searched(settings(url).open("sls"), **ERRORS)
    assert failure.value.code is meaning
    assert failure.value.__context__ is None


def over(wire: Any, **more: Any) -> Sls:
    """A source whose requests a test answers."""
    own = settings("https://sls.test", **more)
    return Sls("sls", Transport(own.access_at("https://sls.test"), wire=httpx.MockTransport(wire)), own)


async def test_a_request_says_window_page_and_order_and_is_signed() -> None:
    asked: list[httpx.Request] = []

    def wire(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json=[], headers={"x-log-progress": "Complete"})

    source = over(wire, security_token=SecretStr("session-1"))
    assert (await source.records(question(services=('a" or "b',)), 10, latest=True)).complete
    await source.close()
    (request,) = asked
    assert request.url.path == "/logstores/app"
    assert dict(request.url.params) == {
        "type": "log",
        "query": 'service:"a\\" or \\"b"',
        "from": str(int(question().start.timestamp())),
        "to": str(int(question().end.timestamp())),
        "offset": "0",
        "line": "10",
        "reverse": "true",
    }
    assert request.headers["x-acs-security-token"] == "session-1"
    assert request.headers["authorization"].startswith("LOG LTAItest:")
    assert "secret" not in request.headers["authorization"]


@pytest.mark.parametrize("body", [{}, "x", [7], [[]]])
async def test_json_of_another_shape_is_unreadable(body: Any) -> None:
    source = over(lambda _: httpx.Response(200, json=body))
    with pytest.raises(SourceFailure) as failure:
        await source.records(question(), 10)
    await source.close()
    assert failure.value.code is SourceError.SOURCE_UNREADABLE


@pytest.mark.parametrize("row", [{}, {"z_slice": "null", "z_records": "1", "z_first": "0", "z_last": "0"}])
async def test_a_count_out_of_form_is_unreadable(row: dict[str, str]) -> None:
    source = over(lambda _: httpx.Response(200, json=[row]))
    with pytest.raises(SourceFailure) as failure:
        await source.counts(question(), 1)
    await source.close()
    assert failure.value.code is SourceError.SOURCE_UNREADABLE


async def test_a_record_without_a_time_is_left_out_and_nanoseconds_are_kept() -> None:
    second = str(int(AS_OF.timestamp()))
    rows = [{"__time__": second, "__time_ns_part__": "250000000", "message": "a"}, {"message": "b"}, {"__time__": "x"}]
    source = over(lambda _: httpx.Response(200, json=rows))
    (record,) = (await source.records(question(), 10)).rows
    await source.close()
    assert record.at == AS_OF + timedelta(milliseconds=250)


async def test_the_probe_tells_the_clock_and_the_services() -> None:
    now = Line(datetime.now(UTC) - timedelta(minutes=1), "shop", "INFO", "order 1")
    with serving_sls(SlsStore(records([now]))) as url:
        source = settings(url).open("sls")
        probe = await source.probe()
        await source.close()
    assert probe.sample == "1 services in the last hour"
    assert probe.server_time is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"access_key_secret": None},
        {"logstore": "a/b"},
        {"project": "a.b"},
        {"endpoint": "http://x"},
        {"level_field": "a' b"},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    good = {
        "endpoint": "cn-hangzhou.log.aliyuncs.com",
        "project": "shop",
        "logstore": "app",
        "access_key_id": "i",
        "access_key_secret": "k",
    }
    settings = SlsSettings.model_validate(good)
    assert settings.access_at("https://x").base_url == "https://x"
    with pytest.raises(ValidationError):
        SlsSettings.model_validate(good | wrong)
