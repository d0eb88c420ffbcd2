"""`diagnose`: asks the diagnosis model for its next request or its draft.

Source: contract, "Run and thread" (call ids), "Budgets", "When the model is away".
"""

import json
from typing import Any, Literal, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.asking import Answer, Question, ask_model
from graph.contract.progress import clear_pending, set_stop_reason
from graph.contract.vocabulary import (
    BudgetKind,
    Ending,
    FailureCode,
    ModelComponent,
    StopReason,
    TraceEventType,
)
from graph.envelope import name_calls, tool_schema
from graph.nodes.edge import Node, contained
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState, amended
from graph.views import incident_context, limits_of, progress_of, progress_update
from prompts.loader import render
from tools.windows import window_of

STEPS_TO_CLOSE = 9
"""The super-steps of the longest orderly way from here to the end: a request or a draft, guards, repair, release."""

HISTORY_MESSAGES = 12
"""How much of the thread's public turns a model is sent: what was said long ago mustn't use up this run's tokens."""
ASK_FIRST = "上下文足以提出有界查询时，先调用工具查询，再交答卷。"
"""Stands last before the first request: a small model answered at once without it, and asked with it."""

To = Literal["tool_gate", "close_collection"]
T = TypeVar("T")


def make_diagnose(parts: Parts) -> Node[To]:
    """Return the node."""

    @contained(parts, on_failure="close_collection")
    async def diagnose(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        if state["remaining_steps"] <= STEPS_TO_CLOSE:
            return budget_stop(state, BudgetKind.STEPS, {}, recorder)
        answer = await _ask(state, parts, recorder)
        update: dict[str, Any] = {
            "budget": answer.budget.model_dump(mode="json"),
            "agent_steps": [*state["agent_steps"], *answer.steps],
        }
        if away(answer, state):
            recorder.event(TraceEventType.MODEL_HANDED_OVER, code=answer.failure)
            recorder.progress("HANDED_OVER")
            answer = await _ask(amended(state, {**update, "handed_over": True}), parts, recorder)
            update["budget"] = answer.budget.model_dump(mode="json")
            update["agent_steps"] = [*update["agent_steps"], *answer.steps]
            update["handed_over"] = True
        if answer.value is not None:
            return answered(answer.value, state, update, recorder)
        if answer.exhausted:
            return budget_stop(state, answer.exhausted, update, recorder)
        return model_failed(answer, update, recorder)

    return diagnose


async def _ask(state: DiagnosisState, parts: Parts, recorder: Recorder) -> Answer[AIMessage]:
    question = Question(
        component=ModelComponent.DIAGNOSIS,
        model=parts.model(ModelComponent.DIAGNOSIS, state),
        messages=model_messages(state),
        read=lambda reply: reply,
        tools=_schemas(state, parts),
    )
    return await ask_model(question, state, parts, recorder)


def model_messages(state: DiagnosisState) -> list[BaseMessage]:
    """Return what the diagnosis model is sent: a stable prefix that only grows, so that prompt caches hit."""
    incident = incident_context(state)
    known = incident.model_dump(mode="json", include={"service", "environment", "enterprise", "error"})
    spoken = window_of(incident.window, incident) if incident.window else None
    known["window"] = spoken.as_scope() if spoken else None
    body = {
        "type": "INCIDENT_CONTEXT",
        "as_of": incident.model_dump(mode="json")["as_of"],
        "zone": incident.zone,
        "context": known,
        "alert": state.get("incident"),
    }
    return [
        SystemMessage(render("diagnosis", locale=state["locale"])),
        *(state.get("messages") or [])[-HISTORY_MESSAGES:],
        HumanMessage(f"{json.dumps(body, ensure_ascii=False)}\n{ASK_FIRST}"),
        *(state.get("transcript") or []),
    ]


def _schemas(state: DiagnosisState, parts: Parts) -> list[dict[str, Any]]:
    flags = parts.settings.model
    if state["stop_delivered"] and not flags.keep_tools_after_stop:
        return []
    pending = state.get("pending_observation") if flags.enumerate_pending_id else None
    return [tool_schema(tool, pending=pending) for tool in parts.tools.values()]


def away(answer: Answer[T], state: DiagnosisState) -> bool:
    """The endpoint can't be reached at the run's first diagnosis call, and the run may, and can, be handed over."""
    allowed = limits_of(state).model_fallback == "offline" and not state["handed_over"] and not answer.exhausted
    return allowed and not state["agent_steps"] and answer.failure is FailureCode.MODEL_UNREACHABLE


def answered(reply: AIMessage, state: DiagnosisState, update: dict[str, Any], recorder: Recorder) -> Command[To]:
    """Return the way on from a reply: to the gate with its requests, named, or to collection's end with a draft."""
    if reply.tool_calls or reply.invalid_tool_calls:
        named, count = name_calls(reply, run_number=state["run_number"], named=state["calls_named"])
        update |= {"transcript": [named], "calls_named": count}
        return Command(goto="tool_gate", update={**update, **recorder.flush()})
    progress = clear_pending(progress_of(state))
    text = str(reply.text)
    update |= {"draft_text": text, "submissions": [text], **progress_update(progress)}
    return Command(goto="close_collection", update={**update, **recorder.flush()})


def budget_stop(
    state: DiagnosisState, exhausted: BudgetKind, update: dict[str, Any], recorder: Recorder
) -> Command[To]:
    """Return the end of collection by a budget that forbids the next call."""
    before = progress_of(state)
    progress = set_stop_reason(before, StopReason.BUDGET_LIMIT_REACHED)
    recorder.event(TraceEventType.STOP_REASON_SET, stop_reason=StopReason.BUDGET_LIMIT_REACHED, budget=exhausted)
    ended = {"ending": Ending.BUDGET_STOPPED.value, **progress_update(progress)}
    return Command(goto="close_collection", update={**update, **ended, **recorder.flush()})


def model_failed(answer: Answer[T], update: dict[str, Any], recorder: Recorder) -> Command[To]:
    """Return the end of collection by a model that gave no usable reply."""
    code = answer.failure or FailureCode.INTERNAL_ERROR
    recorder.event(TraceEventType.RUN_FAILURE, code=code)
    ended = {"ending": Ending.MODEL_FAILED.value, "failure": code.value}
    return Command(goto="close_collection", update={**update, **ended, **recorder.flush()})
