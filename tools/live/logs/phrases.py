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

_PLACEHOLDER = re.compile(r"<(?:uuid|time|str|ip|pod|hex|id|n)>|\[MASKED:|…")
_LONGEST_SIGNATURE = 590
"""A signature is generalized from 600 characters: the last word of one that is about as long may be half a word."""
_SPLITS = re.compile(r"[\"'`\\<>|{}\[\]()*?$^]+")
_CONTRACTED = re.compile(r"\S*\w'\w\S*")
_LETTER = re.compile(r"[^\W\d_]")


def phrase_of(signature: str) -> Phrase | None:
    """Return the runs of whole words of a signature, or None where they say too little to find it again.

    Words that touch a placeholder are left out, and a run ends at quotes, brackets and backslashes, which structured
    formats escape.
    """
    words = signature.split(" ")
    if len(signature) >= _LONGEST_SIGNATURE:
        words = words[:-1]
    runs: list[str] = []
    current: list[str] = []
    for word in [*words, "<n>"]:
        if _PLACEHOLDER.search(word):
            runs.append(" ".join(current))
            current = []
        else:
            current.append(word)
    pieces = [piece for run in runs for piece in _pieces(run)]
    longest = sorted(pieces, key=_letters, reverse=True)[:MAX_RUNS]
    chosen = [piece for piece in pieces if piece in longest and _letters(piece)]
    kept = tuple(dict.fromkeys(chosen))
    return Phrase(kept) if sum(map(_letters, kept)) >= LEAST_LETTERS else None


def holds(phrase: Phrase, text: str) -> bool:
    """Whether a text holds a phrase, as a backend would say that can tell order."""
    pattern = r".*?".join(r"\s+".join(map(re.escape, run.split())) for run in phrase.runs)
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


def _pieces(run: str) -> list[str]:
    """The parts of a run between characters that a structured format escapes or a query language reads as its own."""
    trimmed = [piece.strip(" .,:;=-/") for piece in _SPLITS.split(_CONTRACTED.sub("|", run))]
    return [one if len(one) <= MAX_RUN else one[:MAX_RUN].rsplit(" ", 1)[0] for one in trimmed if one]


def _letters(text: str) -> int:
    return len(_LETTER.findall(text))
