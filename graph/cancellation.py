"""CANCELLED, written by whoever holds the run, through the graph's own state update, once.

Source: contract, "Release": a cancelled run publishes nothing afterwards.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph_sdk.client import LangGraphClient

from graph.contract.texts import bare_release, locale_of
from graph.contract.vocabulary import Ending, ReleaseOutcome, TraceEventType
from graph.parts import utc_now
from graph.recording import Recorder, Writer
from graph.state import amended


def discard(_: Any) -> None:
    """Hear an event and tell nobody: the writer of a run that no stream listens to."""


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
    writer: Writer = discard,
) -> dict[str, Any]:
    """Write the CANCELLED release of a run whose work has ended, and return the run's Release as JSON.

    `run_id`: of the run that was cancelled, None where it never opened. `writer` gets the RELEASE event. A run that was
    released before keeps its Release. Nothing is pending in the thread afterwards, so nothing can be published later.
    """
    values = (await graph.aget_state(config)).values if graph.checkpointer else {}
    if run_id and values.get("run_id") == run_id and values.get("release"):
        kept: dict[str, Any] = values["release"]
        return kept
    update = cancelled_update(values, run_id=run_id, locale=locale, clock=clock, writer=writer)
    if graph.checkpointer:
        await graph.aupdate_state(config, update, as_node="release")
    release: dict[str, Any] = update["release"]
    return release


async def cancel_remote(client: LangGraphClient, thread_id: str, server_run_id: str) -> dict[str, Any]:
    """Cancel a run on a LangGraph server, wait until its work has ended, write CANCELLED, and return its Release.

    `server_run_id` is the server's own id of the run. What the caller of a deployed graph uses in place of a bare
    cancel, which leaves the thread without a Release. A run that was released before keeps its Release. Raises what the
    client raises.
    """
    await client.runs.cancel(thread_id, server_run_id, wait=True)
    state = await client.threads.get_state(thread_id)
    shown = state["values"] if isinstance(state["values"], dict) else {}
    opened = (state["metadata"] or {}).get("run_id") == server_run_id
    if opened and shown.get("release"):
        kept: dict[str, Any] = shown["release"]
        return kept
    run_id = shown.get("run_id") if opened else None
    update = cancelled_update(shown, run_id=run_id, locale="zh", clock=utc_now, writer=discard)
    text = update.pop("messages")[0].text
    values_json = {**update, "messages": [{"role": "assistant", "content": text}]}
    await client.threads.update_state(thread_id, values_json, as_node="release")
    release: dict[str, Any] = update["release"]
    return release


def cancelled_update(
    values: Mapping[str, Any], *, run_id: str | None, locale: str, clock: Callable[[], datetime], writer: Writer
) -> dict[str, Any]:
    """Return the state update that releases a run as CANCELLED, from the values that its thread shows."""
    told = {"run_id": run_id or uuid.uuid4().hex, "locale": values.get("locale") or locale}
    if values.get("run_id") != run_id:  # the thread still shows the run before
        told |= {"trace": [], "trace_dropped": 0}
    state = amended(values, told)
    release = bare_release(state["run_id"], ReleaseOutcome.CANCELLED, locale_of(state.get("locale")))
    recorder = Recorder(clock, state, writer)
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
