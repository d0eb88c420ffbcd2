"""`tool_gate`: asks `contract.admission.admit` what happens to the model's request, and runs the tool that it admits.

Source: contract, "The envelope and the gate".
"""

from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.collecting import Admitted, Collected, collect
from graph.contract.admission import Admission, GateState, Verdict, admit
from graph.contract.release import ENDING_BY_STOP
from graph.contract.trace import UNSUPPORTED_TOOL_NAME
from graph.contract.vocabulary import Ending, StopReason, TraceEventType
from graph.envelope import ReadRequest, read_requests, rejection_message
from graph.nodes.edge import Node, contained
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import budget_of, incident_context, keys_of, limits_of, progress_of, progress_update, request_of

To = Literal["evaluate_gain", "diagnose", "close_collection"]


def make_tool_gate(parts: Parts) -> Node[To]:
    """Return the node."""

    @contained(parts, on_failure="close_collection")
    async def tool_gate(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        reads = read_requests(request_of(state), parts.tools, incident_context(state))
        admission = admit([read.request for read in reads], _gate_state(state, parts))
        tell(admission, state, recorder)
        update = decided(admission)
        answers = {r.call_id: rejection_message(r, admission.progress) for r in admission.rejections}
        if admission.verdict is not Verdict.RUN or admission.admitted is None:
            update["transcript"] = _in_order(reads, answers)
            return Command(goto=way_on(admission), update={**update, **recorder.flush()})
        read = next(read for read in reads if read.request is admission.admitted)
        collected = await _run(read, admission, state, runtime, parts, recorder)
        answers[read.request.call_id] = collected.message
        update |= _kept(collected, admission, state)
        update["transcript"] = _in_order(reads, answers)
        return Command(goto="evaluate_gain", update={**update, **recorder.flush()})

    return tool_gate


def _gate_state(state: DiagnosisState, parts: Parts) -> GateState:
    return GateState(
        progress=progress_of(state),
        budget=budget_of(state),
        limits=limits_of(state),
        invocations=keys_of(state),
        now=parts.now(),
    )


def decided(admission: Admission) -> dict[str, Any]:
    """Return the state update of what the gate decided: counters, budget, and how the run ended where it did."""
    update: dict[str, Any] = {**progress_update(admission.progress), "budget": admission.budget.model_dump(mode="json")}
    if admission.verdict in (Verdict.CONTROLLED_STOP, Verdict.BUDGET_STOP):
        reason = admission.progress.stop_reason
        ending = ENDING_BY_STOP[reason] if reason else Ending.SATURATED
        update["ending"] = (Ending.BUDGET_STOPPED if admission.verdict is Verdict.BUDGET_STOP else ending).value
    return update


def way_on(admission: Admission) -> To:
    """Return where a message goes of which nothing ran."""
    closing = admission.verdict in (Verdict.CONTROLLED_STOP, Verdict.BUDGET_STOP)
    return "close_collection" if closing else "diagnose"


async def _run(
    read: ReadRequest,
    admission: Admission,
    state: DiagnosisState,
    runtime: Runtime[DiagnosisContext],
    parts: Parts,
    recorder: Recorder,
) -> Collected:
    call_id, tool_name = read.request.call_id, read.request.tool_name
    recorder.progress("ASKED", call_id=call_id, tool_name=tool_name, scope=dict(read.scope or {}))
    admitted = Admitted(read, state["run_id"], incident_context(state), limits_of(state), admission.budget)
    collected = await collect(admitted, parts.ledger(state, runtime), parts)
    record = collected.record
    evidence = record.evidence
    recorder.event(
        TraceEventType.TOOL_INVOCATION,
        call_id=call_id,
        tool_name=tool_name,
        status=record.status,
        evidence_status=evidence.status if evidence else None,
        code=record.error,
    )
    if evidence:
        told = {"evidence_status": evidence.status, "summary": evidence.summary, "truncated": evidence.truncated}
        recorder.progress("ANSWERED", call_id=call_id, tool_name=tool_name, **told)
    else:
        told = {"code": record.error, "near_names": list(collected.near_names)}
        recorder.progress("FAILED", call_id=call_id, tool_name=tool_name, **told)
    return collected


def _kept(collected: Collected, admission: Admission, state: DiagnosisState) -> dict[str, Any]:
    record = collected.record
    size = len(str(collected.message.content).encode())
    return {
        "invocation_keys": [*state["invocation_keys"], record.key().model_dump(mode="json")],
        "budget": admission.budget.spent(observation_bytes=size).model_dump(mode="json"),
        "last_answer": {
            "call_id": record.call_id,
            "status": record.status.value,
            "evidence_status": record.evidence.status.value if record.evidence else None,
        },
    }


def tell(admission: Admission, state: DiagnosisState, recorder: Recorder) -> None:
    """Record what the gate decided: settled observations, rejections, a stop."""
    for settled in admission.settled:
        recorder.event(
            TraceEventType.INFORMATION_GAIN,
            call_id=settled.call_id,
            information_gain=settled.gain,
            decided_by_rule=settled.by_rule,
        )
        by = "RULE" if settled.by_rule else "MODEL"
        recorder.progress("SETTLED", call_id=settled.call_id, information_gain=settled.gain, by=by)
    for rejection in admission.rejections:
        names = {"call_id": rejection.call_id, "tool_name": rejection.tool_name or UNSUPPORTED_TOOL_NAME}
        told = {**names, "code": rejection.code, "violation_type": rejection.violation_type}
        recorder.event(TraceEventType.TOOL_REQUEST_REJECTED, **told)
        recorder.progress("REJECTED", **told)
    _tell_stop(admission, state, recorder)


def _tell_stop(admission: Admission, state: DiagnosisState, recorder: Recorder) -> None:
    reason = admission.progress.stop_reason
    if reason and not state.get("stop_reason"):
        recorder.event(
            TraceEventType.STOP_REASON_SET,
            stop_reason=reason,
            collection_state=admission.progress.collection_state,
            budget=admission.exhausted,
        )
    elif admission.exhausted:
        recorder.event(
            TraceEventType.STOP_REASON_SET, stop_reason=StopReason.BUDGET_LIMIT_REACHED, budget=admission.exhausted
        )
    if admission.verdict is Verdict.STOP_REQUIRED:
        recorder.event(TraceEventType.STOP_REQUIRED_DELIVERED, stop_reason=reason)
        recorder.progress("STOP", reason=reason)
    if admission.verdict is Verdict.CONTROLLED_STOP:
        recorder.event(TraceEventType.CONTROLLED_STOP, stop_reason=reason)


def _in_order(reads: list[ReadRequest], answers: dict[str, ToolMessage]) -> list[ToolMessage]:
    return [answers[read.request.call_id] for read in reads]
