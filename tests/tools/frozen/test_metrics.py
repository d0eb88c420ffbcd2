"""Metrics of a frozen incident."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.tools.frozen.conftest import AS_OF, Asker, Writer
from tools.base import SourceFailure
from tools.vocabulary import EvidenceStatus, Provenance, SourceError

Values = Sequence[float | None]
START = AS_OF - timedelta(hours=1)


def rows(service: str, metric: str, values: Values, start: datetime = START) -> list[dict[str, Any]]:
    return [
        {"timestamp": (start + timedelta(minutes=i)).strftime("%Y-%m-%dT%H:%M:%SZ"), "service": service,
         "metric": metric, "value": value}
        for i, value in enumerate(values)
    ]  # fmt: skip


def csv(*series: list[dict[str, Any]]) -> str:
    lines = ["timestamp,service,metric,value"]
    lines += [
        f"{row['timestamp']},{row['service']},{row['metric']},{'' if row['value'] is None else row['value']}"
        for one in series
        for row in one
    ]
    return "\n".join(lines) + "\n"


STEADY: Values = [100.0 + (index * 7) % 5 for index in range(70)]
STEP: Values = [0.002] * 50 + [0.4] * 20
LATER: Values = [20.0 + index % 3 for index in range(55)] + [900.0] * 15


@pytest.fixture
def shop(write: Writer) -> Path:
    return write(
        {
            "metrics.csv": csv(
                rows("shop", "request_rate_rps", STEADY),
                rows("shop", "latency_ms", LATER),
                rows("stock", "error_ratio", STEP),
            )
        }
    )


async def test_changed_series_lead_in_order_of_onset(shop: Path, ask: Asker) -> None:
    evidence = await ask(shop, "query_metrics")
    lines = [line for line in evidence.content if line.startswith("series ")]
    assert lines[0] == (
        "series service=stock metric=error_ratio direction=UP baseline=0.002 extreme=0.4 "
        "extreme_at=2026-03-04T11:50:00Z last=0.4 onset=2026-03-04T11:50:00Z samples=70 gaps=0"
    )
    assert "metric=latency_ms direction=UP baseline=21" in lines[1]
    assert "metric=request_rate_rps direction=FLAT" in lines[2]
    assert "onset=-" in lines[2]
    assert evidence.onset == datetime(2026, 3, 4, 11, 50, tzinfo=UTC)
    assert evidence.first_failing == "stock"
    assert evidence.provenance is Provenance.MEASURED
    assert evidence.components == ("stock", "shop")
    assert evidence.summary.startswith("stock error_ratio UP 0.002 -> 0.4 ratio since 2026-03-04T11:50:00Z")
    assert "shop latency_ms UP" in evidence.summary
    assert "FLAT" not in evidence.summary
    assert sum(line.startswith("points ") for line in evidence.content) == 3
    assert not evidence.truncated


async def test_csv_ndjson_and_parquet_give_one_answer(write: Writer, ask: Asker, shop: Path) -> None:
    expected = await ask(shop, "query_metrics")
    records = rows("shop", "request_rate_rps", STEADY) + rows("shop", "latency_ms", LATER)
    records += rows("stock", "error_ratio", STEP)
    (shop / "metrics.csv").rename(shop / "kept.csv")
    write({"metrics.ndjson": records})
    assert await ask(shop, "query_metrics") == expected
    (shop / "metrics.ndjson").unlink()
    with duckdb.connect() as connection:
        connection.read_csv(str(shop / "kept.csv")).write_parquet(str(shop / "metrics.parquet"))
    assert await ask(shop, "query_metrics") == expected


async def test_an_unknown_service_or_metric_is_a_typo_with_near_names(shop: Path, ask: Asker) -> None:
    with pytest.raises(SourceFailure) as failure:
        await ask(shop, "query_metrics", service="stokc")
    assert (failure.value.code, failure.value.field) == (SourceError.UNKNOWN_SELECTOR, "service")
    assert failure.value.near_names == ("stock",)
    with pytest.raises(SourceFailure) as failure:
        await ask(shop, "query_metrics", metric="latency_seconds")
    assert (failure.value.code, failure.value.field) == (SourceError.UNKNOWN_SELECTOR, "metric")


async def test_known_names_without_samples_in_the_window_are_no_evidence(shop: Path, ask: Asker) -> None:
    earlier = await ask(shop, "query_metrics", service="stock", start="2026-03-03T00:00Z", end="2026-03-03T01:00Z")
    assert earlier.status is EvidenceStatus.NO_EVIDENCE
    unmeasured = await ask(shop, "query_metrics", service="stock", metric="latency_ms")
    assert unmeasured.status is EvidenceStatus.NO_EVIDENCE
    assert unmeasured.content == ()


async def test_names_match_in_any_case_and_width(shop: Path, ask: Asker) -> None:
    evidence = await ask(shop, "query_metrics", service=" ＳＴＯＣＫ ", metric="Error_Ratio")
    assert evidence.components == ("stock",)


async def test_a_narrow_window_is_judged_against_what_came_before_it(shop: Path, ask: Asker) -> None:
    evidence = await ask(shop, "query_metrics", metric="error_ratio", start="2026-03-04T11:52Z")
    assert "direction=UP baseline=0.002" in evidence.content[0]
    assert evidence.onset == datetime(2026, 3, 4, 11, 50, tzinfo=UTC)


async def test_broken_lines_are_counted_and_the_rest_is_read(write: Writer, ask: Asker) -> None:
    good = csv(rows("stock", "error_ratio", STEP))
    directory = write({"metrics.csv": good + "2026-03-04T11:00:00Z,stock\nyesterday,stock,error_ratio,1\n,,,\nx,y\n"})
    evidence = await ask(directory, "query_metrics")
    assert "samples=70" in evidence.content[0]
    assert evidence.notes == ("BROKEN_LINES:4",)


async def test_values_that_are_null_are_gaps_not_broken(write: Writer, ask: Asker) -> None:
    values: Values = [*STEP[:20], None, None, *STEP[22:]]
    evidence = await ask(write({"metrics.csv": csv(rows("stock", "error_ratio", values))}), "query_metrics")
    assert "samples=68 gaps=1" in evidence.content[0]
    assert evidence.notes == ()


async def test_values_that_are_no_number_are_broken(write: Writer, ask: Asker) -> None:
    text = csv(rows("stock", "error_ratio", STEP)).replace(",0.4\n", ",NaN\n", 2).replace(",0.4\n", ",many\n", 1)
    evidence = await ask(write({"metrics.csv": text}), "query_metrics")
    assert evidence.notes == ("BROKEN_LINES:3",)


async def test_times_without_a_zone_are_in_the_incident_zone_and_remarked(write: Writer, ask: Asker) -> None:
    local = csv(rows("stock", "error_ratio", STEP, START + timedelta(hours=8))).replace("Z,", ",").replace("T", " ")
    evidence = await ask(write({"metrics.csv": local}), "query_metrics")
    assert evidence.onset == datetime(2026, 3, 4, 11, 50, tzinfo=UTC)
    assert evidence.notes == ("ZONE_ASSUMED:Asia/Shanghai",)


async def test_times_as_seconds_or_milliseconds_since_the_epoch_are_read(write: Writer, ask: Asker) -> None:
    seconds = rows("stock", "error_ratio", STEP)
    for index, row in enumerate(seconds):
        at = datetime.fromisoformat(row["timestamp"]).timestamp()
        row["timestamp"] = int(at) if index % 2 else int(at * 1000)
    evidence = await ask(write({"metrics.ndjson": seconds}), "query_metrics")
    assert "samples=70" in evidence.content[0]
    assert evidence.notes == ()


async def test_a_missing_file_is_an_unavailable_source(write: Writer, ask: Asker) -> None:
    with pytest.raises(SourceFailure) as failure:
        await ask(write({"alert.json": "{}"}), "query_metrics")
    assert failure.value.code is SourceError.SOURCE_MISSING


@pytest.mark.parametrize("content", [b"\x00\x01\x02\xff" * 50, b"nothing of the kind\n\n{"])
async def test_a_file_without_one_readable_record_is_unreadable(write: Writer, ask: Asker, content: bytes) -> None:
    with pytest.raises(SourceFailure) as failure:
        await ask(write({"metrics.ndjson": content}), "query_metrics")
    assert failure.value.code is SourceError.SOURCE_UNREADABLE
    assert failure.value.__context__ is None


async def test_an_empty_file_knows_nothing(write: Writer, ask: Asker) -> None:
    evidence = await ask(write({"metrics.csv": ""}), "query_metrics")
    assert evidence.status is EvidenceStatus.NO_EVIDENCE


async def test_more_series_than_the_bound_are_truncated_with_the_changed_ones_kept(write: Writer, ask: Asker) -> None:
    flat = [rows(f"svc-{index:03}", "latency_ms", STEADY) for index in range(80)]
    evidence = await ask(write({"metrics.csv": csv(*flat, rows("zulu", "error_ratio", STEP))}), "query_metrics")
    assert evidence.truncated
    assert len(evidence.content) <= 60
    assert "service=zulu" in evidence.content[0]


async def test_a_dense_series_is_thinned_and_still_dated(write: Writer, ask: Asker) -> None:
    step = [
        {"timestamp": (START + timedelta(seconds=i)).isoformat(), "service": "stock", "metric": "error_ratio",
         "value": 0.002 if i < 3000 else 0.4}
        for i in range(4200)
    ]  # fmt: skip
    evidence = await ask(write({"metrics.ndjson": step}), "query_metrics")
    assert evidence.onset is not None
    assert abs((evidence.onset - datetime(2026, 3, 4, 11, 50, tzinfo=UTC)).total_seconds()) <= 20


async def test_hostile_names_stay_on_their_line(write: Writer, ask: Asker) -> None:
    records = rows('evil\nseries service=root | "x"', "error_ratio", STEP)
    evidence = await ask(write({"metrics.ndjson": "\n".join(map(json.dumps, records))}), "query_metrics")
    assert [line.split()[0] for line in evidence.content] == ["series", "points"]
    assert " | " not in evidence.content[0]
