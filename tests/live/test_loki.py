"""Logs from a Loki of the tests' own: what a frozen incident tells, and what Loki refuses."""

import json
import shlex
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typing_extensions import override

from tests.live.servers.loki import LokiStore, Repeated, Stream, Told, serving_loki
from tests.tools.live.conformance import INCIDENT as CONFORMANT
from tests.tools.live.conformance import LIMIT, TOKEN, HttpConformance
from tests.tools.live.logs.asking import asked, frozen
from tests.tools.live.logs.memory import heads
from tests.tools.live.logs.told import AS_OF, ONSET, Line, incident
from tools.base import EvidenceTool, SourceFailure
from tools.live.logs import tools_of
from tools.live.logs.loki import PAGE, Loki
from tools.live.logs.loki_api import LokiApi
from tools.live.logs.pasting import GRAVE
from tools.live.logs.settings import LokiSettings
from tools.live.logs.source import Bound, LogQuestion
from tools.vocabulary import Evidence, SourceError

UNTIL = AS_OF + timedelta(minutes=15)
WHOLE = LogQuestion(AS_OF - timedelta(hours=7), UNTIL)


def nanoseconds(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000


def plain(line: Line) -> str:
    return line.message


def as_json(line: Line) -> str:
    return json.dumps({"level": line.level.lower(), "msg": line.message, "trace_id": line.trace_id})


def leading(line: Line) -> str:
    return f"{line.level} [main] {line.message}"


def store(lines: Sequence[Line], text: Callable[[Line], str], *, label: str = "app", **more: Any) -> LokiStore:
    """A store of lines; a stream a service, and a severity where the text doesn't tell it."""
    streams: dict[tuple[tuple[str, str], ...], list[tuple[int, str]]] = defaultdict(list)
    for line in lines:
        labels = {label: line.service} | ({"level": line.level.lower()} if text is plain else {})
        streams[tuple(labels.items())].append((nanoseconds(line.at), text(line)))
    return LokiStore([Stream(dict(labels), Told(told)) for labels, told in streams.items()], **more)


@asynccontextmanager
async def loki(given: LokiStore, **more: Any) -> AsyncIterator[Loki]:
    """A source over a store that is served while the block runs."""
    with serving_loki(given) as url:
        source = LokiSettings(url=url, **more).open("loki")
        try:
            yield source
        finally:
            await source.close()


QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("find_log_signatures", {}),
    ("find_log_signatures", {"service": "Stock"}),
    ("search_logs", {"service": "stock", "severity": "error", "limit": 3}),
    ("search_logs", {"contains": "xhausted  AFTER"}),
    ("search_logs", {"contains": "order 20003"}),
    ("search_logs", {"contains": "nowhere to be found"}),
)


@pytest.mark.parametrize(("text", "added"), [(plain, True), (plain, False), (as_json, True), (leading, False)])
@pytest.mark.parametrize(("name", "given"), QUESTIONS)
async def test_loki_tells_what_a_frozen_incident_tells(
    name: str, given: dict[str, Any], text: Callable[[Line], str], added: bool, tmp_path: Path
) -> None:
    lines = incident()
    async with loki(store(lines, text, adds_labels=added)) as source:
        live = await asked({"loki": source}, name, **given)
    # JSON is taken apart, a leading level stays in the text; a trace id stands in JSON alone.
    told = [
        replace(
            one,
            message=text(one) if text is leading else one.message,
            trace_id=one.trace_id if text is as_json else None,
        )
        for one in lines
    ]
    expected = await frozen(tmp_path, told, name, **given)
    assert live.model_copy(update={"notes": ()}) == expected
    assert set(live.notes) <= {"SEVERITY_FROM_LINES:loki"}


@pytest.mark.parametrize(("text", "added"), [(plain, True), (plain, False), (as_json, True), (leading, False)])
@pytest.mark.parametrize("given", [{"service": "Stock"}, {}])
async def test_what_is_pasted_finds_records_wherever_their_severity_stands(
    given: dict[str, Any], text: Callable[[Line], str], added: bool
) -> None:
    lines = incident()
    kept = store(lines, text, adds_labels=added)
    async with loki(kept) as source:
        await asked({"loki": source}, "find_log_signatures", **given)
        start, end = AS_OF - timedelta(hours=3), AS_OF + timedelta(minutes=15)
        services = ("stock",) if given else ()
        pasted = shlex.split(source.paste(LogQuestion(start, end, services, GRAVE)))
        found = await LokiApi(source._transport).entries(
            pasted[-1], nanoseconds(start), nanoseconds(end), 5_000, latest=False
        )
    grave = [
        line
        for line in lines
        if start <= line.at < end and line.level in GRAVE and (not given or line.service == "stock")
    ]
    assert len(found.entries) >= len(grave) > 0
    assert len(found.entries) == len(grave) or text is leading


@pytest.mark.parametrize("label", ["service_name", "service", "app", "container", "job"])
async def test_the_service_is_found_among_the_labels_that_name_one(label: str) -> None:
    async with loki(store(incident(), plain, label=label, adds_labels=False)) as source:
        evidence = await asked({"loki": source}, "search_logs", service="stock", severity="ERROR")
    assert evidence.components == ("stock",)


async def test_a_service_of_another_label_than_the_first_is_asked_by_that_label() -> None:
    streams = [
        Stream({"app": "shop"}, Told([(nanoseconds(ONSET), "level=error msg=one")])),
        Stream({"job": "batch"}, Told([(nanoseconds(ONSET), "level=error msg=two")])),
    ]
    async with loki(LokiStore(streams, adds_labels=False)) as source:
        evidence = await asked({"loki": source}, "search_logs", service="batch")
    assert evidence.components == ("batch",)


async def test_a_base_selector_holds_for_every_question() -> None:
    told = Told([(nanoseconds(ONSET), "level=error msg=x")])
    streams = [Stream({"app": "shop", "cluster": name}, told) for name in ("east", "west")]
    given = LokiStore(streams)
    async with loki(given, selector='{cluster="east"}') as source:
        evidence = await asked({"loki": source}, "search_logs")
    assert "1 records" in evidence.summary
    assert all('cluster="east"' in query for query in given.queries)


async def test_structured_metadata_tells_level_trace_and_the_rest() -> None:
    metadata = {"detected_level": "error", "trace_id": "7f3a", "pod": "shop-1"}
    stream = Stream({"service_name": "shop"}, Told([(nanoseconds(ONSET), "no pool")]), metadata)
    async with loki(LokiStore([stream])) as source:
        evidence = await asked({"loki": source}, "search_logs", severity="ERROR")
    assert evidence.content == (
        "log at=2026-03-04T11:35:00Z service=shop severity=ERROR trace_id=7f3a | no pool",
        "  [pod=shop-1]",
    )


async def test_pages_go_on_where_the_last_ended_and_take_no_line_twice() -> None:
    at = nanoseconds(ONSET)
    lines = [(at + number // 2 * 1_000, f"line {number // 2}") for number in range(2 * PAGE + 100)]
    async with loki(LokiStore([Stream({"app": "shop"}, Told(lines))])) as source:
        whole = await source.records(WHOLE, 2 * PAGE + 100)
        latest = await source.records(WHOLE, PAGE + 5, latest=True)
    assert whole.complete
    assert [row.message for row in whole.rows] == [text for _, text in lines]
    assert [row.message for row in latest.rows] == [text for _, text in lines][-PAGE - 5 :]
    assert not latest.complete


async def test_a_tenants_limit_of_entries_makes_pages_shorter() -> None:
    lines = [(nanoseconds(ONSET) + number, f"line {number}") for number in range(50)]
    async with loki(LokiStore([Stream({"app": "shop"}, Told(lines))], max_entries=40)) as source:
        found = await source.records(WHOLE, 50)
    assert len(found.rows) == 50
    assert found.complete


async def test_counts_are_of_the_slices_asked_for_to_the_nanosecond() -> None:
    start, step = nanoseconds(WHOLE.start), nanoseconds(WHOLE.start + timedelta(hours=1)) - nanoseconds(WHOLE.start)
    edges = [start, start + step - 1, start + step, nanoseconds(UNTIL) - 1, nanoseconds(UNTIL)]
    question = replace(WHOLE, end=WHOLE.start + timedelta(hours=2))
    async with loki(LokiStore([Stream({"app": "shop", "level": "info"}, Told([(at, "x") for at in edges]))])) as source:
        counts = await source.counts(question, 2)
        whole = await source.counts(WHOLE, 1)
    assert [(row.slice, row.records) for row in counts.rows] == [(0, 2), (1, 1)]
    assert whole.total == 4


async def test_a_long_query_is_posted() -> None:
    given = store(incident(), plain)
    async with loki(given) as source:
        counts = await source.counts(replace(WHOLE, contains="x" * 5_000), 1)
    assert counts.total == 0
    assert any(len(query) > 5_000 for query in given.queries)


@pytest.mark.parametrize(
    ("limits", "code", "field"),
    [
        ({"max_series": 1}, SourceError.ANSWER_TOO_LARGE, None),
        ({"max_hours": 1}, SourceError.QUERY_REJECTED, "start"),
    ],
)
async def test_a_tenants_limits_are_told_in_codes_with_what_would_be_narrower(
    limits: dict[str, Any], code: SourceError, field: str | None
) -> None:
    async with loki(store(incident(), plain, **limits)) as source:
        with pytest.raises(SourceFailure) as caught:
            await asked({"loki": source}, "find_log_signatures")
    assert (caught.value.code, caught.value.field) == (code, field)
    assert "a shorter window" in caught.value.near_names


async def test_a_tenant_is_sent_and_the_wrong_one_is_denied() -> None:
    async with loki(store(incident(), plain, tenant="team-a"), tenant="team-a") as source:
        assert (await asked({"loki": source}, "search_logs")).content
    async with loki(store(incident(), plain, tenant="team-a"), tenant="team-b") as source:
        with pytest.raises(SourceFailure) as caught:
            await asked({"loki": source}, "search_logs")
    assert caught.value.code is SourceError.ACCESS_DENIED


async def test_a_tenant_without_any_stream_is_missing_and_no_absence() -> None:
    async with loki(LokiStore()) as source:
        with pytest.raises(SourceFailure) as caught:
            await asked({"loki": source}, "search_logs")
    assert caught.value.code is SourceError.SOURCE_MISSING


async def test_a_warning_of_loki_makes_counts_lower_bounds() -> None:
    async with loki(store(incident(), plain, warnings=["partial result"])) as source:
        counts = await source.counts(WHOLE, 1)
        records = await source.records(WHOLE, 500)
    assert counts.bound is Bound.AT_LEAST
    assert not records.complete
    assert "PARTIAL:loki" in counts.notes


async def test_the_doctors_sample_tells_the_servers_clock() -> None:
    now = datetime.now(UTC)
    stream = Stream({"app": "shop"}, Told([(nanoseconds(now - timedelta(hours=1)), "x")]))
    async with loki(LokiStore([stream])) as source:
        probe = await source.probe()
    assert probe.server_time is not None
    assert abs(probe.server_time - now) < timedelta(minutes=1)
    assert probe.sample == "1 services wrote in the last 7 days"


async def test_a_rare_new_error_is_found_in_a_million_lines_that_nobody_fetches() -> None:
    begin, end = nanoseconds(AS_OF - timedelta(hours=7)), nanoseconds(UNTIL) - 1
    streams = [
        Stream(
            {"app": app, "level": "error"},
            Repeated(begin, end, (end - begin) // 50_000, lambda at: f"retry {at} again"),
        )
        for app in ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
    ]
    rare = Repeated(nanoseconds(ONSET), end, 600 * 10**9, lambda number: f"deadlock in ledger {number}")
    streams.append(Stream({"app": "ledger", "level": "error"}, rare))
    given = LokiStore(
        [*streams, Stream({"app": "a", "level": "info"}, Repeated(begin, end, 10**8, lambda at: f"ok {at}"))]
    )
    async with loki(given) as source:
        evidence = await asked({"loki": source}, "find_log_signatures")
    [told] = heads(evidence.content)
    assert "service=ledger severity=ERROR status=NEW count=4 baseline_count=0 first_seen=2026-03-04T11:35:00Z" in told
    assert not evidence.truncated
    assert "SAMPLED:INFO" in evidence.notes


class TestConformance(HttpConformance):
    """Loki keeps what every backend keeps."""

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Loki:
        settings = LokiSettings(url=url, timeout_seconds=timeout_seconds, token=SecretStr(TOKEN), max_bytes=LIMIT)
        return settings.open("loki")

    @override
    def tool_over(self, source: Any) -> EvidenceTool:
        return tools_of({"loki": source})[1]

    @override
    def arguments(self) -> dict[str, Any]:
        nulls = dict.fromkeys(("contains", "severity", "start", "end", "limit"))
        return {**nulls, "service": "shop"}

    async def told(self, *lines: str, service: str = "shop", warnings: Sequence[str] = ()) -> Evidence:
        at = nanoseconds(CONFORMANT.as_of - timedelta(minutes=5))
        old = Stream({"app": service}, Told([(at - 86_400 * 10**9, "old")]))
        streams = [old, Stream({"app": service}, Told([(at, line) for line in lines]))]
        with serving_loki(LokiStore(streams, token=TOKEN, warnings=warnings)) as url:
            return await self.asked(url)

    @override
    async def found(self) -> Evidence:
        return await self.told("level=error msg=boom")

    @override
    async def empty(self) -> Evidence:
        return await self.told()

    @override
    async def unknown(self) -> Evidence:
        return await self.told("level=error msg=boom", service="shopping")

    @override
    async def partial(self) -> Evidence:
        return await self.told("level=error msg=boom", warnings=("partial",))
