"""Plays a run of the diagnostician over a frozen cluster through the real graph, and through the guards."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from graph.models.offline import offline_models
from graph.running import diagnose
from graph.settings import DiagnosisContext, HarnessSettings
from graph.wiring import build_graph
from tests.support.clusters import Cluster
from tools.base import EvidenceTool, IncidentContext, SourceFailure
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


async def drafted(cluster: Cluster, query: str, model: BaseChatModel) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the draft of a diagnostician, and the evidence as the semantic guard is sent it: what it cites."""
    tools = {tool.name: tool for tool in cluster_tools(FrozenCluster(cluster.cache(), namespace=cluster.namespace))}
    bound = model.bind_tools([_schema(tool) for tool in tools.values()])
    body = {"type": "INCIDENT_CONTEXT", "context": {}, "alert": {"namespace": cluster.namespace}}
    messages: list[BaseMessage] = [HumanMessage(query), HumanMessage(json.dumps(body))]
    evidence: dict[str, dict[str, Any]] = {}
    for number in range(1, 20):
        reply = await bound.ainvoke(messages)
        if not reply.tool_calls:
            draft = json.loads(str(reply.content))
            cited = {call for one in draft["analyses"] for call in one["tool_call_ids"]}
            return draft, [record for call, record in evidence.items() if call in cited]
        call_id = f"r1c{number}"
        call: dict[str, Any] = {**reply.tool_calls[0], "id": call_id}
        messages.append(AIMessage("", tool_calls=[ToolCall(name=call["name"], args=call["args"], id=call_id)]))
        answer = await _answer(tools[call["name"]], dict(call["args"]))
        messages.append(ToolMessage(json.dumps({**answer, "tool_call_id": call_id}), tool_call_id=call_id))
        evidence[call_id] = {**answer, "tool_call_id": call_id}
    raise AssertionError("no draft")


async def _answer(tool: EvidenceTool, arguments: dict[str, Any]) -> dict[str, Any]:
    arguments.pop("previous_observation")
    asked = tool.arguments.model_validate(arguments)
    incident = IncidentContext(as_of=datetime(2026, 1, 1, tzinfo=UTC))
    try:
        found = await tool.collect(tool.normalize(asked, incident), asked, incident)
    except SourceFailure as failure:
        return {"type": "ERROR", "code": failure.code}
    return {
        "type": "OBSERVATION",
        "tool_name": tool.name,
        "evidence_status": found.status,
        "relevance_level": found.relevance,
        "provenance": found.provenance,
        "content": list(found.content),
    }


def _schema(tool: EvidenceTool) -> dict[str, Any]:
    parameters = tool.arguments.model_json_schema()
    parameters.setdefault("properties", {})["previous_observation"] = {"type": "null"}
    return {"type": "function", "function": {"name": tool.name, "description": "", "parameters": parameters}}
