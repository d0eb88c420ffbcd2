"""The release table, whole; what is published of a record."""

import pytest

from graph.contract.draft import parse_draft
from graph.contract.records import VerifiedRecord
from graph.contract.release import WITH_FACTS, WITHOUT_FACTS, cited_sources, decide_release, verified_source
from graph.contract.snapshot import MAX_SCOPE_CHARS
from graph.contract.vocabulary import Ending, EvidenceKind, FallbackType, MissingInfo, ReleaseOutcome
from tests.support.plays import draft, observation
from tests.support.scripted import evidence

INSUFFICIENT = (ReleaseOutcome.FALLBACK, FallbackType.INSUFFICIENT_EVIDENCE)
MISSING = (ReleaseOutcome.FALLBACK, FallbackType.MISSING_REQUIRED_CONTEXT)
FAILED = (ReleaseOutcome.FAILED, None)
REFUSED = (ReleaseOutcome.FALLBACK, FallbackType.EVIDENCE_VALIDATION_FAILED)

TABLE = [
    (Ending.VERIFIED, (ReleaseOutcome.SUCCESS, None), FAILED),
    (Ending.EVIDENCE_REFUSED, REFUSED, REFUSED),
    (Ending.SEMANTIC_UNSUPPORTED, *[(ReleaseOutcome.FALLBACK, FallbackType.SEMANTIC_UNSUPPORTED)] * 2),
    (Ending.SEMANTIC_UNAVAILABLE, *[(ReleaseOutcome.FALLBACK, FallbackType.SEMANTIC_UNAVAILABLE)] * 2),
    (Ending.NO_CONCLUSION, INSUFFICIENT, INSUFFICIENT),
    (Ending.SATURATED, INSUFFICIENT, INSUFFICIENT),
    (Ending.PROTOCOL_STOPPED, INSUFFICIENT, FAILED),
    (Ending.BUDGET_STOPPED, INSUFFICIENT, FAILED),
    (Ending.DRAFT_UNREADABLE, INSUFFICIENT, FAILED),
    (Ending.MODEL_FAILED, INSUFFICIENT, FAILED),
    (Ending.INTERNAL_ERROR, INSUFFICIENT, FAILED),
    (Ending.NOT_A_DIAGNOSIS, MISSING, MISSING),
    (Ending.CANCELLED, *[(ReleaseOutcome.CANCELLED, None)] * 2),
]


@pytest.mark.parametrize(("ending", "with_facts", "without"), TABLE)
def test_every_row_of_the_table(ending: Ending, with_facts: object, without: object) -> None:
    assert decide_release(ending, facts=1, missing_info=()) == with_facts
    assert decide_release(ending, facts=0, missing_info=()) == without


def test_the_table_knows_every_ending() -> None:
    assert {row[0] for row in TABLE} == set(Ending) == set(WITH_FACTS) == set(WITHOUT_FACTS)


@pytest.mark.parametrize("ending", Ending)
def test_missing_info_counts_for_a_draft_without_a_conclusion_and_without_facts_alone(ending: Ending) -> None:
    missing = (MissingInfo.SERVICE,)
    assert decide_release(ending, facts=2, missing_info=missing) == decide_release(ending, facts=2, missing_info=())
    expected = MISSING if ending is Ending.NO_CONCLUSION else decide_release(ending, facts=0, missing_info=())
    assert decide_release(ending, facts=0, missing_info=missing) == expected


@pytest.mark.parametrize("ending", Ending)
@pytest.mark.parametrize("facts", [0, 1])
def test_only_a_verified_draft_succeeds_and_only_a_fallback_has_a_type(ending: Ending, facts: int) -> None:
    outcome, fallback = decide_release(ending, facts=facts, missing_info=())
    assert (outcome is ReleaseOutcome.SUCCESS) is (ending is Ending.VERIFIED and facts > 0)
    assert (fallback is not None) is (outcome is ReleaseOutcome.FALLBACK)


def record(call_id: str) -> VerifiedRecord:
    scope = {"service": "s" * 1000, "limit": 3}
    return VerifiedRecord(call_id, "probe", EvidenceKind.METRICS, scope, evidence(["secret line"], summary="found"))


def test_a_source_is_published_without_its_lines() -> None:
    published = verified_source(record("r1c1"))
    assert (published.tool_call_id, published.source, published.result) == ("r1c1", "probe", "found")
    assert published.scope == {"service": "s" * (MAX_SCOPE_CHARS - 1) + "…", "limit": 3}
    assert "secret line" not in published.model_dump_json()


def test_the_sources_of_a_draft_are_those_it_cites_each_once_in_its_order() -> None:
    records = {call_id: record(call_id) for call_id in ("r1c1", "r1c2", "r1c3")}
    cited = parse_draft(draft(None, [observation(call_id, "a") for call_id in ("r1c3", "r1c9", "r1c1", "r1c3")]))
    assert [source.tool_call_id for source in cited_sources(cited, records)] == ["r1c3", "r1c1"]
