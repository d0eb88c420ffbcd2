"""A live incident in traces: the same failure told by Jaeger, by SkyWalking, and by a frozen incident."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.live.servers.jaeger import JaegerStore, serving_jaeger
from tests.live.servers.skywalking import SkyWalkingStore, serving_skywalking
from tests.live.servers.told_spans import Told, checkout
from tests.tools.live.conformance import INCIDENT, ask
from tests.tools.live.traces.asking import answered
from tools.canonical import iso_utc
from tools.frozen import frozen_tools
from tools.live.source import HttpSource
from tools.live.traces.settings import JaegerSettings, SkyWalkingSettings
from tools.vocabulary import Evidence

SPANS = [one for at in range(6) for one in checkout(f"ok{at}", 10 * at)] + [
    one for at in range(5) for one in checkout(f"bad{at}", 100 + 10 * at, broken=True)
]
Backend = tuple[Callable[[Sequence[Told]], AbstractContextManager[str]], Callable[[str], HttpSource]]
BACKENDS: dict[str, Backend] = {
    "jaeger": (lambda spans: serving_jaeger(JaegerStore(spans)), lambda url: JaegerSettings(url=url)),
    "skywalking": (lambda spans: serving_skywalking(SkyWalkingStore(spans)), lambda url: SkyWalkingSettings(url=url)),
}


async def frozen(directory: Path) -> Evidence:
    """What the frozen tool says of the same spans."""
    rows = [
        {"trace_id": one.trace, "span_id": one.span, "parent_id": one.parent, "service": one.service,
         "name": one.operation, "start": iso_utc(one.at), "duration_ms": one.milliseconds,
         "status": "ERROR" if one.error else "OK", "status_message": one.error,
         **({"peer.service": one.calls.partition(":")[0]} if one.calls else {})}
        for one in SPANS
    ]  # fmt: skip
    (directory / "traces.json").write_text(json.dumps(rows))
    tool = next(one for one in frozen_tools(directory) if one.name == "query_traces")
    return await ask(tool, {"service": "web", "operation": None, "start": None, "end": None}, INCIDENT)


@pytest.mark.parametrize("name", BACKENDS)
async def test_a_live_backend_tells_what_a_frozen_incident_tells(name: str, tmp_path: Path) -> None:
    serving, settings = BACKENDS[name]
    with serving(SPANS) as url:
        live = await answered(settings(url), service="web")
    told = await frozen(tmp_path)
    assert (live.first_failing, live.onset, live.summary) == (told.first_failing, told.onset, told.summary)
    assert set(live.components) == set(told.components)
    edges = [line for line in told.content if line.startswith(("edge ", "first_failing "))]
    assert [line for line in live.content if line.startswith(("edge ", "first_failing "))] == edges
