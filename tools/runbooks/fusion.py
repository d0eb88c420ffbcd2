"""How relevant a section is to a query: what it shares in words, and how near it is in meaning. Pure.

Words and meaning are added up on one scale rather than ranked apart and merged by rank: a rank forgets by how much one
side was sure, and equal-weight rank fusion was worse than the better of the two on the labelled set. Weights and floors
were chosen on one half of that set and are reported on the other (`python -m evals.retrieval`, `docs/runbooks.md`).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

ENOUGH_SHARED = 0.3
"""The part of the query's words, weighed by how rare they are, that a section of a plain directory must hold."""

BM25_WEIGHT = 0.2
SHARED_WEIGHT = 0.4
"""What a section adds to its cosine that holds all words of the query: the middle of the range in which the half of the
labelled set on which they were chosen changes little."""

LEXICAL_FLOOR = 0.11
FUSED_FLOOR = 0.41
"""The least relevance that is shown, without and with vectors; below it nothing is relevant."""

MOST_SHARED = 0.5
"""Without vectors, a section that holds a single word of several is relevant only where the word is so much of the
query."""

_SATURATION = 2.2
"""The most that one word can add to a section's BM25 beside its rarity: k1 + 1."""


@dataclass(frozen=True)
class Candidate:
    """A section that may be relevant, by the key of its backend.

    `words` are those of its title and text with one blank between two. `bm25` is 0 where the words didn't find it.
    `cosine` is that of centred vectors (`tools.runbooks.centring`), None in an index without vectors.
    """

    key: int | str
    words: str
    bm25: float = 0.0
    cosine: float | None = None


@dataclass(frozen=True)
class AskedWords:
    """The distinct words of a query, each with how many of `sections` sections hold it."""

    frequencies: Mapping[str, int]
    sections: int

    def held(self, words: str) -> int:
        """Return how many words of the query a section of `words` holds."""
        padded = f" {words} "
        return sum(sought in padded for sought, _ in self._parts)

    def shared(self, words: str) -> float:
        """Return the part of the query, 0 to 1, that a section of `words` holds, weighed by how rare the words are."""
        padded = f" {words} "
        share = 0.0
        for sought, part in self._parts:
            if sought in padded:
                share += part
        return share

    @cached_property
    def _parts(self) -> list[tuple[str, float]]:
        """Each word between blanks, with its part of the query."""
        weights = {word: rarity(count, self.sections) for word, count in self.frequencies.items()}
        total = sum(weights.values())
        return [(f" {word} ", weight / total) for word, weight in weights.items()]

    def best_bm25(self) -> float:
        """Return what BM25 gives a section that is full of every word of the query; words that no section holds count,
        so that a query of unknown words isn't answered by its one known word."""
        return _SATURATION * sum(
            max(math.log((self.sections - count + 0.5) / (count + 0.5)), 1e-6) for count in self.frequencies.values()
        )


def ranked(candidates: Sequence[Candidate], asked: AskedWords) -> list[tuple[float, int | str]]:
    """Return relevance and key of the candidates that reach the floor, the best first; equal ones in given order."""
    best = asked.best_bm25()
    scored = [(relevance(one, asked, best), one) for one in candidates]
    kept = [(score, one.key) for score, one in scored if score >= floor(one, asked)]
    return sorted(kept, key=lambda pair: -pair[0])


def relevance(candidate: Candidate, asked: AskedWords, best_bm25: float) -> float:
    """Return one candidate's relevance: its cosine, plus the weighed shares of the query's words that it holds."""
    by_words = candidate.bm25 / best_bm25 if best_bm25 else 0.0
    lexical = BM25_WEIGHT * by_words + SHARED_WEIGHT * asked.shared(candidate.words)
    return lexical + (candidate.cosine or 0.0)


def floor(candidate: Candidate, asked: AskedWords) -> float:
    """Return the least relevance at which a candidate is shown; infinite where it never is."""
    if candidate.cosine is not None:
        return FUSED_FLOOR
    enough = (
        asked.held(candidate.words) >= min(2, len(asked.frequencies)) or asked.shared(candidate.words) >= MOST_SHARED
    )
    return LEXICAL_FLOOR if enough else math.inf


def rarity(frequency: int, sections: int) -> float:
    """Return the weight of a word that `frequency` of `sections` sections hold: the rarer, the heavier; never 0."""
    return math.log(1 + sections / max(frequency, 0.5))


def enough_shared(held: Collection[str], weights: Mapping[str, float]) -> bool:
    """Return whether a section that holds the words `held` shares enough with a query of the words of `weights`."""
    shared = [word for word in weights if word in held]
    return len(shared) >= min(2, len(weights)) and sum(weights[word] for word in shared) >= ENOUGH_SHARED * sum(
        weights.values()
    )
