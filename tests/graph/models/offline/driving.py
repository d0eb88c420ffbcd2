"""Plays a run of the offline diagnostician against real tools, with the rules of the gate that it has to keep."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import ValidationError

from graph.contract.records import VerifiedRecord
from graph.models.offline import OfflineDiagnostician
from tools.base import EvidenceTool, IncidentContext, SourceFailure
from tools.frozen import frozen_tools, read_alert
from tools.vocabulary import Evidence, EvidenceStatus

BENCHMARK = Path(__file__).parents[5] / "shared" / "benchmarks" / "rootcausebench"
_ENVELOPE = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "tool_call_id": {"type": "string"},
                "information_gain": {"type": "string", "enum": ["GAINED", "NO_GAIN"]},
            },
            "required": ["tool_call_id", "information_gain"],
        },
        {"type": "null"},
    ]
}


@dataclass
class Played:
    """A run as it went: what was asked, what each answer was worth, the stored evidence, the draft."""

    draft: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    gains: list[str] = field(default_factory=list)
    records: dict[str, VerifiedRecord] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def schema_of(tool: EvidenceTool) -> dict[str, Any]:
    """Return a tool in the OpenAI format, with the envelope's field."""
    parameters = tool.arguments.model_json_schema()
    parameters["properties"]["previous_observation"] = _ENVELOPE
    parameters["required"] = [*parameters.get("required", []), "previous_observation"]
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


async def play(
    directory: Path, query: str = "", *, model: BaseChatModel | None = None, without: tuple[str, ...] = ()
) -> Played:
    """Run the diagnostician over a frozen incident until it hands in a draft; `without` names tools to leave out."""
    alert = read_alert(directory)
    assert alert is not None
    fired = datetime.fromisoformat(str(alert["fired_at"]))
    as_of = fired if fired.tzinfo else fired.replace(tzinfo=ZoneInfo("Asia/Shanghai"))
    incident = IncidentContext(as_of=as_of, service=alert.get("service"), metric=alert.get("metric"))
    tools = {tool.name: tool for tool in frozen_tools(directory) if tool.name not in without}
    bound = (model or OfflineDiagnostician()).bind_tools([schema_of(tool) for tool in tools.values()])
    context = {
        "type": "INCIDENT_CONTEXT",
        "as_of": incident.as_of.isoformat(),
        "zone": incident.zone,
        "context": {"service": incident.service},
        "alert": alert,
    }
    messages: list[BaseMessage] = [SystemMessage("…")]
    if query:
        messages.append(HumanMessage(query))
    messages.append(HumanMessage(json.dumps(context, ensure_ascii=False, default=str)))
    played = Played()
    pending: str | None = None
    for number in range(1, 20):
        reply = await bound.ainvoke(messages)
        assert isinstance(reply, AIMessage)
        if not reply.tool_calls:
            played.draft = json.loads(str(reply.content))
            return played
        pending = await _round(messages, reply, f"r1c{number}", tools, incident, played, pending)
    raise AssertionError("no draft")


async def _round(
    messages: list[BaseMessage],
    reply: AIMessage,
    call_id: str,
    tools: dict[str, EvidenceTool],
    incident: IncidentContext,
    played: Played,
    pending: str | None,
) -> str | None:
    assert len(reply.tool_calls) == 1
    call: dict[str, Any] = {**reply.tool_calls[0], "id": call_id}
    messages.append(AIMessage(content="", tool_calls=[{**reply.tool_calls[0], "id": call_id}]))
    arguments = dict(call["args"])
    previous = arguments.pop("previous_observation")
    played.asked.append((call["name"], arguments))
    if pending is not None:
        if previous is None or previous["tool_call_id"] != pending:
            played.problems.append(f"protocol: {previous} for {pending}")
        else:
            played.gains.append(previous["information_gain"])
    answer, pending = await _collect(call, arguments, tools[call["name"]], incident, played)
    messages.append(ToolMessage(json.dumps(answer, ensure_ascii=False), tool_call_id=call_id))
    return pending


async def _collect(
    call: dict[str, Any], arguments: dict[str, Any], tool: EvidenceTool, incident: IncidentContext, played: Played
) -> tuple[dict[str, Any], str | None]:
    call_id = call["id"]
    try:
        parsed = tool.arguments.model_validate(arguments)
        scope = tool.normalize(parsed, incident)
        if any(one.tool_name == tool.name and one.scope == scope for one in played.records.values()):
            played.problems.append(f"duplicate: {tool.name} {scope}")
        evidence = await tool.collect(scope, parsed, incident)
    except (ValidationError, ValueError) as error:
        played.problems.append(f"arguments: {tool.name} {type(error).__name__}")
        return {"type": "REJECTED", "tool_call_id": call_id, "code": "INVALID_TOOL_ARGUMENTS", "fields": []}, None
    except SourceFailure as failure:
        return {"type": "ERROR", "tool_call_id": call_id, "code": failure.code.value}, None
    played.records[call_id] = VerifiedRecord(call_id, tool.name, tool.kind, scope, evidence)
    return observation(call_id, tool.name, evidence), call_id if evidence.status is EvidenceStatus.EVIDENCE else None


def observation(call_id: str, tool_name: str, evidence: Evidence) -> dict[str, Any]:
    """Return evidence as a model is sent it."""
    return {
        "type": "OBSERVATION",
        "tool_call_id": call_id,
        "tool_name": tool_name,
        "evidence_status": evidence.status.value,
        "relevance_level": evidence.relevance.value,
        "provenance": evidence.provenance.value,
        "truncated": evidence.truncated,
        "summary": evidence.summary,
        "content": list(evidence.content),
    }
