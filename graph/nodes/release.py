"""`release`: the only door out. Every run, whatever happened in it, leaves exactly one Release.

Source: spec "Fail-closed release policy"; contract, "Release", "Trace and audit".
"""

from collections.abc import Callable
from typing import Any, Protocol

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from graph.contract.release import Release, decide_release
from graph.contract.snapshot import Limitation, ProgressSnapshot
from graph.contract.texts import bare_release, locale_of, release_text
from graph.contract.trace import reconcile
from graph.contract.vocabulary import (
    Ending,
    FailureCode,
    FallbackType,
    MissingInfo,
    ModelComponent,
    ReleaseOutcome,
    TraceEventType,
)
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import budget_of, draft_of, snapshot_of

HELP = ("gaps", "onset", "first_failing", "unproven_changes")


class ReleaseNode(Protocol):
    """The last node: it publishes, and goes nowhere."""

    async def __call__(self, state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> dict[str, Any]:
        """Run the node."""
        ...


def make_release(parts: Parts) -> ReleaseNode:
    """Return the node."""

    async def release(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> dict[str, Any]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        return released(state, recorder, lambda: diagnosing_model(state, parts))

    return release


def released(state: DiagnosisState, recorder: Recorder, model: Callable[[], str | None]) -> dict[str, Any]:
    """Return the state update that publishes the run's Release. Where it can't be composed, it's FAILED, in order.

    `model` names the model that diagnosed.
    """
    try:
        _audit(state, recorder)
        composed = compose(state, model())
    except Exception:  # noqa: BLE001 - the last door: whatever is wrong with the state, a Release leaves
        composed = bare_release(state["run_id"], ReleaseOutcome.FAILED, locale_of(state.get("locale")))
    outcome = composed.outcome
    recorder.event(TraceEventType.RELEASE, outcome=outcome, fallback_type=composed.fallback_type)
    return {
        "release": composed.model_dump(mode="json"),
        "messages": [AIMessage(composed.text)],
        "draft": state.get("draft") if outcome is ReleaseOutcome.SUCCESS else None,
        "draft_text": None,
        **recorder.flush(),
    }


def compose(state: DiagnosisState, model: str | None) -> Release:
    """Return the Release that the contract's table gives for how the run ended."""
    ending = Ending(state.get("ending") or Ending.INTERNAL_ERROR)
    snapshot = snapshot_of(state) or ProgressSnapshot()
    missing = tuple(MissingInfo(info) for info in state.get("missing_info") or ())
    outcome, fallback = decide_release(ending, facts=len(snapshot.observed_facts), missing_info=missing)
    success = outcome is ReleaseOutcome.SUCCESS
    refused = fallback is FallbackType.EVIDENCE_VALIDATION_FAILED
    helpful = {} if success else {name: (state.get("help") or {}).get(name) for name in HELP}
    plain = Release(
        run_id=state["run_id"],
        outcome=outcome,
        fallback_type=fallback,
        locale=locale_of(state.get("locale")),
        text="",
        draft=draft_of(state) if success else None,
        observed_facts=snapshot.observed_facts,
        limitations=_limitations(state, snapshot),
        missing_info=missing,
        model=model,
    )
    sources = [] if refused else state.get("verified_sources") or []
    given = {name: value for name, value in {**helpful, "verified_sources": sources}.items() if value is not None}
    whole = Release.model_validate({**plain.model_dump(mode="json"), **given})
    return whole.model_copy(update={"text": release_text(whole)})


def _limitations(state: DiagnosisState, snapshot: ProgressSnapshot) -> tuple[Limitation, ...]:
    """The snapshot's, and the code of what failed after it was made."""
    failure = state.get("failure")
    late = (Limitation(code=FailureCode(failure)),) if failure else ()
    return tuple(dict.fromkeys((*snapshot.limitations, *late)))


def diagnosing_model(state: DiagnosisState, parts: Parts) -> str | None:
    """Return the name of the model that diagnosed this run, or None where none was asked."""
    if not budget_of(state).component_rounds.get(ModelComponent.DIAGNOSIS):
        return None
    return parts.offline_name if state.get("handed_over") else parts.model_names[ModelComponent.DIAGNOSIS]


def _audit(state: DiagnosisState, recorder: Recorder) -> None:
    total = budget_of(state).tokens
    sums = reconcile(recorder.log.events, total)
    recorder.event(
        TraceEventType.TOKEN_RECONCILIATION,
        audited_tokens=sums.audited_tokens,
        budget_tokens=sums.budget_tokens,
        usage_unavailable=sums.usage_unavailable,
        reconciled=sums.reconciled,
        dropped_events=recorder.log.dropped,
    )
