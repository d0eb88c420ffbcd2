"""How a cluster's answers are written down: telling lines first, bounded, a source's text never at a line's start.

Source: `tools.vocabulary.Evidence.content`; contract, "Answers of tools".
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tools.base import SourceFailure
from tools.cluster.state import Answer, Told
from tools.vocabulary import Evidence, EvidenceStatus, Provenance

MAX_BYTES = 7_900
MAX_FIELD = 200
MAX_TEXT = 700
MAX_SUMMARY_NAMES = 8
_BLANKS = re.compile(r"\s+")


def field(value: object) -> str:
    """Return a value without blanks, at most 200 characters; absent or blank values are `-`."""
    text = _BLANKS.sub("_", str(value).strip()) if value is not None else ""
    return text[:MAX_FIELD] or "-"


def line(sort: str, values: Mapping[str, object], text: str = "") -> str:
    """Return `sort key=value … | text` on one line; a blank text is left out with its bar."""
    head = " ".join([sort, *(f"{key}={field(value)}" for key, value in values.items())])
    told = _BLANKS.sub(" ", text).strip()[:MAX_TEXT]
    return f"{head} | {told}" if told else head


def below(text: str) -> str:
    """Return a line of a source's text as a continuation line."""
    return f"  {text.rstrip()[:MAX_TEXT]}"


def bounded(lines: Iterable[str], *, limit: int = MAX_BYTES) -> tuple[tuple[str, ...], bool]:
    """Return the first lines that fit `limit` bytes, and whether any was left out."""
    kept: list[str] = []
    left = limit
    for one in lines:
        left -= len(one.encode()) + 1
        if left < 0:
            return tuple(kept), True
        kept.append(one)
    return tuple(kept), False


def found(
    lines: Iterable[str], summary: str, components: Iterable[str], *, provenance: Provenance = Provenance.MEASURED
) -> Evidence:
    """Return an answer that holds something. Raises nothing; lines beyond the bound are cut and it says so."""
    content, cut = bounded(lines)
    return Evidence(
        status=EvidenceStatus.EVIDENCE,
        provenance=provenance,
        content=content,
        summary=summary,
        truncated=cut,
        components=tuple(dict.fromkeys(name for name in components if name and name != "-")),
    )


def nothing(summary: str, *, provenance: Provenance = Provenance.MEASURED) -> Evidence:
    """Return an answer of a scope that exists and holds nothing."""
    return Evidence(status=EvidenceStatus.NO_EVIDENCE, provenance=provenance, summary=summary)


def shown(answer: Answer, show: Callable[[Any], Evidence]) -> Evidence:
    """Return what `show` makes of an answer, with the answer's remarks.

    Raises SourceFailure where nothing was found and a part couldn't be asked: that proves no absence.
    """
    if not isinstance(answer, Told):
        return show(answer)
    evidence = show(answer.raw)
    if answer.missing is not None and evidence.status is EvidenceStatus.NO_EVIDENCE:
        raise SourceFailure(answer.missing)
    truncated = evidence.truncated or answer.cut or answer.missing is not None
    return evidence.model_copy(update={"truncated": truncated, "notes": (*evidence.notes, *answer.notes)})


def named(items: Sequence[str]) -> str:
    """Return at most eight items of a summary, and how many more there are."""
    first = "; ".join(items[:MAX_SUMMARY_NAMES])
    rest = len(items) - MAX_SUMMARY_NAMES
    return f"{first}; {rest} more" if rest > 0 else first
