"""Releases as the graph writes them, for the tests of what a person reads."""

from datetime import UTC, datetime
from typing import Any

from graph.contract.draft import Draft
from graph.contract.gaps import Gap, UnprovenChange
from graph.contract.release import Release, VerifiedSource
from graph.contract.snapshot import Limitation, ObservedFact
from graph.contract.vocabulary import (
    ChangeKind,
    EvidenceKind,
    FallbackType,
    GapReason,
    LimitationCode,
    MissingInfo,
    Provenance,
    ReleaseOutcome,
    RelevanceLevel,
)

WINDOW = {"start": "2026-06-18T12:00:00Z", "end": "2026-06-18T15:15:00Z"}
HOSTILE = "[bold red]x[/] \x1b[31mred\x1b[0m \u202eevil :smile: \x07 \ud800"


def success(text: str = "pool shrank") -> Release:
    """A SUCCESS; `text` stands wherever the model's or the evidence's words do."""
    sources = tuple(
        VerifiedSource(
            tool_call_id=f"r1c{number}",
            source=source,
            scope={"service": "pay", **WINDOW},
            result=text,
            provenance=Provenance.MEASURED,
            relevance_level=RelevanceLevel.DIRECT,
            truncated=number == 2,
        )
        for number, source in enumerate(("query_metrics", "list_changes", "query_traces"), start=1)
    )
    return Release(
        run_id="run-1",
        outcome=ReleaseOutcome.SUCCESS,
        text=text,
        draft=Draft.model_validate(_draft(text)),
        verified_sources=sources,
        model="offline",
    )


def _draft(text: str) -> dict[str, Any]:
    return {
        "conclusion": {
            "text": text,
            "component": "pay",
            "cause": text,
            "change_id": "c0ffee1",
            "first_failing": "pay-db",
            "affected": ["cart", "web"],
            "alternatives": [{"component": "dns", "cause": text, "change_id": None}],
            "analysis_ids": ["a1", "a2"],
        },
        "analyses": [
            {"analysis_id": "a1", "kind": "OBSERVATION", "text": text, "quotes": [text], "tool_call_ids": ["r1c1"]},
            {
                "analysis_id": "a2",
                "kind": "INFERENCE",
                "text": text,
                "quotes": [text],
                "tool_call_ids": ["r1c1", "r1c2"],
            },
            {"analysis_id": "a3", "kind": "NEGATIVE_OBSERVATION", "text": "dns is well", "tool_call_ids": ["r1c3"]},
        ],
        "action_plan": [{"text": "roll back c0ffee1", "analysis_ids": ["a2"]}],
        "recommendations": [{"text": "alert on the pool", "analysis_ids": ["a1"]}],
        "limitations": {"missing_info": [], "ruled_out": ["a3"]},
    }


def fallback(text: str = "latency p99 pay 120 ms → 4 s", query: str = "query_metrics service=pay") -> Release:
    """A FALLBACK with every field that one can have; `text` is a fact's result."""
    return Release(
        run_id="run-2",
        outcome=ReleaseOutcome.FALLBACK,
        fallback_type=FallbackType.INSUFFICIENT_EVIDENCE,
        text="fixed",
        observed_facts=(
            ObservedFact(source="query_metrics", scope={"service": "pay", **WINDOW}, result=text, truncated=True),
        ),
        limitations=(Limitation(code=LimitationCode.RECORD_EXPIRED, source="search_logs"),),
        gaps=(Gap(kind=EvidenceKind.CHANGES, scope=WINDOW, reason=GapReason.UNASKED, query=query),),
        missing_info=(MissingInfo.TIME,),
        onset=datetime(2026, 6, 18, 14, 5, tzinfo=UTC),
        first_failing="pay-db",
        unproven_changes=(
            UnprovenChange(
                kind=ChangeKind.DEPLOY, change_id="c0ffee1", service="pay", at=datetime(2026, 6, 18, 14, tzinfo=UTC)
            ),
        ),
    )


def bare(outcome: ReleaseOutcome) -> Release:
    """A Release that holds nothing but its outcome."""
    return Release(run_id="run-3", outcome=outcome, text="fixed")
