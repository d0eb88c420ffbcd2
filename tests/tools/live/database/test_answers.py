"""Rows as evidence: fields that can be quoted, text that can't pretend to be fields."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.hygiene import clean_evidence
from tools.live.database.answers import evidence_of, shown_value
from tools.live.database.source import Found
from tools.vocabulary import Evidence


def told(*rows: tuple[Any, ...], labels: tuple[str, ...], more: bool = False) -> Evidence:
    return evidence_of(Found(labels, rows, more), source="shop", tables=("orders",), zone="Asia/Shanghai")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "true"),
        (1234567890123, "1234567890123"),
        (Decimal("1234567.8900"), "1234567.89"),
        (Decimal("100.00"), "100"),
        (Decimal("0.33333333333333333333"), "0.333333"),
        (Decimal("NaN"), "NaN"),
        (Decimal(10) ** 30, "1" + "0" * 30),
        (0.30000000000000004, "0.3"),
        (float("inf"), "inf"),
        (datetime(2026, 9, 8, 15, 2), "2026-09-08T07:02:00Z"),  # noqa: DTZ001 -- as a database gives it
        (datetime(2026, 9, 8, 7, 2, tzinfo=UTC), "2026-09-08T07:02:00Z"),
        (date(2026, 9, 8), "2026-09-08"),
        (timedelta(hours=1, seconds=1), "3601s"),
        (b"\x00\x01", "2_bytes"),
        ("  a\nb\u202e ", "a b"),
    ],
)
def test_values_are_told_in_their_plain_form(value: Any, shown: str) -> None:
    assert shown_value(value, "Asia/Shanghai") == shown


def test_a_summary_gives_the_numbers_and_never_a_count_alone() -> None:
    assert told((7,), labels=("count",)).summary == "shop: 1 row of orders, count=7"
    rows = (("NEW", 3, Decimal("1.5")), ("PAID", 9, None))
    assert told(*rows, labels=("status", "count", "sum_amount"), more=True).summary == (
        "shop: 2+ rows of orders, count=3..9 sum_amount=1.5"
    )


def test_aware_and_naive_times_do_not_meet_in_a_summary() -> None:
    row = (datetime(2026, 9, 8, 7, 2, tzinfo=UTC), datetime(2026, 9, 8, 15, 2))  # noqa: DTZ001 -- as a database gives it
    evidence = told(row, row, labels=("paid_at", "made_at"))
    assert "paid_at=2026-09-08T07:02:00Z made_at=2026-09-08T07:02:00Z" in evidence.summary
    assert evidence.notes == ("ZONE_ASSUMED:Asia/Shanghai",)


def test_secrets_in_rows_are_masked_as_everywhere() -> None:
    evidence = clean_evidence(told((1, "call 13800138000"), labels=("id", "note")), max_bytes=10_000)
    assert "13800138000" not in str(evidence)


@given(
    st.lists(st.one_of(st.text(max_size=40), st.none(), st.integers(), st.floats(), st.binary(max_size=4)), min_size=1)
)
def test_whatever_stands_in_a_row_there_is_one_line_of_one_writer(values: list[Any]) -> None:
    labels = tuple(f"c{number}" for number in range(len(values)))
    (line,) = told(tuple(values), labels=labels).content
    fields, _, _ = line.partition(" | ")
    assert "\n" not in line
    assert line.startswith("row service=shop table=orders")
    assert fields.count("service=") == 1
    assert all(field.count("=") == 1 for field in fields.split(" ")[1:])
