"""What CLS and SLS are asked alike in these tests."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from typing_extensions import override

from tests.tools.live.conformance import HttpConformance, ask
from tests.tools.live.logs.told import AS_OF, INCIDENT, Line, incident
from tools.base import EvidenceTool
from tools.live.logs.phrases import TROUBLE_WORDS
from tools.live.logs.source import Bound, LogQuestion, LogSource, Phrase
from tools.live.logs.tools import tools_of
from tools.live.source import Source
from tools.vocabulary import Evidence, EvidenceStatus

ERRORS = {
    "service": "stock", "contains": None, "severity": "ERROR", "start": "2026-03-04T11:35:00Z",
    "end": "2026-03-04T11:37:00Z", "limit": None,
}  # fmt: skip


def fields_of(line: Line) -> dict[str, Any]:
    """A record's fields as an application's agent would send them."""
    told = {key: value for key, value in asdict(line).items() if key != "at" and value is not None}
    return {**told, "pod": f"{line.service}-0"}


class CloudConformance(HttpConformance):
    """`search_logs` over one service of a cloud."""

    incident = INCIDENT

    @override
    def arguments(self) -> dict[str, Any]:
        return dict(ERRORS)

    @override
    def tool_over(self, source: Any) -> EvidenceTool:
        return next(tool for tool in tools_of({"cloud": source}) if tool.name == "search_logs")

    @abstractmethod
    def serving(self, lines: Sequence[Line], *, partial: bool = False) -> AbstractContextManager[str]:
        """Serve the records; with `partial`, by a service that says that its answers aren't whole."""

    async def _of(self, serving: AbstractContextManager[str], **asked: Any) -> Evidence:
        with serving as url:
            source = self.source_at(url)
            try:
                return await ask(self.tool_over(source), self.arguments() | asked, INCIDENT)
            finally:
                await source.close()

    @override
    async def found(self) -> Evidence:
        return await self._of(self.serving(incident()))

    @override
    async def empty(self) -> Evidence:
        return await self._of(self.serving(incident()), start="2026-03-04T09:00:00Z", end="2026-03-04T10:00:00Z")

    @override
    async def unknown(self) -> Evidence:
        return await self._of(self.serving(incident()), service="stokc")

    @override
    async def partial(self) -> Evidence:
        return await self._of(self.serving(incident(), partial=True))

    @asynccontextmanager
    async def _source(self, lines: Sequence[Line]) -> AsyncIterator[LogSource]:
        with self.serving(lines) as url:
            source = cast(LogSource, self.source_at(url))
            yield source
            await source.close()

    async def test_an_incident_s_signatures_are_told_as_the_frozen_side_tells_them(self) -> None:
        with self.serving(incident()) as url:
            evidence = await signatures(self.source_at(url))
        first = evidence.content[0]
        assert first.startswith("signature service=stock severity=ERROR status=NEW count=30 baseline_count=0")
        assert not evidence.truncated

    async def test_a_search_tells_traces_and_stacks(self) -> None:
        evidence = await self.found()
        assert len(times(evidence)) == 6
        assert "trace_id=e0" in evidence.content[0]
        assert any("Caused by: java.net.SocketTimeoutException" in line for line in evidence.content)
        assert evidence.summary.startswith("stock ERROR: 6 records from 2026-03-04T11:35:00Z")

    @pytest.mark.parametrize("wanted", ["pool exhausted", "POOL EXHAUSTED after", "db-primary"])
    async def test_a_text_is_found_as_whole_words_and_the_answer_says_so(self, wanted: str) -> None:
        evidence = await self._of(self.serving(incident()), contains=wanted)
        assert len(times(evidence)) == 6
        assert evidence.truncated
        assert "WHOLE_WORDS_ONLY" in evidence.notes

    async def test_a_part_of_a_word_is_no_sure_absence(self) -> None:
        evidence = await self._of(self.serving(incident()), contains="exhaus")
        assert evidence.status is EvidenceStatus.NO_EVIDENCE
        assert evidence.truncated

    async def test_counts_are_the_backend_s_by_service_severity_and_slice(self) -> None:
        lines = incident()
        async with self._source(lines) as source:
            counts = await source.counts(question(), 24)
            errors = await source.counts(question(severities=frozenset({"ERROR"}), services=("stock",)), 24)
        inside = [line for line in lines if question().start <= line.at < question().end]
        assert counts.total == len(inside)
        assert counts.bound is Bound.EXACT
        for row in counts.rows:
            start, end = question().slice_bounds(row.slice, 24)
            alike = [line.at for line in inside if (line.service, line.level) == (row.service, row.severity)]
            assert row.records == sum(start <= at < end for at in alike)
            assert row.first in alike
            assert row.last in alike
        assert errors.total == 30

    async def test_a_phrase_is_counted_and_left_out(self) -> None:
        pool = Phrase(("pool exhausted after", "waiting for db-primary"))
        async with self._source(incident()) as source:
            held = await source.counts(question(phrase=pool), 1)
            rest = await source.counts(question(without=(pool,), severities=frozenset({"ERROR"})), 1)
        assert (held.total, rest.total) == (30, 10)

    async def test_words_are_found_as_many_as_may_be_asked_for(self) -> None:
        async with self._source(incident()) as source:
            counts = await source.counts(question(services=("shop",), words=TROUBLE_WORDS), 1)
        assert counts.total == 10
        assert counts.bound is Bound.ABOUT

    async def test_levels_are_found_however_they_are_spelled(self) -> None:
        levels = ["ERROR", "err", "17", "Severe", "warn", "", "whatever"]
        lines = [Line(AS_OF - timedelta(seconds=at), "shop", level, f"line {at}") for at, level in enumerate(levels)]
        async with self._source(lines) as source:
            errors = await source.records(question(severities=frozenset({"ERROR"})), 50)
            unlevelled = await source.records(question(severities=frozenset({"-"})), 50)
            unheard = await source.records(question(severities=frozenset({"DEBUG"})), 50)
        assert len(errors.rows) == 4
        assert len(unlevelled.rows) == 2
        assert unheard.complete
        assert unheard.rows == ()

    async def test_more_spellings_than_can_be_asked_for_are_told_apart_all_the_same(self) -> None:
        levels = [*(f"odd{at}" for at in range(30)), *(f"E{at}" for at in range(9)), "err", "error", "severe", "ERR"]
        lines = [Line(AS_OF - timedelta(seconds=at), "shop", level, f"line {at}") for at, level in enumerate(levels)]
        async with self._source(lines) as source:
            errors = await source.records(question(severities=frozenset({"ERROR"})), 50)
            others = await source.records(question(severities=frozenset({"-"})), 50)
        assert (len(errors.rows), errors.complete) == (13, True)
        assert (len(others.rows), others.complete) == (30, True)

    async def test_the_earliest_and_the_latest_records_are_given_in_order_of_time(self) -> None:
        lines = [Line(AS_OF - timedelta(seconds=at), "shop", "info", f"order {at}") for at in range(350)]
        async with self._source(lines) as source:
            earliest = await source.records(question(), 130)
            latest = await source.records(question(), 130, latest=True)
            everything = await source.records(question(), 350)
        ordered = sorted(line.at for line in lines)
        assert [row.at for row in earliest.rows] == ordered[:130]
        assert [row.at for row in latest.rows] == ordered[-130:]
        assert [row.at for row in everything.rows] == ordered
        assert (earliest.complete, latest.complete, everything.complete) == (False, False, True)


def question(**more: Any) -> LogQuestion:
    """A question about the hours before the incident and the incident."""
    return LogQuestion(AS_OF - timedelta(hours=6), AS_OF + timedelta(minutes=15), **more)


async def signatures(source: Source, **asked: Any) -> Evidence:
    """Ask `find_log_signatures` over a source, which is closed afterwards."""
    tool = next(one for one in tools_of({"cloud": cast(LogSource, source)}) if one.name == "find_log_signatures")
    try:
        return await ask(tool, {"service": None, "start": None, "end": None} | asked, INCIDENT)
    finally:
        await source.close()


async def searched(source: Source, **asked: Any) -> Evidence:
    """Ask `search_logs` over a source, which is closed afterwards."""
    tool = next(one for one in tools_of({"cloud": cast(LogSource, source)}) if one.name == "search_logs")
    nothing = {"service": None, "contains": None, "severity": None, "start": None, "end": None, "limit": None}
    try:
        return await ask(tool, nothing | asked, INCIDENT)
    finally:
        await source.close()


def times(evidence: Evidence) -> list[str]:
    """When the records were written that an evidence tells of."""
    return [line.split()[1].removeprefix("at=") for line in evidence.content if line.startswith("log ")]


def milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)
