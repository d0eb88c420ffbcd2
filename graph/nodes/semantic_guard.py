"""`semantic_guard`: a second model judges whether the draft follows from the evidence that it cites.

Source: spec "Fail-closed release policy"; contract, "Release" and "Budgets".
"""

import json
from typing import Literal

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.asking import Answer, Question, ask_model
from graph.contract.vocabulary import Ending, ModelComponent, SemanticVerdict, TraceEventType
from graph.ledger import records_of
from graph.models.replies import parse_verdict
from graph.nodes.edge import Node, contained
from graph.nodes.evidence_json import evidence_json
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import draft_of
from prompts.loader import render

To = Literal["release", "safe_fallback"]


def make_semantic_guard(parts: Parts) -> Node[To]:
    """Return the node."""

    @contained(parts, on_failure="safe_fallback")
    async def semantic_guard(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        records = records_of(await parts.checked(state, runtime))
        draft = draft_of(state)
        body = {"draft": state["draft"], "evidence": evidence_json(draft, records, cited_only=True)}
        messages: list[BaseMessage] = [
            SystemMessage(render("semantic_guard")),
            HumanMessage(json.dumps(body, ensure_ascii=False)),
        ]
        component = ModelComponent.SEMANTIC_GUARD
        model = parts.model(component, state)
        question = Question(component, model, messages, lambda reply: parse_verdict(str(reply.text)))
        answer = await ask_model(question, state, parts, recorder)
        return reviewed(answer, recorder)

    return semantic_guard


def reviewed(answer: Answer[SemanticVerdict], recorder: Recorder) -> Command[To]:
    """Return the way on from the review's answer."""
    recorder.event(TraceEventType.SEMANTIC_GUARD, verdict=answer.value, code=answer.failure)
    ending = _ending(answer.value)
    update = {"budget": answer.budget.model_dump(mode="json"), "ending": ending.value, **recorder.flush()}
    return Command(goto="release" if ending is Ending.VERIFIED else "safe_fallback", update=update)


def _ending(verdict: SemanticVerdict | None) -> Ending:
    if verdict is None:
        return Ending.SEMANTIC_UNAVAILABLE
    return Ending.VERIFIED if verdict is SemanticVerdict.SUPPORTED else Ending.SEMANTIC_UNSUPPORTED
