"""`close_collection`: projects the one bounded snapshot, reads the draft, and says where the run goes from here.

Source: spec "Tool loop completion SHALL project bounded progress once"; contract, "Release", "Gain and stop".
"""

from collections.abc import Mapping
from typing import Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.contract.draft import Draft, DraftUnreadable, parse_draft
from graph.contract.evidence import no_conclusion_references
from graph.contract.records import VerifiedRecord
from graph.contract.release import ENDING_BY_STOP, verified_source
from graph.contract.snapshot import LimitationWord, project_snapshot
from graph.contract.vocabulary import Ending, FailureCode, LimitationCode, StopReason, TraceEventType
from graph.ledger import Checked, gaps_after, records_of
from graph.nodes.edge import Node, contained
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import keys_of, limits_of, progress_of

To = Literal["evidence_guard", "safe_fallback"]


def make_close_collection(parts: Parts) -> Node[To]:
    """Return the node."""

    @contained(parts, on_failure="safe_fallback")
    async def close_collection(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        checked = await parts.checked(state, runtime)
        return closed(state, checked, recorder)

    return close_collection


def closed(state: DiagnosisState, checked: Mapping[str, Checked], recorder: Recorder) -> Command[To]:
    """Return the snapshot, the parsed draft, and the way on, from what checking the ledger gave."""
    draft, ending = _read_draft(state)
    gaps = gaps_after(state, "close_collection", checked)
    update = {**_snapshot(state, checked, ending, recorder), "draft_text": None, "ledger_gaps": gaps}
    if draft is not None:
        update |= {"draft": draft.model_dump(mode="json")}
    if ending is None:
        return Command(goto="evidence_guard", update={**update, **recorder.flush()})
    if draft is not None and ending is Ending.NO_CONCLUSION:
        update |= no_conclusion(draft, records_of(checked))
    return Command(goto="safe_fallback", update={**update, "ending": ending.value, **recorder.flush()})


def _read_draft(state: DiagnosisState) -> tuple[Draft | None, Ending | None]:
    """Return the parsed draft, and how the run ended where that is decided by now (None: the guards decide)."""
    ended = state.get("ending")
    text = state.get("draft_text")
    if ended or text is None:
        return None, Ending(ended) if ended else Ending.INTERNAL_ERROR
    try:
        draft = parse_draft(text)
    except DraftUnreadable:
        return None, Ending.DRAFT_UNREADABLE
    if draft.conclusion is None:
        return draft, Ending.NO_CONCLUSION
    stop = progress_of(state).stop_reason
    if stop and limits_of(state).conclusion_after_stop == "fallback":
        return None, ENDING_BY_STOP[stop]
    return draft, None


def _snapshot(
    state: DiagnosisState, checked: Mapping[str, Checked], ending: Ending | None, recorder: Recorder
) -> dict[str, Any]:
    stop = progress_of(state).stop_reason
    failure = state.get("failure")
    failures: list[LimitationWord] = [FailureCode(failure)] if failure else []
    if ending is Ending.DRAFT_UNREADABLE:
        failures.append(LimitationCode.DRAFT_UNREADABLE)
    if ending in (Ending.BUDGET_STOPPED, Ending.PROTOCOL_STOPPED, Ending.SATURATED) and stop:
        failures.append(StopReason.BUDGET_LIMIT_REACHED if ending is Ending.BUDGET_STOPPED else stop)
    snapshot = project_snapshot(keys_of(state), checked, stop_reason=stop, failures=failures)
    recorder.event(
        TraceEventType.COLLECTION_CLOSED,
        stop_reason=stop,
        facts=len(snapshot.observed_facts),
        limitations=len(snapshot.limitations),
        concluded=ending is None,
    )
    return {"progress_snapshot": snapshot.model_dump(mode="json")}


def no_conclusion(draft: Draft, records: Mapping[str, VerifiedRecord]) -> dict[str, Any]:
    """Return what a draft without a conclusion leaves: bad references dropped, the good ones counted."""
    good = no_conclusion_references(draft, records)
    return {
        "verified_sources": [verified_source(records[call_id]).model_dump(mode="json") for call_id in good],
        "missing_info": [info.value for info in draft.limitations.missing_info],
    }
