"""How `find_log_signatures` and `search_logs` behave over very many lines.

Run it from the checkout: `python -m tests.benchmarks.live_logs loki|opensearch MILLIONS`. The servers are processes of
their own, so that the memory shown is that of the asking side. Loki is the tests' own and makes its lines up as they
are asked for; OpenSearch's API keeps every document in memory and looks at each for every question. How long a real
store takes depends on its disks and indices: what is shown is how much is asked of it, and what it costs us.
"""

import asyncio
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection

import httpx
from osmem_server import OsmemServer  # type: ignore[import-untyped]

from tests.live.servers.loki import LokiStore, Repeated, Stream, serving_loki
from tools.base import IncidentContext
from tools.live.logs import tools_of
from tools.live.logs.settings import ElasticsearchSettings, LokiSettings
from tools.vocabulary import Evidence

AS_OF = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
HOURS = 7
ONSET = AS_OF - timedelta(minutes=40)
SERVICES = 20
_BULK = 5_000
_MAPPING = {
    "@timestamp": {"type": "date"},
    "message": {"type": "text"},
    "service": {"properties": {"name": {"type": "keyword"}}},
    "log": {"properties": {"level": {"type": "keyword"}}},
}
_INFO = (
    "GET /api/items/{0} 200 in {1}ms", "order {0} accepted for customer {1}", "cache hit ratio {1}% over {0} keys",
    "consumed offset {0} of partition {1}", "session {0} renewed for {1}s",
)  # fmt: skip
_KNOWN = ("retrying payment {0} attempt {1}", "upstream answered 503 for request {0} after {1}ms")


def store(millions: float) -> LokiStore:
    """A day's end of 20 services: loud, with known errors, and three new ones, two of them rare, since the onset."""
    begin, end = AS_OF - timedelta(hours=HOURS), AS_OF + timedelta(minutes=10)
    seconds = (end - begin).total_seconds()
    streams = []
    for number in range(SERVICES):
        service = f"service-{number:02d}"
        told = [("info", text, 0.9 / len(_INFO)) for text in _INFO]
        told += [(level, text, 0.05) for level, text in zip(("warn", "error"), _KNOWN, strict=True)]
        lines = millions * 1e6 / SERVICES
        streams += [_stream(service, level, text, begin, end, lines * share) for level, text, share in told]
    since = (end - ONSET).total_seconds()
    streams.append(
        _stream(
            "service-03", "error", "connection pool exhausted after {1}ms waiting for db-primary", ONSET, end, since * 3
        )
    )
    streams.append(_stream("service-07", "error", "deadlock detected in ledger transaction {0}", ONSET, end, 11))
    streams.append(_stream("service-11", "info", "feature new-checkout is on, cohort {1}", ONSET, end, seconds / 60))
    return LokiStore(streams)


def _stream(service: str, level: str, text: str, begin: datetime, end: datetime, lines: float) -> Stream:
    first, last = int(begin.timestamp()) * 10**9, int(end.timestamp()) * 10**9
    every = max(1, int((last - first) / max(1.0, lines)))
    return Stream(
        {"service_name": service, "level": level},
        Repeated(first, last - 1, every, lambda number: text.format(100_000 + number, number % 900)),
    )


def lines_of(told: LokiStore) -> int:
    """Return how many lines a store holds."""
    return sum(len(times) for stream in told.streams for _, times in stream.lines.texts())


def _serve(millions: float, told: Connection) -> None:
    held = store(millions)
    with serving_loki(held) as url:
        told.send((url, lines_of(held)))
        while told.recv() == "queries":
            told.send(len(held.queries))


def measure_loki(millions: float) -> None:
    """Ask a Loki of the tests' own, which makes up its lines."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(millions, theirs), daemon=True)
    server.start()
    url, lines = ours.recv()
    sys.stdout.write(f"Loki, {lines:,} lines\n")

    def queries() -> int:
        ours.send("queries")
        return int(ours.recv())

    try:
        asyncio.run(_measure(LokiSettings(url=url, timeout_seconds=60), queries))
    finally:
        ours.send("end")
        server.join()


def measure_opensearch(millions: float) -> None:
    """Ask a server of OpenSearch's API that keeps every document in memory."""
    with OsmemServer.start(japanese=False) as server:
        began = time.perf_counter()
        lines = _filled(server.url, store(millions))
        sys.stdout.write(f"OpenSearch API, {lines:,} documents, filled in {time.perf_counter() - began:.0f} s\n")
        settings = ElasticsearchSettings(url=server.url, index="logs-*", timeout_seconds=60)
        asyncio.run(_measure(settings, lambda: 0))


def _filled(url: str, held: LokiStore) -> int:
    documents = 0
    with httpx.Client(base_url=url, timeout=120) as client:
        client.put("/logs-1", json={"mappings": {"properties": _MAPPING}}).raise_for_status()
        for stream in held.streams:
            times = next(times for _, times in stream.lines.texts())
            for first in range(0, len(times), _BULK):
                numbers = range(first, min(len(times), first + _BULK))
                rows = "".join(f'{{"index":{{}}}}\n{json.dumps(_document(stream, at))}\n' for at in numbers)
                client.post("/logs-1/_bulk", content=rows, headers={"Content-Type": "application/x-ndjson"})
                documents += len(numbers)
        client.post("/logs-1/_refresh")
    return documents


def _document(stream: Stream, number: int) -> dict[str, object]:
    assert isinstance(stream.lines, Repeated)
    at = stream.lines.first + number * stream.lines.every
    return {
        "@timestamp": at // 10**6,
        "message": stream.lines.text(number),
        "service": {"name": stream.labels["service_name"]},
        "log": {"level": stream.labels["level"]},
    }


async def _measure(settings: LokiSettings | ElasticsearchSettings, queries: Callable[[], int]) -> None:
    source = settings.open("logs")
    incident = IncidentContext(as_of=AS_OF, zone="UTC")
    for name, given in _questions():
        tool = next(one for one in tools_of({"logs": source}) if one.name == name)
        arguments = tool.arguments(**{field: given.get(field) for field in tool.arguments.model_fields})
        before, began = queries(), time.perf_counter()
        evidence = await tool.collect(tool.normalize(arguments, incident), arguments, incident)
        _show(name, given, evidence, time.perf_counter() - began, queries() - before)
    await source.close()


def _questions() -> Iterator[tuple[str, dict[str, str | int]]]:
    yield "find_log_signatures", {}
    yield "find_log_signatures", {"service": "service-07"}
    yield "search_logs", {"contains": "deadlock detected"}


def _show(name: str, given: dict[str, str | int], evidence: Evidence, seconds: float, queries: int) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(
        f"\n{name} {given}: {seconds:.1f} s, {queries or '?'} queries, peak memory {memory:.0f} MB, "
        f"truncated={evidence.truncated} notes={evidence.notes}\n"
    )
    for line in evidence.content[:16]:
        sys.stdout.write(f"  {line[:180]}\n")


if __name__ == "__main__":
    measure = {"loki": measure_loki, "opensearch": measure_opensearch}[sys.argv[1]]
    measure(float(sys.argv[2]))
