"""Personas that go on asking: what loops, polls, and never ends."""

from datetime import timedelta

from langchain_core.messages import AIMessage
from typing_extensions import override

from evals.suites.behaviour.persona import Heard, Persona, drafted, honestly, request

METRICS, ALERTS, LOGS = "query_metrics", "get_alerts", "search_logs"
WORDS = ("timeout", "refused", "retry", "pool", "slow", "deadline", "reset", "quota", "cache", "panic", "queue", "lock")


class SameArguments(Persona):
    """Asks one question again and again, sure each time that it gained; answers when it's told to stop."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        if heard.told_to_stop:
            return drafted(heard)
        return request(heard, (METRICS, {"service": heard.place}))


class JitteredArguments(Persona):
    """Asks one question in ever new spellings: case, blanks, seconds within the minute; answers when told to stop."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        if heard.told_to_stop:
            return drafted(heard)
        spellings = (heard.place, heard.place.upper(), f" {heard.place} ", heard.place.title())
        turn = heard.asked
        as_of = heard.transcript.as_of
        start = (as_of - timedelta(hours=1, seconds=-turn % 60)).isoformat() if as_of else None
        return request(heard, (METRICS, {"service": spellings[turn % len(spellings)], "start": start}))


class Alternates(Persona):
    """Takes turns between two questions; answers when it's told to stop."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        if heard.told_to_stop:
            return drafted(heard)
        turns: tuple[tuple[str, dict[str, str]], ...] = ((METRICS, {"service": heard.place}), (ALERTS, {}))
        return request(heard, turns[heard.asked % len(turns)])


class Polls(Persona):
    """Asks the same of a window that ends a minute later each time, to see whether something happens.

    `hopeful`: it calls each look a gain. Otherwise it says honestly that a look was none where no measure turned.
    """

    hopeful: bool = False

    @override
    def say(self, heard: Heard) -> AIMessage:
        if heard.told_to_stop:
            return drafted(heard)
        as_of = heard.transcript.as_of
        end = (as_of + timedelta(minutes=heard.asked)).isoformat() if as_of else None
        gain = "GAINED" if self.hopeful or _is_new(heard) else "NO_GAIN"
        return request(heard, (METRICS, {"service": heard.place, "end": end}), gain=gain)


def _is_new(heard: Heard) -> bool:
    keys = ("service", "metric", "direction", "onset")
    looks = [{tuple(line.get(key) for key in keys) for line in one.lines} for one in heard.transcript.observations]
    return not looks or not any(looks[-1] <= earlier for earlier in looks[:-1])


class NeverConcludes(Persona):
    """Investigates, then searches the logs for one word after another; made to answer, it wants to look further."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        if heard.told_to_stop:
            return AIMessage("证据还不充分，我需要继续查询更多日志才能判断。")
        reply = honestly(heard)
        if reply.tool_calls and heard.asked < 4:
            return reply
        return request(heard, (LOGS, {"service": heard.place, "contains": WORDS[heard.asked % len(WORDS)]}))


class IgnoresStop(Persona):
    """Asks the same question for ever, whatever it's told."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        return request(heard, (METRICS, {"service": heard.place}))
