"""The tool envelope: what a model is bound to, and how its requests are read.

Source: contract, "The envelope and the gate"; design, decision 1 (`previous_observation` is required and nullable).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from langchain_core.messages import AIMessage, ToolMessage
from pydantic import BaseModel, ValidationError

from graph.contract.admission import Rejection, ToolRequest
from graph.contract.progress import Progress
from graph.contract.protocol import PREVIOUS_OBSERVATION
from graph.contract.vocabulary import EvidenceKind
from tools.base import EvidenceTool, IncidentContext, PreviousObservation
from tools.canonical import scope_digest
from tools.vocabulary import Evidence, Scope, SourceError

MAX_FAULTS = 8
PREVIOUS_DESCRIPTION = "对上一条 OBSERVATION 的评价；只有还没有观察可评时为 null"


@dataclass(frozen=True)
class ReadRequest:
    """A tool call as read: what the gate judges, and what the tool needs where it is admitted."""

    request: ToolRequest
    tool: EvidenceTool | None = None
    arguments: BaseModel | None = None
    scope: Scope | None = None


def tool_schema(tool: EvidenceTool, *, pending: str | None = None) -> dict[str, Any]:
    """Return the OpenAI-style schema of a tool, with the required, nullable `previous_observation` first.

    `pending`: the call id to name as the only allowed one (capability `enumerate_pending_id`), or None.
    """
    schema = _json_schema(tool.arguments)
    previous = _json_schema(PreviousObservation)
    if pending:
        own = previous["properties"]
        previous = {**previous, "properties": {**own, "tool_call_id": {**own["tool_call_id"], "enum": [pending]}}}
    envelope = {"anyOf": [previous, {"type": "null"}], "description": PREVIOUS_DESCRIPTION}
    parameters = {
        **schema,
        "properties": {PREVIOUS_OBSERVATION: envelope, **schema.get("properties", {})},
        "required": [PREVIOUS_OBSERVATION, *schema.get("properties", {})],
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


@cache
def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Made once a model: pydantic takes a millisecond for each, and every round binds every tool."""
    return model.model_json_schema()


def name_calls(message: AIMessage, *, run_number: int, named: int) -> tuple[AIMessage, int]:
    """Return the message with its calls renamed `r<run>c<call>`, and how many calls the run has named now."""
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    ids = [f"r{run_number}c{named + i}" for i in range(1, len(calls) + 1)]
    valid = len(message.tool_calls)
    renamed = AIMessage(
        content=message.content,
        tool_calls=[{**call, "id": ids[i]} for i, call in enumerate(message.tool_calls)],
        invalid_tool_calls=[{**call, "id": ids[valid + i]} for i, call in enumerate(message.invalid_tool_calls)],
    )
    return renamed, named + len(calls)


def read_requests(
    message: AIMessage, tools: Mapping[str, EvidenceTool], incident: IncidentContext
) -> list[ReadRequest]:
    """Return every tool call of a message as read, those whose arguments could be parsed first."""
    read = [_read(str(c["id"]), c["name"], c["args"], tools, incident) for c in message.tool_calls]
    for call in message.invalid_tool_calls:
        known = call["name"] if call["name"] in tools else None
        read.append(ReadRequest(ToolRequest(str(call["id"]), known, unparsable=True)))
    return read


def _read(
    call_id: str, name: str, raw: Mapping[str, Any], tools: Mapping[str, EvidenceTool], incident: IncidentContext
) -> ReadRequest:
    tool = tools.get(name)
    if tool is None:
        return ReadRequest(ToolRequest(call_id, None))
    previous = raw.get(PREVIOUS_OBSERVATION)
    own = {key: value for key, value in raw.items() if key != PREVIOUS_OBSERVATION}
    try:
        arguments = tool.arguments.model_validate({**_nulls(tool.arguments), **own})
        scope = tool.normalize(arguments, incident)
        digest = scope_digest(name, scope)
    except ValidationError as error:
        return ReadRequest(ToolRequest(call_id, name, previous=previous, faults=_faults(error, tool.arguments)))
    except Exception as error:  # noqa: BLE001 - a tool may be anyone's: hostile arguments end no run
        fault = next((field for field in tool.arguments.model_fields if error.args[:1] == (field,)), "arguments")
        return ReadRequest(ToolRequest(call_id, name, previous=previous, faults=(fault,)))
    request = ToolRequest(call_id, name, previous=previous, scope_digest=digest)
    return ReadRequest(request, tool, arguments, scope)


def _nulls(model: type[BaseModel]) -> dict[str, None]:
    """A nullable argument that a model left out means null: weak models leave out what they'd leave open."""
    return {name: None for name, field in model.model_fields.items() if type(None) in get_args(field.annotation)}


def _faults(error: ValidationError, model: type[BaseModel]) -> tuple[str, ...]:
    """The names of known arguments at fault; a name that the model invented is its text, and stays out."""
    names = [str(item["loc"][0]) if item["loc"] else "" for item in error.errors(include_url=False)]
    return tuple(dict.fromkeys(name if name in model.model_fields else "unknown_field" for name in names))[:MAX_FAULTS]


def rejection_message(rejection: Rejection, progress: Progress) -> ToolMessage:
    """Return the bounded observation that answers a request which didn't run."""
    body: dict[str, Any] = {"tool_call_id": rejection.call_id}
    if rejection.is_stop:
        body = {"type": "STOP_REQUIRED", **body, "reason": progress.stop_reason}
    else:
        body = {"type": "REJECTED", **body, "code": rejection.code, **rejection.details}
    return _message(rejection.call_id, body)


def observation_message(call_id: str, tool_name: str, kind: EvidenceKind, evidence: Evidence) -> ToolMessage:
    """Return the observation of a READY invocation."""
    body = {
        "type": "OBSERVATION",
        "tool_call_id": call_id,
        "tool_name": tool_name,
        "kind": kind,
        "evidence_status": evidence.status,
        "relevance_level": evidence.relevance,
        "provenance": evidence.provenance,
        "truncated": evidence.truncated,
        "summary": evidence.summary,
        "content": evidence.content,
        "notes": evidence.notes,
    }
    return _message(call_id, body)


def error_message(
    call_id: str, tool_name: str, code: SourceError, near_names: tuple[str, ...], field: str | None
) -> ToolMessage:
    """Return the observation of an invocation whose source could not answer: a code, a field, near names."""
    body: dict[str, Any] = {"type": "ERROR", "tool_call_id": call_id, "tool_name": tool_name, "code": code}
    if field:
        body["field"] = field
    if near_names:
        body["near_names"] = near_names
    return _message(call_id, body)


def _message(call_id: str, body: dict[str, Any]) -> ToolMessage:
    return ToolMessage(json.dumps(body, ensure_ascii=False), tool_call_id=call_id)
