"""Equal questions have one spelling; different questions stay different."""

import json
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.canonical import (
    canonical_duration,
    canonical_json,
    canonical_labels,
    canonical_quantity,
    canonical_scope,
    decimal_text,
    fold,
    iso_utc,
    scope_digest,
)

FULL_WIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
names = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,8}){0,2}", fullmatch=True)


@st.composite
def spelled_otherwise(draw: st.DrawFn, text: str) -> str:
    """The same words in another case, in full width, with more blanks and with invisible characters in between."""
    characters = [
        draw(st.sampled_from([character, character.upper(), character.translate(FULL_WIDTH), character + "\u200b"]))
        for character in text
    ]
    blank = draw(st.sampled_from([" ", "\t", "\u3000", "  ", "\u00a0 "]))
    return blank + "".join(characters).replace(" ", blank) + blank


@given(st.data(), st.lists(names, min_size=1, max_size=3).map(" ".join))
def test_case_width_blanks_and_invisible_characters_fold_away(data: st.DataObject, text: str) -> None:
    assert fold(data.draw(spelled_otherwise(text))) == text


@given(st.text(max_size=40))
def test_folding_is_idempotent_and_leaves_nothing_invisible(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert not [character for character in folded if unicodedata.category(character) in ("Cc", "Cf", "Cs")]


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
scopes = st.dictionaries(names, values, max_size=4)


def turned(value: Any) -> Any:
    """The same value with its keys in the opposite order, all the way down, and its numbers in another type."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(list(value))}
    if isinstance(value, list):
        return tuple(turned(item) for item in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


@given(scopes)
def test_key_order_number_types_and_absent_fields_make_no_other_scope(scope: dict[str, Any]) -> None:
    other = turned(scope) | {"zz-absent": None}
    assert canonical_scope(scope) == canonical_scope(other)
    assert scope_digest("query_metrics", scope) == scope_digest("query_metrics", other)
    assert json.loads(canonical_json(scope)) == json.loads(canonical_json(other))


@given(scopes)
def test_a_canonical_scope_stays_as_it_is(scope: dict[str, Any]) -> None:
    once = canonical_scope(scope)
    assert canonical_scope(once) == once
    assert list(once) == sorted(once)


@given(scopes, scopes)
def test_scopes_that_differ_have_digests_that_differ(one: dict[str, Any], other: dict[str, Any]) -> None:
    same_text = canonical_json(canonical_scope(one)) == canonical_json(canonical_scope(other))
    digests = (scope_digest("t", canonical_scope(one)), scope_digest("t", canonical_scope(other)))
    assert (digests[0] == digests[1]) is same_text


def test_the_tool_belongs_to_the_digest() -> None:
    assert scope_digest("query_metrics", {"service": "a"}) != scope_digest("query_traces", {"service": "a"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"service": "a"}, {"service": "b"}),
        ({"service": "a"}, {"metric": "a"}),
        ({"limit": 1}, {"limit": "1"}),
        ({"flag": True}, {"flag": 1}),
        ({"services": ["a", "b"]}, {"services": ["b", "a"]}),
        ({"start": datetime(2026, 6, 18, tzinfo=UTC)}, {"start": datetime(2026, 6, 18, 0, 1, tzinfo=UTC)}),
    ],
)
def test_different_questions_stay_different(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert scope_digest("t", canonical_scope(one)) != scope_digest("t", canonical_scope(other))


def test_a_field_whose_case_matters_keeps_it() -> None:
    scope = canonical_scope({"labels": '{pod="A"}', "service": "Pay"}, exact=frozenset({"labels"}))
    assert scope == {"labels": '{pod="A"}', "service": "pay"}


def test_half_a_character_out_of_a_models_json_breaks_no_digest() -> None:
    assert canonical_json({"query": "a\ud800"}) == '{"query":"a\ufffd"}'
    assert scope_digest("t", {"query": "a\ud800"}) == scope_digest("t", {"query": "a\ufffd"})


def test_times_are_written_in_utc_whatever_their_zone() -> None:
    shanghai = timezone(timedelta(hours=8))
    assert iso_utc(datetime(2026, 6, 18, 23, 4, tzinfo=shanghai)) == "2026-06-18T15:04:00Z"
    assert iso_utc(datetime(2026, 6, 18, 15, 4, 0, 250_000, tzinfo=UTC)) == "2026-06-18T15:04:00.250000Z"
    assert canonical_scope({"start": datetime(2026, 6, 18, 23, 4, tzinfo=shanghai)}) == {
        "start": "2026-06-18T15:04:00Z"
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf"), datetime(2026, 6, 18), object(), b"x"])  # noqa: DTZ001
def test_a_value_without_json_form_names_its_field(value: object) -> None:
    with pytest.raises(ValueError, match=r"^window$"):
        canonical_scope({"window": value})


@pytest.mark.parametrize(
    "text", ["90s", "1m30s", "1.5m", "90 seconds", "90000ms", "1分30秒", "９０Ｓ", "0.025h", "1 min 30 sec"]
)
def test_equivalent_durations_are_one(text: str) -> None:
    assert canonical_duration(text) == "90s"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0.5s", "0.5s"), ("500ms", "0.5s"), ("500MS", "0.5s"), ("1d", "86400s"), ("3us", "0.000003s")],
)
def test_durations_are_counted_in_seconds(text: str, seconds: str) -> None:
    assert canonical_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5", "5 parsecs", "s5", "1m 30"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^duration$"):
        canonical_duration(text)


@given(st.integers(0, 10**6), st.integers(0, 59))
def test_minutes_and_seconds_are_the_sum_of_seconds(minutes: int, seconds: int) -> None:
    assert canonical_duration(f"{minutes}m{seconds}s") == canonical_duration(f"{minutes * 60 + seconds}s")


@pytest.mark.parametrize("text", ["1Ki", "1024", "1KiB", "1024 B", "1.024k", "１Ｋｉ", "1024000m", "1024.0"])
def test_equivalent_quantities_are_one(text: str) -> None:
    assert canonical_quantity(text) == "1024"


@pytest.mark.parametrize(("one", "other"), [("1m", "1M"), ("1K", "1Ki"), ("1", "1%"), ("1G", "1Gi")])
def test_different_quantities_stay_different(one: str, other: str) -> None:
    assert canonical_quantity(one) != canonical_quantity(other)


def test_halves_meet() -> None:
    assert {canonical_quantity(text) for text in ("0.5", "500m", "50%", ".5", "5e-1")} == {"0.5"}


@pytest.mark.parametrize("text", ["", "lots", "1 Zi", "1 2", "Ki"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^quantity$"):
        canonical_quantity(text)


@given(st.integers(-(10**12), 10**12), st.integers(0, 9))
def test_a_decimal_is_written_exactly(digits: int, places: int) -> None:
    value = Fraction(digits, 10**places)
    assert Fraction(decimal_text(value)) == value
    assert "e" not in decimal_text(value)


def test_a_fraction_without_decimal_form_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^decimal$"):
        decimal_text(Fraction(1, 3))


@pytest.mark.parametrize(
    "text",
    [
        '{b="2", a="1"}',
        "{a='1',b=\"2\",}",
        'a="1",b="2"',
        "{ a = 1 , b == 2 }",
        "{a=`1`,b=`2`}",
        "｛ｂ＝“2”，ａ＝“1”｝",
    ],
)
def test_label_matchers_in_any_order_and_quotes_are_one(text: str) -> None:
    assert canonical_labels(text) == '{a="1",b="2"}'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{a="1"}', '{a="2"}'),
        ('{a="x"}', '{a="X"}'),
        ('{a="1"}', '{a!="1"}'),
        ('{a="1"}', '{a=~"1"}'),
        ('{a="1"}', '{a="1",b="2"}'),
        ('up{a="1"}', 'down{a="1"}'),
        ('{a="1,b=2"}', '{a="1",b="2"}'),
    ],
)
def test_different_matchers_stay_different(one: str, other: str) -> None:
    assert canonical_labels(one) != canonical_labels(other)


@pytest.mark.parametrize("text", ["{a=", '{a="1" b="2"}', "{=1}", '{a="1"} or {b="2"}'])
def test_what_are_no_matchers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^labels$"):
        canonical_labels(text)


labels = st.dictionaries(names.map(lambda name: name.replace("-", "_")), st.text(max_size=8), max_size=4)


@given(labels, st.randoms(use_true_random=False))
def test_the_order_of_labels_is_nothing_and_their_values_are_everything(wanted: dict[str, str], order: Any) -> None:
    shuffled = list(wanted.items())
    order.shuffle(shuffled)
    text = "{" + ", ".join(f"{name}={json.dumps(value)}" for name, value in shuffled) + "}"
    expected = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(wanted.items()))
    assert canonical_labels(text) == "{" + ",".join(expected) + "}"
