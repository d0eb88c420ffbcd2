"""Progress: counters that only the given transitions move, a first stop reason that stays."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graph.contract.gain import settle_answer
from graph.contract.progress import (
    Progress,
    await_evaluation,
    clear_pending,
    clear_violations,
    deliver_stop,
    record_gain,
    record_violation,
    set_stop_reason,
)
from graph.contract.vocabulary import CollectionState, EvidenceStatus, InformationGain, InvocationStatus, StopReason

thresholds = st.integers(1, 5)
gains = st.sampled_from(InformationGain)
reasons = st.sampled_from(StopReason)
progresses = st.builds(
    Progress,
    consecutive_no_gain=st.integers(0, 4),
    consecutive_protocol_violations=st.integers(0, 4),
    pending=st.one_of(st.none(), st.just("r1c1")),
    stop_reason=st.one_of(st.none(), reasons),
    stop_delivered=st.booleans(),
)


def test_a_run_begins_collecting_with_nothing_counted() -> None:
    assert Progress() == Progress(CollectionState.COLLECTING, 0, 0, None, None, False)
    assert not Progress().stopped


@given(st.lists(gains, max_size=12), thresholds)
def test_the_count_is_the_no_gains_since_the_last_gain(decisions: list[InformationGain], threshold: int) -> None:
    progress = Progress()
    for decision in decisions:
        progress = record_gain(progress, decision, threshold=threshold)
    trailing = "".join("G" if decision is InformationGain.GAINED else "n" for decision in decisions).split("G")
    assert progress.consecutive_no_gain == len(trailing[-1])
    reached = any(len(streak) >= threshold for streak in trailing)
    assert (progress.collection_state is CollectionState.SATURATED) is reached
    assert progress.stop_reason == (StopReason.INFORMATION_SATURATED if reached else None)
    assert progress.stopped is reached


@given(progresses, thresholds)
def test_violations_move_their_own_counter_alone(progress: Progress, threshold: int) -> None:
    after = record_violation(progress, threshold=threshold)
    count = progress.consecutive_protocol_violations + 1
    reached = StopReason.PROGRESS_PROTOCOL_VIOLATED if count >= threshold else None
    assert after == replace(
        progress, consecutive_protocol_violations=count, stop_reason=progress.stop_reason or reached
    )
    assert clear_violations(after) == replace(after, consecutive_protocol_violations=0)


@given(progresses, gains, thresholds)
def test_a_gain_leaves_violations_pending_and_delivery_alone(
    progress: Progress, gain: InformationGain, threshold: int
) -> None:
    after = record_gain(progress, gain, threshold=threshold)
    assert after.consecutive_protocol_violations == progress.consecutive_protocol_violations
    assert (after.pending, after.stop_delivered) == (progress.pending, progress.stop_delivered)


@given(progresses, reasons, reasons)
def test_the_first_stop_reason_stays(progress: Progress, first: StopReason, second: StopReason) -> None:
    once = set_stop_reason(progress, first)
    assert once.stop_reason == (progress.stop_reason or first)
    assert set_stop_reason(once, second) == once


@given(progresses, reasons, gains, thresholds)
def test_a_stopped_run_stays_stopped(progress: Progress, reason: StopReason, gain: InformationGain, n: int) -> None:
    stopped = set_stop_reason(progress, reason)
    later = [
        record_gain(stopped, gain, threshold=n),
        record_violation(stopped, threshold=n),
        clear_violations(stopped),
        clear_pending(stopped),
        await_evaluation(stopped, "r1c9"),
        deliver_stop(stopped),
    ]
    assert all(after.stopped for after in later)


@given(
    progresses,
    st.sampled_from(InvocationStatus),
    st.one_of(st.none(), st.sampled_from(EvidenceStatus)),
    thresholds,
)
def test_an_answer_is_settled_by_rule_only_where_nothing_was_found(
    progress: Progress, status: InvocationStatus, found: EvidenceStatus | None, threshold: int
) -> None:
    after = settle_answer(progress, call_id="r1c7", status=status, evidence_status=found, threshold=threshold)
    if status is not InvocationStatus.READY:
        assert after == progress
    elif found is EvidenceStatus.NO_EVIDENCE:
        assert after == record_gain(progress, InformationGain.NO_GAIN, threshold=threshold)
    else:
        assert after == replace(progress, pending="r1c7")
