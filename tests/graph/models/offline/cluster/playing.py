"""Plays a run of the diagnostician over a frozen cluster through the real graph, and through the guards."""

import json
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from graph.agent import build_graph
from graph.models.offline import offline_models
from graph.running import diagnose
from graph.settings import DiagnosisContext, HarnessSettings
from tests.support.clusters import Cluster
from tools.cluster import FrozenCluster, cluster_tools

CAUSES = Path(__file__).parents[5] / "graph" / "models" / "offline" / "cluster" / "rules" / "texts.toml"


async def released(cluster: Cluster, query: str, vocabulary: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the Release of a run over `cluster` with the offline models."""
    state = FrozenCluster(json.loads(json.dumps(cluster.cache())), namespace=cluster.namespace)
    graph = build_graph(
        models={part.value: model for part, model in offline_models().items()},
        tools=cluster_tools(state),
        settings=HarnessSettings(),
        checkpointer=InMemorySaver(),
    )
    inputs: dict[str, Any] = {
        "messages": [{"role": "user", "content": query}],
        "incident": {"namespace": cluster.namespace, "vocabulary": vocabulary or {}},
    }
    locale = "en" if query.isascii() else "zh"
    return await diagnose(
        graph, inputs, thread_id="t", context=DiagnosisContext(locale=locale), on_event=list[Any]().append
    )
