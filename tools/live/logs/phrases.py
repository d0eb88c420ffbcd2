"""What a signature says in fixed words: enough for a backend to find its records again.

A signature is a record's first line with numbers, ids, addresses, durations and quoted values generalized
(`tools.frozen.signatures`). The words that stand in it whole stand in every one of its records, in that order; so a
phrase of them finds all of its records, and perhaps some of another signature.
"""

import re

from tools.live.logs.source import Phrase

TROUBLE_WORDS = (
    "error", "exception", "fail", "failed", "failure", "failing", "fatal", "panic", "timed out", "time out", "timeout",
    "refused", "denied", "killed", "oom", "oomkilled", "unavailable", "expire", "expired", "exhausted", "exceeded",
    "no space left", "unreachable", "rejected", "corrupt", "corrupted", "deadlock", "throttling", "throttled",
    "not found",
)  # fmt: skip
"""What sounds like trouble at a severity below WARN, spelled out for backends that can't be asked with a pattern."""

MAX_RUNS = 4
MAX_RUN = 160
LEAST_LETTERS = 6
"""How many letters a phrase has at least: fewer say nothing of a signature."""

_PLACEHOLDER = re.compile(r"<(?:uuid|time|str|ip|pod|hex|id|n)>|\[MASKED:[A-Z_]*\]?|…")
_BOUNDARY = re.compile(r"[ /=\-()\[\]{}#@+&?!;|]")
"""What parts words for every backend; a dot, a colon or an underscore doesn't for some."""
_LONGEST_SIGNATURE = 590
"""A signature is generalized from 600 characters: the last word of one that is about as long may be half a word."""
_SPLITS = re.compile(r"[\"'`\\<>|{}\[\]()*?$^]+")
_CONTRACTED = re.compile(r"\S*\w'\w\S*")
_LETTER = re.compile(r"[^\W\d_]")


def phrase_of(signature: str) -> Phrase | None:
    """Return the runs of whole words of a signature, or None where they say too little to find it again.

    Of a word that touches a placeholder only what a boundary of words sets apart is taken (`/api/items/` of
    `/api/items/<n>`), and a run ends at quotes, brackets and backslashes, which structured formats escape.
    """
    if len(signature) >= _LONGEST_SIGNATURE:
        signature = signature.rpartition(" ")[0]
    stretches = _PLACEHOLDER.split(_CONTRACTED.sub("|", signature))
    last = len(stretches) - 1
    whole = [_bounded(text, left=place > 0, right=place < last) for place, text in enumerate(stretches)]
    pieces = [piece for text in whole for piece in _pieces(text)]
    longest = sorted(pieces, key=_letters, reverse=True)[:MAX_RUNS]
    kept = tuple(dict.fromkeys(piece for piece in pieces if piece in longest and _letters(piece)))
    return Phrase(kept) if sum(map(_letters, kept)) >= LEAST_LETTERS else None


def _bounded(text: str, *, left: bool, right: bool) -> str:
    """What of a text between placeholders no placeholder may be a part of."""
    begins = _BOUNDARY.search(text) if left else None
    text = text[begins.start() :] if begins else "" if left else text
    ends = max((found.end() for found in _BOUNDARY.finditer(text)), default=0) if right else len(text)
    return text[:ends]


def holds(phrase: Phrase, text: str) -> bool:
    """Whether a text holds a phrase, as a backend would say that can tell order."""
    pattern = r".*?".join(r"\s+".join(map(re.escape, run.split())) for run in phrase.runs)
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


def _pieces(text: str) -> list[str]:
    """The parts of a text between characters that a structured format escapes or a query language reads as its own."""
    trimmed = [piece.strip(" .,:;=-/") for piece in _SPLITS.split(text)]
    return [one if len(one) <= MAX_RUN else one[:MAX_RUN].rsplit(" ", 1)[0] for one in trimmed if one]


def _letters(text: str) -> int:
    return len(_LETTER.findall(text))
