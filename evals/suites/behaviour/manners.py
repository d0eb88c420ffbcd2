"""Personas that know the answer and lack manners: envelopes, ids, usage, prose, many calls at once."""

import json
from typing import Any

from langchain_core.messages import AIMessage
from typing_extensions import override

from evals.suites.behaviour.persona import Heard, Persona, drafted, honestly, request
from graph.contract.protocol import PREVIOUS_OBSERVATION

OPENING = ("get_alerts", "query_metrics", "list_changes", "find_log_signatures")
ONE_ID = "call_0"


class Honest(Persona):
    """Does everything right: the control."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        return honestly(heard)


class ParallelCalls(Persona):
    """Asks everything that is still unanswered in one message, until all is answered; then it concludes."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        answered = {one.tool for one in heard.transcript.observations}
        left = [name for name in OPENING if name not in answered]
        if heard.told_to_stop or not left:
            return drafted(heard)
        return request(heard, *((name, {}) for name in left))


class MalformedEnvelopes(Persona):
    """Leaves the envelope out, names another call, or invents a value, turn by turn, whatever it's told."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        reply = honestly(heard)
        if heard.told_to_stop or not reply.tool_calls or not heard.transcript.observations:
            return reply
        wrong = (None, {"tool_call_id": "r9c9", "information_gain": "GAINED"}, {"information_gain": "MAYBE"})
        return _with_envelope(reply, wrong[heard.asked % len(wrong)])


class ForgetsAndRepairs(Persona):
    """Leaves the envelope out each time, and puts it right when it's told what is missing."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        reply = honestly(heard)
        newest = heard.transcript.answers[-1] if heard.transcript.answers else {}
        if not reply.tool_calls or newest.get("code") == "INVALID_PROGRESS_PROTOCOL":
            return reply
        return _with_envelope(reply, None)


class Narrates(Persona):
    """Tells what it is about to do, and does nothing."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        return AIMessage(f"好的，我先查看 {heard.place} 的指标和日志，然后再分析最近的变更。")


class NarratesTheAnswer(Persona):
    """Investigates as it should, then tells the answer in prose where the report has to stand."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        reply = honestly(heard)
        if reply.tool_calls:
            return reply
        conclusion = json.loads(str(reply.content)).get("conclusion") or {}
        return AIMessage(f"根据以上调查，{conclusion.get('text') or '暂时没有结论'}。建议尽快处理，并继续观察。")


class RepeatedIds(Persona):
    """Investigates as it should, over a server that gives every tool call one and the same id."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        reply = honestly(heard)
        return reply.model_copy(update={"tool_calls": [{**call, "id": ONE_ID} for call in reply.tool_calls]})


def _with_envelope(reply: AIMessage, word: dict[str, Any] | None) -> AIMessage:
    """Return the reply with another word in its envelope; the field stays out where the word is None."""
    calls = []
    for call in reply.tool_calls:
        own = {key: value for key, value in call["args"].items() if key != PREVIOUS_OBSERVATION}
        calls.append({**call, "args": own if word is None else {**own, PREVIOUS_OBSERVATION: word}})
    return reply.model_copy(update={"tool_calls": calls})
