"""What the EvidenceGuard holds against a draft (contract, "EvidenceGuard")."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graph.contract.vocabulary import DraftViolationCode

MAX_DETAIL = 80
MAX_A_TEXT = 8
"""The most details that one text is refused for: the repair reads them, and learns no more from a hundred."""


@dataclass(frozen=True)
class DraftViolation:
    """One thing that the guard holds against a draft.

    `path` says where (`analyses[1].quotes[0]`); `detail` is bounded, and holds at most a token of the draft itself.
    """

    code: DraftViolationCode
    path: str
    detail: str | None = None


def violation(code: DraftViolationCode, path: str, detail: str | None = None) -> DraftViolation:
    """Return a violation whose detail is cut to its bound."""
    return DraftViolation(code, path, None if detail is None else " ".join(detail[:MAX_DETAIL].split()))


def violations_of(code: DraftViolationCode, path: str, details: Iterable[str]) -> Iterator[DraftViolation]:
    """Give one violation a detail, in order, up to the bound."""
    yield from (violation(code, path, detail) for detail in sorted(set(details))[:MAX_A_TEXT])
