"""Information gain, protocol violations and the stop: one run's progress, as immutable state with pure transitions.

Source: spec "Harness SHALL track binary information gain per Run", "Consecutive no-gain threshold SHALL be fixed per
Run", "Invalid progress protocol SHALL be repairable before bounded stop"; contract, "Gain and stop".
"""

from dataclasses import dataclass, replace

from graph.contract.vocabulary import CollectionState, InformationGain, StopReason


@dataclass(frozen=True)
class Progress:
    """What a run knows of its own progress. `pending` is the call id whose observation waits for the model's word."""

    collection_state: CollectionState = CollectionState.COLLECTING
    consecutive_no_gain: int = 0
    consecutive_protocol_violations: int = 0
    pending: str | None = None
    stop_reason: StopReason | None = None
    stop_delivered: bool = False

    @property
    def stopped(self) -> bool:
        """Whether a stop is due: collection is saturated, or a stop reason stands (contract, "Gain and stop")."""
        return self.stop_reason is not None or self.collection_state is CollectionState.SATURATED


def record_gain(progress: Progress, gain: InformationGain, *, threshold: int) -> Progress:
    """Return the progress after one decision: GAINED resets the count, NO_GAIN adds to it and saturates at `threshold`.

    Once saturated a run stays so, and its first stop reason stays.
    """
    if gain is InformationGain.GAINED:
        return replace(progress, consecutive_no_gain=0)
    count = progress.consecutive_no_gain + 1
    counted = replace(progress, consecutive_no_gain=count)
    if count < threshold:
        return counted
    saturated = replace(counted, collection_state=CollectionState.SATURATED)
    return set_stop_reason(saturated, StopReason.INFORMATION_SATURATED)


def record_violation(progress: Progress, *, threshold: int) -> Progress:
    """Return the progress after an invalid protocol request; at `threshold` it sets PROGRESS_PROTOCOL_VIOLATED.

    The collection state stays COLLECTING: a protocol stop says nothing of information.
    """
    counted = replace(progress, consecutive_protocol_violations=progress.consecutive_protocol_violations + 1)
    if counted.consecutive_protocol_violations < threshold:
        return counted
    return set_stop_reason(counted, StopReason.PROGRESS_PROTOCOL_VIOLATED)


def clear_violations(progress: Progress) -> Progress:
    """Return the progress after a protocol-valid request: the violations in a row are none."""
    return replace(progress, consecutive_protocol_violations=0)


def await_evaluation(progress: Progress, call_id: str) -> Progress:
    """Return the progress with the observation of `call_id` pending for the model's evaluation."""
    return replace(progress, pending=call_id)


def clear_pending(progress: Progress) -> Progress:
    """Return the progress with nothing pending: the observation was settled, or a draft arrived instead."""
    return replace(progress, pending=None)


def set_stop_reason(progress: Progress, reason: StopReason) -> Progress:
    """Return the progress with a stop reason; the first one stays."""
    return progress if progress.stop_reason else replace(progress, stop_reason=reason)


def deliver_stop(progress: Progress) -> Progress:
    """Return the progress after the model was told to stop, which happens once."""
    return replace(progress, stop_delivered=True)
