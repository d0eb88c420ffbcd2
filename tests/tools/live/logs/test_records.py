"""A record of a live backend is taken apart, given a severity, and clean before anything else sees it."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.hygiene import clean_text
from tools.live.logs.records import SEVERITIES, SPELLINGS, LogRecord, record_of, severity_of

AT = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


def read(text: str, *, severity: str | None = None, trace_id: str | None = None) -> LogRecord:
    return record_of(AT, "shop", text, severity=severity, trace_id=trace_id)


@pytest.mark.parametrize(
    ("text", "severity", "message"),
    [
        ('{"level":"error","msg":"pool is empty"}', "ERROR", "pool is empty"),
        ('{"severity":"Warning","message":"slow"}', "WARN", "slow"),
        ('{"level":50,"msg":"pino"}', "ERROR", "pino"),
        ('{"log":{"level":"fatal"},"message":"nested"}', "FATAL", "nested"),
        ('level=warn msg="disk is \\"almost\\" full" free=3', "WARN", 'disk is "almost" full'),
        ("2026-03-04 12:00:00,123 ERROR [main] no pool", "ERROR", "2026-03-04 12:00:00,123 ERROR [main] no pool"),
        ("\x1b[31mERROR\x1b[0m no pool", "ERROR", "ERROR no pool"),
        ("it was no ERROR said the user in a long sentence about an ERROR", "-", None),
        ("retry=3 left", "-", "retry=3 left"),
        ("{broken json", "-", "{broken json"),
    ],
)
def test_a_line_is_taken_apart(text: str, severity: str, message: str | None) -> None:
    record = read(text)
    assert record.severity == severity
    assert message is None or record.message == message


def test_the_backends_own_severity_and_trace_stand_above_the_texts() -> None:
    record = read('{"level":"info","trace_id":"a","msg":"x"}', severity="error", trace_id="b")
    assert (record.severity, record.trace_id) == ("ERROR", "b")


def test_a_severity_that_means_none_of_ours_leaves_the_word_to_the_text() -> None:
    assert read("level=error msg=x", severity="unknown").severity == "ERROR"


@pytest.mark.parametrize(("spelled", "meant"), [(one, key) for key, words in SPELLINGS.items() for one in words])
def test_every_spelling_is_read_in_any_case(spelled: str, meant: str) -> None:
    assert {severity_of(spelled), severity_of(spelled.upper()), severity_of(f" {spelled.title()} ")} == {meant}


@pytest.mark.parametrize(("number", "meant"), [("1", "TRACE"), ("9", "INFO"), ("17", "ERROR"), ("24", "FATAL")])
def test_numbers_of_opentelemetry_are_severities(number: str, meant: str) -> None:
    assert severity_of(number) == meant


def test_a_stack_of_its_own_field_follows_the_message() -> None:
    record = read(json.dumps({"msg": "boom", "stack_trace": "java.lang.Error: boom2\n\tat a.B.c(B.java:1)"}))
    assert record.message.splitlines()[0] == "boom"
    assert "at a.B.c" in record.message


def test_a_long_trace_keeps_its_cause() -> None:
    frames = "\n".join(f"\tat a.b.C.method{number}(C.java:{number})" for number in range(2_000))
    record = read(f"boom\n{frames}\nCaused by: java.net.SocketTimeoutException: timed out\n{frames}")
    assert len(record.message) < 5_000
    assert "Caused by: java.net.SocketTimeoutException: timed out" in record.message


def test_a_secret_is_masked_by_its_key_and_by_its_shape() -> None:
    record = read('{"msg":"login with token=abcDEF123456ghi","password":"hunter2","user":"x"}')
    told = str(record.document())
    assert "abcDEF123456ghi" not in told
    assert "hunter2" not in told
    assert ("user", "x") in record.fields


def test_a_document_is_what_a_frozen_incident_reads() -> None:
    assert read("level=error msg=boom shard=3", trace_id="t").document() == {
        "timestamp": "2026-03-04T12:00:00Z",
        "service": "shop",
        "severity_text": "ERROR",
        "trace_id": "t",
        "msg": "boom",
        "shard": "3",
    }


@given(st.text(max_size=300), st.text(max_size=40), st.dictionaries(st.text(max_size=20), st.text(max_size=40)))
def test_whatever_is_written_the_record_is_clean_and_bounded(text: str, service: str, fields: dict[str, str]) -> None:
    for line in (text, json.dumps({"msg": text, **fields})):
        record = record_of(AT, service, line, fields=fields.items())
        assert record.severity in {*SEVERITIES, "-"}
        assert "\n" not in record.service
        parts = (record.message, record.service, *(part for field in record.fields for part in field))
        assert all(part == clean_text(part, limit=20_000) for part in parts)
        assert len(record.fields) <= 16
