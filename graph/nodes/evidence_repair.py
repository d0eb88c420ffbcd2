"""`evidence_repair`: the one chance to mend a draft's references, quotes and kinds from the evidence there is.

Source: spec "Fail-closed release policy"; contract, "Release" (a repair that returns `conclusion=null` takes the
no-conclusion path).
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.asking import Answer, Question, ask_model
from graph.contract.draft import Draft, DraftUnreadable, parse_draft
from graph.contract.vocabulary import Ending, ModelComponent, TraceEventType
from graph.ledger import Checked, gaps_after, records_of
from graph.nodes.close_collection import no_conclusion
from graph.nodes.edge import Node, contained
from graph.nodes.evidence_json import evidence_json
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import draft_of
from prompts.loader import render

To = Literal["evidence_guard", "safe_fallback"]


def make_evidence_repair(parts: Parts) -> Node[To]:
    """Return the node."""

    @contained(parts, on_failure="safe_fallback")
    async def evidence_repair(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        recorder = Recorder(parts.clock, state, runtime.stream_writer)
        checked = await parts.checked(state, runtime)
        records = records_of(checked)
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
        answer = await ask_model(question, state, parts, recorder)
        return repaired(state, checked, answer, recorder)

    return evidence_repair


def repaired(
    state: DiagnosisState, checked: Mapping[str, Checked], answer: Answer[str], recorder: Recorder
) -> Command[To]:
    """Return the way on from the repair's answer: its draft goes to the guard again, nothing else is published."""
    draft = _read(answer.value)
    recorder.event(TraceEventType.EVIDENCE_REPAIR, passed=draft is not None, code=answer.failure)
    update: dict[str, Any] = {
        "budget": answer.budget.model_dump(mode="json"),
        "repaired": True,
        "ledger_gaps": gaps_after(state, "evidence_repair", checked),
        **recorder.flush(),
    }
    if answer.value is not None:
        update["submissions"] = [*(state.get("submissions") or ()), answer.value]
    if draft is None:
        return Command(goto="safe_fallback", update={**update, "ending": Ending.EVIDENCE_REFUSED.value})
    update["draft"] = draft.model_dump(mode="json")
    if draft.conclusion is not None:
        return Command(goto="evidence_guard", update=update)
    left = no_conclusion(draft, records_of(checked))
    return Command(goto="safe_fallback", update={**update, **left, "ending": Ending.NO_CONCLUSION.value})


def _read(text: str | None) -> Draft | None:
    if text is None:
        return None
    try:
        return parse_draft(text)
    except DraftUnreadable:
        return None
