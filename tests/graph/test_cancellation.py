"""A run is cancelled at any point: one CANCELLED release, nothing afterwards, and the thread's next run is whole."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from graph.cancellation import record_cancellation
from graph.running import diagnose
from graph.settings import DiagnosisContext
from graph.wiring import DiagnosisGraph
from tests.support.drafts import changes, draft, metrics, reply, route, verdict
from tests.support.driving import harness
from tests.support.scripted import ScriptedChatModel, no_conclusion, observations, request
from tests.support.waiting import Hold, WaitingModel, WaitingStore, WaitingTool
from tests.support.wiring import wired

QUERY: Any = {"messages": [{"role": "user", "content": "checkout 为什么变慢?"}]}
CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}
Backends = tuple[BaseCheckpointSaver[Any], BaseStore]


@pytest.fixture(params=["memory", "sqlite"])
async def backends(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backends]:
    if request.param == "memory":
        yield InMemorySaver(), InMemoryStore()
        return
    async with AsyncExitStack() as stack:
        saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")))
        store = await stack.enter_async_context(AsyncSqliteStore.from_conn_string(str(tmp_path / "store.db")))
        await store.setup()
        yield saver, store


class Cast:
    """A graph whose run passes every node (router, two tools, a draft, its repair, its review), and its holds."""

    def __init__(
        self, saver: BaseCheckpointSaver[Any] | None, store: BaseStore | None, place: str = "", visit: int = 1
    ) -> None:
        names = ("router", "diagnosis", "tool", "evidence_repair", "semantic_guard")
        self.holds = {name: Hold(visit if name == place else 0) for name in names}
        self.models = {
            name: WaitingModel(script=script, hold=self.holds[name]) for name, script in self._scripts().items()
        }
        self.tool = WaitingTool(metrics().answers)
        self.tool.hold = self.holds["tool"]
        self.changes = changes()
        tools = [self.tool, self.changes]
        self.graph: DiagnosisGraph = wired(self.models, tools, harness(), checkpointer=saver, store=store)

    @staticmethod
    def _scripts() -> dict[str, list[AIMessage]]:
        asked = request("checkout", tool="changes", previous=("r1c1", "GAINED"))
        spoiled = draft(action_plan=[{"text": "回滚", "analysis_ids": ["unknown"]}])
        return {
            "router": [route()],
            "diagnosis": [request("checkout"), asked, reply(spoiled)],
            "evidence_repair": [reply(draft())],
            "semantic_guard": [verdict()],
        }

    def script_next_run(self) -> None:
        """Let the thread's next run ask once and give up, whatever is left of the first one's script."""
        for hold in self.holds.values():
            hold.at = 0
        self.models["router"].script[:] = [route()]
        self.models["diagnosis"].script[:] = [request("checkout"), no_conclusion()]

    @property
    def work(self) -> tuple[int, ...]:
        """How often each part was asked."""
        models: list[ScriptedChatModel] = list(self.models.values())
        return (*(len(model.seen) for model in models), len(self.tool.executed), len(self.changes.executed))


async def diagnosed(cast: Cast, stop: asyncio.Event | None = None) -> dict[str, Any]:
    context = DiagnosisContext()
    return await diagnose(cast.graph, QUERY, thread_id="t", context=context, on_event=lambda _: None, stop=stop)


async def check_cancelled(cast: Cast, *, runs: int = 1) -> dict[str, Any]:
    """Assert that the thread holds one CANCELLED release of its newest run, that nothing is left to do and nothing can
    be published later; return it."""
    state = await cast.graph.aget_state(CONFIG)
    release: dict[str, Any] = state.values["release"]
    assert release["outcome"] == "CANCELLED"
    assert release["run_id"] == state.values["run_id"]
    assert (release["draft"], release["observed_facts"], release["verified_sources"]) == (None, [], [])
    assert state.values["draft"] is None
    assert [event["type"] for event in state.values["trace"]].count("RELEASE") == 1
    assert {event["run_id"] for event in state.values["trace"]} == {release["run_id"]}
    assert [message.text for message in state.values["messages"] if message.type == "ai"][-1] == release["text"]
    assert len([message for message in state.values["messages"] if message.type == "ai"]) == runs
    assert state.next == ()
    await check_nothing_follows(cast)
    return release


async def check_nothing_follows(cast: Cast) -> None:
    before, work = (await cast.graph.aget_state(CONFIG)).values, cast.work
    await cast.graph.ainvoke(None, CONFIG, context=DiagnosisContext())
    assert (await cast.graph.aget_state(CONFIG)).values == before
    assert cast.work == work


async def check_next_run(cast: Cast) -> None:
    """Assert that the thread's next run is whole: its own id, fresh counters, its own call ids, its own facts."""
    earlier = (await cast.graph.aget_state(CONFIG)).values
    cast.script_next_run()
    release = await diagnosed(cast)
    state = (await cast.graph.aget_state(CONFIG)).values
    assert (release["outcome"], release["fallback_type"]) == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert state["release"] == release
    assert state["run_id"] != earlier.get("run_id")
    number = state["run_number"]
    assert [answer["tool_call_id"] for answer in observations(state["transcript"])] == [f"r{number}c1"]
    assert state["budget"]["tool_calls"] == 1
    assert len(release["observed_facts"]) == 1


PLACES = [
    ("router", 1),
    ("diagnosis", 1),
    ("tool", 1),
    ("diagnosis", 2),
    ("diagnosis", 3),
    ("evidence_repair", 1),
    ("semantic_guard", 1),
]


@pytest.mark.parametrize(("place", "visit"), PLACES)
async def test_a_stop_while_a_part_works_cancels_it_and_releases_once(
    backends: Backends, place: str, visit: int
) -> None:
    cast = Cast(*backends, place, visit)
    stop = asyncio.Event()
    running = asyncio.create_task(diagnosed(cast, stop))
    await cast.holds[place].reached.wait()
    stop.set()
    release = await running
    assert cast.holds[place].cancelled
    assert await check_cancelled(cast) == release
    await check_next_run(cast)


@pytest.mark.parametrize(("place", "visit"), PLACES)
async def test_a_cancelled_caller_leaves_the_same_and_its_cancellation_goes_on(
    backends: Backends, place: str, visit: int
) -> None:
    cast = Cast(*backends, place, visit)
    running = asyncio.create_task(diagnosed(cast))
    await cast.holds[place].reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cast.holds[place].cancelled
    await check_cancelled(cast)
    await check_next_run(cast)


@pytest.mark.parametrize("visit", range(1, 12))
async def test_a_stop_while_the_store_is_waited_for_releases_once(visit: int) -> None:
    store = WaitingStore()
    store.hold = Hold(visit)
    cast = Cast(InMemorySaver(), store)
    stop = asyncio.Event()
    running = asyncio.create_task(diagnosed(cast, stop))
    await store.hold.reached.wait()
    stop.set()
    assert (await running)["outcome"] == "CANCELLED"
    assert store.hold.cancelled
    await check_cancelled(cast)


async def test_a_hard_cancel_leaves_a_thread_without_a_release_which_its_holder_writes_once() -> None:
    cast = Cast(InMemorySaver(), InMemoryStore(), "tool")
    running = asyncio.create_task(cast.graph.ainvoke(QUERY, CONFIG, context=DiagnosisContext()))
    await cast.holds["tool"].reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    values = (await cast.graph.aget_state(CONFIG)).values
    assert values["release"] is None
    written = await record_cancellation(cast.graph, CONFIG, run_id=values["run_id"])
    again = await record_cancellation(cast.graph, CONFIG, run_id=values["run_id"])
    assert written == again == await check_cancelled(cast)
    await check_next_run(cast)


async def test_a_thread_whose_run_was_killed_runs_on_with_the_next_query() -> None:
    cast = Cast(InMemorySaver(), InMemoryStore(), "tool")
    running = asyncio.create_task(cast.graph.ainvoke(QUERY, CONFIG, context=DiagnosisContext()))
    await cast.holds["tool"].reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await check_next_run(cast)


async def test_a_stop_before_the_run_opened_releases_it_without_touching_the_run_before() -> None:
    cast = Cast(InMemorySaver(), InMemoryStore())
    first = await diagnosed(cast)
    assert first["outcome"] == "SUCCESS"
    stop = asyncio.Event()
    stop.set()
    release = await diagnosed(cast, stop)
    assert release["run_id"] != first["run_id"]
    assert await check_cancelled(cast, runs=2) == release
    await check_next_run(cast)


async def test_a_run_that_was_released_before_the_stop_keeps_its_release() -> None:
    cast = Cast(InMemorySaver(), InMemoryStore())
    first = await diagnosed(cast)
    assert await record_cancellation(cast.graph, CONFIG, run_id=first["run_id"]) == first
    assert (await cast.graph.aget_state(CONFIG)).values["release"] == first


async def test_a_graph_without_threads_returns_its_cancelled_release() -> None:
    cast = Cast(None, None, "diagnosis")
    stop = asyncio.Event()
    running = asyncio.create_task(diagnosed(cast, stop))
    await cast.holds["diagnosis"].reached.wait()
    stop.set()
    assert (await running)["outcome"] == "CANCELLED"


async def test_each_of_many_runs_of_a_thread_that_is_stopped_while_it_opens_leaves_its_own_release() -> None:
    cast = Cast(InMemorySaver(), InMemoryStore())
    await diagnosed(cast)
    for turns in range(40):
        cast.script_next_run()
        stop = asyncio.Event()
        running = asyncio.create_task(diagnosed(cast, stop))
        for _ in range(turns):
            await asyncio.sleep(0)
        stop.set()
        assert await running == await check_cancelled(cast, runs=turns + 2)
    await check_next_run(cast)


TURNS = [*range(0, 40, 4), *range(40, 400, 20)]
"""After how many turns of the loop a run is stopped: densely while it opens, then all along it."""


@pytest.mark.parametrize("by", ["stop", "cancel"])
async def test_a_stop_at_any_turn_of_the_loop_leaves_exactly_one_release(by: str) -> None:
    outcomes = set()
    for turns in TURNS:
        cast = Cast(InMemorySaver(), InMemoryStore())
        stop = asyncio.Event()
        running = asyncio.create_task(diagnosed(cast, stop))
        for _ in range(turns):
            await asyncio.sleep(0)
        stop.set() if by == "stop" else running.cancel()
        ended: dict[str, Any] | BaseException
        (ended,) = await asyncio.gather(running, return_exceptions=True)
        state = await cast.graph.aget_state(CONFIG)
        if not state.values:
            assert isinstance(ended, asyncio.CancelledError)  # the caller was cancelled before its first step
            continue
        release = state.values["release"]
        assert ended == release or isinstance(ended, asyncio.CancelledError)
        outcomes.add(release["outcome"])
        assert [event["type"] for event in state.values["trace"]].count("RELEASE") == 1
        assert len([message for message in state.values["messages"] if message.type == "ai"]) == 1
        assert state.next == ()
        await check_nothing_follows(cast)
    assert "CANCELLED" in outcomes
    assert outcomes <= {"CANCELLED", "SUCCESS"}  # whether the last of them is stopped too late depends on the machine
