"""A run's record: everything that is needed to check the run again without a model, a source or a network.

`inputs` are what came from outside of the rules: what the models said, what the sources answered, the limits, the
clock's times. `outputs` are what the rules made of them, and `graph.verify` makes them again. The record holds evidence
and model text, so it's another thing than the payload-free trace, and as confidential as the incident. Source: design,
decision 3; `docs/records.md` describes the format.
"""

import json
import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.store.base import BaseStore

from graph import __version__
from graph.contract.records import InvocationKey, InvocationRecord
from graph.contract.vocabulary import InvocationStatus, ModelComponent, TraceEventType
from graph.envelope import read_requests
from graph.ledger import Ledger, LedgerUnavailable
from graph.nodes.safe_fallback import suggestions
from graph.replay.seals import seal, sign
from graph.state import DiagnosisState
from graph.views import incident_context, keys_of
from prompts.loader import PromptName, digest
from tools.base import EvidenceTool

RECORD_FORMAT = "zhizhi.run-record/1"
OWN_NAME = "zhizhi"
VERSIONED = ("langgraph", "langchain-core", "pydantic")

OUTPUTS = (
    "trace",
    "trace_dropped",
    "invocation_keys",
    "collection_state",
    "consecutive_no_gain",
    "consecutive_protocol_violations",
    "pending_observation",
    "last_answer",
    "stop_reason",
    "stop_delivered",
    "calls_named",
    "agent_steps",
    "budget",
    "draft",
    "draft_violations",
    "repaired",
    "progress_snapshot",
    "ending",
    "failure",
    "missing_info",
    "verified_sources",
    "help",
    "handed_over",
    "release",
)
"""The state's keys that the rules fill, in the order in which a difference is looked for."""


class RecordUnavailable(Exception):
    """No record can be made of a run: its text says in one line why."""


async def run_record(
    state: Mapping[str, Any], *, tools: Sequence[EvidenceTool], store: BaseStore, key: bytes | None = None
) -> dict[str, Any]:
    """Return the record of a thread's latest run as JSON, signed where there is a `key`.

    `state` holds the thread's values after the run (`(await graph.aget_state(config)).values`), `tools` are those of
    the graph, `store` is where its ledger lives. Raises RecordUnavailable where the run has no Release, or evidence
    that it relied on can't be read any more.
    """
    typed: Any = state
    run: DiagnosisState = typed
    if not run.get("release") or not any(event["type"] == TraceEventType.RUN_OPENED for event in run["trace"]):
        raise RecordUnavailable("the run left no state to record")
    inputs = {
        "run": _run(run),
        "limits": run["limits"],
        "versions": _versions(),
        "prompts": {name: digest(name) for name in get_args(PromptName)},
        "model": run["release"]["model"],  # type: ignore[index]
        "tools": sorted(tool.name for tool in tools),
        "times": [event["at"] for event in run["trace"]],
        "replies": _replies(run["trace"]),
        "transcript": _transcript(run, tools),
        "submissions": list(run.get("submissions") or ()),
        "ledger": await _ledger(run, tools, store),
        "ledger_gaps": list(run.get("ledger_gaps") or ()),
        "suggested": _suggested(run, tools),
    }
    outputs = {name: run.get(name) for name in OUTPUTS} | {"published": str(run["messages"][-1].text)}
    plain = json.loads(json.dumps({"format": RECORD_FORMAT, "inputs": inputs, "outputs": outputs}))
    record: dict[str, Any] = {**plain, "seals": seal(plain["inputs"]), "signature": None}
    return record | {"signature": sign(record, key) if key else None}


def _versions() -> dict[str, str]:
    return {OWN_NAME: __version__, **{name: version(name) for name in VERSIONED}, "python": platform.python_version()}


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record as one JSON file that its owner alone can read, whole or not at all. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="strict") as file:
            file.write(_text(record) + "\n")
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _text(record: Mapping[str, Any]) -> str:
    readable = json.dumps(record, ensure_ascii=False, indent=1)
    return readable if readable.isprintable() or _encodable(readable) else json.dumps(record, indent=1)


def _encodable(text: str) -> bool:
    """A model may write half a surrogate pair, which no file in UTF-8 can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _run(run: DiagnosisState) -> dict[str, Any]:
    names = ("run_id", "run_number", "as_of", "zone", "locale", "incident", "context")
    turns = [{"role": turn.type, "text": str(turn.text)} for turn in run["messages"][:-1]]
    return {**{name: run.get(name) for name in names}, "started_at": run["budget"]["started_at"], "turns": turns}


def _replies(trace: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every admitted attempt at a model, in order, and what router and reviewer said in their last usable one."""
    usages = [event for event in trace if event["type"] == TraceEventType.MODEL_TOKEN_USAGE]
    replies = [
        {**{name: usage.get(name) for name in ("component", "input_tokens", "output_tokens", "code")}, "said": None}
        for usage in usages
    ]
    routes = [event["passed"] for event in trace if event["type"] == TraceEventType.RUN_CLASSIFIED]
    verdicts = [event.get("verdict") for event in trace if event["type"] == TraceEventType.SEMANTIC_GUARD]
    said = {
        ModelComponent.ROUTER: ("diagnosis" if routes[-1] else "other") if routes else None,
        ModelComponent.SEMANTIC_GUARD: verdicts[-1] if verdicts else None,
    }
    for component, word in said.items():
        usable = [reply for reply in replies if reply["component"] == component and reply["code"] is None]
        if usable:
            usable[-1]["said"] = word
    return replies


def _transcript(run: DiagnosisState, tools: Sequence[EvidenceTool]) -> list[dict[str, Any]]:
    by_name = {tool.name: tool for tool in tools}
    return [_message(message, by_name, run) for message in run.get("transcript") or ()]


def _message(message: BaseMessage, tools: Mapping[str, EvidenceTool], run: DiagnosisState) -> dict[str, Any]:
    if isinstance(message, ToolMessage):
        return {"type": "tool", "tool_call_id": message.tool_call_id, "content": str(message.content)}
    if not isinstance(message, AIMessage):
        raise RecordUnavailable("the transcript holds a message that is neither a request nor an answer")
    read = [
        {"call_id": read.request.call_id, "faults": list(read.request.faults), "scope": read.scope}
        for read in read_requests(message, tools, incident_context(run))
    ]
    return {
        "type": "ai",
        "content": str(message.text),
        "tool_calls": [_call(call) for call in message.tool_calls],
        "invalid_tool_calls": [_call(call) for call in message.invalid_tool_calls],
        "read": read,
    }


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {name: call[name] for name in ("id", "name", "args")}


async def _ledger(run: DiagnosisState, tools: Sequence[EvidenceTool], store: BaseStore) -> list[dict[str, Any]]:
    ledger = Ledger(store, run["run_id"])
    by_name = {tool.name: tool for tool in tools}
    unbelieved = {gap["call_id"] for gap in run.get("ledger_gaps") or ()}
    entries = []
    for key in keys_of(run):
        stored = await _stored(key, ledger)
        if stored is None and key.status is InvocationStatus.READY and key.call_id not in unbelieved:
            raise RecordUnavailable(f"the evidence of call {key.call_id} can't be read any more")
        paste = _paste(by_name.get(key.tool_name), stored)
        kept = stored.model_dump(mode="json") if stored else None
        entries.append({"key": key.model_dump(mode="json"), "stored": kept, "paste": paste})
    return entries


async def _stored(key: InvocationKey, ledger: Ledger) -> InvocationRecord | None:
    try:
        found = await ledger.read(key.call_id, key.scope_digest)
    except LedgerUnavailable:
        return None
    return found if found and found.digest() == key.digest else None


def _paste(tool: EvidenceTool | None, stored: InvocationRecord | None) -> str | None:
    with suppress(Exception):  # a tool may be anyone's; one that can't say leaves it out
        return tool.paste(stored.scope) if tool and stored else None
    return None


def _suggested(run: DiagnosisState, tools: Sequence[EvidenceTool]) -> list[list[Any]]:
    with suppress(Exception):  # as above
        return [[kind, dict(scope), query] for kind, scope, query in suggestions(incident_context(run), tools)]
    return []
