"""`evidence_repair`: the one chance to mend a draft's references, quotes and kinds from the evidence there is.

Source: spec "Fail-closed release policy"; contract, "Release" (a repair that returns `conclusion=null` takes the
no-conclusion path).
"""

import json
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.asking import Question, ask_model
from graph.contract.draft import Draft, DraftUnreadable, parse_draft
from graph.contract.evidence import no_conclusion_references
from graph.contract.release import verified_source
from graph.contract.vocabulary import Ending, ModelComponent, TraceEventType
from graph.ledger import records_of
from graph.nodes.edge import Node, contained
from graph.nodes.evidence_json import evidence_json
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import budget_of, draft_of, keys_of, limits_of
from prompts.loader import render

To = Literal["evidence_guard", "safe_fallback"]


def make_evidence_repair(parts: Parts) -> Node[To]:
    """Return the node."""

    @contained(parts, on_failure="safe_fallback")
    async def evidence_repair(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        records = records_of(await parts.ledger(state, runtime).verified(keys_of(state), now=parts.now()))
        draft = draft_of(state)
        body = {
            "draft": state["draft"],
            "violations": state["draft_violations"],
            "evidence": evidence_json(draft, records, cited_only=False),
        }
        messages: list[BaseMessage] = [
            SystemMessage(render("evidence_repair", locale=state["locale"])),
            HumanMessage(json.dumps(body, ensure_ascii=False)),
        ]
        component = ModelComponent.EVIDENCE_REPAIR
        question = Question(component, parts.model(component, state), messages, lambda reply: str(reply.text))
        budget, limits = budget_of(state), limits_of(state)
        answer = await ask_model(question, budget=budget, limits=limits, parts=parts, recorder=recorder)
        repaired = _read(answer.value)
        recorder.event(TraceEventType.EVIDENCE_REPAIR, passed=repaired is not None, code=answer.failure)
        update: dict[str, Any] = {"budget": answer.budget.model_dump(mode="json"), "repaired": True}
        if repaired is None:
            update["ending"] = Ending.EVIDENCE_REFUSED.value
            return Command(goto="safe_fallback", update={**update, **recorder.flush()})
        update["draft"] = repaired.model_dump(mode="json")
        if repaired.conclusion is not None:
            return Command(goto="evidence_guard", update={**update, **recorder.flush()})
        good = no_conclusion_references(repaired, records)
        update |= {
            "ending": Ending.NO_CONCLUSION.value,
            "verified_sources": [verified_source(records[call_id]).model_dump(mode="json") for call_id in good],
            "missing_info": [info.value for info in repaired.limitations.missing_info],
        }
        return Command(goto="safe_fallback", update={**update, **recorder.flush()})

    return evidence_repair


def _read(text: str | None) -> Draft | None:
    if text is None:
        return None
    try:
        return parse_draft(text)
    except DraftUnreadable:
        return None
