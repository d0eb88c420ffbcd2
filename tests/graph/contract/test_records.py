"""Records: believed only where owner, expiry, digest and status say so."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.contract.records import InvocationRecord, VerifiedRecord, verify_record
from graph.contract.vocabulary import EvidenceKind, InvocationStatus, LimitationCode, SourceError
from tests.support.scripted import evidence

FIELDS = {
    "run_id": "run",
    "call_id": "r1c1",
    "tool_name": "probe",
    "kind": EvidenceKind.METRICS,
    "scope": {"service": "支付", "window": {"start": "2026-06-18T15:00:00Z"}, "limit": 3},
    "scope_digest": "s1",
    "status": InvocationStatus.READY,
    "attempt": 1,
    "recorded_at": 1000.0,
    "expires_at": 2000.0,
    "evidence": evidence(["series service=支付 baseline=1 | text"]),
}


def record(**changed: Any) -> InvocationRecord:
    return InvocationRecord(**{**FIELDS, **changed})


def verified(key_of: InvocationRecord, stored: Any, *, run_id: str = "run", now: float = 1500.0) -> Any:
    return verify_record(key_of.key(), stored, run_id=run_id, now=now)


def test_a_ready_record_of_this_run_is_believed() -> None:
    found = verified(record(), record().model_dump(mode="json"))
    assert isinstance(found, VerifiedRecord)
    assert (found.call_id, found.tool_name, dict(found.scope)) == ("r1c1", "probe", FIELDS["scope"])
    assert found.evidence == FIELDS["evidence"]


@pytest.mark.parametrize(
    ("stored", "run_id", "now", "code"),
    [
        (None, "run", 1500.0, LimitationCode.RECORD_MISSING),
        ({}, "run", 1500.0, LimitationCode.RECORD_ALTERED),
        ("text", "run", 1500.0, LimitationCode.RECORD_ALTERED),
        (record(), "another", 1500.0, LimitationCode.RECORD_NOT_OWNED),
        (record(call_id="r1c2"), "run", 1500.0, LimitationCode.RECORD_NOT_OWNED),
        (record(), "run", 2000.0, LimitationCode.RECORD_EXPIRED),
        (record(attempt=2), "run", 1500.0, LimitationCode.RECORD_ALTERED),
        (record(evidence=evidence(["other"])), "run", 1500.0, LimitationCode.RECORD_ALTERED),
        (record(expires_at=9000.0), "run", 1500.0, LimitationCode.RECORD_ALTERED),
    ],
)
def test_what_cannot_be_believed_is_named(stored: Any, run_id: str, now: float, code: LimitationCode) -> None:
    value = stored.model_dump(mode="json") if isinstance(stored, InvocationRecord) else stored
    assert verified(record(), value, run_id=run_id, now=now) is code


def test_what_is_not_ready_is_no_fact() -> None:
    started = record(status=InvocationStatus.STARTED, evidence=None)
    failed = record(status=InvocationStatus.ERROR, evidence=None, error=SourceError.BACKEND_TIMEOUT)
    empty = record(evidence=None)
    assert verified(started, started.model_dump(mode="json")) is LimitationCode.RECORD_INCOMPLETE
    assert verified(failed, failed.model_dump(mode="json")) is SourceError.BACKEND_TIMEOUT
    assert verified(empty, empty.model_dump(mode="json")) is LimitationCode.RECORD_INCOMPLETE


def test_the_digest_survives_a_store_that_reorders_keys() -> None:
    dumped = record().model_dump(mode="json")
    reordered = json.loads(json.dumps(dict(reversed(dumped.items()))))
    assert isinstance(verified(record(), reordered), VerifiedRecord)


texts = st.text(max_size=20)


@given(st.sampled_from(sorted(FIELDS)), texts, st.integers(), st.dictionaries(texts, texts, max_size=2))
def test_any_other_stored_value_is_refused(field: str, text: str, number: int, scope: dict[str, str]) -> None:
    stored = record().model_dump(mode="json")
    for other in (text, number, scope, None):
        changed = {**stored, field: other}
        if changed != stored:
            assert not isinstance(verified(record(), changed), VerifiedRecord)
