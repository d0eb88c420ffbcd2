"""Reading what a run of the graph left into an `Attempt`: its events, its transcript, its release."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from evals.cases import Attempt, ToolCall
from graph.contract.vocabulary import FailureCode, InformationGain, TraceEventType

TARGET_FAILURES = frozenset({FailureCode.MODEL_UNREACHABLE, FailureCode.MODEL_REFUSED, FailureCode.INTERNAL_ERROR})
"""Codes that say the run tells nothing of model or rules: the endpoint was away, or our own code failed. A model whose
replies can't be read is not among them: that's how the model behaves."""


def attempt_of(
    release: dict[str, Any] | None,
    events: Sequence[dict[str, Any]],
    transcript: Sequence[BaseMessage],
    seconds: float,
) -> Attempt:
    """Return the attempt. `events`: the run's stream, trace and progress; `transcript`: empty where not at hand."""
    trace = tuple(event["event"] for event in events if event.get("stream") == "trace")
    usages = [event for event in trace if event["type"] == TraceEventType.MODEL_TOKEN_USAGE]
    known = bool(usages) and all(event.get("usage_available") for event in usages)
    return Attempt(
        release=release,
        calls=tuple(_calls(trace, events, transcript)),
        model_calls=len(usages),
        tokens=sum(e.get("input_tokens", 0) + e.get("output_tokens", 0) for e in usages) if known else None,
        seconds=seconds,
        trace=trace,
        failure=_failure(release, trace),
    )


def _failure(release: dict[str, Any] | None, trace: Iterable[dict[str, Any]]) -> str | None:
    if release is None:
        return "NO_RELEASE"
    codes = (event.get("code") for event in trace if event["type"] == TraceEventType.RUN_FAILURE)
    return next((str(code) for code in codes if code in TARGET_FAILURES), None)


def _calls(
    trace: Iterable[dict[str, Any]], events: Iterable[dict[str, Any]], transcript: Sequence[BaseMessage]
) -> Iterable[ToolCall]:
    gains = {e["call_id"]: e["information_gain"] for e in trace if e["type"] == TraceEventType.INFORMATION_GAIN}
    scopes = {e["call_id"]: e["scope"] for e in events if e.get("stream") == "progress" and e.get("kind") == "ASKED"}
    arguments = _arguments(transcript)
    contents = {m.tool_call_id: _content(m) for m in transcript if isinstance(m, ToolMessage)}
    for event in trace:
        executed = event["type"] == TraceEventType.TOOL_INVOCATION
        if not executed and event["type"] != TraceEventType.TOOL_REQUEST_REJECTED:
            continue
        call_id = event["call_id"]
        gain = gains.get(call_id)
        yield ToolCall(
            call_id=call_id,
            tool_name=event["tool_name"],
            arguments=arguments.get(call_id, {}),
            scope=scopes.get(call_id),
            executed=executed,
            status=event["status"] if executed else event["code"],
            evidence_status=event.get("evidence_status"),
            gained=None if gain is None else gain == InformationGain.GAINED,
            content=contents.get(call_id, ()) if executed else (),
        )


def _arguments(transcript: Iterable[BaseMessage]) -> dict[str, dict[str, Any]]:
    calls = (call for message in transcript if isinstance(message, AIMessage) for call in message.tool_calls)
    return {str(call["id"]): {k: v for k, v in call["args"].items() if k != "previous_observation"} for call in calls}


def _content(message: ToolMessage) -> tuple[str, ...]:
    try:
        content = json.loads(str(message.content)).get("content") or ()
    except (ValueError, AttributeError):
        return ()
    return tuple(map(str, content))
