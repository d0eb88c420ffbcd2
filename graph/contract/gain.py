"""What a canonical answer means for the run's progress, as far as a rule can tell.

Source: spec "Harness SHALL assign only deterministic no-gain signals"; contract, "Gain and stop", "Answers of tools".
"""

from graph.contract.progress import Progress, await_evaluation, record_gain
from graph.contract.vocabulary import EvidenceStatus, InformationGain, InvocationStatus


def settle_answer(
    progress: Progress,
    *,
    call_id: str,
    status: InvocationStatus,
    evidence_status: EvidenceStatus | None,
    threshold: int,
) -> Progress:
    """Return the progress after a canonical answer.

    NO_EVIDENCE is NO_GAIN by rule; any other READY answer, REFERENCE included, waits for the model's evaluation; an
    ERROR is pending nothing and moves no counter.
    """
    if status is not InvocationStatus.READY:
        return progress
    if evidence_status is EvidenceStatus.NO_EVIDENCE:
        return record_gain(progress, InformationGain.NO_GAIN, threshold=threshold)
    return await_evaluation(progress, call_id)
