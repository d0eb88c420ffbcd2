"""`evaluate_gain`: settles the newest answer by rule where a rule can tell, else leaves it pending for the model.

Source: spec "Harness SHALL assign only deterministic no-gain signals"; contract, "Gain and stop", "Answers of tools".
"""

from typing import Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.contract.gain import settle_answer
from graph.contract.vocabulary import EvidenceStatus, InformationGain, InvocationStatus, TraceEventType
from graph.nodes.edge import Node, contained
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import limits_of, progress_of, progress_update

To = Literal["diagnose", "close_collection"]


def make_evaluate_gain(parts: Parts) -> Node[To]:
    """Return the node."""

    @contained(parts, on_failure="close_collection")
    async def evaluate_gain(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        return Command(goto="diagnose", update=settled(state, recorder))

    return evaluate_gain


def settled(state: DiagnosisState, recorder: Recorder) -> dict[str, Any]:
    """Return the state update that settles the newest answer, its events flushed."""
    answer = state.get("last_answer") or {}
    before = progress_of(state)
    found = answer["evidence_status"]
    after = settle_answer(
        before,
        call_id=answer["call_id"],
        status=InvocationStatus(answer["status"]),
        evidence_status=EvidenceStatus(found) if found else None,
        threshold=limits_of(state).stop_after_consecutive_no_gain,
    )
    if found == EvidenceStatus.NO_EVIDENCE:
        gain = InformationGain.NO_GAIN
        told = {"call_id": answer["call_id"], "information_gain": gain}
        recorder.event(TraceEventType.INFORMATION_GAIN, **told, decided_by_rule=True)
        recorder.progress("SETTLED", **told, by="RULE")
    if after.stop_reason and not before.stop_reason:
        reached = {"stop_reason": after.stop_reason, "collection_state": after.collection_state}
        recorder.event(TraceEventType.STOP_REASON_SET, **reached)
    return {**progress_update(after), "last_answer": None, **recorder.flush()}
