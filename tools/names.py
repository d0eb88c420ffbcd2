"""Near names: what somebody who mistyped a service or a metric may have meant.

Source: decided contract, "Answers of tools" (UNKNOWN_SELECTOR lists near names, at most five).
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import islice

from tools.canonical import fold

MAX_NEAR_NAMES = 5
_SIMILAR_ENOUGH = 0.6
_LONGEST = 200
_MOST_COMPARED = 3_000
"""Whoever waits for near names waits for each comparison."""
_SEPARATORS = re.compile(r"[\s_./:-]+")


def near(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return at most five of `known` that are spelled like `name`, the nearest first; equal ones in name order.

    Case, width and separators don't count (`Payment Service` is near `payment-service`); one name that contains the
    other, or shares a long word with it, is near.
    """
    asked = _bare(name[:_LONGEST])
    compared = [candidate for candidate in islice(dict.fromkeys(known), _MOST_COMPARED) if len(candidate) <= _LONGEST]
    scored = ((_likeness(asked, _bare(candidate)), candidate) for candidate in compared)
    ranked = sorted((-score, candidate) for score, candidate in scored if score >= _SIMILAR_ENOUGH)
    return tuple(candidate for _, candidate in ranked[:MAX_NEAR_NAMES])


def _bare(name: str) -> str:
    return _SEPARATORS.sub("", fold(name))


def _likeness(asked: str, candidate: str) -> float:
    if not asked or not candidate:
        return 0.0
    if asked == candidate:
        return 1.0
    matcher = SequenceMatcher(None, asked, candidate, autojunk=False)
    shorter = min(len(asked), len(candidate))
    shared = matcher.find_longest_match().size
    if shared >= 4 and shared == shorter:
        return 0.9 + shorter / max(len(asked), len(candidate)) / 10
    if shared >= 5 and shared / shorter >= _SIMILAR_ENOUGH:
        return max(_SIMILAR_ENOUGH, matcher.ratio())
    return matcher.ratio()
