"""Print how well runbooks are found: `python -m evals.retrieval`. Needs the extra `embeddings`."""

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from evals.retrieval.measure import WAYS, Ranking, Way, best_floor, figures, rankings
from evals.retrieval.questions import Half, questions

HALVES: tuple[Half, Half] = ("chosen", "reported")
LANGUAGES = ("all", "zh", "en", "mixed")
_HEAD = (
    "| half | questions | search by | hit@1 | MRR | answered, of answerable | refused, of others |\n"
    "|---|---|---|---:|---:|---:|---:|\n"
)


def table(found: dict[Way, list[Ranking]]) -> str:
    """Return the figures as a Markdown table: each half, each language, each way of searching."""
    rows = (_row(found, half, language, way) for half in HALVES for language in LANGUAGES for way in WAYS)
    return _HEAD + "".join(rows)


def _row(found: dict[Way, list[Ranking]], half: Half, language: str, way: Way) -> str:
    shown = figures(
        [one for one in found[way] if one.question.half == half and language in {"all", one.question.language}]
    )
    refusing = ("–", "–") if way == "meaning" else (f"{shown.kept:.3f}", f"{shown.refused:.3f}")
    count = f"{language}: {shown.answerable} + {shown.unanswerable}"
    return f"| {half} | {count} | {way} | {shown.hit_at_1:.3f} | {shown.mrr:.3f} | {refusing[0]} | {refusing[1]} |\n"


def floors(found: dict[Way, list[Ranking]]) -> Iterator[str]:
    """Yield, for each way that has a floor, the one in force beside the best on the half that it was chosen on."""
    for way in ("words", "both"):
        chosen = [one for one in found[way] if one.question.half == "chosen"]
        yield f"floor by {way}: {max(one.floor for one in chosen):.3f} in force, {best_floor(chosen):.3f} best\n"


def main() -> None:
    """Measure, and print to stdout."""
    with tempfile.TemporaryDirectory() as scratch:
        found = asyncio.run(rankings(questions(), Path(scratch)))
    sys.stdout.write(table(found) + "\n" + "".join(floors(found)))


if __name__ == "__main__":
    main()
