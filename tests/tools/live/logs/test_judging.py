"""New or grown, judged by slices, is what the frozen side says of the same records."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.live.logs.asking import frozen
from tests.tools.live.logs.told import AS_OF, INCIDENT, Line
from tools.live.logs.judging import SLICES, WINDOW_BEGINS, Reach, judged, rank_of
from tools.live.logs.source import Count
from tools.windows import resolve_window

WINDOW = resolve_window(None, None, INCIDENT)
BEGIN = WINDOW.start - (WINDOW.end - WINDOW.start)
STEP = (WINDOW.end - BEGIN) / SLICES
OLD = Reach(BEGIN, STEP, BEGIN, WINDOW.end - timedelta(seconds=1))


def counts(*by_slice: int, begin: int = 0) -> list[Count]:
    return [Count("pay", "ERROR", begin + place, number) for place, number in enumerate(by_slice) if number]


def test_what_was_never_before_is_new() -> None:
    verdict = judged(0, counts(4, 0, 1, begin=WINDOW_BEGINS), OLD)
    assert verdict is not None
    assert (verdict.status, verdict.records, verdict.baseline) == ("NEW", 5, 0)
    assert (verdict.first_slice, verdict.last_slice) == (WINDOW_BEGINS, WINDOW_BEGINS + 2)


def test_three_times_the_baselines_rate_in_a_sixth_is_grown() -> None:
    assert judged(0, counts(*[2] * 12, 10, 14), OLD) is not None
    assert judged(0, counts(*[2] * 12, 3, 3), OLD) is None


@pytest.mark.parametrize(("rank", "least"), [(0, 1), (1, 1), (2, 3), (3, 5)])
def test_what_matters_less_has_to_be_more(rank: int, least: int) -> None:
    assert judged(rank, counts(least, begin=20), OLD) is not None
    assert least == 1 or judged(rank, counts(least - 1, begin=20), OLD) is None


def test_what_stopped_before_the_window_is_not_told() -> None:
    assert judged(0, counts(9, 9, 9), OLD) is None


def test_young_logs_are_compared_with_their_own_first_quarter() -> None:
    first = WINDOW.start + timedelta(minutes=60)
    young = Reach(BEGIN, STEP, first, WINDOW.end)
    assert young.pivot == young.slice_of(first + (WINDOW.end - first) / 4) + 1
    assert judged(0, counts(9, begin=WINDOW_BEGINS + 3), young) is None
    sudden = judged(0, counts(9, begin=SLICES - 1), young)
    assert sudden is not None
    assert sudden.status == "NEW"


@pytest.mark.parametrize(
    ("severity", "text", "rank"),
    [("FATAL", "x", 0), ("ERROR", "x", 0), ("WARN", "x", 1), ("INFO", "connection refused", 2), ("-", "hello", 3)],
)
def test_rank(severity: str, text: str, rank: int) -> None:
    assert rank_of(severity, text) == rank


@settings(max_examples=20)
@given(st.lists(st.integers(0, 12), min_size=SLICES, max_size=SLICES))
async def test_new_and_counts_are_those_of_a_frozen_incident(
    tmp_path_factory: pytest.TempPathFactory, by_slice: list[int]
) -> None:
    lines = [
        Line(BEGIN + place * STEP + timedelta(seconds=number), "pay", "ERROR", f"broken {number}")
        for place, total in enumerate(by_slice)
        for number in range(total)
    ]
    steady = [Line(moment, "pay", "INFO", "alive") for moment in (BEGIN, OLD.last)]
    told = await _status(tmp_path_factory.mktemp("frozen"), [*lines, *steady])
    verdict = judged(0, counts(*by_slice), OLD)
    found = (verdict.status, verdict.records, verdict.baseline) if verdict else None
    if found is None or told is None:
        # A sixth of the frozen side ends with its last record; growth on the edge of three times may differ by that.
        assert (found or told or ("GROWN",))[0] == "GROWN"
    else:
        assert found == told


async def _status(directory: Path, lines: list[Line]) -> tuple[str, int, int] | None:
    evidence = await frozen(directory, lines, "find_log_signatures")
    for line in evidence.content:
        if line.startswith("signature service=pay severity=ERROR"):
            said = dict(part.split("=", 1) for part in line.partition(" | ")[0].split()[1:])
            return said["status"], int(said["count"]), int(said["baseline_count"])
    return None


def test_the_slices_are_those_of_the_default_window() -> None:
    assert AS_OF - timedelta(hours=3) == WINDOW.start
    assert isinstance(OLD.begin, datetime)
    assert OLD.pivot == WINDOW_BEGINS
