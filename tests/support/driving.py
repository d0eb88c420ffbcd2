"""Drives the compiled graph with scripted parts, and keeps everything that a run lets out.

Each run is streamed in every mode, so that a test (and the walk over payloads behind it) sees all of it.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore, Item
from langgraph.store.memory import InMemoryStore

from graph.ledger import NAMESPACE
from graph.models.offline import OFFLINE_MODEL_NAME, offline_models
from graph.models.registry import choose_models
from graph.parts import Parts
from graph.settings import (
    BudgetSettings,
    ChatSettings,
    DiagnosisContext,
    HarnessSettings,
    LedgerSettings,
    ModelSettings,
    ReleaseSettings,
    ToolSettings,
)
from graph.wiring import DiagnosisGraph, build_graph, wire
from tests.support.scripted import ScriptedChatModel, ScriptedTool, Step, evidence, observations
from tools.base import EvidenceTool

STREAM_MODES: list[Any] = ["values", "updates", "custom", "checkpoints", "tasks", "debug", "messages"]
INCIDENT = {"service": "checkout", "fired_at": "2026-06-18T15:20:00Z"}
QUERY = "checkout 为什么变慢?"

RUNS: list["Run"] = []
"""Every run that this test has driven, for the walk that follows each test."""


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 6, 18, 15, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Run:
    """What one run let out: `chunks` as (stream mode, data), and `state`, the thread's values after it."""

    chunks: list[tuple[str, Any]]
    state: dict[str, Any]
    tool_names: frozenset[str]

    @property
    def release(self) -> dict[str, Any]:
        release: dict[str, Any] = self.state["release"]
        return release

    @property
    def ended(self) -> tuple[str, str | None]:
        """The outcome and the fallback type."""
        return self.release["outcome"], self.release["fallback_type"]

    @property
    def limitations(self) -> list[str]:
        return [limitation["code"] for limitation in self.release["limitations"]]

    @property
    def facts(self) -> list[dict[str, Any]]:
        return list(self.release["observed_facts"])

    @property
    def streamed(self) -> list[dict[str, Any]]:
        """The trace events as they were streamed while the run went on."""
        return [data["event"] for mode, data in self.chunks if mode == "custom" and data["stream"] == "trace"]

    @property
    def progress(self) -> list[dict[str, Any]]:
        return [data for mode, data in self.chunks if mode == "custom" and data["stream"] == "progress"]

    def events(self, *types: str) -> list[dict[str, Any]]:
        """The trace's events of the given types."""
        return [event for event in self.state["trace"] if event["type"] in types]

    def of(self, type: str, name: str) -> list[Any]:
        """One field of each event of a type, None where it is left out."""
        return [event.get(name) for event in self.events(type)]

    @property
    def rejected(self) -> list[str]:
        return self.of("TOOL_REQUEST_REJECTED", "code")

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The tool answers in the run's transcript, as JSON."""
        return observations(self.state["transcript"])

    @property
    def requests(self) -> list[AIMessage]:
        return [message for message in self.state["transcript"] if isinstance(message, AIMessage)]

    @property
    def answered_ids(self) -> list[str]:
        return [message.tool_call_id for message in self.state["transcript"] if isinstance(message, ToolMessage)]


@dataclass
class Rig:
    """A compiled graph with its scripted models (by component), its tools and its stores."""

    graph: DiagnosisGraph
    models: Mapping[str, ScriptedChatModel]
    tools: Sequence[EvidenceTool]
    saver: InMemorySaver
    store: BaseStore
    thread: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def diagnosis(self) -> ScriptedChatModel:
        return self.models["diagnosis"]

    @property
    def executed(self) -> list[str]:
        return [target for tool in self.tools if isinstance(tool, ScriptedTool) for target in tool.executed]

    @property
    def seen(self) -> list[dict[str, Any]]:
        """The tool answers that the diagnosis model saw in its newest call."""
        return observations(self.diagnosis.seen[-1])

    def config(self, thread: str | None = None) -> RunnableConfig:
        return {"configurable": {"thread_id": thread or self.thread}}

    def play(self, *steps: Step) -> None:
        """Append steps to the diagnosis model's script."""
        self.diagnosis.script.extend(steps)

    async def run(
        self,
        query: str | None = QUERY,
        *,
        incident: dict[str, Any] | None = INCIDENT,
        context: DiagnosisContext | None = None,
        thread: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Run:
        """Drive one run to its end. `more` is sent beside the input's own keys."""
        messages = [{"role": "user", "content": query}] if query is not None else []
        given: dict[str, Any] = {"messages": messages, **(more or {})}
        if incident is not None:
            given["incident"] = incident
        return await self.drive(given, context=context, config=self.config(thread))

    async def pause(self, before: str, query: str = QUERY) -> dict[str, Any]:
        """Drive a run up to a node, as a process that dies there would leave it, and return the thread's values."""
        given: Any = {"messages": [{"role": "user", "content": query}], "incident": INCIDENT}
        await self.graph.ainvoke(given, self.config(), context=DiagnosisContext(), interrupt_before=[before])
        return await self.values()

    async def values(self, thread: str | None = None) -> dict[str, Any]:
        """Return the values of a thread."""
        return dict((await self.graph.aget_state(self.config(thread))).values)

    async def stored(self) -> dict[str, Item]:
        """Return the ledger's items by call id."""
        return {item.value["call_id"]: item for item in await self.store.asearch(NAMESPACE, limit=1000)}

    async def drive(
        self, given: Any, *, context: DiagnosisContext | None = None, config: RunnableConfig | None = None
    ) -> Run:
        """Stream one invocation in all modes. `given` None resumes the thread."""
        config = config or self.config()
        chunks = [
            (str(mode), data)
            async for mode, data in self.graph.astream(
                given, config, context=context or DiagnosisContext(), stream_mode=STREAM_MODES
            )
        ]
        state = await self.values(config["configurable"]["thread_id"])
        run = Run(chunks, state, frozenset(tool.name for tool in self.tools))
        RUNS.append(run)
        return run


async def arrival(reached: asyncio.Event, work: "asyncio.Task[Any]") -> None:
    """Wait until a run has come to where it is to be stopped; fail where it ends before."""
    waiting = asyncio.create_task(reached.wait())
    await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    assert not work.done(), "the run ended before it came there"


def harness(
    *,
    no_gain: int = 2,
    violations: int = 3,
    attempts: int = 2,
    after_stop: str = "verify",
    fallback: str = "none",
    ttl: float = 24 * 3600.0,
    observation_bytes: int = 8 * 1024,
    model: Mapping[str, Any] | None = None,
    **budget: Any,
) -> HarnessSettings:
    """Return settings; `budget` holds fields of `harness.budget` (`max_tokens=…`)."""
    return HarnessSettings(
        chat=ChatSettings(
            stop_after_consecutive_no_gain=no_gain, stop_after_consecutive_protocol_violations=violations
        ),
        budget=BudgetSettings(**budget),
        release=ReleaseSettings.model_validate({"conclusion_after_stop": after_stop}),
        ledger=LedgerSettings(record_ttl_seconds=ttl),
        tool=ToolSettings(observation_bytes=observation_bytes),
        model=ModelSettings.model_validate({"fallback": fallback, "attempts": attempts, **(model or {})}),
    )


def rig(
    *steps: Step,
    tools: EvidenceTool | Sequence[EvidenceTool] | None = None,
    router: Sequence[Step] = (),
    repair: Sequence[Step] = (),
    review: Sequence[Step] = (),
    settings: HarnessSettings | None = None,
    store: BaseStore | None = None,
    saver: InMemorySaver | None = None,
    clock: Callable[[], datetime] | None = None,
    thread: str | None = None,
) -> Rig:
    """Wire a graph over scripts: `steps` for the diagnosis model, the others by component.

    The default tool, `probe`, finds something for each target.
    """
    if tools is None:
        tools = ScriptedTool(lambda scope: evidence([f"series service={scope['service']} baseline=1 extreme=9"]))
    family = [tools] if isinstance(tools, EvidenceTool) else list(tools)
    scripts = {"router": router, "diagnosis": steps, "evidence_repair": repair, "semantic_guard": review}
    models = {name: ScriptedChatModel(script=list(script)) for name, script in scripts.items()}
    settings, saver, store = settings or harness(), saver or InMemorySaver(), store or InMemoryStore()
    if clock is None:
        graph = build_graph(models=models, tools=family, settings=settings, checkpointer=saver, store=store)
    else:
        graph = wire(_timed(models, family, settings, clock), checkpointer=saver, store=store)
    made = Rig(graph, models, family, saver, store)
    if thread:
        made.thread = thread
    return made


def _timed(
    models: Mapping[str, ScriptedChatModel],
    tools: Sequence[EvidenceTool],
    settings: HarnessSettings,
    clock: Callable[[], datetime],
) -> Parts:
    chosen, names = choose_models(models, settings)
    return Parts(
        models=chosen,
        model_names=names,
        offline=offline_models(),
        offline_name=OFFLINE_MODEL_NAME,
        tools={tool.name: tool for tool in tools},
        settings=settings,
        own_store=InMemoryStore(),
        clock=clock,
    )
