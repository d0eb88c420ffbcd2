"""Contract, "Release": CANCELLED is written by whoever holds the run, once, and nothing is published afterwards."""

import asyncio
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from typing_extensions import override

from graph.running import diagnose
from graph.settings import DiagnosisContext
from graph.wiring import build_graph
from tests.support.drafts import changes, draft, metrics, reply
from tests.support.driving import INCIDENT, RUNS, Rig, Run, arrival, harness, rig
from tests.support.scripted import ScriptedChatModel, ScriptedTool, evidence, no_conclusion, request
from tools.base import IncidentContext
from tools.vocabulary import Evidence, Scope

GIVEN: Any = {"messages": [{"role": "user", "content": "why?"}], "incident": INCIDENT}


class _HangingModel(ScriptedChatModel):
    """Plays its script, then tells that it hangs, and hangs."""

    reached: Any

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if not self.script:
            self.reached.set()
            await asyncio.Event().wait()
        return await super()._agenerate(messages, stop, run_manager, **kwargs)


class _HangingTool(ScriptedTool):
    reached: asyncio.Event

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        self.reached.set()
        await asyncio.Event().wait()
        return await super().collect(scope, arguments, incident)


def _hanging(where: str, reached: asyncio.Event) -> Rig:
    """A run that hangs in its first model call, in its second, in a tool, or in the review."""
    tool = _HangingTool(evidence(["x"]))
    tool.reached = reached
    made = rig(tools=tool if where == "tool" else [metrics(), changes()])
    scripts: dict[str, list[Any]] = {
        "first call": [],
        "second call": [request("checkout")],
        "tool": [request("a")],
        "review": [
            request("checkout"),
            request("checkout", tool="changes", previous=("r1c1", "GAINED")),
            reply(draft()),
        ],
    }
    models: dict[str, Any] = {
        "diagnosis": _HangingModel(script=scripts[where], reached=reached),
        "semantic_guard": _HangingModel(script=[], reached=reached),
    }
    graph = build_graph(models=models, tools=made.tools, settings=harness(), checkpointer=made.saver, store=made.store)
    return Rig(graph, {**made.models, **models}, made.tools, made.saver, made.store)


PLACES = ["first call", "second call", "tool", "review"]


@pytest.mark.parametrize("where", PLACES)
async def test_a_cancelled_run_leaves_one_release_and_publishes_nothing_afterwards(where: str) -> None:
    reached, stop = asyncio.Event(), asyncio.Event()
    driven = _hanging(where, reached)
    heard: list[dict[str, Any]] = []
    work = asyncio.create_task(
        diagnose(
            driven.graph,
            GIVEN,
            thread_id=driven.thread,
            context=DiagnosisContext(),
            on_event=heard.append,
            stop=stop,
        )
    )
    await arrival(reached, work)
    stop.set()
    release = await work
    assert (release["outcome"], release["fallback_type"]) == ("CANCELLED", None)
    state = await driven.values()
    assert state["release"] == release
    assert state["draft"] is None
    assert [message.type for message in state["messages"]] == ["human", "ai"]
    assert (await driven.graph.aget_state(driven.config())).next == ()
    RUNS.append(
        Run([("custom", event) for event in heard], {**state, "transcript": []}, frozenset({"probe", "changes"}))
    )
    again = await driven.graph.ainvoke(None, driven.config())
    assert again["release"] == release
    assert [message.type for message in (await driven.values())["messages"]] == ["human", "ai"]


@pytest.mark.parametrize("where", PLACES)
async def test_a_thread_goes_on_after_a_cancelled_run(where: str) -> None:
    reached, stop = asyncio.Event(), asyncio.Event()
    driven = _hanging(where, reached)
    context = DiagnosisContext()
    work = asyncio.create_task(
        diagnose(driven.graph, GIVEN, thread_id=driven.thread, context=context, on_event=lambda _: None, stop=stop)
    )
    await arrival(reached, work)
    stop.set()
    first = await work
    driven.diagnosis.script = [no_conclusion()]
    run = await driven.run("and now?")
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert run.release["run_id"] != first["run_id"]
    assert [message.type for message in run.state["messages"]] == ["human", "ai", "human", "ai"]


async def test_a_cancelled_caller_leaves_the_release_and_stays_cancelled() -> None:
    reached = asyncio.Event()
    driven = _hanging("tool", reached)
    work = asyncio.create_task(
        diagnose(
            driven.graph,
            GIVEN,
            thread_id=driven.thread,
            context=DiagnosisContext(),
            on_event=lambda _: None,
        )
    )
    await arrival(reached, work)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert (await driven.values())["release"]["outcome"] == "CANCELLED"


async def test_a_run_killed_without_a_word_shows_as_a_run_without_a_release() -> None:
    reached = asyncio.Event()
    driven = _hanging("tool", reached)
    work = asyncio.create_task(driven.graph.ainvoke(GIVEN, driven.config()))
    await arrival(reached, work)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    state = await driven.values()
    assert state["release"] is None
    assert state["run_id"]
