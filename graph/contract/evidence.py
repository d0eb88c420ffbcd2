"""The EvidenceGuard: whether a draft's every sentence stands in the evidence that it cites.

Sources: spec "Deterministic Draft and evidence validation"; contract, "EvidenceGuard".
"""

from collections.abc import Mapping
from dataclasses import dataclass

from graph.contract.draft import Draft
from graph.contract.records import VerifiedRecord
from graph.contract.vocabulary import DraftViolationCode


@dataclass(frozen=True)
class DraftViolation:
    """One thing that the guard holds against a draft.

    `path` says where (`analyses[1].quotes[0]`); `detail` is bounded, and holds at most a token of the draft itself.
    """

    code: DraftViolationCode
    path: str
    detail: str | None = None


def check_draft(draft: Draft, records: Mapping[str, VerifiedRecord], *, zone: str) -> tuple[DraftViolation, ...]:
    """Return what is wrong with a concluded draft, in the draft's own order; empty where nothing is.

    `records`: this run's verified READY records by call id; an id that isn't among them is unresolved. `zone`: the
    incident's IANA zone, for the times that name none.
    """
    return ()


def no_conclusion_references(draft: Draft, records: Mapping[str, VerifiedRecord]) -> tuple[str, ...]:
    """Return the call ids that a draft without a conclusion cites rightly, in order, each once; the rest is dropped."""
    return ()
