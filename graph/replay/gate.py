"""A message of a record through the gate again: its requests as they were read, the verdict, and what was answered.

Source: contract, "The envelope and the gate"; design, decision 3.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall
from pydantic import ValidationError

from graph.contract.admission import ToolRequest
from graph.contract.limits import Limits
from graph.contract.protocol import PREVIOUS_OBSERVATION
from graph.contract.records import InvocationRecord
from graph.contract.vocabulary import InvocationStatus, SourceError
from graph.envelope import observation_message
from graph.replay.inputs import AiMessage, Entry, Read, ToolAnswer
from graph.replay.seals import Difference, first_difference
from tools.canonical import scope_digest


class Misfit(Exception):
    """The record's inputs don't fit together; holds the `Difference`."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(difference.path)
        self.difference = difference


def misfit(path: str, expected: str, found: str) -> Misfit:
    """Return a Misfit to raise."""
    return Misfit(Difference(path, expected, found))


def ai_message(message: AiMessage) -> AIMessage:
    """Return the request as a message."""
    valid = [ToolCall(name=str(c.name), args=c.args, id=c.id, type="tool_call") for c in message.tool_calls]
    broken = [
        InvalidToolCall(name=c.name, args=c.args, id=c.id, error=None, type="invalid_tool_call")
        for c in message.invalid_tool_calls
    ]
    return AIMessage(content=message.content, tool_calls=valid, invalid_tool_calls=broken)


def requests_of(message: AiMessage, tools: Sequence[str], path: str) -> list[ToolRequest]:
    """Return what the gate judges: the calls, with the scopes and faults that their tools read; raises Misfit."""
    calls = (*message.tool_calls, *message.invalid_tool_calls)
    ids = [call.id for call in calls]
    if [read.call_id for read in message.read] != ids:
        raise misfit(f"{path}.read", f"one reading of each of {', '.join(ids)}", "others")
    valid = len(message.tool_calls)
    requests = []
    for number, (call, read) in enumerate(zip(calls, message.read, strict=True)):
        known = call.name if call.name in tools else None
        if number >= valid:
            requests.append(ToolRequest(call.id, known, unparsable=True))
        else:
            requests.append(_request(call.id, known, call.args, read))
    return requests


def _request(call_id: str, name: str | None, args: Mapping[str, Any], read: Read) -> ToolRequest:
    if name is None:
        return ToolRequest(call_id, None)
    digest = scope_digest(name, read.scope) if read.scope is not None else None
    previous = args.get(PREVIOUS_OBSERVATION)
    return ToolRequest(call_id, name, previous=previous, faults=read.faults, scope_digest=digest)


def told(answer: ToolAnswer, path: str) -> dict[str, Any]:
    """Return the JSON that a call was answered with; raises Misfit where it is none."""
    try:
        body = json.loads(answer.content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise misfit(f"{path}.content", "a JSON object", "something else")
    return body


def check_invocation(entry: Entry, request: ToolRequest, run_id: str, limits: Limits, path: str) -> None:
    """Raise Misfit where a ledger entry isn't one of the request that the gate admitted."""
    key = {"call_id": request.call_id, "tool_name": request.tool_name, "scope_digest": request.scope_digest}
    found = entry.key.model_dump(include=set(key))
    if difference := first_difference(key, found, f"{path}.key"):
        raise Misfit(difference)
    if entry.stored is None:
        return
    record = _record(entry.stored, path)
    written = {
        "run_id": run_id,
        **key,
        "scope_digest": scope_digest(record.tool_name, record.scope),
        "status": entry.key.status.value,
        "expires_at": record.recorded_at + limits.record_ttl_seconds,
    }
    if difference := first_difference(written, {name: entry.stored[name] for name in written}, f"{path}.stored"):
        raise Misfit(difference)
    if record.digest() != entry.key.digest:
        raise misfit(f"{path}.key.digest", f'"{record.digest()}"', f'"{entry.key.digest}"')


def _record(stored: Mapping[str, Any], path: str) -> InvocationRecord:
    try:
        return InvocationRecord.model_validate(stored)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join([f"{path}.stored", *map(str, first["loc"])])
    raise misfit(place, "a canonical record", "something else")


def check_told(entry: Entry, answer: ToolAnswer, path: str) -> None:
    """Raise Misfit where the model was told something else than what the ledger holds.

    Which field and which near names an ERROR named isn't in the ledger: that part is the record's own word.
    """
    body = told(answer, path)
    record = InvocationRecord.model_validate(entry.stored) if entry.stored is not None else None
    if record is not None and record.evidence is not None:
        message = observation_message(record.call_id, record.tool_name, record.kind, record.evidence)
        expected = json.loads(str(message.content))
    elif entry.key.status is InvocationStatus.READY:
        expected = {"type": "OBSERVATION", "tool_call_id": entry.key.call_id}
        body = {name: body.get(name) for name in expected}
    else:
        code = record.error if record is not None else SourceError.LEDGER_UNAVAILABLE
        expected = {"type": "ERROR", "tool_call_id": entry.key.call_id, "tool_name": entry.key.tool_name, "code": code}
        body = {name: body.get(name) for name in expected}
    if difference := first_difference(expected, body, f"{path}.content"):
        raise Misfit(difference)
