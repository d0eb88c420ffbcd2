"""What happens to a message's tool requests: the one function that decides it.

Source: spec "Saturated collection SHALL stop further Tool execution", "Harness SHALL assign only deterministic no-gain
signals", "Invalid progress protocol SHALL be repairable before bounded stop"; contract, "The envelope and the gate".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from graph.contract.budget import Budget, tool_call_forbidden, tool_request_forbidden
from graph.contract.limits import Limits
from graph.contract.progress import (
    Progress,
    clear_pending,
    clear_violations,
    deliver_stop,
    record_gain,
    record_violation,
    set_stop_reason,
)
from graph.contract.protocol import Violation, check_protocol, reported_gain
from graph.contract.records import InvocationKey
from graph.contract.vocabulary import (
    BudgetKind,
    InformationGain,
    InvocationStatus,
    RejectionCode,
    StopReason,
    ViolationType,
)


class Verdict(StrEnum):
    """Where the gate sends a message."""

    RUN = "RUN"
    REJECTED = "REJECTED"
    STOP_REQUIRED = "STOP_REQUIRED"
    CONTROLLED_STOP = "CONTROLLED_STOP"
    BUDGET_STOP = "BUDGET_STOP"


@dataclass(frozen=True)
class ToolRequest:
    """One tool call of a message, as read. `tool_name` is None where the tool isn't registered.

    `unparsable`: its arguments weren't JSON. `previous`: its `previous_observation` as it came. `faults`: names of the
    arguments that don't validate. `scope_digest`: of its normalized scope, None where the arguments are at fault.
    """

    call_id: str
    tool_name: str | None
    unparsable: bool = False
    previous: Any = None
    faults: tuple[str, ...] = ()
    scope_digest: str | None = None


@dataclass(frozen=True)
class Rejection:
    """The answer to a request that didn't run. `details` holds only fields that the contract allows a model to see.

    `is_stop`: the model gets STOP_REQUIRED instead of a rejection; the trace keeps the code all the same.
    """

    call_id: str
    tool_name: str | None
    code: RejectionCode
    violation_type: ViolationType | None = None
    details: dict[str, Any] = field(default_factory=dict)
    is_stop: bool = False


@dataclass(frozen=True)
class Settled:
    """An observation whose gain was decided; `by_rule` where no model was asked."""

    call_id: str
    gain: InformationGain
    by_rule: bool


@dataclass(frozen=True)
class Admission:
    """The gate's decision: the verdict, the new counters, the request that runs, and an answer for each other one."""

    verdict: Verdict
    progress: Progress
    budget: Budget
    admitted: ToolRequest | None = None
    rejections: tuple[Rejection, ...] = ()
    settled: tuple[Settled, ...] = ()
    exhausted: BudgetKind | None = None


@dataclass(frozen=True)
class GateState:
    """What the gate judges by: the run's counters and limits, its canonical keys, and the time (POSIX seconds)."""

    progress: Progress
    budget: Budget
    limits: Limits
    invocations: Sequence[InvocationKey]
    now: float
    settled: tuple[Settled, ...] = ()


def admit(requests: Sequence[ToolRequest], gate: GateState) -> Admission:
    """Decide what happens to the tool requests of one model message, in the order that the contract gives.

    `requests` holds every tool call of the message, in its order, at least one. Only the first supported request is
    judged; every other is answered as parallel or unsupported. At most one request is admitted.
    """
    if gate.progress.stop_delivered:
        answers = tuple(_refusal(r, RejectionCode.CONTROLLED_STOP) for r in requests)
        return Admission(Verdict.CONTROLLED_STOP, gate.progress, gate.budget, rejections=answers)
    judged = next((r for r in requests if r.tool_name), None)
    others = tuple(_refuse_other(r) for r in requests if r is not judged)
    if judged is None:
        return Admission(Verdict.REJECTED, gate.progress, gate.budget, rejections=others)
    decision = _judge(judged, gate)
    order = {r.call_id: i for i, r in enumerate(requests)}
    answers = tuple(sorted((*decision.rejections, *others), key=lambda answer: order[answer.call_id]))
    return replace(decision, rejections=answers)


def _judge(request: ToolRequest, gate: GateState) -> Admission:
    if exhausted := tool_request_forbidden(gate.budget, gate.limits):
        return _budget_stop(request, gate, exhausted)
    gate = replace(gate, budget=gate.budget.spent(tool_requests=1))
    if gate.progress.stopped:
        return _stop_required(_refusal(request, RejectionCode.STOP_REQUIRED), gate)
    if request.unparsable:
        return _rejected(_invalid_arguments(request), gate)
    pending = gate.progress.pending
    if pending and (violation := check_protocol(pending, request.previous)):
        return _violated(request, violation, gate)
    gate = _settle_pending(request, replace(gate, progress=clear_violations(gate.progress)))
    if gate.progress.stopped:
        return _stop_required(_refusal(request, RejectionCode.STOP_REQUIRED), gate)
    return _judge_scope(request, gate)


def _judge_scope(request: ToolRequest, gate: GateState) -> Admission:
    if request.faults or request.scope_digest is None:
        return _rejected(_invalid_arguments(request), gate)
    same = [k for k in gate.invocations if (k.tool_name, k.scope_digest) == (request.tool_name, request.scope_digest)]
    if earlier := next((k for k in same if k.status is InvocationStatus.READY), None):
        return _duplicate(request, earlier.call_id, gate)
    if len(same) > gate.limits.tool_repeats:
        return _rejected(_refusal(request, RejectionCode.ATTEMPTS_EXHAUSTED), gate)
    if exhausted := tool_call_forbidden(gate.budget, gate.limits, gate.now):
        return _budget_stop(request, gate, exhausted)
    budget = gate.budget.spent(tool_calls=1)
    return Admission(Verdict.RUN, gate.progress, budget, admitted=request, settled=gate.settled)


def _settle_pending(request: ToolRequest, gate: GateState) -> GateState:
    pending = gate.progress.pending
    if not pending:
        return gate
    gain = reported_gain(request.previous)
    threshold = gate.limits.stop_after_consecutive_no_gain
    progress = record_gain(clear_pending(gate.progress), gain, threshold=threshold)
    return replace(gate, progress=progress, settled=(*gate.settled, Settled(pending, gain, by_rule=False)))


def _violated(request: ToolRequest, violation: Violation, gate: GateState) -> Admission:
    after = record_violation(gate.progress, threshold=gate.limits.stop_after_consecutive_protocol_violations)
    details: dict[str, Any] = {
        "repair_required": True,
        "violation_type": violation.type.value,
        "expected_previous_tool_call_id": gate.progress.pending,
        "allowed_information_gain": [gain.value for gain in InformationGain],
        "consecutive_protocol_violations": after.consecutive_protocol_violations,
    }
    if violation.missing_field:
        details["missing_field"] = violation.missing_field
    rejection = replace(
        _refusal(request, RejectionCode.INVALID_PROGRESS_PROTOCOL, details), violation_type=violation.type
    )
    return _answered(rejection, replace(gate, progress=after))


def _duplicate(request: ToolRequest, earlier: str, gate: GateState) -> Admission:
    threshold = gate.limits.stop_after_consecutive_no_gain
    after = record_gain(gate.progress, InformationGain.NO_GAIN, threshold=threshold)
    settled = (*gate.settled, Settled(request.call_id, InformationGain.NO_GAIN, by_rule=True))
    details = {"earlier_tool_call_id": earlier, "information_gain": InformationGain.NO_GAIN.value}
    rejection = _refusal(request, RejectionCode.DUPLICATE_SCOPE, details)
    return _answered(rejection, replace(gate, progress=after, settled=settled))


def _refuse_other(request: ToolRequest) -> Rejection:
    known = request.tool_name is not None
    return _refusal(request, RejectionCode.PARALLEL_TOOL_REQUEST if known else RejectionCode.UNSUPPORTED_TOOL)


def _invalid_arguments(request: ToolRequest) -> Rejection:
    details: dict[str, Any] = {"fields": list(request.faults), "unparsable": request.unparsable}
    return _refusal(request, RejectionCode.INVALID_TOOL_ARGUMENTS, details)


def _refusal(request: ToolRequest, code: RejectionCode, details: dict[str, Any] | None = None) -> Rejection:
    return Rejection(request.call_id, request.tool_name, code, details=details or {})


def _answered(rejection: Rejection, gate: GateState) -> Admission:
    return _stop_required(rejection, gate) if gate.progress.stopped else _rejected(rejection, gate)


def _rejected(rejection: Rejection, gate: GateState) -> Admission:
    return Admission(Verdict.REJECTED, gate.progress, gate.budget, rejections=(rejection,), settled=gate.settled)


def _stop_required(rejection: Rejection, gate: GateState) -> Admission:
    told = (replace(rejection, is_stop=True),)
    progress = deliver_stop(gate.progress)
    return Admission(Verdict.STOP_REQUIRED, progress, gate.budget, rejections=told, settled=gate.settled)


def _budget_stop(request: ToolRequest, gate: GateState, exhausted: BudgetKind) -> Admission:
    refused = (_refusal(request, RejectionCode.BUDGET_LIMIT_REACHED),)
    progress = set_stop_reason(gate.progress, StopReason.BUDGET_LIMIT_REACHED)
    return Admission(
        Verdict.BUDGET_STOP, progress, gate.budget, rejections=refused, settled=gate.settled, exhausted=exhausted
    )
