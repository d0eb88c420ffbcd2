"""Wires a graph from any chat models and tools, with a clock and models of last resort of the test's own."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from graph.contract.vocabulary import ModelComponent
from graph.models.registry import choose_models
from graph.parts import Parts, utc_now
from graph.settings import HarnessSettings
from graph.wiring import DiagnosisGraph, wire
from tools.base import EvidenceTool

OFFLINE_NAME = "last-resort"


def wired(
    models: BaseChatModel | Mapping[str, BaseChatModel],
    tools: Sequence[EvidenceTool],
    settings: HarnessSettings,
    *,
    offline: BaseChatModel | None = None,
    clock: Callable[[], datetime] = utc_now,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
) -> DiagnosisGraph:
    """Return the compiled graph; `offline` takes over where the models are away."""
    chosen, names = choose_models(models, settings)
    parts = Parts(
        models=chosen,
        model_names=names,
        offline=dict.fromkeys(ModelComponent, offline) if offline else {},
        offline_name=OFFLINE_NAME,
        tools={tool.name: tool for tool in tools},
        settings=settings,
        own_store=InMemoryStore(),
        clock=clock,
    )
    return wire(parts, checkpointer=checkpointer, store=store)
