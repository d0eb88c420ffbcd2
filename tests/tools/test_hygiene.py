"""Text of others is bounded, printable, without secrets, and never begins a line."""

import json
import unicodedata
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.hygiene import (
    ELLIPSIS,
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_JSON,
    MAX_LINE,
    MAX_STRING,
    clean_evidence,
    clean_json,
    clean_lines,
    clean_text,
)
from tools.vocabulary import ChangeKind, ChangeRef, Evidence, EvidenceStatus, Provenance

hostile = st.text(
    alphabet=st.one_of(
        st.sampled_from("\n\r\t\x1b\x85\u2028\u200b\u202e\u2066\ufeff[]:=\"'|…m;0123456789 ABsk-eyJ.@"), st.characters()
    ),
    max_size=120,
) | st.lists(
    st.sampled_from(
        ["password=", "hunter2", "13800138000", "[MASKED:", "KEY]", "\n", "\x1b[31m", "signature ", "a@b.com", " "]
    )
).map("".join)


def hidden(text: str) -> list[str]:
    return [
        character for character in text if character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Cs")
    ]


@given(hostile, st.integers(1, 200))
def test_cleaned_text_is_bounded_printable_and_stays_as_it_is(text: str, limit: int) -> None:
    cleaned = clean_text(text, limit=limit)
    assert len(cleaned) <= limit
    assert hidden(cleaned) == []
    assert clean_text(cleaned, limit=limit) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\x1b[31mred\x1b[0m alert", "red alert"),
        ("\x1b]0;title\x07body", "body"),
        ("pass\u200bword=hunter2", "password=[MASKED:PASSWORD]"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("a\tb", "a    b"),
        ("订单　支付失败", "订单　支付失败"),
        ("half \ud800 a character", "half  a character"),
    ],
)
def test_each_trick_of_a_text_is_undone(text: str, cleaned: str) -> None:
    assert clean_text(text, limit=100) == cleaned


def test_what_is_cut_shows_as_an_ellipsis_and_no_placeholder_is_cut_through() -> None:
    assert clean_text("x" * 20, limit=10) == "x" * 9 + ELLIPSIS
    assert clean_text("user zhang.san@example.com left", limit=12) == "user " + ELLIPSIS


def test_a_secret_at_the_end_of_a_very_long_text_is_not_cut_into_an_unknown_one() -> None:
    text = "password=hunter2 " * 4_000 + "13800138000" * 3
    assert "hunter2" not in clean_text(text, limit=100_000)
    assert "1380013" not in clean_text(text, limit=100_000)


def test_text_behind_a_line_break_goes_on_behind_two_blanks() -> None:
    lines = ["log at=x | boom\nsignature service=evil\r  at Foo", "  Caused by: y\u2028change kind=DEPLOY"]
    assert clean_lines(lines) == (
        "log at=x | boom",
        "  signature service=evil",
        "  at Foo",
        "  Caused by: y",
        "  change kind=DEPLOY",
    )


@given(st.lists(hostile, max_size=5), st.integers(10, 120))
def test_no_text_of_a_source_begins_a_line(texts: list[str], limit: int) -> None:
    lines = clean_lines([f"log service=pay | {text}" for text in texts], limit=limit)
    assert all(line.startswith(("log service=pay", "  ", "log servic", "log serv", "log se")) for line in lines)
    assert not [line for line in lines if "\n" in line or hidden(line) or len(line) > limit]
    assert clean_lines(lines, limit=limit) == lines


def test_a_private_key_is_masked_over_several_lines_of_evidence() -> None:
    lines = [
        "log a | key",
        "  -----BEGIN PRIVATE KEY-----",
        "  " + "MIIEvQIBADANBgkqhkiG9w0BAQ",
        "  -----END PRIVATE KEY-----",
        "log b",
    ]
    assert clean_lines(lines) == ("log a | key", "  [MASKED:PRIVATE_KEY]", "log b")


def evidence(*content: str, provenance: Provenance = Provenance.TEXT, **fields: Any) -> Evidence:
    return Evidence(
        status=EvidenceStatus.EVIDENCE, provenance=provenance, content=content, **({"summary": "s"} | fields)
    )


@given(st.lists(hostile, max_size=6), st.integers(1, 400))
def test_cleaned_evidence_is_bounded_says_what_it_lost_and_stays_as_it_is(texts: list[str], max_bytes: int) -> None:
    raw = evidence(*texts, summary="".join(texts), components=tuple(texts), notes=tuple(texts))
    cleaned = clean_evidence(raw, max_bytes=max_bytes)
    assert len("\n".join(cleaned.content).encode()) <= max_bytes
    assert cleaned.truncated or cleaned.content == clean_lines(texts)
    assert "\n" not in "".join((cleaned.summary, *cleaned.components, *cleaned.notes))
    assert clean_evidence(cleaned, max_bytes=max_bytes) == cleaned


def test_evidence_is_cut_on_a_lines_border_counted_in_bytes() -> None:
    cleaned = clean_evidence(evidence("订单失败", "支付失败", "超时"), max_bytes=25)
    assert cleaned.content == ("订单失败", "支付失败")
    assert cleaned.truncated
    assert not clean_evidence(evidence("订单失败", "支付失败"), max_bytes=25).truncated


def test_a_first_line_that_is_too_long_is_cut_within() -> None:
    cleaned = clean_evidence(evidence("订单支付失败订单支付失败"), max_bytes=12)
    assert cleaned.content == ("订单支" + ELLIPSIS,)
    assert cleaned.truncated


def test_a_line_cut_for_its_own_length_is_counted() -> None:
    cleaned = clean_evidence(evidence("x" * (MAX_LINE + 1), "y"), max_bytes=10_000)
    assert cleaned.notes == ("LINES_CUT:1",)
    assert not cleaned.truncated


def test_every_part_of_evidence_is_masked() -> None:
    secret = "li@example.com"
    cleaned = clean_evidence(
        evidence(
            secret,
            summary=secret,
            components=(secret,),
            notes=(secret,),
            first_failing=secret,
            changes=(
                ChangeRef(kind=ChangeKind.FLAG, change_id=secret, service=secret, at=datetime(2026, 1, 1, tzinfo=UTC)),
            ),
        ),
        max_bytes=1_000,
    )
    assert secret not in cleaned.model_dump_json()


def test_measurements_keep_their_rounded_values() -> None:
    line = "series service=pay metric=heap baseline=13000000000 last=17179900000"
    points = "points service=pay metric=heap 2026-06-18T15:04:00Z=13800100000"
    cleaned = clean_evidence(
        evidence(line, points, provenance=Provenance.MEASURED, summary="heap rose to 17179900000"), max_bytes=1_000
    )
    assert (cleaned.content, cleaned.summary) == ((line, points), "heap rose to 17179900000")


def test_an_incident_of_somebodys_making_is_masked_also_by_its_keys() -> None:
    given_by_user = {
        "query": "密码：abc123 支付失败",
        "password": "tiger",
        "phone": 13800138000,
        "observed": 0.47,
        "count": 13800138000,
        "nested": {"access_token": ["abc", "def"]},
        "fired_at": datetime(2026, 6, 18, 15, tzinfo=UTC),
        "odd": {1: b"x", "nan": float("nan")},
    }
    assert clean_json(given_by_user) == {
        "query": "密码：[MASKED:PASSWORD] 支付失败",
        "password": "[MASKED:PASSWORD]",
        "phone": "[MASKED:PHONE]",
        "observed": 0.47,
        "count": 13800138000,
        "nested": {"access_token": ["[MASKED:TOKEN]", "[MASKED:TOKEN]"]},
        "fired_at": "2026-06-18T15:00:00Z",
        "odd": {"1": None, "nan": None},
    }


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | hostile,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(hostile, inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_cleaned_json_is_json_and_stays_as_it_is(value: Any) -> None:
    cleaned = clean_json(value)
    assert json.loads(json.dumps(cleaned, allow_nan=False)) == cleaned
    assert clean_json(cleaned) == cleaned


def test_depth_items_and_characters_are_bounded() -> None:
    deep: Any = "bottom"
    for _ in range(MAX_DEPTH + 50):
        deep = [deep]
    assert "bottom" not in json.dumps(clean_json(deep))
    assert len(clean_json(list(range(MAX_ITEMS + 5)))) == MAX_ITEMS
    assert len(clean_json("x" * (MAX_STRING + 5))) == MAX_STRING
    assert len(json.dumps(clean_json(["y" * MAX_STRING] * 50))) < MAX_JSON + 1_000
