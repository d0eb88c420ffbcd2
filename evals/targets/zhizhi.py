"""Zhizhi itself, and Zhizhi with one of its parts taken away: what each part is worth.

The variants are built here, from the graph's own parts; the product has no switch for them.
"""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from typing_extensions import override

from evals.cases import Attempt, Case, Target
from evals.targets import WITHOUT_EVIDENCE_GUARD, WITHOUT_SEMANTIC_GUARD, WITHOUT_STOP
from evals.targets.reading import attempt_of
from graph.contract.release import cited_sources
from graph.contract.vocabulary import ModelComponent
from graph.ledger import records_of
from graph.models.offline import OFFLINE_MODEL_NAME, OfflineChatModel, offline_models
from graph.models.registry import GivenModels, choose_models
from graph.nodes.edge import Node, contained
from graph.parts import Parts
from graph.record import run_record, write_record
from graph.running import diagnose
from graph.settings import DiagnosisContext, HarnessSettings
from graph.state import DiagnosisState
from graph.views import draft_of
from graph.wiring import DiagnosisGraph, compile_graph, lay_out
from tools.base import EvidenceTool

THREAD = "case"
NEVER = 1_000_000
"""A threshold that no run reaches."""


class Zhizhi:
    """A target that runs the graph, or the variant of it that `name` says."""

    def __init__(
        self, name: str, models: GivenModels | None, settings: HarnessSettings, *, records: Path | None = None
    ) -> None:
        """`records`: the directory that gets each run's record; None for none."""
        self.name = name
        self._models = models
        self._records = records
        # An endpoint that is away must fail the case, not hand it to the offline model under the endpoint's name.
        alone = settings.model.model_copy(update={"fallback": "none"})
        self._settings = settings.model_copy(update={"model": alone})

    async def attempt(self, case: Case, tools: Sequence[EvidenceTool]) -> Attempt:
        """Run the graph on the case, each time in a fresh thread and ledger."""
        store = InMemoryStore()
        graph = self.graph(tools, store)
        events: list[dict[str, Any]] = []
        started = time.monotonic()
        release = await diagnose(
            graph,
            inputs_of(case),
            thread_id=THREAD,
            context=DiagnosisContext(locale=case.locale),
            on_event=events.append,
        )
        seconds = time.monotonic() - started
        config: RunnableConfig = {"configurable": {"thread_id": THREAD}}
        state = (await graph.aget_state(config)).values
        if self._records is not None:
            record = await run_record(state, tools=tools, store=store)
            await asyncio.to_thread(write_record, self._records / record_name(case, release), record)
        return attempt_of(release, events, state.get("transcript") or [], seconds)

    def graph(self, tools: Sequence[EvidenceTool], store: BaseStore) -> DiagnosisGraph:
        """Return the compiled variant over `tools`, its ledger in `store`."""
        settings = without_stop(self._settings) if self.name == WITHOUT_STOP else self._settings
        models, names = choose_models(self._models, settings)
        if self.name == WITHOUT_SEMANTIC_GUARD:
            models = {**models, ModelComponent.SEMANTIC_GUARD: Nodding()}
        parts = Parts(
            models=models,
            model_names=names,
            offline=offline_models(),
            offline_name=OFFLINE_MODEL_NAME,
            tools=_by_name(tools),
            settings=settings,
            own_store=store,
        )
        builder = lay_out(parts)
        if self.name == WITHOUT_EVIDENCE_GUARD:
            del builder.nodes["evidence_guard"]
            builder.add_node("evidence_guard", make_open_guard(parts), destinations={"semantic_guard": "unchecked"})
        return compile_graph(builder, checkpointer=InMemorySaver())


def record_name(case: Case, release: dict[str, Any]) -> str:
    """Return the file name of a run's record: suite, case and run."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{case.suite}.{case.case_id}")
    return f"{plain}.{release['run_id'][:8]}.json"


def inputs_of(case: Case) -> dict[str, Any]:
    """Return the graph's input for a case."""
    inputs: dict[str, Any] = {"messages": [{"role": "user", "content": case.query}]}
    return inputs if case.incident is None else {**inputs, "incident": case.incident}


def without_stop(settings: HarnessSettings) -> HarnessSettings:
    """Return the settings with thresholds out of reach: neither saturation nor protocol violations end collection.

    The budgets stay; they're what a harness without the contract has, too.
    """
    never = {"stop_after_consecutive_no_gain": NEVER, "stop_after_consecutive_protocol_violations": NEVER}
    return settings.model_copy(update={"chat": settings.chat.model_copy(update=never)})


def make_open_guard(parts: Parts) -> Node[Literal["semantic_guard"]]:
    """Return a node in the EvidenceGuard's place that lets every concluded draft through."""

    @contained(parts, on_failure="safe_fallback")
    async def open_guard(
        state: DiagnosisState, runtime: Runtime[DiagnosisContext]
    ) -> Command[Literal["semantic_guard"]]:
        records = records_of(await parts.checked(state, runtime))
        sources = [source.model_dump(mode="json") for source in cited_sources(draft_of(state), records)]
        return Command(goto="semantic_guard", update={"verified_sources": sources})

    return open_guard


class Nodding(OfflineChatModel):
    """A SemanticGuard's model that finds everything supported."""

    @override
    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
        return AIMessage('{"verdict": "SUPPORTED", "reason": ""}')


def _by_name(tools: Sequence[EvidenceTool]) -> Mapping[str, EvidenceTool]:
    return {tool.name: tool for tool in tools}


def make_target(name: str, models: GivenModels | None, settings: HarnessSettings) -> Target:
    """Return Zhizhi or the variant called `name`."""
    return Zhizhi(name, models, settings)
