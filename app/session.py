"""One diagnosis from the command line: the graph, its persistence, and an orderly end at Ctrl-C or SIGTERM."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from app import CANCELLED
from app.inputs import Question
from app.state import open_persistence
from graph.agent import build_graph
from graph.contract.release import Release
from graph.running import diagnose
from graph.settings import DiagnosisContext, HarnessSettings
from tools.frozen import frozen_tools

OnEvent = Callable[[Mapping[str, Any]], None]


async def investigate(
    question: Question,
    settings: HarnessSettings,
    *,
    on_event: OnEvent,
    on_stopping: Callable[[], None],
    note: Callable[[str], None],
) -> Release:
    """Run one diagnosis and return its Release; SIGINT and SIGTERM end it as CANCELLED, in good order.

    `on_event` is called with each event of the run, `on_stopping` once when a signal came; a second signal leaves the
    process at once. `note` takes one line for a person.
    """
    tools = frozen_tools(question.incident_dir)
    async with open_persistence(settings.ledger.record_ttl_seconds, note) as kept:
        graph = build_graph(tools=tools, settings=settings, checkpointer=kept.checkpointer, store=kept.store)
        inputs: dict[str, Any] = {"messages": [{"role": "user", "content": question.query}]}
        alert = question.alert(note)
        if alert is not None:
            inputs["incident"] = alert
        context = DiagnosisContext(locale=question.locale)
        run = asyncio.ensure_future(diagnose(graph, inputs, thread_id=uuid4().hex, context=context, on_event=on_event))
        with _cancelled_by_signal(run, on_stopping):
            return Release.model_validate(await run)


@contextmanager
def _cancelled_by_signal(run: asyncio.Future[Any], on_stopping: Callable[[], None]) -> Iterator[None]:
    """Cancel `run` at the first SIGINT or SIGTERM; at a second one, leave without waiting for anything."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        for number in signals:
            loop.remove_signal_handler(number)
            signal.signal(number, lambda *_: os._exit(CANCELLED))
        on_stopping()
        run.cancel()

    previous = {number: signal.getsignal(number) for number in signals}
    for number in signals:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
            signal.signal(number, previous[number])
