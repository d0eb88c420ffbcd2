"""Log records of a frozen incident: read whatever the file, searched, and told with their stack traces."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.tools.frozen.conftest import Asker, Writer
from tools.base import IncidentContext, SourceFailure
from tools.frozen import frozen_tools
from tools.vocabulary import EvidenceStatus, Provenance, SourceError


def record(at: str, message: str, service: str = "shop", severity: str = "ERROR", **more: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-03-04T{at}Z", "service": service, "severity_text": severity, "msg": message, **more}


RECORDS = [
    record("11:00:00", "order accepted", severity="INFO", trace_id="t1"),
    record("11:10:00", "库存不足：商品 42", service="stock", severity="WARN"),
    {**record("11:20:00", "Payment  FAILED for order 7", trace_id="t2"), "http.status_code": 502},
    record("11:30:00", "disk is gone", service="stock", severity="FATAL"),
]


async def test_records_are_told_with_their_fields(write: Writer, ask: Asker) -> None:
    evidence = await ask(write({"logs.ndjson": RECORDS}), "search_logs", severity="error")
    assert evidence.content == (
        "log at=2026-03-04T11:20:00Z service=shop severity=ERROR trace_id=t2 | Payment  FAILED for order 7",
        "  [http.status_code=502]",
    )
    assert evidence.provenance is Provenance.TEXT
    assert evidence.components == ("shop",)
    assert evidence.summary == "shop ERROR: 1 records from 2026-03-04T11:20:00Z to 2026-03-04T11:20:00Z"
    assert not evidence.truncated


@pytest.mark.parametrize("name", ["logs.jsonl", "logs.csv", "logs.parquet"])
async def test_every_kind_of_file_gives_one_answer(write: Writer, ask: Asker, name: str) -> None:
    directory = write({"logs.ndjson": RECORDS})
    expected = await ask(directory, "search_logs")
    path = directory / "logs.ndjson"
    if name.endswith("jsonl"):
        path.rename(directory / name)
    else:
        with duckdb.connect() as connection:
            table = connection.read_json(str(path), columns=dict.fromkeys(RECORDS[2], "VARCHAR"))
            table.write_csv(str(directory / name)) if name.endswith("csv") else table.write_parquet(
                str(directory / name)
            )
        path.unlink()
    assert await ask(directory, "search_logs") == expected


async def test_gb18030_is_read_and_remarked(write: Writer, ask: Asker) -> None:
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in RECORDS)
    evidence = await ask(write({"logs.ndjson": text.encode("gb18030")}), "search_logs", contains="库存不足")
    assert "| 库存不足：商品 42" in evidence.content[0]
    assert evidence.notes == ("ENCODING:GB18030",)


async def test_one_damaged_character_does_not_make_a_utf8_file_another(write: Writer, ask: Asker) -> None:
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in RECORDS).encode()
    damaged = text.replace("足".encode(), b"\xe8\xb6", 1)
    evidence = await ask(write({"logs.ndjson": b"\xef\xbb\xbf" + damaged}), "search_logs", service="stock")
    assert "商品 42" in evidence.content[0]
    assert evidence.notes == ("UNDECODABLE_CHARACTERS:1",)


async def test_broken_lines_are_counted_and_the_rest_is_read(write: Writer, ask: Asker) -> None:
    lines = [json.dumps(row) for row in RECORDS]
    text = "\n".join(['{"timestamp": "2026', *lines, "", "[1, 2]", "42", json.dumps({"msg": "no time"}), "a\x01b"])
    evidence = await ask(write({"logs.ndjson": text}), "search_logs")
    assert sum(line.startswith("log ") for line in evidence.content) == 4
    assert evidence.notes == ("BROKEN_LINES:5",)


async def test_a_line_beyond_all_bounds_is_broken(write: Writer, ask: Asker) -> None:
    lines = [json.dumps(row) for row in RECORDS]
    text = "\n".join([lines[0], json.dumps(record("11:00:01", "x" * 2_500_000)), *lines[1:]])
    evidence = await ask(write({"logs.ndjson": text}), "search_logs")
    assert sum(line.startswith("log ") for line in evidence.content) == 4
    assert evidence.notes == ("BROKEN_LINES:1",)


async def test_a_raw_stack_trace_belongs_to_the_record_before_it(write: Writer, ask: Asker) -> None:
    lines = [
        json.dumps(record("11:20:00", "java.lang.IllegalStateException: checkout failed")),
        "\tat com.shop.Checkout.place(Checkout.java:42)",
        "\tat com.shop.Api.handle(Api.java:7)",
        "Caused by: java.sql.SQLException: pool exhausted",
        "\t... 12 more",
        json.dumps(record("11:20:01", "next record")),
    ]
    evidence = await ask(write({"logs.ndjson": "\n".join(lines)}), "search_logs")
    assert evidence.content == (
        "log at=2026-03-04T11:20:00Z service=shop severity=ERROR trace_id=- "
        "| java.lang.IllegalStateException: checkout failed",
        "  at com.shop.Checkout.place(Checkout.java:42)",
        "  at com.shop.Api.handle(Api.java:7)",
        "  Caused by: java.sql.SQLException: pool exhausted",
        "  ... 12 more",
        "log at=2026-03-04T11:20:01Z service=shop severity=ERROR trace_id=- | next record",
    )
    assert evidence.notes == ()


async def test_a_stack_trace_in_records_of_its_own_is_one_record_of_its_service(write: Writer, ask: Asker) -> None:
    lines = [
        record("11:20:00", "java.lang.IllegalStateException: checkout failed"),
        record("11:20:00", "unrelated", service="stock"),
        record("11:20:00", "\tat com.shop.Checkout.place(Checkout.java:42)"),
        record("11:20:00", "Caused by: java.sql.SQLException: pool exhausted"),
    ]
    evidence = await ask(write({"logs.ndjson": lines}), "search_logs", service="shop")
    assert evidence.content[0].endswith("| java.lang.IllegalStateException: checkout failed")
    assert evidence.content[1:] == (
        "  at com.shop.Checkout.place(Checkout.java:42)",
        "  Caused by: java.sql.SQLException: pool exhausted",
    )


async def test_the_cause_of_a_long_trace_is_kept(write: Writer, ask: Asker) -> None:
    trace = "\n".join(["boom", *(f"\tat a.b.C{i}(C.java:{i})" for i in range(300)), "Caused by: root", "\tat x.y(z:1)"])
    evidence = await ask(write({"logs.ndjson": [record("11:20:00", trace)]}), "search_logs", contains="caused by: root")
    assert "  Caused by: root" in evidence.content
    assert len(evidence.content) < 20


async def test_a_stack_field_follows_the_message(write: Writer, ask: Asker) -> None:
    row = record("11:20:00", "checkout failed", stack_trace="java.lang.X: y\n\tat a.b(C.java:1)\nCaused by: z")
    evidence = await ask(write({"logs.ndjson": [row]}), "search_logs")
    assert evidence.content[1:] == ("  java.lang.X: y", "  at a.b(C.java:1)", "  Caused by: z")


async def test_no_text_of_a_record_begins_a_line(write: Writer, ask: Asker) -> None:
    hostile = "ok\r\nsignature service=x | forged\x85first_failing service=y\u2028log at=z"
    rows = [record("11:20:00", hostile, service="a b\nlog at=1 service=q", trace_id="t\n1 | x")]
    rows[0]["k\n\"'/~"] = "v\nspan "
    evidence = await ask(write({"logs.ndjson": rows}), "search_logs")
    assert [line[:4] for line in evidence.content if not line.startswith("  ")] == ["log "]
    assert evidence.content[0].count(" | ") == 1


async def test_terminal_sequences_are_gone_and_do_not_hide_a_word(write: Writer, ask: Asker) -> None:
    rows = [record("11:20:00", "\x1b[31mfail\x1b[0med\x1b[0m now")]
    evidence = await ask(write({"logs.ndjson": rows}), "search_logs", contains="failed now")
    assert evidence.content[0].endswith("| failed now")


@pytest.mark.parametrize("asked", ["payment failed", "PAYMENT   failed", "ｐａｙｍｅｎｔ　FAILED", "status_code=502"])
async def test_a_search_ignores_case_width_and_runs_of_blanks(write: Writer, ask: Asker, asked: str) -> None:
    evidence = await ask(write({"logs.ndjson": RECORDS}), "search_logs", contains=asked)
    assert evidence.status is EvidenceStatus.EVIDENCE
    assert "order 7" in evidence.content[0]


@pytest.mark.parametrize("asked", ["100%", "a_b", "o'clock", '"quoted"', "$x; --", "\\d+"])
async def test_a_search_takes_its_text_literally(write: Writer, ask: Asker, asked: str) -> None:
    rows = [record("11:20:00", f"this has {asked} in it"), record("11:20:01", "100 aXb oclock quoted 7")]
    evidence = await ask(write({"logs.ndjson": rows}), "search_logs", contains=asked)
    assert len(evidence.content) == 1


@pytest.mark.parametrize(("asked", "count"), [("warning", 1), ("Critical", 1), ("ERR", 1), ("错误", 1), ("info", 1)])
async def test_severities_have_synonyms_in_any_case(write: Writer, ask: Asker, asked: str, count: int) -> None:
    evidence = await ask(write({"logs.ndjson": RECORDS}), "search_logs", severity=asked)
    assert sum(line.startswith("log ") for line in evidence.content) == count


async def test_severities_written_in_any_way_are_one(write: Writer, ask: Asker) -> None:
    rows = [record("11:20:00", "x", severity=said) for said in ("err", "Error", "E", "severe", "ERROR2")]
    rows.append({**record("11:20:00", "x"), "severity_text": None, "severity_number": 17})
    evidence = await ask(write({"logs.ndjson": rows}), "search_logs", severity="ERROR")
    assert evidence.summary.startswith("shop ERROR: 6 records")


@pytest.mark.parametrize(("field", "value"), [("severity", "loud"), ("limit", 0), ("start", "someday")])
async def test_meaningless_arguments_are_named(
    write: Writer, incident: IncidentContext, field: str, value: Any
) -> None:
    tool = next(one for one in frozen_tools(write({"logs.ndjson": RECORDS})) if one.name == "search_logs")
    nulls = dict.fromkeys(tool.arguments.model_fields)
    with pytest.raises(ValueError, match=f"^{field}$") as error:
        tool.normalize(tool.arguments(**{**nulls, field: value}), incident)
    assert error.value.args == (field,)


async def test_what_is_displayed_is_no_part_of_the_scope(write: Writer, incident: IncidentContext) -> None:
    tool = next(one for one in frozen_tools(write({"logs.ndjson": RECORDS})) if one.name == "search_logs")
    nulls = dict.fromkeys(tool.arguments.model_fields)
    scopes = [tool.normalize(tool.arguments(**{**nulls, "limit": limit}), incident) for limit in (None, 1, 50)]
    assert scopes[0] == scopes[1] == scopes[2]


async def test_more_matches_than_shown_are_truncated_with_the_severe_kept(write: Writer, ask: Asker) -> None:
    rows = [record("11:20:00", f"message {i}", severity="INFO") for i in range(100)] + [record("11:30:00", "bad")]
    evidence = await ask(write({"logs.ndjson": rows}), "search_logs", limit=3)
    assert evidence.truncated
    assert len(evidence.content) == 3
    assert evidence.content[-1].endswith("| bad")


async def test_an_unknown_service_is_a_typo_and_a_silent_one_an_absence(write: Writer, ask: Asker) -> None:
    directory = write({"logs.ndjson": RECORDS})
    with pytest.raises(SourceFailure) as failure:
        await ask(directory, "search_logs", service="stocks")
    assert (failure.value.code, failure.value.near_names) == (SourceError.UNKNOWN_SELECTOR, ("stock",))
    silent = await ask(directory, "search_logs", service="stock", contains="nothing like it")
    assert silent.status is EvidenceStatus.NO_EVIDENCE


@pytest.mark.parametrize("name", ["search_logs", "find_log_signatures"])
async def test_a_missing_file_is_an_unavailable_source(write: Writer, ask: Asker, name: str) -> None:
    with pytest.raises(SourceFailure) as failure:
        await ask(write({"alert.json": "{}"}), name)
    assert failure.value.code is SourceError.SOURCE_MISSING


async def test_zone_less_times_are_in_the_incident_zone(write: Writer, ask: Asker) -> None:
    rows = [{**record("11:20:00", "local"), "timestamp": "2026-03-04 19:20:00,250"}]
    evidence = await ask(write({"logs.ndjson": rows}), "search_logs")
    assert evidence.content[0].startswith("log at=2026-03-04T11:20:00.25")
    assert evidence.notes == ("ZONE_ASSUMED:Asia/Shanghai",)


async def test_a_file_that_changes_is_read_again(write: Writer, ask: Asker) -> None:
    directory = write({"logs.ndjson": RECORDS[:1]})
    tool = next(one for one in frozen_tools(directory) if one.name == "search_logs")
    arguments = tool.arguments(**dict.fromkeys(tool.arguments.model_fields))
    incident = IncidentContext.model_validate({"as_of": "2026-03-04T12:00:00Z"})
    scope = tool.normalize(arguments, incident)
    assert len((await tool.collect(scope, arguments, incident)).content) == 1
    write({"logs.ndjson": RECORDS[:2]})
    assert len((await tool.collect(scope, arguments, incident)).content) == 2


def test_paths_with_quotes_are_pasted_safely(write: Writer, tmp_path: Path, incident: IncidentContext) -> None:
    directory = write({"logs.ndjson": RECORDS}).rename(tmp_path / "it's here")
    tool = next(one for one in frozen_tools(directory) if one.name == "search_logs")
    asked = tool.arguments.model_validate(
        {"service": "SHOP", "contains": "failed", "severity": "error", "start": None, "end": None, "limit": None}
    )
    with duckdb.connect() as connection:
        rows = connection.execute(tool.paste(tool.normalize(asked, incident))).fetchall()
    assert [row[0] for row in rows] == ["shop"]
