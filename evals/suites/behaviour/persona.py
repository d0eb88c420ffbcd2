"""What all personas share: chat models that misbehave in one way, computed from what they have received.

A persona keeps nothing between two calls. It speaks the envelope where the bound tools have one, and plain tool calls
where they don't, so that Zhizhi and a bare agent meet the same character.
"""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatResult
from typing_extensions import override

from graph.contract.protocol import PREVIOUS_OBSERVATION
from graph.models.offline import OfflineDiagnostician
from graph.models.offline.chat import OfflineChatModel
from graph.models.offline.transcript import Transcript, read_transcript

CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True)
class Heard:
    """What a persona has received: the messages, read, and the bound tools' argument schemas by name."""

    messages: Sequence[BaseMessage]
    tools: Mapping[str, Mapping[str, Any]]
    transcript: Transcript

    @property
    def told_to_stop(self) -> bool:
        """Whether it was told to stop, or its tools were taken away."""
        return self.transcript.stopped or not self.tools

    @property
    def asked(self) -> int:
        """How many of its requests were answered, in whichever way."""
        return len(self.transcript.requests)

    @property
    def place(self) -> str:
        """The service that the incident names."""
        return self.transcript.service or "unknown"

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Every line of evidence received, with its call's id, in order."""
        return [(one.call_id, line.raw) for one in self.transcript.observations for line in one.lines]


class Persona(OfflineChatModel):
    """A character. `bills`: it reports usage, as a provider would that counts four characters as a token."""

    bills: bool = True

    @abstractmethod
    def say(self, heard: Heard) -> AIMessage:
        """Return the reply to what was received."""

    @override
    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
        schemas = {str(tool["function"]["name"]): tool["function"].get("parameters") or {} for tool in tools}
        return self.say(Heard(messages, schemas, read_transcript(messages)))

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        result = super()._generate(messages, stop, run_manager, **kwargs)
        for generation in result.generations:
            message = generation.message
            if isinstance(message, AIMessage):
                message.usage_metadata = _bill(messages, message) if self.bills else None
        return result


def _bill(messages: Sequence[BaseMessage], reply: AIMessage) -> UsageMetadata:
    read = sum(map(_size, messages)) // CHARACTERS_A_TOKEN
    written = _size(reply) // CHARACTERS_A_TOKEN
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _size(message: BaseMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return len(str(message.content)) + sum(len(json.dumps(call["args"], ensure_ascii=False)) for call in calls)


def request(
    heard: Heard,
    *questions: tuple[str, Mapping[str, Any]],
    gain: str = "GAINED",
    call_id: str | None = None,
    text: str = "",
) -> AIMessage:
    """Return one message that asks `questions`, pairs of a tool's name and arguments; what isn't given is left open.

    `gain` is its word on the pending observation. `call_id`: the id of every call; None numbers them.
    """
    calls = []
    for number, (name, given) in enumerate(questions, heard.asked + 1):
        fields = heard.tools.get(name, {}).get("properties") or {}
        arguments: dict[str, Any] = {field: given.get(field) for field in fields if field != PREVIOUS_OBSERVATION}
        if PREVIOUS_OBSERVATION in fields:
            arguments[PREVIOUS_OBSERVATION] = word_on(heard, gain)
        calls.append(tool_call(name=name, args=arguments or dict(given), id=call_id or f"call_{number}"))
    return AIMessage(text, tool_calls=calls)


def word_on(heard: Heard, gain: str) -> dict[str, str] | None:
    """Return the envelope's word on the pending observation, None where none is pending."""
    pending = heard.transcript.pending
    return {"tool_call_id": pending, "information_gain": gain} if pending else None


def honestly(heard: Heard) -> AIMessage:
    """Return what the offline diagnostician would reply: its next question, or its draft where the tools are gone."""
    tools = [{"function": {"name": name, "parameters": schema}} for name, schema in heard.tools.items()]
    return OfflineDiagnostician().answer(heard.messages, tools)


def drafted(heard: Heard) -> AIMessage:
    """Return an honest draft from what was received so far: concluded only where that decides."""
    return OfflineDiagnostician().answer(heard.messages, [])
