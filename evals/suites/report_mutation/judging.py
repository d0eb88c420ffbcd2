"""The guards' verdicts on a report: the EvidenceGuard alone, and both guards with any model for the second."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from evals.suites.report_mutation.story import Story
from graph.contract.draft import DraftUnreadable, parse_draft
from graph.contract.evidence import check_draft
from graph.contract.records import VerifiedRecord
from graph.contract.vocabulary import SemanticVerdict
from graph.models.calling import ModelCapabilities, call_model
from graph.models.replies import ModelFailure, parse_verdict
from graph.nodes.evidence_json import evidence_json
from prompts.loader import render

TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class Word:
    """What the guards said. `codes` are the EvidenceGuard's; `verdict` None where the second wasn't asked or failed."""

    codes: tuple[str, ...]
    verdict: SemanticVerdict | None = None
    failure: str | None = None

    @property
    def evidence_passed(self) -> bool:
        """Whether the EvidenceGuard has nothing to hold against it."""
        return not self.codes

    @property
    def both_passed(self) -> bool:
        """Whether it would be published."""
        return self.evidence_passed and self.verdict is SemanticVerdict.SUPPORTED


def records_of(story: Story) -> dict[str, VerifiedRecord]:
    """Return the story's READY calls as the guard sees them."""
    return {
        call.call_id: VerifiedRecord(call.call_id, call.tool_name, call.kind, call.scope, call.evidence)
        for call in story.calls
        if call.evidence is not None
    }


def evidence_word(draft: Mapping[str, Any], story: Story) -> tuple[str, ...]:
    """Return the codes of what the EvidenceGuard holds against a draft; empty where nothing."""
    try:
        parsed = parse_draft(json.dumps(draft, ensure_ascii=False))
    except DraftUnreadable:
        return ("DRAFT_UNREADABLE",)
    return tuple(dict.fromkeys(v.code.value for v in check_draft(parsed, records_of(story), zone=story.zone)))


async def both_words(draft: Mapping[str, Any], story: Story, model: BaseChatModel) -> Word:
    """Return what both guards say; the second is asked only where the first has nothing to say, as in a run."""
    codes = evidence_word(draft, story)
    if codes:
        return Word(codes)
    parsed = parse_draft(json.dumps(draft, ensure_ascii=False))
    evidence = evidence_json(parsed, records_of(story), cited_only=True)
    return await ask_reviewer({"draft": parsed.model_dump(mode="json"), "evidence": evidence}, model)


async def ask_reviewer(body: Mapping[str, Any], model: BaseChatModel) -> Word:
    """Ask a model as the SemanticGuard does, once. `body` holds `draft` and `evidence`."""
    messages = [SystemMessage(render("semantic_guard")), HumanMessage(json.dumps(body, ensure_ascii=False))]
    try:
        reply = await call_model(model, messages, timeout=TIMEOUT_SECONDS, capabilities=ModelCapabilities())
        return Word((), parse_verdict(str(reply.message.text)))
    except ModelFailure as failure:
        return Word((), None, failure.code.value)
