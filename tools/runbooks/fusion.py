"""How relevant a section is to a query: what it shares in words, and how near it is in meaning. Pure."""

import math
from collections.abc import Collection, Mapping

ENOUGH_SHARED = 0.3
"""The part of the query's words, weighed by how rare they are, that a section must hold to be relevant."""


def rarity(frequency: int, sections: int) -> float:
    """Return the weight of a word that `frequency` of `sections` sections hold: the rarer, the heavier; never 0."""
    return math.log(1 + sections / max(frequency, 0.5))


def enough_shared(held: Collection[str], weights: Mapping[str, float]) -> bool:
    """Return whether a section that holds the words `held` shares enough with a query of the words of `weights`."""
    shared = [word for word in weights if word in held]
    return len(shared) >= min(2, len(weights)) and sum(weights[word] for word in shared) >= ENOUGH_SHARED * sum(
        weights.values()
    )
