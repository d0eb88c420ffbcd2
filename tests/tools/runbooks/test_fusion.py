"""Relevance rises with every word shared and with nearness; a floor keeps what is irrelevant out."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.runbooks.fusion import FUSED_FLOOR, LEXICAL_FLOOR, AskedWords, Candidate, floor, ranked, relevance

WORDS = ("disk", "full", "连接", "pool")
asked_words = st.builds(
    AskedWords,
    st.dictionaries(st.sampled_from(WORDS), st.integers(0, 50), min_size=1),
    st.integers(50, 1_000),
)
held_words = st.lists(st.sampled_from((*WORDS, "other")), max_size=8).map(" ".join)


@given(asked_words, held_words)
def test_the_shared_part_is_between_nothing_and_all(asked: AskedWords, words: str) -> None:
    assert 0 <= asked.shared(words) <= 1 + 1e-9
    assert asked.shared(" ".join(asked.frequencies)) == pytest.approx(1)
    assert asked.shared("unrelated") == 0


@given(asked_words, held_words, st.sampled_from(WORDS), st.floats(-1, 1), st.floats(0, 30))
def test_a_section_that_holds_more_is_never_less_relevant(
    asked: AskedWords, words: str, word: str, cosine: float, bm25: float
) -> None:
    best = asked.best_bm25()
    less = relevance(Candidate(1, words, bm25, cosine), asked, best)
    assert relevance(Candidate(1, f"{words} {word}", bm25, cosine), asked, best) >= less
    assert relevance(Candidate(1, words, bm25 + 1, cosine), asked, best) >= less
    assert relevance(Candidate(1, words, bm25, cosine + 0.1), asked, best) > less


@given(asked_words, st.lists(st.tuples(held_words, st.floats(0, 20), st.none() | st.floats(-1, 1)), max_size=12))
def test_ranked_candidates_reach_the_floor_and_stand_in_order(
    asked: AskedWords, given_rows: list[tuple[str, float, float | None]]
) -> None:
    candidates = [Candidate(number, *row) for number, row in enumerate(given_rows)]
    found = ranked(candidates, asked)
    scores = [score for score, _ in found]
    assert scores == sorted(scores, reverse=True)
    assert all(score >= floor(candidates[int(key)], asked) for score, key in found)
    left = set(range(len(candidates))) - {int(key) for _, key in found}
    best = asked.best_bm25()
    assert all(relevance(candidates[key], asked, best) < floor(candidates[key], asked) for key in left)


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    asked = AskedWords({"common": 500, "rare": 1}, 1_000)
    assert asked.shared("rare") > 0.8 > 0.2 > asked.shared("common")


def test_words_that_no_section_holds_count_against_those_that_are_held() -> None:
    asked = AskedWords({"queue": 3, "rabbitmq": 0, "shovel": 0}, 1_000)
    assert asked.shared("queue") < 0.4


def test_a_word_is_a_whole_word() -> None:
    assert AskedWords({"disk": 1}, 10).shared("disks diskette") == 0


def test_without_vectors_one_of_several_words_is_not_enough() -> None:
    asked = AskedWords({"queue": 5, "broker": 5, "mirror": 5}, 1_000)
    assert floor(Candidate(1, "queue other"), asked) == math.inf
    assert floor(Candidate(1, "queue broker"), asked) == LEXICAL_FLOOR
    assert floor(Candidate(1, "queue", cosine=0.1), asked) == FUSED_FLOOR
    assert floor(Candidate(1, "queue"), AskedWords({"queue": 5}, 1_000)) == LEXICAL_FLOOR


def test_a_query_of_no_known_word_finds_by_meaning_alone() -> None:
    assert ranked([Candidate(1, "x", cosine=0.9), Candidate(2, "x", cosine=0.1)], AskedWords({}, 10)) == [(0.9, 1)]
