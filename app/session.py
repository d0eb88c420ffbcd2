"""One diagnosis from the command line: the graph, its persistence, and an orderly end at Ctrl-C or SIGTERM."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any
from uuid import uuid4

from app import CANCELLED
from app.inputs import BadInput, Question
from app.records import RecordFile
from app.state import open_persistence
from app.words import Locale, words_for
from graph.contract.release import Release
from graph.nodes.open_run import incident_time
from graph.running import OnEvent, diagnose
from graph.settings import DEFAULT_ZONES, DiagnosisContext, HarnessSettings
from graph.wiring import build_graph
from tools.base import EvidenceTool
from tools.frozen import frozen_tools, latest_moment
from tools.live.registry import open_evidence
from tools.vocabulary import EvidenceKind

_USUAL = (EvidenceKind.ALERTS, EvidenceKind.METRICS, EvidenceKind.LOGS, EvidenceKind.TRACES, EvidenceKind.CHANGES)


async def investigate(
    question: Question,
    settings: HarnessSettings,
    *,
    on_event: OnEvent,
    on_stopping: Callable[[], None],
    note: Callable[[str], None],
    record: RecordFile | None = None,
) -> Release:
    """Run one diagnosis and return its Release; SIGINT and SIGTERM end it as CANCELLED, in good order.

    `on_event` is called with each event of the run, `on_stopping` once when a signal came; a second signal leaves the
    process at once. `note` takes one line for a person, also where the run's `record` can't be written.
    """
    stop = asyncio.Event()
    with _told_by_signals(stop, on_stopping):
        async with (
            open_persistence(settings.ledger.record_ttl_seconds, note) as kept,
            _evidence_tools(question, settings) as tools,
        ):
            if unasked := _without_source(tools, question.locale):
                note(unasked)
            graph = build_graph(
                tools=tools,
                settings=settings,
                checkpointer=kept.checkpointer,
                store=kept.store,
            )
            inputs: dict[str, Any] = {"messages": [{"role": "user", "content": question.query}]}
            if question.alert:
                inputs["incident"] = question.alert
            context = DiagnosisContext(locale=question.locale, as_of=await _moment(question, settings))
            thread_id = uuid4().hex
            release = await diagnose(graph, inputs, thread_id=thread_id, context=context, on_event=on_event, stop=stop)
            if record is not None and (failure := await record.keep(graph, thread_id, tools, kept.store)):
                note(failure)
    return Release.model_validate(release)


@asynccontextmanager
async def _evidence_tools(question: Question, settings: HarnessSettings) -> AsyncIterator[tuple[EvidenceTool, ...]]:
    """Give the tools of the frozen incident, or of the configured live sources, which are closed afterwards.

    Raises BadInput where there is neither.
    """
    if question.incident_dir is not None:
        yield frozen_tools(question.incident_dir)
        return
    try:
        evidence = open_evidence(settings.sources)
    except ValueError as error:
        raise BadInput(str(error)) from None
    try:
        yield evidence.tools
    finally:
        await evidence.close()


def _without_source(tools: tuple[EvidenceTool, ...], locale: Locale) -> str | None:
    """Return one line on the usual kinds of evidence that nothing configured tells, or None."""
    words = words_for(locale)
    missing = [words.evidence_kind[kind] for kind in _USUAL if kind not in {tool.kind for tool in tools}]
    return f"{words.label['unconfigured']} {', '.join(missing)} (docs/sources.md)" if missing else None


async def _moment(question: Question, settings: HarnessSettings) -> datetime | None:
    """Return the end of the frozen records where the alert names no time: asked by the clock, they'd all be too old."""
    zone = settings.zone or DEFAULT_ZONES[question.locale]
    if question.incident_dir is None or incident_time(question.alert or {}, zone):
        return None
    return await latest_moment(question.incident_dir, zone)


@contextmanager
def _told_by_signals(stop: asyncio.Event, on_stopping: Callable[[], None]) -> Iterator[None]:
    """Set `stop` at the first SIGINT or SIGTERM; at a second one, leave without waiting for anything."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.getsignal(number) for number in signals}

    def hear() -> None:
        for number in signals:
            loop.remove_signal_handler(number)
            signal.signal(number, lambda *_: os._exit(CANCELLED))
        stop.set()
        on_stopping()

    for number in signals:
        loop.add_signal_handler(number, hear)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
            signal.signal(number, previous[number])
