"""Typed views of the state: from JSON to the contract's values and back."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from langchain_core.messages import AIMessage

from graph.contract.budget import Budget
from graph.contract.draft import Draft
from graph.contract.limits import Limits
from graph.contract.progress import Progress
from graph.contract.records import InvocationKey
from graph.contract.snapshot import ProgressSnapshot
from graph.contract.vocabulary import CollectionState, StopReason
from graph.state import DiagnosisState
from tools.base import IncidentContext

INCIDENT_TEXT_CHARS = 200


def progress_of(state: DiagnosisState) -> Progress:
    """Return the run's progress counters."""
    reason = state.get("stop_reason")
    return Progress(
        collection_state=CollectionState(state["collection_state"]),
        consecutive_no_gain=state["consecutive_no_gain"],
        consecutive_protocol_violations=state["consecutive_protocol_violations"],
        pending=state.get("pending_observation"),
        stop_reason=StopReason(reason) if reason else None,
        stop_delivered=state["stop_delivered"],
    )


def progress_update(progress: Progress) -> dict[str, Any]:
    """Return the state update that writes `progress`."""
    return {
        "collection_state": progress.collection_state.value,
        "consecutive_no_gain": progress.consecutive_no_gain,
        "consecutive_protocol_violations": progress.consecutive_protocol_violations,
        "pending_observation": progress.pending,
        "stop_reason": progress.stop_reason.value if progress.stop_reason else None,
        "stop_delivered": progress.stop_delivered,
    }


def limits_of(state: DiagnosisState) -> Limits:
    """Return the run's fixed limits."""
    return Limits.model_validate(state["limits"])


def budget_of(state: DiagnosisState) -> Budget:
    """Return what the run has spent."""
    return Budget.model_validate(state["budget"])


def keys_of(state: DiagnosisState) -> list[InvocationKey]:
    """Return the run's canonical keys in execution order."""
    return [InvocationKey.model_validate(key) for key in state.get("invocation_keys") or ()]


def draft_of(state: DiagnosisState) -> Draft:
    """Return the parsed draft; raises pydantic's ValidationError where there is none."""
    return Draft.model_validate(state.get("draft"))


def request_of(state: DiagnosisState) -> AIMessage:
    """Return the model's newest message, which holds the tool requests; raises TypeError where it is none of it."""
    message = state["transcript"][-1]
    if not isinstance(message, AIMessage):
        raise TypeError("the transcript doesn't end with a request")
    return message


def snapshot_of(state: DiagnosisState) -> ProgressSnapshot | None:
    """Return the run's snapshot, or None before it was made."""
    stored = state.get("progress_snapshot")
    return ProgressSnapshot.model_validate(stored) if stored is not None else None


def incident_context(state: DiagnosisState) -> IncidentContext:
    """Return what the run knows of its incident: the structured incident first, then what the router found."""
    found: Mapping[str, Any] = {**(state.get("context") or {}), **(state.get("incident") or {})}
    texts = {
        key: _text(found.get(key)) for key in ("service", "metric", "environment", "enterprise", "window", "error")
    }
    return IncidentContext(as_of=datetime.fromisoformat(state["as_of"]), zone=state["zone"], **texts)


def _text(value: Any) -> str | None:
    return value[:INCIDENT_TEXT_CHARS] if isinstance(value, str) and value.strip() else None
