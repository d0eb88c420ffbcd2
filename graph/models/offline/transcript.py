"""What a diagnosis has been told so far, read from its messages alone.

The diagnostician keeps nothing between two calls, as any chat model; contract, "The envelope and the gate".
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graph.models.offline.lines import Line, parse_lines, parse_time


@dataclass(frozen=True)
class Request:
    """A tool call that was made: its arguments without `previous_observation`."""

    call_id: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Observation:
    """A READY answer, with or without evidence."""

    call_id: str
    tool: str
    has_evidence: bool
    reference: bool
    measured: bool
    truncated: bool
    lines: tuple[Line, ...]


@dataclass
class Transcript:
    """The conversation of one run, sorted. `requests[i]` was answered by `answers[i]` (a JSON object, or {})."""

    query: str = ""
    as_of: datetime | None = None
    service: str | None = None
    alert: Mapping[str, Any] | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    answers: list[Mapping[str, Any]] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    pending: str | None = None
    stopped: bool = False


def read_transcript(messages: Sequence[BaseMessage]) -> Transcript:
    """Return the transcript of a diagnosis; messages that mean nothing here are passed over."""
    transcript = Transcript()
    asked: dict[str, Request] = {}
    for message in messages:
        if isinstance(message, HumanMessage):
            _read_human(transcript, str(message.content))
        elif isinstance(message, AIMessage):
            for call in message.tool_calls:
                arguments = {key: value for key, value in call["args"].items() if key != "previous_observation"}
                asked[call["id"] or ""] = Request(call["id"] or "", call["name"], arguments)
        elif isinstance(message, ToolMessage):
            answer = _json_object(str(message.content))
            request = asked.get(message.tool_call_id)
            if request is not None:
                transcript.requests.append(request)
                transcript.answers.append(answer)
            _read_answer(transcript, message.tool_call_id, answer)
    return transcript


def _json_object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _read_human(transcript: Transcript, text: str) -> None:
    body = _json_object(text.partition("\n")[0])
    if body.get("type") != "INCIDENT_CONTEXT":
        transcript.query = text
        return
    context = body.get("context") or {}
    transcript.as_of = parse_time(str(body.get("as_of") or ""))
    transcript.alert = body.get("alert") or None
    transcript.context = context
    service = context.get("service") or (transcript.alert or {}).get("service")
    transcript.service = str(service) if service else None


def _read_answer(transcript: Transcript, call_id: str, answer: Mapping[str, Any]) -> None:
    kind = answer.get("type")
    if kind == "OBSERVATION":
        observation = _observation(call_id, answer)
        transcript.observations.append(observation)
        transcript.pending = call_id if observation.has_evidence else None
    elif kind == "STOP_REQUIRED":
        transcript.stopped = True
    elif kind == "REJECTED" and answer.get("expected_previous_tool_call_id"):
        transcript.pending = str(answer["expected_previous_tool_call_id"])


def _observation(call_id: str, answer: Mapping[str, Any]) -> Observation:
    content = answer.get("content")
    lines = [line for line in content if isinstance(line, str)] if isinstance(content, list) else []
    return Observation(
        call_id=call_id,
        tool=str(answer.get("tool_name") or ""),
        has_evidence=answer.get("evidence_status") == "EVIDENCE",
        reference=answer.get("relevance_level") == "REFERENCE",
        measured=answer.get("provenance") == "MEASURED",
        truncated=bool(answer.get("truncated")),
        lines=tuple(parse_lines(lines)),
    )
