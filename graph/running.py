"""Running one diagnosis in its own task, so that a cancellation reaches the work and is written down.

Source: contract, "Release" (CANCELLED). A stream can leak a cancellation of its reading side, so the graph runs in a
task of its own, which is cancelled and awaited.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from graph.cancellation import record_cancellation
from graph.contract.release import Locale
from graph.contract.texts import bare_release
from graph.contract.vocabulary import ReleaseOutcome, TraceEventType
from graph.settings import DiagnosisContext
from graph.wiring import DiagnosisGraph

WRITE_SECONDS = 10.0
"""How long the writing of a cancellation may take."""

UNOPENED = "unopened"
"""The run id of a Release whose run never opened."""

OnEvent = Callable[[dict[str, Any]], None]


@dataclass
class _Run:
    """What the events of a run have told so far."""

    locale: Locale
    on_event: OnEvent
    run_id: str | None = None
    release: dict[str, Any] | None = None

    def hear(self, event: dict[str, Any]) -> None:
        told = event.get("event") or {}
        if told.get("type") == TraceEventType.RUN_OPENED:
            self.run_id = told["run_id"]
        self.on_event(event)

    def bare(self, outcome: ReleaseOutcome) -> dict[str, Any]:
        return bare_release(self.run_id or UNOPENED, outcome, self.locale).model_dump(mode="json")


async def diagnose(
    graph: DiagnosisGraph,
    inputs: dict[str, Any],
    *,
    thread_id: str,
    context: DiagnosisContext,
    on_event: OnEvent,
    stop: asyncio.Event | None = None,
) -> dict[str, Any]:
    """Run one diagnosis in a thread and return its Release as JSON.

    `inputs`: `{"messages", "incident"?}`. `on_event` gets each custom event as it comes: `{"stream": "trace", "event"}`
    or `{"stream": "progress", "kind", …}`. Setting `stop` cancels the run: the work is cancelled and awaited, and the
    CANCELLED release is written and returned. Where the caller's own task is cancelled, the same is written, and the
    cancellation goes on. A graph that raises (a checkpointer that is gone) gives a FAILED release.
    """
    run = _Run(context.locale, on_event)
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    work = asyncio.create_task(_stream(graph, inputs, config, context, run))
    stopping = asyncio.create_task((stop or asyncio.Event()).wait())
    try:
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return _outcome(work, run)
        return await _cancel(graph, config, work, run)
    except asyncio.CancelledError:
        await asyncio.shield(_cancel(graph, config, work, run))
        raise
    finally:
        stopping.cancel()


async def _stream(
    graph: DiagnosisGraph, inputs: dict[str, Any], config: RunnableConfig, context: DiagnosisContext, run: _Run
) -> None:
    listened: dict[str, Any] = {"stream_mode": ["custom", "values"], "output_keys": ["release"]}
    untyped: Any = graph
    async for mode, event in untyped.astream(inputs, config, context=context, **listened):
        if mode == "custom":
            run.hear(event)
        elif run.run_id and (event.get("release") or {}).get("run_id") == run.run_id:
            run.release = event["release"]


def _outcome(work: "asyncio.Task[None]", run: _Run) -> dict[str, Any]:
    work.exception()
    return run.release or run.bare(ReleaseOutcome.FAILED)


async def _cancel(
    graph: DiagnosisGraph, config: RunnableConfig, work: "asyncio.Task[None]", run: _Run
) -> dict[str, Any]:
    work.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await work
    if run.release is not None:
        return run.release
    with suppress(Exception):
        async with asyncio.timeout(WRITE_SECONDS):
            return await record_cancellation(graph, config, run_id=run.run_id, locale=run.locale, writer=run.on_event)
    return run.bare(ReleaseOutcome.CANCELLED)
