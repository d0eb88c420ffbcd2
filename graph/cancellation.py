"""CANCELLED, written by whoever holds the run, through the graph's own state update, once.

Source: contract, "Release": a cancelled run publishes nothing afterwards.
"""

import asyncio
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from graph.contract.texts import bare_release, locale_of
from graph.contract.vocabulary import Ending, ReleaseOutcome, TraceEventType
from graph.parts import utc_now
from graph.recording import Recorder
from graph.state import DiagnosisState


def cancelled_from_outside() -> bool:
    """Return whether whoever holds the running task cancelled it; a tool may let a cancellation of its own out."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def record_cancellation(
    graph: Pregel[Any, Any, Any, Any],
    config: RunnableConfig,
    *,
    run_id: str | None,
    locale: str = "zh",
    clock: Callable[[], datetime] = utc_now,
) -> dict[str, Any]:
    """Write the CANCELLED release of a run whose work has ended, and return the run's Release as JSON.

    `run_id`: of the run that was cancelled, None where it never opened. A run that was released before keeps its
    Release. Nothing is pending in the thread afterwards, so nothing can be published later.
    """
    values = (await graph.aget_state(config)).values if graph.checkpointer else {}
    if run_id and values.get("run_id") == run_id and values.get("release"):
        kept: dict[str, Any] = values["release"]
        return kept
    state: DiagnosisState = {**values, "run_id": run_id or uuid.uuid4().hex, "locale": values.get("locale") or locale}
    if values.get("run_id") != run_id:  # the thread still shows the run before
        state |= {"trace": [], "trace_dropped": 0}
    update = cancelled_update(state, clock)
    if graph.checkpointer:
        await graph.aupdate_state(config, update, as_node="release")
    release: dict[str, Any] = update["release"]
    return release


def cancelled_update(state: DiagnosisState, clock: Callable[[], datetime]) -> dict[str, Any]:
    """Return the state update that releases a run as CANCELLED."""
    release = bare_release(state["run_id"], ReleaseOutcome.CANCELLED, locale_of(state.get("locale")))
    recorder = Recorder(clock, state, lambda _: None)
    recorder.event(TraceEventType.RELEASE, outcome=release.outcome)
    return {
        "run_id": state["run_id"],
        "ending": Ending.CANCELLED.value,
        "release": release.model_dump(mode="json"),
        "messages": [AIMessage(release.text)],
        "draft": None,
        "draft_text": None,
        **recorder.flush(),
    }
