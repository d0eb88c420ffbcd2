"""The offline diagnostician: follows the protocol of collection as any other model does.

Source: spec "Harness SHALL assign only deterministic no-gain signals", "Invalid progress protocol SHALL be repairable
before bounded stop", "Diagnosis Prompt SHALL license bounded abandonment".
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call

from graph.models.offline.assessment import assess
from graph.models.offline.chat import OfflineChatModel
from graph.models.offline.cluster import diagnose_cluster, is_about_cluster
from graph.models.offline.facts import Case, read_case
from graph.models.offline.plan import gain_of_pending, next_question
from graph.models.offline.questions import Question
from graph.models.offline.report import write_draft, write_missing
from graph.models.offline.transcript import Transcript, read_transcript
from graph.models.offline.wording import language_of


class OfflineDiagnostician(OfflineChatModel):
    """Asks one bounded question at a time, judges each answer, and concludes only what the evidence decides."""

    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
        """Return one tool call, or the draft. Everything is computed from the messages again."""
        transcript = read_transcript(messages)
        schemas = _schemas(tools)
        if is_about_cluster(schemas, transcript):
            return diagnose_cluster(transcript, schemas)
        case = read_case(transcript.observations)
        missing = _missing(transcript, schemas, case)
        if missing:
            return AIMessage(content=write_missing(missing))
        now = assess(case, transcript.service)
        question = next_question(transcript, schemas, now)
        if question is None:
            return AIMessage(content=write_draft(now, language_of(transcript.query)))
        return AIMessage(content="", tool_calls=[_call(question, transcript)])


def _missing(transcript: Transcript, schemas: Mapping[str, Any], case: Case) -> list[str]:
    """Return what nobody said, where too little is known for one bounded question.

    Which alerts fire is a bounded question that needs nothing to be known.
    """
    known = any(transcript.context.get(key) for key in ("service", "error", "window", "metric"))
    if known or transcript.alert or transcript.service or case.alerts:
        return []
    unasked = "get_alerts" in schemas and not transcript.requests
    return [] if unasked or transcript.stopped else ["service", "time", "error"]


def _schemas(tools: Sequence[dict[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    found = {}
    for tool in tools:
        function = tool.get("function") or {}
        if function.get("name"):
            found[str(function["name"])] = function.get("parameters") or {}
    return found


def _call(question: Question, transcript: Transcript) -> Any:
    previous = None
    if transcript.pending is not None:
        previous = {"tool_call_id": transcript.pending, "information_gain": gain_of_pending(transcript)}
    return tool_call(
        name=question.tool,
        args={**question.arguments, "previous_observation": previous},
        id=f"call_{len(transcript.requests) + 1}",
    )
