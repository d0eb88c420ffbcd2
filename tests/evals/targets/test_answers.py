"""Reading a bare agent's last words: leniently, and never as more than they say."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.targets.answers import read_answer, release_of
from tests.support.drafts import draft

ANSWER = json.dumps(draft(), ensure_ascii=False)


@pytest.mark.parametrize(
    "around", ["{}", "好的，结论如下：\n{}\n以上。", "```json\n{}\n```", 'first {{"a": 1}} then {}']
)
def test_an_answer_is_found_whatever_stands_around_it(around: str) -> None:
    release = release_of(around.format(ANSWER), {"r1c1"})
    assert release["outcome"] == "SUCCESS"
    assert release["draft"]["conclusion"]["change_id"] == "deploy-77"


def test_a_source_counts_once_and_only_where_its_call_was_made() -> None:
    release = release_of(json.dumps(draft(calls=("c1", "r9c9"))), {"c1", "c2"})
    assert release["verified_sources"] == [{"tool_call_id": "c1"}]


def test_a_conclusion_without_the_usual_shape_is_one_all_the_same() -> None:
    release = release_of('{"conclusion": "the pool is too small", "confidence": 0.9}', set())
    assert (release["outcome"], release["draft"]["conclusion"]) == ("SUCCESS", {"text": "the pool is too small"})


@pytest.mark.parametrize("text", ['{"conclusion": null}', '{"conclusion": ""}', '{"conclusion": {}}'])
def test_an_empty_conclusion_is_an_abstention(text: str) -> None:
    release = release_of(text, set())
    assert (release["outcome"], release.get("prose")) == ("FALLBACK", None)


@given(st.text(st.characters(exclude_characters="{")))
def test_words_without_an_object_are_prose_where_there_are_any(text: str) -> None:
    assert read_answer(text) is None
    assert release_of(text, set())["prose"] is bool(text.strip())
