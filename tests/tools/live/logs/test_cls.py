"""Tencent Cloud CLS: what is asked of it, and what is told of its records."""

import json
import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr, ValidationError
from typing_extensions import override

from tests.live.servers.cls import ClsStore, serving_cls
from tests.tools.live.conformance import LIMIT, TOKEN
from tests.tools.live.logs.cloud_asking import (
    ERRORS,
    CloudConformance,
    fields_of,
    milliseconds,
    question,
    searched,
)
from tests.tools.live.logs.told import AS_OF, Line, incident
from tools.base import SourceFailure
from tools.live.logs.cloud_settings import ClsSettings
from tools.live.logs.cls import Cls
from tools.live.logs.source import Bound
from tools.live.source import Source
from tools.live.transport import Transport
from tools.vocabulary import SourceError


def records(lines: Sequence[Line]) -> list[dict[str, Any]]:
    return [{"__TIMESTAMP__": milliseconds(line.at), **fields_of(line)} for line in lines]


def settings(url: str, **more: Any) -> ClsSettings:
    own: dict[str, Any] = {"secret_key": SecretStr("secret")} | more
    return ClsSettings(url=url, region="ap-guangzhou", topic_id="topic-1", secret_id="AKIDtest", **own)


class TestCls(CloudConformance):
    """CLS keeps what every backend keeps."""

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        own = {"secret_key": SecretStr(TOKEN), "timeout_seconds": timeout_seconds, "max_bytes": LIMIT}
        return settings(url, **own).open("cls")

    @override
    def serving(self, lines: Sequence[Line], *, partial: bool = False) -> AbstractContextManager[str]:
        return serving_cls(ClsStore(records(lines), secret_key=TOKEN, sampling=0.5 if partial else 1))


async def test_more_records_than_a_page_are_read_by_context() -> None:
    lines = [Line(AS_OF - timedelta(seconds=at), "shop", "info", f"order {at}") for at in range(1300)]
    store = ClsStore(records(lines))
    with serving_cls(store) as url:
        source = settings(url).open("cls")
        found = await source.records(question(), 1100)
        everything = await source.records(question(), 5000, latest=True)
        await source.close()
    assert len(found.rows) == 1100
    assert not found.complete
    assert [row.at for row in found.rows] == sorted(row.at for row in found.rows)
    assert found.rows[0].at == min(line.at for line in lines)
    assert len(everything.rows) == 1300
    assert everything.complete


async def test_rows_counted_from_a_sample_are_no_exact_count() -> None:
    with serving_cls(ClsStore(records(incident()), sampling=0.1)) as url:
        source = settings(url).open("cls")
        counts = await source.counts(question(), 1)
        await source.close()
    assert counts.bound is Bound.AT_LEAST
    assert counts.notes == ("INCOMPLETE_RESULT",)


async def test_a_topic_without_statistics_refuses_to_count() -> None:
    store = ClsStore(records(incident()), statistics=False)
    with serving_cls(store) as url, pytest.raises(SourceFailure) as failure:
        await searched(settings(url).open("cls"), **ERRORS)
    assert failure.value.code is SourceError.QUERY_REJECTED


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        ("AuthFailure.SecretIdNotFound", SourceError.ACCESS_DENIED),
        ("UnauthorizedOperation.CamNoPermission", SourceError.ACCESS_DENIED),
        ("InvalidParameterValue", SourceError.QUERY_REJECTED),
        ("FailedOperation.SyntaxError", SourceError.QUERY_REJECTED),
        ("ResourceNotFound.TopicNotExist", SourceError.QUERY_REJECTED),
        ("FailedOperation.SearchTimeout", SourceError.BACKEND_TIMEOUT),
        ("RequestLimitExceeded", SourceError.BACKEND_UNAVAILABLE),
        ("LimitExceeded.LogSearch", SourceError.BACKEND_UNAVAILABLE),
        ("InternalError", SourceError.BACKEND_UNAVAILABLE),
    ],
)
async def test_errors_with_status_200_are_told_apart(code: str, meaning: SourceError) -> None:
    with serving_cls(ClsStore(records(incident()), error=code)) as url, pytest.raises(SourceFailure) as failure:
        await searched(settings(url).open("cls"), **ERRORS)
    assert failure.value.code is meaning
    assert failure.value.__context__ is None


@pytest.mark.parametrize("body", [{}, [], {"Response": []}, {"Response": "x"}])
async def test_json_of_another_shape_is_unreadable(body: Any) -> None:
    source = over(lambda _: httpx.Response(200, json=body))
    with pytest.raises(SourceFailure) as failure:
        await source.counts(question(), 1)
    await source.close()
    assert failure.value.code is SourceError.SOURCE_UNREADABLE


def over(wire: Any) -> Cls:
    """A source whose requests a test answers."""
    own = settings("https://cls.test", security_token=SecretStr("session-1"))
    return Cls("cls", Transport(own.access_at("https://cls.test"), wire=httpx.MockTransport(wire)), own)


async def test_a_request_says_topic_window_and_language_and_is_signed() -> None:
    asked: list[httpx.Request] = []

    def wire(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"Response": {"Results": [], "ListOver": True, "Context": ""}})

    source = over(wire)
    found = await source.records(question(services=('a" OR "b',)), 10)
    await source.close()
    (request,) = asked
    assert found.complete
    assert json.loads(request.content) == {
        "TopicId": "topic-1",
        "From": milliseconds(question().start),
        "To": milliseconds(question().end) - 1,
        "Query": 'service:"a\\" OR \\"b"',
        "SyntaxRule": 1,
        "Limit": 10,
        "Sort": "asc",
        "Context": "",
    }
    assert request.headers["x-tc-region"] == "ap-guangzhou"
    assert request.headers["x-tc-token"] == "session-1"
    assert request.headers["authorization"].startswith("TC3-HMAC-SHA256 Credential=AKIDtest/")
    assert "secret" not in str(request.headers)


async def test_a_page_too_large_to_read_is_asked_for_in_smaller_ones() -> None:
    lines = [Line(AS_OF - timedelta(seconds=at), "shop", "info", "x" * 900) for at in range(300)]
    with serving_cls(ClsStore(records(lines))) as url:
        source = settings(url, max_bytes=LIMIT).open("cls")
        found = await source.records(question(), 300)
        await source.close()
    assert len(found.rows) == 300
    assert found.complete


async def test_a_page_that_ends_without_a_way_on_is_partial() -> None:
    one = {"Time": milliseconds(AS_OF), "LogJson": '{"service": "shop", "message": "hi"}'}
    answer = {"Response": {"Results": [one, {"Time": "now"}, {"Time": 10**20}, 7], "ListOver": False, "Context": ""}}
    source = over(lambda _: httpx.Response(200, json=answer))
    found = await source.records(question(), 10)
    await source.close()
    assert [row.message for row in found.rows] == ["hi"]
    assert not found.complete
    assert found.notes == ("INCOMPLETE_RESULT",)


async def test_a_text_without_structure_is_its_message() -> None:
    one = {"Time": milliseconds(AS_OF), "LogJson": "", "RawLog": "2026-03-04 ERROR disk full"}
    answer = {"Response": {"Results": [one], "ListOver": True, "Context": ""}}
    source = over(lambda _: httpx.Response(200, json=answer))
    (record,) = (await source.records(question(), 10)).rows
    await source.close()
    assert (record.message, record.severity, record.service) == ("2026-03-04 ERROR disk full", "ERROR", "-")


async def test_the_probe_tells_the_clock_and_the_services() -> None:
    now = Line(datetime.now(UTC) - timedelta(minutes=1), "shop", "INFO", "order 1")
    with serving_cls(ClsStore(records([now]))) as url:
        source = settings(url).open("cls")
        probe = await source.probe()
        await source.close()
    assert probe.sample == "1 services in the last hour"
    assert probe.server_time is not None


async def test_a_secret_is_read_from_its_file_for_each_request(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("old\n")
    with serving_cls(ClsStore(records(incident()))) as url:
        source = settings(url, secret_key=None, secret_key_file=file).open("cls")
        with pytest.raises(SourceFailure) as failure:
            await source.counts(question(), 1)
        file.write_text("secret\n")
        assert (await source.counts(question(), 1)).total
        await source.close()
    assert failure.value.code is SourceError.ACCESS_DENIED


@pytest.mark.parametrize(
    "wrong",
    [
        {"secret_key": None},
        {"topic_id": "../x"},
        {"region": "ap guangzhou"},
        {"service_field": 'a" OR 1=1'},
        {"url": "x"},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    good = {"region": "ap-guangzhou", "topic_id": "t-1", "secret_id": "i", "secret_key": "k"}
    assert ClsSettings.model_validate(good).type == "cls"
    with pytest.raises(ValidationError):
        ClsSettings.model_validate(good | wrong)


def test_what_is_pasted_is_a_command_of_the_clouds_client() -> None:
    source = over(lambda _: httpx.Response(200))
    pasted = source.paste(question(services=("shop",), severities=frozenset({"WARN"}), contains="pool"))
    assert pasted.startswith('tccli cls SearchLog --TopicId "$CLS_TOPIC_ID" --From 1')
    assert shlex.split(pasted)[-1] == 'service:"shop" AND (level:"warn" OR level:"warning") AND "pool"'
