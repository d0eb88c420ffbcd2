"""`evidence_guard`: the deterministic half of the proof. One refusal may be repaired, the second is final.

Source: spec "Deterministic Draft and evidence validation"; contract, "EvidenceGuard".
"""

import asyncio
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.contract.evidence import check_draft
from graph.contract.release import cited_sources
from graph.contract.vocabulary import Ending, TraceEventType
from graph.ledger import records_of
from graph.nodes.edge import Node, contained
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import draft_of, keys_of

MAX_VIOLATIONS_TOLD = 16

To = Literal["semantic_guard", "evidence_repair", "safe_fallback"]


def make_evidence_guard(parts: Parts) -> Node[To]:
    """Return the node."""

    @contained(parts, on_failure="safe_fallback")
    async def evidence_guard(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        draft = draft_of(state)
        records = records_of(await parts.ledger(state, runtime).verified(keys_of(state), now=parts.now()))
        violations = await asyncio.to_thread(check_draft, draft, records, zone=state["zone"])
        codes = tuple(dict.fromkeys(violation.code for violation in violations))[:MAX_VIOLATIONS_TOLD]
        recorder.event(TraceEventType.EVIDENCE_GUARD, passed=not violations, violations=codes)
        if not violations:
            sources = [source.model_dump(mode="json") for source in cited_sources(draft, records)]
            return Command(goto="semantic_guard", update={"verified_sources": sources, **recorder.flush()})
        if state["repaired"]:
            refused = {"ending": Ending.EVIDENCE_REFUSED.value, **recorder.flush()}
            return Command(goto="safe_fallback", update=refused)
        told = [
            {"code": v.code.value, "path": v.path, **({"detail": v.detail} if v.detail else {})} for v in violations
        ]
        return Command(goto="evidence_repair", update={"draft_violations": told, **recorder.flush()})

    return evidence_guard
