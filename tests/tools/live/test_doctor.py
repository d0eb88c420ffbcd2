"""The doctor says what is wrong with a source, and never that one is well that isn't."""

from datetime import UTC, datetime, timedelta

import pytest
from typing_extensions import override

from tools.base import SettingFault, SourceFailure
from tools.live.doctor import Finding, examine
from tools.live.source import Probe, Source
from tools.vocabulary import SourceError

NOW = datetime(2026, 9, 8, 7, 0, tzinfo=UTC)


class Answering(Source):
    def __init__(self, outcome: SourceError | Probe) -> None:
        self.name = "main"
        self._outcome = outcome

    @override
    async def probe(self) -> Probe:
        if isinstance(self._outcome, SourceError):
            raise SourceFailure(self._outcome)
        return self._outcome

    @override
    async def close(self) -> None:
        pass


async def finding(outcome: SourceError | Probe) -> Finding:
    (found,) = await examine({"main": Answering(outcome)}, now=lambda: NOW)
    return found


@pytest.mark.parametrize("code", SourceError)
async def test_a_failure_says_how_far_the_question_came(code: SourceError) -> None:
    found = await finding(code)
    assert not found.well
    assert found.failure is code
    away = code in (SourceError.BACKEND_UNAVAILABLE, SourceError.BACKEND_TIMEOUT)
    assert found.reachable is not away
    assert found.authorized is (None if away else code is not SourceError.ACCESS_DENIED)


@pytest.mark.parametrize(("seconds", "well"), [(0, True), (29, True), (-29, True), (31, False), (-3600, False)])
async def test_a_clock_that_is_off_makes_a_source_unfit(seconds: int, well: bool) -> None:
    found = await finding(Probe(NOW + timedelta(seconds=seconds), "3 series"))
    assert found.skew_seconds == seconds
    assert found.well is well


async def test_a_source_that_tells_no_time_is_well_without_one() -> None:
    found = await finding(Probe(None, "3 tables"))
    assert found.well
    assert found.clock_agrees is None


async def test_an_answer_that_is_no_good_is_an_answer() -> None:
    class Redirecting(Answering):
        @override
        async def probe(self) -> Probe:
            raise SourceFailure(SourceError.BACKEND_UNAVAILABLE, detail="HTTP 302, a redirect to somewhere else")

    (found,) = await examine({"main": Redirecting(Probe(None, ""))})
    assert found.reachable is True
    assert found.authorized is None
    assert found.fault == "HTTP 302, a redirect to somewhere else"


async def test_a_fault_of_the_settings_says_nothing_of_the_server() -> None:
    class Unset(Answering):
        @override
        async def probe(self) -> Probe:
            raise SettingFault(SourceError.ACCESS_DENIED, detail="token is not readable")

    (found,) = await examine({"main": Unset(Probe(None, ""))})
    assert (found.reachable, found.authorized, found.fault) == (None, None, "token is not readable")
