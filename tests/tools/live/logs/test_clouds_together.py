"""One team's logs in two clouds at once, and more of them than are fetched."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from pydantic import SecretStr

from tests.live.servers.cls import ClsStore, serving_cls
from tests.live.servers.sls import SlsStore, serving_sls
from tests.tools.live.conformance import ask
from tests.tools.live.logs.cloud_asking import ERRORS, fields_of, milliseconds, times
from tests.tools.live.logs.told import AS_OF, INCIDENT, Line, incident
from tools.live.logs.cloud_settings import ClsSettings, SlsSettings
from tools.live.logs.source import LogSource
from tools.live.logs.tools import tools_of
from tools.vocabulary import Evidence


@contextmanager
def both(first: Sequence[Line], second: Sequence[Line], *, denied: bool = False) -> Iterator[dict[str, LogSource]]:
    """A topic with the first records, a Logstore with the second; `denied`: the Logstore lets nobody in."""
    topic = ClsStore([{"__TIMESTAMP__": milliseconds(one.at), **fields_of(one)} for one in first])
    logstore = SlsStore([{"__time__": int(one.at.timestamp()), **fields_of(one)} for one in second])
    logstore.access_key_secret = "another" if denied else "secret"
    with serving_cls(topic) as one, serving_sls(logstore) as two:
        cls = ClsSettings(
            url=one, region="ap-guangzhou", topic_id="topic-1", secret_id="AKIDtest", secret_key=SecretStr("secret")
        )
        sls = SlsSettings(
            url=two,
            endpoint="cn-hangzhou.log.aliyuncs.com",
            project="shop",
            logstore="app",
            access_key_id="LTAItest",
            access_key_secret=SecretStr("secret"),
        )
        yield {"cls": cls.open("cls"), "sls": sls.open("sls")}


async def asked(sources: Mapping[str, LogSource], name: str, **arguments: Any) -> Evidence:
    tool = next(one for one in tools_of(sources) if one.name == name)
    try:
        return await ask(tool, arguments, INCIDENT)
    finally:
        for source in sources.values():
            await source.close()


async def test_two_clouds_answer_as_one() -> None:
    lines = incident()
    with both(lines[::2], lines[1::2]) as sources:
        evidence = await asked(sources, "search_logs", **ERRORS)
    assert len(times(evidence)) == 6
    assert evidence.summary.startswith("stock ERROR: 6 records")
    assert not evidence.truncated


async def test_a_cloud_that_lets_nobody_in_makes_it_partial() -> None:
    lines = incident()
    with both(lines, [], denied=True) as sources:
        evidence = await asked(sources, "search_logs", **ERRORS)
    assert len(times(evidence)) == 6
    assert evidence.truncated
    assert "SOURCE_FAILED:sls" in evidence.notes


async def test_in_more_records_than_are_fetched_what_is_new_is_found_and_counted() -> None:
    noise = [
        Line(AS_OF - timedelta(seconds=4 * at), "shop", "ERROR", f"cart {at} not found in store") for at in range(2200)
    ]
    with both([*noise, *incident()], []) as sources:
        evidence = await asked(sources, "find_log_signatures", service=None, start=None, end=None)
    told = [line for line in evidence.content if line.startswith("signature ")]
    assert any("service=stock" in line and "status=NEW" in line and "count=30" in line for line in told)
    assert evidence.truncated
