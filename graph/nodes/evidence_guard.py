"""`evidence_guard`: the deterministic half of the proof. One refusal may be repaired, the second is final.

Source: spec "Deterministic Draft and evidence validation"; contract, "EvidenceGuard".
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.contract.evidence import DraftViolation, check_draft
from graph.contract.release import cited_sources
from graph.contract.vocabulary import Ending, TraceEventType
from graph.ledger import Checked, gaps_after, records_of
from graph.nodes.edge import Node, contained
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import draft_of

MAX_VIOLATIONS_TOLD = 16

To = Literal["semantic_guard", "evidence_repair", "safe_fallback"]


def make_evidence_guard(parts: Parts) -> Node[To]:
    """Return the node."""

    @contained(parts, on_failure="safe_fallback")
    async def evidence_guard(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        checked = await parts.checked(state, runtime)
        violations = await asyncio.to_thread(check_draft, draft_of(state), records_of(checked), zone=state["zone"])
        return judged(state, checked, violations, recorder)

    return evidence_guard


def judged(
    state: DiagnosisState,
    checked: Mapping[str, Checked],
    violations: Sequence[DraftViolation],
    recorder: Recorder,
) -> Command[To]:
    """Return the way on from what `check_draft` held against the draft."""
    gaps = gaps_after(state, "evidence_guard", checked)
    codes = tuple(dict.fromkeys(violation.code for violation in violations))[:MAX_VIOLATIONS_TOLD]
    recorder.event(TraceEventType.EVIDENCE_GUARD, passed=not violations, violations=codes)
    update = {"ledger_gaps": gaps, **recorder.flush()}
    if not violations:
        cited = cited_sources(draft_of(state), records_of(checked))
        sources = [source.model_dump(mode="json") for source in cited]
        return Command(goto="semantic_guard", update={**update, "verified_sources": sources})
    if state["repaired"]:
        return Command(goto="safe_fallback", update={**update, "ending": Ending.EVIDENCE_REFUSED.value})
    told = [{"code": v.code.value, "path": v.path, **({"detail": v.detail} if v.detail else {})} for v in violations]
    return Command(goto="evidence_repair", update={**update, "draft_violations": told})
