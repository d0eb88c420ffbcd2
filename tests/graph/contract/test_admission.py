"""The gate: whatever a message holds, one verdict, one answer a call, at most one counter moved and one request run."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.contract.admission import Admission, GateState, ToolRequest, Verdict, admit
from graph.contract.budget import Budget
from graph.contract.limits import Limits
from graph.contract.progress import Progress
from graph.contract.records import InvocationKey
from graph.contract.vocabulary import BudgetKind, CollectionState, InvocationStatus, RejectionCode, StopReason

PENDING = "r1c1"
ALLOWED_DETAILS = {
    "repair_required",
    "violation_type",
    "missing_field",
    "expected_previous_tool_call_id",
    "allowed_information_gain",
    "consecutive_protocol_violations",
    "earlier_tool_call_id",
    "information_gain",
    "fields",
    "unparsable",
}
"""The only fields of a rejection that a model may see."""

words = st.sampled_from(
    (
        None,
        {"tool_call_id": PENDING, "information_gain": "GAINED"},
        {"tool_call_id": PENDING, "information_gain": "NO_GAIN"},
        {"tool_call_id": "r1c9", "information_gain": "GAINED"},
        {"tool_call_id": PENDING, "information_gain": "?"},
    )
)
requests = st.builds(
    ToolRequest,
    call_id=st.just(""),
    tool_name=st.sampled_from(("probe", "reader", None)),
    unparsable=st.booleans(),
    previous=words,
    faults=st.sampled_from(((), ("target",))),
    scope_digest=st.sampled_from(("s1", "s2", "s3", None)),
)
messages = st.lists(requests, min_size=1, max_size=4).map(
    lambda found: [replace(request, call_id=f"r1c{i}") for i, request in enumerate(found, start=20)]
)
keys = st.lists(
    st.builds(
        InvocationKey,
        call_id=st.integers(2, 9).map(lambda number: f"r1c{number}"),
        tool_name=st.sampled_from(("probe", "reader")),
        scope_digest=st.sampled_from(("s1", "s2")),
        status=st.sampled_from((InvocationStatus.READY, InvocationStatus.ERROR)),
        digest=st.just("d"),
    ),
    max_size=5,
)
reasons = st.sampled_from((None, None, None, *StopReason))
progresses = st.builds(
    Progress,
    collection_state=st.sampled_from((CollectionState.COLLECTING, CollectionState.COLLECTING, *CollectionState)),
    consecutive_no_gain=st.integers(0, 2),
    consecutive_protocol_violations=st.integers(0, 2),
    pending=st.sampled_from((None, PENDING)),
    stop_reason=reasons,
    stop_delivered=st.sampled_from((False, False, False, True)),
)
gates = st.builds(
    GateState,
    progress=progresses,
    budget=st.builds(
        Budget,
        started_at=st.just(0.0),
        tool_calls=st.integers(0, 3),
        tool_requests=st.integers(0, 4),
        observation_bytes=st.sampled_from((0, 0, 100)),
    ),
    limits=st.builds(
        Limits,
        stop_after_consecutive_no_gain=st.integers(1, 3),
        stop_after_consecutive_protocol_violations=st.integers(1, 3),
        max_tool_calls=st.integers(1, 4),
        max_tool_requests=st.integers(1, 6),
        max_observation_bytes=st.just(100),
        max_seconds=st.just(60.0),
    ),
    invocations=keys,
    now=st.sampled_from((0.0, 0.0, 90.0)),
)


@given(messages, gates)
def test_every_call_has_exactly_one_answer_in_order(message: list[ToolRequest], gate: GateState) -> None:
    decision = admit(message, gate)
    ran = [decision.admitted.call_id] if decision.admitted else []
    answered = [rejection.call_id for rejection in decision.rejections]
    assert sorted(answered + ran) == sorted(request.call_id for request in message)
    assert answered == [request.call_id for request in message if request.call_id not in ran]
    assert (decision.verdict is Verdict.RUN) is (decision.admitted is not None)


@given(messages, gates)
def test_only_the_first_supported_call_can_be_judged(message: list[ToolRequest], gate: GateState) -> None:
    decision = admit(message, gate)
    first = next((request.call_id for request in message if request.tool_name), None)
    plain = {RejectionCode.PARALLEL_TOOL_REQUEST, RejectionCode.UNSUPPORTED_TOOL, RejectionCode.CONTROLLED_STOP}
    judged = [answer.call_id for answer in decision.rejections if answer.code not in plain]
    judged += [decision.admitted.call_id] if decision.admitted else []
    assert judged in ([], [first])
    if not decision.admitted and not judged and not gate.progress.stop_delivered:
        assert first is None


@given(messages, gates)
def test_nothing_runs_that_must_not(message: list[ToolRequest], gate: GateState) -> None:
    decision = admit(message, gate)
    if not decision.admitted:
        assert decision.budget.tool_calls == gate.budget.tool_calls
        return
    ran = decision.admitted
    assert not gate.progress.stopped
    assert not gate.progress.stop_delivered
    assert not decision.progress.stopped
    assert not ran.unparsable
    assert not ran.faults
    same = [key for key in gate.invocations if (key.tool_name, key.scope_digest) == (ran.tool_name, ran.scope_digest)]
    assert InvocationStatus.READY not in {key.status for key in same}
    assert len(same) <= gate.limits.tool_repeats
    assert decision.budget.tool_calls == gate.budget.tool_calls + 1 <= gate.limits.max_tool_calls
    assert gate.now < gate.limits.max_seconds
    assert gate.budget.observation_bytes < gate.limits.max_observation_bytes
    if gate.progress.pending:
        assert [settled.call_id for settled in decision.settled] == [PENDING]
    assert decision.progress.pending is None


@given(messages, gates)
def test_requests_are_counted_once_and_never_beyond_their_limit(message: list[ToolRequest], gate: GateState) -> None:
    spent = admit(message, gate).budget.tool_requests - gate.budget.tool_requests
    judged = any(request.tool_name for request in message) and not gate.progress.stop_delivered
    assert spent == (judged and gate.budget.tool_requests < gate.limits.max_tool_requests)


@given(messages, gates)
def test_one_message_moves_the_counters_as_one_request_would(message: list[ToolRequest], gate: GateState) -> None:
    first = next((request for request in message if request.tool_name), None)
    whole = admit(message, gate)
    if first is None or gate.progress.stop_delivered:
        assert whole.progress == gate.progress
        return
    alone = admit([first], gate)
    kept = ("verdict", "progress", "budget", "admitted", "settled", "exhausted")
    assert [getattr(whole, name) for name in kept] == [getattr(alone, name) for name in kept]


@given(messages, gates)
def test_a_stop_is_required_once_and_then_controlled(message: list[ToolRequest], gate: GateState) -> None:
    decision = admit(message, gate)
    stops = [answer for answer in decision.rejections if answer.is_stop]
    assert len(stops) == (decision.verdict is Verdict.STOP_REQUIRED)
    if decision.verdict is Verdict.STOP_REQUIRED:
        assert decision.progress.stop_delivered
        again = admit(message, replace(gate, progress=decision.progress, budget=decision.budget))
        assert again.verdict is Verdict.CONTROLLED_STOP
        assert {answer.code for answer in again.rejections} == {RejectionCode.CONTROLLED_STOP}
        assert (again.progress, again.budget) == (decision.progress, decision.budget)


@given(messages, gates)
def test_an_answer_holds_only_what_a_model_may_see(message: list[ToolRequest], gate: GateState) -> None:
    for answer in admit(message, gate).rejections:
        assert set(answer.details) <= ALLOWED_DETAILS
        assert (answer.violation_type is not None) is (answer.code is RejectionCode.INVALID_PROGRESS_PROTOCOL)


@given(messages, gates)
def test_the_first_stop_reason_stays(message: list[ToolRequest], gate: GateState) -> None:
    decision = admit(message, gate)
    if gate.progress.stop_reason:
        assert decision.progress.stop_reason is gate.progress.stop_reason
    assert (decision.exhausted is not None) is (decision.verdict is Verdict.BUDGET_STOP)


def judged(request: ToolRequest, **state: object) -> Admission:
    given_state = {
        "progress": Progress(),
        "budget": Budget(started_at=0),
        "limits": Limits(),
        "invocations": (),
        "now": 0.0,
    }
    return admit([request], GateState(**{**given_state, **state}))  # type: ignore[arg-type]


def key(status: InvocationStatus, call_id: str = "r1c1") -> InvocationKey:
    return InvocationKey(call_id=call_id, tool_name="probe", scope_digest="s1", status=status, digest="d")


ASKED = ToolRequest("r1c9", "probe", scope_digest="s1")


def test_a_duplicate_is_counted_by_rule_and_names_the_call_before() -> None:
    decision = judged(ASKED, invocations=[key(InvocationStatus.ERROR, "r1c1"), key(InvocationStatus.READY, "r1c2")])
    (answer,) = decision.rejections
    assert answer.code is RejectionCode.DUPLICATE_SCOPE
    assert answer.details["earlier_tool_call_id"] == "r1c2"
    assert decision.progress.consecutive_no_gain == 1
    assert [(settled.call_id, settled.by_rule) for settled in decision.settled] == [("r1c9", True)]


@pytest.mark.parametrize(("failures", "verdict"), [(1, Verdict.RUN), (2, Verdict.RUN), (3, Verdict.REJECTED)])
def test_a_scope_that_failed_may_be_asked_again_twice(failures: int, verdict: Verdict) -> None:
    decision = judged(ASKED, invocations=[key(InvocationStatus.ERROR)] * failures)
    assert decision.verdict is verdict
    assert [answer.code for answer in decision.rejections] == (
        [] if verdict is Verdict.RUN else [RejectionCode.ATTEMPTS_EXHAUSTED]
    )
    assert decision.progress == Progress()


def test_the_request_budget_comes_before_all_else() -> None:
    decision = judged(ASKED, budget=Budget(started_at=0, tool_requests=16), progress=Progress(pending=PENDING))
    assert (decision.verdict, decision.exhausted) == (Verdict.BUDGET_STOP, BudgetKind.TOOL_REQUESTS)
    assert decision.progress.pending == PENDING
