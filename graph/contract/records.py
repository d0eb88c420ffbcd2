"""Canonical invocation records: what is stored of a tool call, and when it may be believed.

Source: spec "Tool loop completion SHALL project bounded progress once", scenario "Canonical record cannot be verified";
contract, "Ledger".
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from graph.contract.vocabulary import EvidenceKind, InvocationStatus, LimitationCode, SourceError
from tools.vocabulary import Evidence, Scope


class InvocationKey(BaseModel):
    """What the state remembers of a canonical invocation: enough to find its record, and to notice another's.

    `digest` is the record's content digest, which binds the record to this branch of this run. It outlives the record,
    so a duplicate stays one when the record has expired.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    call_id: str
    tool_name: str
    scope_digest: str
    status: InvocationStatus
    digest: str


class InvocationRecord(BaseModel):
    """A stored invocation. Times are POSIX seconds; `evidence` stands where READY, `error` where ERROR."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    call_id: str
    tool_name: str
    kind: EvidenceKind
    scope: dict[str, Any]
    scope_digest: str
    status: InvocationStatus
    attempt: int
    recorded_at: float
    expires_at: float
    evidence: Evidence | None = None
    error: SourceError | None = None

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the record's JSON with sorted keys, which stores may reorder."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def key(self) -> InvocationKey:
        """Return what the state remembers of this record."""
        return InvocationKey(
            call_id=self.call_id,
            tool_name=self.tool_name,
            scope_digest=self.scope_digest,
            status=self.status,
            digest=self.digest(),
        )


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


def verify_record(
    key: InvocationKey, stored: Any, *, run_id: str, now: float
) -> VerifiedRecord | LimitationCode | SourceError:
    """Return the record that `key` names where it can be believed, else the code that says why it can't.

    `stored` is the value that the store returned (None where it holds none), `now` is POSIX seconds. An ERROR record
    returns its `SourceError`.
    """
    if stored is None:
        return LimitationCode.RECORD_MISSING
    try:
        record = InvocationRecord.model_validate(stored)
    except ValidationError:
        return LimitationCode.RECORD_ALTERED
    if record.run_id != run_id or record.call_id != key.call_id:
        return LimitationCode.RECORD_NOT_OWNED
    if now >= record.expires_at:
        return LimitationCode.RECORD_EXPIRED
    if record.digest() != key.digest:
        return LimitationCode.RECORD_ALTERED
    if record.status is InvocationStatus.ERROR:
        return record.error or SourceError.INTERNAL_ERROR
    if record.status is not InvocationStatus.READY or record.evidence is None:
        return LimitationCode.RECORD_INCOMPLETE
    return VerifiedRecord(record.call_id, record.tool_name, record.kind, record.scope, record.evidence)
