"""How `find_log_signatures` and `search_logs` behave over a Loki of tens of millions of lines.

Run it from the checkout: `python -m tests.benchmarks.live_logs [MILLIONS]`. The server is the tests' own, in a process
of its own, so that the memory shown is that of the asking side; it makes its lines up as they are asked for. How long
a real Loki takes depends on its disks: what is shown is how much is asked of it, and what it costs us.
"""

import asyncio
import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection

from tests.live.servers.loki import LokiStore, Repeated, Stream, serving_loki
from tools.base import IncidentContext
from tools.live.logs import tools_of
from tools.live.logs.settings import LokiSettings
from tools.vocabulary import Evidence

AS_OF = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
HOURS = 7
ONSET = AS_OF - timedelta(minutes=40)
SERVICES = 20
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


def main(millions: float) -> None:
    """Ask three questions and print seconds, requests, memory and the answers' heads."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(millions, theirs), daemon=True)
    server.start()
    url, lines = ours.recv()
    sys.stdout.write(f"{lines:,} lines\n")
    try:
        asyncio.run(_measure(url, ours))
    finally:
        ours.send("end")
        server.join()


async def _measure(url: str, server: Connection) -> None:
    source = LokiSettings(url=url, timeout_seconds=60).open("loki")
    incident = IncidentContext(as_of=AS_OF, zone="UTC")
    for name, given in _questions():
        tool = next(one for one in tools_of({"loki": source}) if one.name == name)
        arguments = tool.arguments(**{field: given.get(field) for field in tool.arguments.model_fields})
        server.send("queries")
        before, began = server.recv(), time.perf_counter()
        evidence = await tool.collect(tool.normalize(arguments, incident), arguments, incident)
        seconds = time.perf_counter() - began
        server.send("queries")
        _show(name, given, evidence, seconds, server.recv() - before)
    await source.close()


def _questions() -> Iterator[tuple[str, dict[str, str | int]]]:
    yield "find_log_signatures", {}
    yield "find_log_signatures", {"service": "service-07"}
    yield "search_logs", {"contains": "deadlock detected"}


def _show(name: str, given: dict[str, str | int], evidence: Evidence, seconds: float, queries: int) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(
        f"\n{name} {given}: {seconds:.1f} s, {queries} queries, peak memory {memory:.0f} MB, "
        f"truncated={evidence.truncated} notes={evidence.notes}\n"
    )
    for line in evidence.content[:16]:
        sys.stdout.write(f"  {line[:180]}\n")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
