"""Traces of a frozen incident: who failed first, whatever the trace ids say."""

from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest

from tests.tools.frozen.conftest import Asker, Writer
from tools.base import IncidentContext, SourceFailure
from tools.frozen import frozen_tools
from tools.vocabulary import EvidenceStatus, Provenance, SourceError


def span(
    span_id: str, parent: str | None, service: str, status: Any = "OK", at: str = "11:30:00", **more: Any
) -> dict[str, Any]:
    row = {"trace_id": "t1", "span_id": span_id, "parent_id": parent, "service": service, "name": f"{service}.call",
           "start": f"2026-03-04T{at}Z", "duration_ms": 20, "status": status}  # fmt: skip
    return {**row, **more}


CHAIN = [
    span("a", None, "web", "ERROR", duration_ms=5010),
    span("b", "a", "cart", "ERROR", duration_ms=5000),
    span("c", "b", "stock", "ERROR", duration_ms=4990, error="pool exhausted"),
    span("d", "b", "price"),
]


async def test_the_deepest_failure_is_the_first_failing(write: Writer, ask: Asker) -> None:
    evidence = await ask(write({"traces.json": CHAIN}), "query_traces")
    assert evidence.content[:4] == (
        "first_failing service=stock operation=stock.call at=2026-03-04T11:30:00Z spans=1",
        "edge caller=web callee=cart calls=1 errors=1 max_ms=5000",
        "edge caller=cart callee=stock calls=1 errors=1 max_ms=4990",
        "edge caller=cart callee=price calls=1 errors=0 max_ms=20",
    )
    assert evidence.content[4] == (
        "span trace_id=t1 span_id=c parent=b service=stock operation=stock.call start=2026-03-04T11:30:00Z "
        "duration_ms=4990 status=ERROR | pool exhausted"
    )
    assert evidence.first_failing == "stock"
    assert evidence.onset == datetime(2026, 3, 4, 11, 30, tzinfo=UTC)
    assert evidence.provenance is Provenance.MEASURED
    assert evidence.summary.startswith("stock stock.call failed first at 2026-03-04T11:30:00Z")


async def test_the_order_of_the_file_does_not_matter(write: Writer, ask: Asker) -> None:
    directory = write({"traces.json": CHAIN})
    expected = await ask(directory, "query_traces")
    assert await ask(write({"traces.json": CHAIN[::-1]}), "query_traces") == expected


@pytest.mark.parametrize("placeholder", ["same", "", None, "SAME"])
async def test_parents_are_found_by_span_id_where_the_trace_id_is_a_placeholder(
    write: Writer, ask: Asker, placeholder: str | None
) -> None:
    other = [
        span("a", None, "batch", at="11:00:00", trace_id="t0"),
        span("b", "a", "batch", at="11:00:01", trace_id="t0"),
    ]
    rows = [*other, CHAIN[0], *({**row, "trace_id": placeholder} for row in CHAIN[1:])]
    evidence = await ask(write({"traces.json": rows}), "query_traces", service="stock")
    assert evidence.first_failing == "stock"
    assert "edge caller=cart callee=stock calls=1 errors=1 max_ms=4990" in evidence.content
    assert "batch" not in evidence.components
    assert "span trace_id=t1 span_id=c parent=b" in "\n".join(evidence.content)


async def test_one_trace_never_adopts_the_spans_of_another(write: Writer, ask: Asker) -> None:
    rows = [span("a", None, "web", trace_id="t1"), span("b", "a", "stock", "ERROR", trace_id="t2")]
    evidence = await ask(write({"traces.json": rows}), "query_traces")
    assert not any(line.startswith("edge ") for line in evidence.content)


async def test_of_several_failures_the_earliest_leads(write: Writer, ask: Asker) -> None:
    later = [span("x", None, "web", "ERROR", "11:31:00", trace_id="t2")]
    evidence = await ask(write({"traces.json": later + CHAIN}), "query_traces")
    assert [line.split()[1] for line in evidence.content[:2]] == ["service=stock", "service=web"]


@pytest.mark.parametrize(
    ("status", "more", "failed"),
    [
        ("ERROR", {}, True),
        ("STATUS_CODE_ERROR", {}, True),
        ({"code": 2, "message": "boom"}, {}, True),
        (2, {}, True),
        (503, {}, True),
        ("UNSET", {"error": "boom"}, True),
        ("UNSET", {"error": True}, True),
        (None, {"http.status_code": 500}, True),
        ("UNSET", {}, False),
        ("UNSET", {"error": False}, False),
        (0, {}, False),
        (1, {}, False),
        ("OK", {"http.status_code": 404}, False),
        (None, {}, False),
    ],
)
async def test_a_failure_is_known_in_whatever_way_it_is_said(
    write: Writer, ask: Asker, status: Any, more: dict[str, Any], failed: bool
) -> None:
    evidence = await ask(write({"traces.json": [span("a", None, "web", status, **more)]}), "query_traces")
    assert (evidence.first_failing == "web") is failed


async def test_other_fields_stand_on_the_span_line_and_a_peer_is_a_callee(write: Writer, ask: Asker) -> None:
    rows = [span("a", None, "web", "ERROR", attributes={"retry count": 3}, **{"peer.service": "object store"})]
    evidence = await ask(write({"traces.json": rows}), "query_traces")
    assert evidence.content[0].endswith("spans=1 peer.service=object_store")
    assert "edge caller=web callee=object_store calls=1 errors=1 max_ms=20" in evidence.content
    assert evidence.content[-1].endswith("status=ERROR peer.service=object_store retry_count=3")


async def test_slow_spans_are_told_where_nothing_failed(write: Writer, ask: Asker) -> None:
    rows = [span(f"n{i}", None, "web", at=f"11:0{i}:00", trace_id=f"n{i}") for i in range(8)]
    rows += [span("slow", None, "web", at="11:30:00", trace_id="s", duration_ms=4000)]
    evidence = await ask(write({"traces.json": rows}), "query_traces")
    assert evidence.first_failing is None
    assert [line.split()[2] for line in evidence.content] == ["span_id=slow"]


async def test_healthy_traces_are_evidence(write: Writer, ask: Asker) -> None:
    evidence = await ask(write({"traces.json": [span("a", None, "web")]}), "query_traces")
    assert evidence.status is EvidenceStatus.EVIDENCE
    assert evidence.content == ("healthy spans=1 errors=0 max_ms=20",)


async def test_alike_failures_are_told_three_times_and_that_is_truncated(write: Writer, ask: Asker) -> None:
    rows = [span(f"s{i}", None, "web", "ERROR", at=f"11:{i}:00", trace_id=f"t{i}") for i in range(10, 40)]
    evidence = await ask(write({"traces.json": rows}), "query_traces")
    assert sum(line.startswith("span ") for line in evidence.content) == 3
    assert "spans=30" in evidence.content[0]
    assert evidence.truncated


@pytest.mark.parametrize("name", ["traces.ndjson", "traces.parquet"])
async def test_every_kind_of_file_gives_one_answer(write: Writer, ask: Asker, name: str) -> None:
    directory = write({"traces.json": CHAIN})
    expected = await ask(directory, "query_traces")
    with duckdb.connect() as connection:
        form = "parquet" if name.endswith("parquet") else "json"
        connection.execute("SET TimeZone = 'UTC'")
        spans = f"SELECT * REPLACE (CAST(start AS TIMESTAMPTZ) AS start) FROM '{directory / 'traces.json'}'"  # noqa: S608
        connection.execute(f"COPY ({spans}) TO '{directory / name}' (FORMAT {form})")
    (directory / "traces.json").unlink()
    assert await ask(directory, "query_traces") == expected


async def test_of_a_broken_array_the_whole_objects_are_read(write: Writer, ask: Asker) -> None:
    directory = write({"traces.json": CHAIN})
    path = directory / "traces.json"
    path.write_text(path.read_text().replace('"service": "price"', '"service": "pri'))
    evidence = await ask(directory, "query_traces")
    assert evidence.first_failing == "stock"
    assert evidence.notes == ("BROKEN_LINES:1",)
    path.write_text(path.read_text()[: path.read_text().index('"service": "cart"')])
    evidence = await ask(directory, "query_traces")
    assert evidence.first_failing == "web"


@pytest.mark.parametrize(("field", "asked"), [("service", "stokc"), ("operation", "stokc.call")])
async def test_an_unknown_name_is_a_typo_with_near_names(write: Writer, ask: Asker, field: str, asked: str) -> None:
    with pytest.raises(SourceFailure) as failure:
        await ask(write({"traces.json": CHAIN}), "query_traces", **{field: asked})
    assert (failure.value.code, failure.value.field) == (SourceError.UNKNOWN_SELECTOR, field)
    assert failure.value.near_names[0].startswith("stock")


async def test_a_known_name_without_spans_in_the_window_is_no_evidence(write: Writer, ask: Asker) -> None:
    evidence = await ask(write({"traces.json": CHAIN}), "query_traces", service="STOCK", start="11:31", end="11:40")
    assert evidence.status is EvidenceStatus.NO_EVIDENCE


async def test_a_span_that_is_its_own_parent_is_still_told(write: Writer, ask: Asker) -> None:
    rows = [span("a", "a", "web", "ERROR"), span("b", "c", "cart", "OK"), span("c", "b", "cart", "OK")]
    assert (await ask(write({"traces.json": rows}), "query_traces")).first_failing == "web"


def test_the_query_to_paste_runs(write: Writer, incident: IncidentContext) -> None:
    tool = next(one for one in frozen_tools(write({"traces.json": CHAIN})) if one.name == "query_traces")
    asked = tool.arguments.model_validate({"service": "Stock", "operation": "stock.CALL", "start": None, "end": None})
    with duckdb.connect() as connection:
        assert len(connection.execute(tool.paste(tool.normalize(asked, incident))).fetchall()) == 1
