"""What the EvidenceGuard holds against a draft (contract, "EvidenceGuard")."""

from dataclasses import dataclass

from graph.contract.vocabulary import DraftViolationCode

MAX_DETAIL = 80


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
