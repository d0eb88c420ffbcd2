"""A canonical invocation record as the pure rules see it: verified, READY, of this run.

Source: spec "Tool loop completion SHALL project bounded progress once"; contract, "Ledger".
"""

from dataclasses import dataclass

from graph.contract.vocabulary import EvidenceKind
from tools.vocabulary import Evidence, Scope


@dataclass(frozen=True)
class VerifiedRecord:
    """A READY invocation whose owner, expiry and digest have been checked against the run's state.

    `evidence.content` is what the model saw: masked, stripped of control characters, bounded.
    """

    call_id: str
    tool_name: str
    kind: EvidenceKind
    scope: Scope
    evidence: Evidence
