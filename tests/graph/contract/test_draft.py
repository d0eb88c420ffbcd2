"""Parsing a draft: the JSON shape, and nothing of its meaning (contract, "Draft")."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.contract.draft import (
    MAX_DRAFT_CHARACTERS,
    MAX_ITEMS,
    MAX_STRING_CHARACTERS,
    Draft,
    DraftUnreadable,
    parse_draft,
)
from graph.contract.vocabulary import MissingInfo
from tests.graph.contract.evidence_samples import chinese_draft, english_draft


@pytest.mark.parametrize("data", [chinese_draft(), english_draft()])
def test_a_whole_draft_is_read_unchanged(data: dict[str, Any]) -> None:
    draft = parse_draft(json.dumps(data))

    assert draft.analyses[0].text == data["analyses"][0]["text"]
    assert draft.conclusion is not None
    assert draft.conclusion.analysis_ids == tuple(data["conclusion"]["analysis_ids"])
    assert Draft.model_validate(draft.model_dump(mode="json")) == draft


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "  ```json\r\n{}\r\n```  \n"])
def test_one_surrounding_code_fence_is_peeled_off(fence: str) -> None:
    assert parse_draft(fence.replace("{}", '{"conclusion": null}')).conclusion is None


@pytest.mark.parametrize("null", [None, "absent"])
def test_null_and_absent_parts_are_empty(null: str | None) -> None:
    data: dict[str, Any] = {"conclusion": {"text": "x"}, "analyses": [{"kind": "OBSERVATION"}]}
    if null is None:
        data["action_plan"] = data["recommendations"] = data["limitations"] = None
        data["analyses"][0].update(analysis_id=None, quotes=None, text=None)

    draft = parse_draft(json.dumps(data))

    assert [*draft.action_plan, *draft.recommendations, *draft.analyses[0].quotes] == []
    assert (draft.analyses[0].analysis_id, draft.analyses[0].text) == ("", "")
    assert draft.limitations.missing_info == ()
    assert draft.conclusion is not None
    assert draft.conclusion.change_id is None


def test_blank_ids_and_unknown_kinds_are_readable() -> None:
    data = {"conclusion": None, "analyses": [{"analysis_id": " ", "kind": "GUESS", "text": "", "tool_call_ids": [""]}]}

    assert parse_draft(json.dumps(data)).analyses[0].kind == "GUESS"


def test_an_unknown_missing_info_becomes_other_and_each_stands_once() -> None:
    data = {"conclusion": None, "limitations": {"missing_info": ["Service", "region", "tenant", "time"]}}

    assert parse_draft(json.dumps(data)).limitations.missing_info == (
        MissingInfo.SERVICE,
        MissingInfo.OTHER,
        MissingInfo.TIME,
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "root cause: the cache",
        "{}",
        "[]",
        "null",
        '"conclusion"',
        '{"conclusion": null} trailing',
        'Here it is: {"conclusion": null}',
        '```json\n```json\n{"conclusion": null}\n```\n```',
        '{"conclusion": "the cache"}',
        '{"conclusion": null, "confidence": "high"}',
        '{"conclusion": null, "confidence": null}',
        '{"conclusion": {"text": "x", "severity": "y"}}',
        '{"conclusion": null, "conclusion": null}',
        '{"conclusion": null, "analyses": {}}',
        '{"conclusion": null, "analyses": ["x"]}',
        '{"conclusion": null, "analyses": [{"quotes": "x"}]}',
        '{"conclusion": null, "analyses": [{"text": 5}]}',
        '{"conclusion": null, "analyses": [{"text": true}]}',
        '{"conclusion": null, "analyses": [{"quotes": [null]}]}',
        '{"conclusion": {"change_id": 1234567}}',
        '{"conclusion": {"text": NaN}}',
        '{"conclusion": null, "limitations": {"missing_info": [1]}}',
        '{"conclusion": {"text": "\\ud800"}}',
        '{"conclusion": {"text": "\\u001b[31mred"}}',
        '{"conclusion": {"text": "\\u202egnp.exe"}}',
        "[" * 100_000,
        '{"conclusion": ' * 20_000,
    ],
)
def test_what_is_no_draft_is_unreadable(text: str) -> None:
    with pytest.raises(DraftUnreadable):
        parse_draft(text)


@pytest.mark.parametrize(
    "data",
    [
        {"conclusion": {"text": "x" * (MAX_STRING_CHARACTERS + 1)}},
        {"conclusion": {"affected": ["x"] * (MAX_ITEMS + 1)}},
        {"conclusion": None, "analyses": [{}] * (MAX_ITEMS + 1)},
        {"conclusion": None, "analyses": [{"text": "x" * 10_000}] * (MAX_DRAFT_CHARACTERS // 10_000)},
    ],
)
def test_a_draft_beyond_its_bounds_is_unreadable(data: dict[str, Any]) -> None:
    with pytest.raises(DraftUnreadable):
        parse_draft(json.dumps(data))


def test_a_refusal_carries_no_word_of_the_text() -> None:
    with pytest.raises(DraftUnreadable) as refused:
        parse_draft('{"conclusion": {"secret-sauce": "x"}}')

    assert "secret" not in repr(refused.value)
    assert refused.value.__context__ is None
    assert refused.value.__cause__ is None


@given(
    st.text(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    ).map(json.dumps)
)
def test_any_text_is_a_draft_or_unreadable(text: str) -> None:
    try:
        read = parse_draft(text)
    except DraftUnreadable:
        return
    assert Draft.model_validate_json(read.model_dump_json()) == read
