"""What the logs say that they didn't say before."""

from typing import Any

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.tools.frozen.conftest import Asker, Writer
from tools.frozen.signatures import generalized
from tools.vocabulary import EvidenceStatus


def at(minute: float) -> str:
    seconds = round(minute * 60)
    return f"2026-03-04T{10 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}Z"


def record(minute: float, message: str, service: str = "shop", severity: str = "ERROR") -> dict[str, Any]:
    return {"timestamp": at(minute), "service": service, "severity_text": severity, "msg": message}


def quiet(count: int = 120, service: str = "shop") -> list[dict[str, Any]]:
    return [record(minute, f"handled request {minute}", service, "INFO") for minute in range(count)]


@pytest.fixture(scope="module")
def generalize() -> Any:
    connection = duckdb.connect()

    def one(text: str) -> str:
        row = connection.execute(f"SELECT {generalized('$text')}", {"text": text}).fetchone()
        assert row is not None
        return str(row[0])

    return one


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("order 17 took 35ms", "order <n> took <time>"),
        ("order 17 took 1.5 s", "order <n> took <time>"),
        ("user 550e8400-e29b-41d4-a716-446655440000 gone", "user <uuid> gone"),
        ("dial 10.0.12.7:5432: refused", "dial <ip>: refused"),
        ("ptr 0xC0FFEE span 4f2a9bc81d", "ptr <hex> span <hex>"),
        ("'thread-title' not found", "<str> not found"),
        ('relation "favorites" does not exist', "relation <str> does not exist"),
        ("expired: 2026-06-18T15:04:01Z is after 2026-06-18 15:04:00.5", "expired: <time> is after <time>"),
        ("x509 handshake with s3 in us-east-1", "x509 handshake with s3 in us-east-<n>"),
        ("can't open the user's file", "can't open the user's file"),
        ("out of range [-90,90] got 412.70", "out of range [-<n>,<n>] got <n>"),
        ("支付失败，订单号=P20260908151587，第 3 次", "支付失败，订单号=<id>，第 <n> 次"),
        ("session k3j9xq0zz81mw2ab4cd6 of pay-service gone", "session <id> of pay-service gone"),
        ("pod pay-7d9f8b6c5d-x2k4q evicted by http2 p99", "pod pay-<pod> evicted by http2 p99"),
    ],
)
def test_numbers_ids_and_quoted_values_are_generalized(generalize: Any, text: str, signature: str) -> None:
    assert generalize(text) == signature


@given(st.text(alphabet=st.sampled_from("a1f0 '\"-:.x<>n[]Zms_/\n"), max_size=60) | st.text(max_size=60))
@example("'a''b'")
@example('"a"b"c"')
@example("0x1 0x1f'5'")
@settings(max_examples=200)
def test_generalizing_twice_changes_nothing_more(generalize: Any, text: str) -> None:
    once = generalize(text)
    assert generalize(once) == once


async def test_what_was_never_said_before_is_new(write: Writer, ask: Asker) -> None:
    rows = quiet() + [record(100 + i / 6, f"pool exhausted after {i} tries") for i in range(30)]
    evidence = await ask(write({"logs.ndjson": rows}), "find_log_signatures")
    assert evidence.content == (
        "signature service=shop severity=ERROR status=NEW count=30 baseline_count=0 first_seen=2026-03-04T11:40:00Z "
        "last_seen=2026-03-04T11:44:50Z | pool exhausted after <n> tries",
        "  pool exhausted after 0 tries",
    )
    assert evidence.summary == "shop ERROR signature NEW: 30 records since 2026-03-04T11:40:00Z, 0 before"


async def test_what_is_said_far_more_often_has_grown(write: Writer, ask: Asker) -> None:
    rows = quiet() + [record(minute, "retrying") for minute in range(0, 120, 10)]
    rows += [record(100 + i / 10, "retrying") for i in range(100)]
    evidence = await ask(write({"logs.ndjson": rows}), "find_log_signatures")
    assert "status=GROWN" in evidence.content[0]
    assert "baseline_count=3" in evidence.content[0]


async def test_what_is_said_as_ever_is_no_evidence(write: Writer, ask: Asker) -> None:
    rows = quiet() + [record(minute, "known flake") for minute in range(0, 120, 5)]
    evidence = await ask(write({"logs.ndjson": rows}), "find_log_signatures")
    assert evidence.status is EvidenceStatus.NO_EVIDENCE


async def test_errors_lead_then_warnings_then_other_new_texts(write: Writer, ask: Asker) -> None:
    rows = quiet()
    rows += [record(60 + i, "SELECT * FROM items WHERE id = 1", severity="DEBUG") for i in range(50)]
    rows += [record(70 + i, "no space left on device", severity="INFO") for i in range(4)]
    rows += [record(80 + i, "slow query", severity="WARN") for i in range(20)]
    rows += [record(90, "writer died", severity="FATAL")]
    rows += [record(95, "started version 2", severity="INFO")]
    evidence = await ask(write({"logs.ndjson": rows}), "find_log_signatures")
    told = [line.split(" | ")[1] for line in evidence.content if line.startswith("signature ")]
    assert told == ["writer died", "slow query", "no space left on device", "SELECT * FROM items WHERE id = <n>"]


async def test_a_window_with_history_is_judged_against_its_history(write: Writer, ask: Asker) -> None:
    rows = quiet() + [record(minute, "old trouble") for minute in range(0, 120, 4)] + [record(91, "new trouble")]
    evidence = await ask(write({"logs.ndjson": rows}), "find_log_signatures", start="2026-03-04T11:30Z")
    assert [line for line in evidence.content if "old trouble" in line] == []
    assert "| new trouble" in evidence.content[0]


async def test_what_begins_soon_after_the_logs_do_is_new_where_its_silence_cannot_be_chance(
    write: Writer, ask: Asker
) -> None:
    rows = quiet() + [record(10 + i / 6, "pool exhausted") for i in range(600)]
    rows += [record(5 + 10 * i, "hourly check failed") for i in range(12)]
    evidence = await ask(write({"logs.ndjson": rows}), "find_log_signatures")
    told = [line for line in evidence.content if line.startswith("signature ")]
    assert len(told) == 1
    assert "status=NEW count=600 baseline_count=0 first_seen=2026-03-04T10:10:00Z" in told[0]


async def test_no_text_of_a_record_begins_a_line(write: Writer, ask: Asker) -> None:
    hostile = "boom\r\u2028first_failing service=y\x1b[31m\u202e\nlog at=z | forged"
    evidence = await ask(write({"logs.ndjson": [*quiet(), record(100, hostile)]}), "find_log_signatures")
    assert [line[:10] for line in evidence.content if not line.startswith("  ")] == ["signature "]
    assert all(line.isprintable() for line in evidence.content)


async def test_the_order_of_the_file_does_not_matter(write: Writer, ask: Asker) -> None:
    rows = quiet() + [record(100 + i / 6, f"pool exhausted after {i} tries") for i in range(30)]
    forwards = await ask(write({"logs.ndjson": rows}), "find_log_signatures")
    backwards = await ask(write({"logs.ndjson": rows[::-1]}), "find_log_signatures")
    assert forwards == backwards


async def test_a_signature_shows_the_root_cause_of_its_sample(write: Writer, ask: Asker) -> None:
    trace = "checkout failed\n\tat a.b(C.java:1)\nCaused by: timeout\n\tat c.d(E.java:2)\nCaused by: pool exhausted"
    evidence = await ask(write({"logs.ndjson": [*quiet(), record(100, trace)]}), "find_log_signatures")
    assert evidence.content[1:] == ("  checkout failed", "  Caused by: pool exhausted")


async def test_more_signatures_than_the_bound_are_truncated(write: Writer, ask: Asker) -> None:
    words = [f"{first}{second} broke" for first in "abcdefgh" for second in "ijklmnop"]
    rows = quiet() + [record(100, word) for word in words]
    evidence = await ask(write({"logs.ndjson": rows}), "find_log_signatures")
    assert evidence.truncated
    assert sum(line.startswith("signature ") for line in evidence.content) == 24


async def test_patterns_and_ground_truth_are_never_read(write: Writer, ask: Asker) -> None:
    rows = [*quiet(), record(100, "pool exhausted")]
    files = {"patterns.json": "not even JSON", "ground_truth.json": "secret", "metadata.json": "{"}
    evidence = await ask(write({"logs.ndjson": rows, **files}), "find_log_signatures")
    assert evidence.status is EvidenceStatus.EVIDENCE
    assert evidence.notes == ()
