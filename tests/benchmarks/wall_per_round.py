"""Wall time of a tool round: this graph against a bare `create_agent` with call-limit middleware.

Model and tool answer at once, so what is measured is the graph itself. Run it as

    python -m tests.benchmarks.wall_per_round [repetitions]

Both sides run in turn in the same process; a figure is the median of the repetitions. A script, not a test: what it
prints depends on the machine, the ratios much less.
"""

import asyncio
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware, ToolCallLimitMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from typing_extensions import override

from graph.settings import DiagnosisContext
from graph.wiring import build_graph
from tests.support.driving import harness
from tests.support.scripted import ScriptedChatModel, ScriptedTool, evidence, no_conclusion, request, text

ROUNDS = (4, 16, 64)
LINES = [f"series service=s metric=m{i} direction=UP baseline=1 extreme=9 last=8 samples=180 gaps=0" for i in range(12)]
Saver = BaseCheckpointSaver[Any] | None
Side = Callable[[int, Saver], Awaitable[float]]


class InstantModel(ScriptedChatModel):
    """A scripted model that takes tools in any form, as a provider's client does."""

    @override
    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(given) for given in tools])


async def ours(rounds: int, saver: Saver) -> float:
    """Return the seconds that a run of this graph with `rounds` tool calls takes."""
    asked = [request(f"s{i}", previous=(f"r1c{i}", "GAINED") if i else None) for i in range(rounds)]
    model = InstantModel(script=[*asked, no_conclusion()])
    limits: dict[str, Any] = dict.fromkeys(("max_model_calls", "max_tool_calls", "max_tool_requests"), rounds + 8)
    source = ScriptedTool(evidence(LINES))
    graph = build_graph(models=model, tools=[source], settings=harness(max_tokens=10**9, **limits), checkpointer=saver)
    given: Any = {"messages": [HumanMessage("why?")], "incident": {"service": "s"}}
    seconds = await _timed(graph.ainvoke(given, _thread(), context=DiagnosisContext()))
    assert len(source.executed) == rounds
    return seconds


@tool
async def probe(target: str) -> str:
    """Asks a probe about a target."""
    return f"{target}\n" + "\n".join(LINES)


async def bare(rounds: int, saver: Saver) -> float:
    """Return the seconds that a run of a bare agent with `rounds` tool calls takes."""
    asked: list[AIMessage] = [_call(i) for i in range(rounds)]
    model = InstantModel(script=[*asked, text("done")])
    limits: list[Any] = [
        ModelCallLimitMiddleware(run_limit=rounds + 8),
        ToolCallLimitMiddleware(run_limit=rounds + 8),
    ]
    agent: Any = create_agent(model, [probe], middleware=limits, checkpointer=saver)
    seconds = await _timed(agent.ainvoke({"messages": [HumanMessage("why?")]}, _thread()))
    assert not model.script
    return seconds


def _call(number: int) -> AIMessage:
    return AIMessage("", tool_calls=[ToolCall(name="probe", args={"target": f"s{number}"}, id=f"c{number}")])


def _thread() -> Any:
    return {"configurable": {"thread_id": uuid.uuid4().hex}, "recursion_limit": 1000}


async def _timed(work: Awaitable[Any]) -> float:
    begun = time.perf_counter()
    await work
    return time.perf_counter() - begun


@asynccontextmanager
async def _saver(kept: bool) -> AsyncIterator[Saver]:
    if not kept:
        yield None
        return
    with tempfile.TemporaryDirectory() as directory:
        async with AsyncSqliteSaver.from_conn_string(str(Path(directory) / "threads.db")) as saver:
            yield saver


async def _once(side: Side, rounds: int, kept: bool) -> float:
    async with _saver(kept) as saver:
        return await side(rounds, saver)


async def compare(repetitions: int) -> None:
    """Print the table: milliseconds a round of both sides and their ratio, with and without a checkpointer."""
    _row("checkpointer", "rounds", "ours ms/round", "bare ms/round", "ratio")
    for kept in (False, True):
        for rounds in ROUNDS:
            taken: dict[Side, list[float]] = {ours: [], bare: []}
            for _ in range(repetitions):
                for side, seconds in taken.items():
                    seconds.append(await _once(side, rounds, kept))
            mine, theirs = (statistics.median(seconds) * 1000 / rounds for seconds in taken.values())
            name = "AsyncSqliteSaver" if kept else "none"
            _row(name, str(rounds), f"{mine:.2f}", f"{theirs:.2f}", f"{mine / theirs:.2f}")


def _row(*cells: str) -> None:
    sys.stdout.write("".join(cell.ljust(18) for cell in cells) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(compare(int(sys.argv[1]) if len(sys.argv) > 1 else 7))
