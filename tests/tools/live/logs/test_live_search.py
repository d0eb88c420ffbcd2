"""Records of live logs: told as a frozen incident tells them, with counts over all that matches."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.tools.live.logs.asking import asked, frozen
from tests.tools.live.logs.memory import MemoryLogs, heads, repeated
from tests.tools.live.logs.told import AS_OF, INCIDENT, ONSET, Line, everyday, incident
from tools.base import SourceFailure
from tools.live.logs import tools_of
from tools.live.logs.source import Bound
from tools.vocabulary import EvidenceStatus, SourceError

SEARCH = "search_logs"
UNTIL = AS_OF + timedelta(minutes=10)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"service": "Stock", "severity": "err", "limit": 3},
        {"contains": "Exhausted  AFTER"},
        {"contains": "SocketTimeoutException"},
        {"severity": "WARN", "limit": 60},
        {"contains": "nothing says so"},
        {"service": "shop", "start": "2026-03-04T11:00:00Z", "end": "2026-03-04T11:40:00Z"},
    ],
)
async def test_records_are_told_as_a_frozen_incident_tells_them(given: dict[str, Any], tmp_path: Path) -> None:
    live = await asked({"memory": MemoryLogs(incident())}, SEARCH, **given)
    told = await frozen(tmp_path, incident(), SEARCH, **given)
    assert live.model_copy(update={"summary": ""}) == told.model_copy(update={"summary": ""})
    assert sorted(live.summary.split("; ")) == sorted(told.summary.split("; "))


async def test_the_gravest_records_come_first_among_very_many() -> None:
    flood = repeated(Line(AS_OF - timedelta(hours=2), "pay", "INFO", "order {} accepted"), 5_000, until=UNTIL)
    source = MemoryLogs(
        [*flood, Line(ONSET, "pay", "ERROR", "order 7 is lost"), Line(UNTIL, "pay", "FATAL", "order 8")]
    )
    evidence = await asked({"memory": source}, SEARCH, contains="order", limit=2)
    assert [line.partition(" | ")[2] for line in heads(evidence.content)] == ["order 7 is lost", "order 8"]
    assert evidence.truncated
    assert "pay INFO: 5000 records" in evidence.summary
    assert source.fetched < 20


async def test_an_unknown_service_is_an_error_with_near_names() -> None:
    with pytest.raises(SourceFailure) as caught:
        await asked({"memory": MemoryLogs(incident())}, SEARCH, service="stok")
    assert (caught.value.code, caught.value.near_names) == (SourceError.UNKNOWN_SELECTOR, ("stock",))


async def test_a_service_is_asked_where_it_is_known_alone() -> None:
    places = {"east": MemoryLogs(incident()), "west": MemoryLogs([Line(ONSET, "other", "ERROR", "x")])}
    evidence = await asked(places, SEARCH, service="stock", severity="ERROR")
    assert evidence.components == ("stock",)
    assert not places["west"].asked


async def test_records_of_all_places_stand_in_one_order_of_time() -> None:
    lines = incident()
    one = await asked({"all": MemoryLogs(lines)}, SEARCH, severity="ERROR")
    two = await asked({"even": MemoryLogs(lines[::2]), "odd": MemoryLogs(lines[1::2])}, SEARCH, severity="ERROR")
    assert one == two


async def test_one_place_that_fails_is_noted_beside_the_others_records() -> None:
    sources = {"east": MemoryLogs(incident()), "west": MemoryLogs(incident(), fails_after=0)}
    evidence = await asked(sources, SEARCH, severity="ERROR", limit=60)
    assert evidence.truncated
    assert "SOURCE_FAILED:west" in evidence.notes


async def test_nothing_found_beside_a_place_that_failed_is_its_failure() -> None:
    sources = {"east": MemoryLogs(everyday()), "west": MemoryLogs([], fails_after=0)}
    with pytest.raises(SourceFailure):
        await asked(sources, SEARCH, contains="exhausted")


async def test_nothing_found_in_a_part_is_no_whole_absence() -> None:
    evidence = await asked({"memory": MemoryLogs(everyday(), bound=Bound.AT_LEAST)}, SEARCH, contains="exhausted")
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert evidence.truncated


def test_without_a_source_there_is_no_tool() -> None:
    assert tools_of({}) == ()


def test_what_an_engineer_would_ask_first_can_be_pasted() -> None:
    signatures, search = tools_of({"memory": MemoryLogs([])})
    scope = search.suggest(INCIDENT)
    assert scope is not None
    assert "stock" in search.paste(scope)
    assert signatures.paste(signatures.suggest(INCIDENT) or {})
