"""`classify`: one cheap call that tells a diagnosis from anything else, skipped where a structured incident came.

Source: contract, "Router".
"""

import json
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.asking import Answer, Question, ask_model
from graph.contract.vocabulary import Ending, MissingInfo, ModelComponent, TraceEventType
from graph.models.replies import Route, parse_route
from graph.nodes.edge import Node, contained
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import incident_context, limits_of
from prompts.loader import render
from tools.windows import window_of

ROUTER_SHARE = 0.25
"""The router's part of a model call's wait: an endpoint that never answers must leave time to diagnose without it."""

MISSING_BY_CONTEXT = {
    "enterprise": MissingInfo.ENTERPRISE,
    "service": MissingInfo.SERVICE,
    "window": MissingInfo.TIME,
    "error": MissingInfo.ERROR,
}


def make_classify(parts: Parts) -> Node[Literal["diagnose", "safe_fallback"]]:
    """Return the node."""

    @contained(parts, on_failure="safe_fallback")
    async def classify(
        state: DiagnosisState, runtime: Runtime[DiagnosisContext]
    ) -> Command[Literal["diagnose", "safe_fallback"]]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        query = last_query(state.get("messages") or [])
        if state.get("incident"):
            return Command(goto="diagnose", update={"context": {"window": spoken_window(query, state)}})
        if not query:
            return not_a_diagnosis({}, {}, recorder)
        answer = await _route(query, state, parts, recorder)
        update: dict[str, Any] = {"budget": answer.budget.model_dump(mode="json")}
        route = answer.value
        if route is None:
            update["context"] = {"window": spoken_window(query, state)}
            return Command(goto="diagnose", update={**update, **recorder.flush()})
        context = {**route.context, "window": spoken_window(query, state) or route.context["window"]}
        if route.kind == "other":
            return not_a_diagnosis(context, update, recorder)
        recorder.event(TraceEventType.RUN_CLASSIFIED, passed=True)
        return Command(goto="diagnose", update={**update, "context": context, **recorder.flush()})

    return classify


def last_query(messages: list[Any]) -> str:
    """Return the text of the user's last turn where it is the newest message, or an empty string."""
    newest = messages[-1] if messages else None
    return str(newest.text).strip() if isinstance(newest, HumanMessage) else ""


def spoken_window(query: str, state: DiagnosisState) -> str | None:
    """Return the query where it speaks of a time that a rule can resolve (刚才, 凌晨三点, since 14:05), else None."""
    return query if window_of(query, incident_context(state)) else None


async def _route(query: str, state: DiagnosisState, parts: Parts, recorder: Recorder) -> Answer[Route]:
    body = json.dumps({"query": query}, ensure_ascii=False)
    messages: list[BaseMessage] = [SystemMessage(render("router")), HumanMessage(body)]
    model = parts.model(ModelComponent.ROUTER, state)
    question = Question(ModelComponent.ROUTER, model, messages, lambda reply: parse_route(str(reply.text)))
    limits = limits_of(state)
    brief = {"model_attempts": 1, "model_timeout_seconds": limits.model_timeout_seconds * ROUTER_SHARE}
    return await ask_model(question, state, parts, recorder, limits=limits.model_copy(update=brief))


def not_a_diagnosis(
    context: dict[str, str | None], update: dict[str, Any], recorder: Recorder
) -> Command[Literal["diagnose", "safe_fallback"]]:
    """Return the end of a run that has nothing to diagnose, and what its query would have had to name."""
    recorder.event(TraceEventType.RUN_CLASSIFIED, passed=False)
    unnamed = [info.value for name, info in MISSING_BY_CONTEXT.items() if not context.get(name)]
    missing = unnamed or [MissingInfo.OTHER.value]
    ended = {"ending": Ending.NOT_A_DIAGNOSIS.value, "missing_info": missing, "context": context}
    return Command(goto="safe_fallback", update={**update, **ended, **recorder.flush()})
