"""Whoever holds a run hears it as it goes, gets its one Release, and is held up by nobody."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from graph.running import diagnose
from graph.settings import DiagnosisContext
from tests.support.driving import INCIDENT, Rig, harness, rig
from tests.support.plays import PlayedModel
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, request
from tests.support.waiting import Hold, WaitingTool
from tests.support.wiring import wired

GIVEN: dict[str, Any] = {"messages": [{"role": "user", "content": "why?"}], "incident": INCIDENT}


async def held(made: Rig, told: list[dict[str, Any]], locale: str = "zh") -> dict[str, Any]:
    context = DiagnosisContext.model_validate({"locale": locale})
    return await diagnose(made.graph, GIVEN, thread_id=made.thread, context=context, on_event=told.append)


async def test_a_run_gives_its_release_and_the_thread_holds_it() -> None:
    made = rig(request("a"), no_conclusion())
    told: list[dict[str, Any]] = []
    release = await held(made, told)
    state = (await made.graph.aget_state(made.config())).values
    assert release == state["release"]
    assert [event["event"] for event in told if event["stream"] == "trace"] == state["trace"]
    assert [event["kind"] for event in told if event["stream"] == "progress"] == ["ASKED", "ANSWERED"]


async def test_events_come_while_the_run_goes_on() -> None:
    tool = WaitingTool(evidence(["x"]))
    tool.hold = Hold()
    made = rig(request("a"), no_conclusion(), tools=tool)
    told: list[dict[str, Any]] = []
    stop, asked = asyncio.Event(), asyncio.Event()

    def hear(event: dict[str, Any]) -> None:
        told.append(event)
        if event.get("kind") == "ASKED":
            asked.set()

    context = DiagnosisContext()
    running = asyncio.create_task(diagnose(made.graph, GIVEN, thread_id="t", context=context, on_event=hear, stop=stop))
    await tool.hold.reached.wait()
    await asked.wait()
    kinds = [event["event"]["type"] for event in told if event["stream"] == "trace"]
    assert kinds == ["RUN_OPENED", "MODEL_TOKEN_USAGE"]
    assert [event["kind"] for event in told if event["stream"] == "progress"] == ["ASKED"]
    stop.set()
    assert (await running)["outcome"] == "CANCELLED"


async def test_a_second_run_of_a_thread_gives_its_own_release() -> None:
    made = rig(request("a"), no_conclusion(), no_conclusion())
    first, second = await held(made, []), await held(made, [])
    assert first["run_id"] != second["run_id"]
    assert (len(first["observed_facts"]), len(second["observed_facts"])) == (1, 0)


@pytest.mark.parametrize("locale", ["zh", "en"])
async def test_a_release_that_no_run_could_make_speaks_the_callers_language(locale: str) -> None:
    class Gone(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            raise ConnectionError

    release = await held(rig(saver=Gone()), [], locale)
    assert (release["outcome"], release["locale"]) == ("FAILED", locale)


def as_many_rounds_as_asked(messages: list[BaseMessage]) -> AIMessage:
    """The model of a run whose query is a number: asks so often, and gives up."""
    rounds = int(next(message for message in messages if isinstance(message, HumanMessage)).text)
    made = sum(isinstance(message, ToolMessage) for message in messages)
    if made == rounds:
        return no_conclusion()
    return request(f"s{made}", previous=(f"r1c{made}", "GAINED") if made else None)


async def test_runs_at_once_hear_and_count_each_for_itself() -> None:
    model, tool = PlayedModel(play=as_many_rounds_as_asked), ScriptedTool(evidence(["x"]))
    graph = wired(model, [tool], harness(), checkpointer=InMemorySaver())

    async def one(rounds: int) -> None:
        told: list[dict[str, Any]] = []
        given = {**GIVEN, "messages": [{"role": "user", "content": str(rounds)}]}
        release = await diagnose(graph, given, thread_id=f"t{rounds}", context=DiagnosisContext(), on_event=told.append)
        assert {event["event"]["run_id"] for event in told if event["stream"] == "trace"} == {release["run_id"]}
        assert len(release["observed_facts"]) == rounds

    await asyncio.gather(*(one(rounds) for rounds in range(6)))
    assert len(tool.executed) == sum(range(6))
