"""A scripted chat model and scripted tools: what drives the compiled graph in tests.

Steps of a script are messages, exceptions, or callables of the messages seen; an exhausted script fails loudly.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field
from typing_extensions import override

from tools.base import Arguments, EvidenceTool, IncidentContext
from tools.canonical import canonical_scope
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, RelevanceLevel, Scope

Step = AIMessage | Exception | Callable[[list[BaseMessage]], AIMessage]


class ScriptExhausted(AssertionError):
    """The graph asked the model once more than the script foresees."""


class ScriptedChatModel(BaseChatModel):
    """Plays `script` step by step; `seen` keeps the messages of each call, `bound` the tools that were bound."""

    script: list[Any] = Field(default_factory=list)
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[list[str]] = Field(default_factory=list)
    exhausted: bool = False

    @property
    @override
    def _llm_type(self) -> str:
        return "scripted"

    @override
    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=list(tools), **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.seen.append(list(messages))
        self.bound.append([tool["function"]["name"] for tool in kwargs.get("tools", [])])
        if not self.script:
            self.exhausted = True
            raise ScriptExhausted("the script has no step left")
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        message = step if isinstance(step, AIMessage) else step(list(messages))
        return ChatResult(generations=[ChatGeneration(message=message)])

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, None, **kwargs)


def usage(read: int, written: int) -> dict[str, Any]:
    """Return what a provider reports of a call."""
    return {"usage_metadata": {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}}


def request(
    target: str = "a",
    *,
    tool: str = "probe",
    previous: Any = None,
    tokens: tuple[int, int] | None = (10, 5),
    **more: Any,
) -> AIMessage:
    """Return a message with one tool call; `previous` is a pair (call id, gain) or any JSON value."""
    if isinstance(previous, tuple):
        previous = {"tool_call_id": previous[0], "information_gain": previous[1]}
    args = {"previous_observation": previous, "target": target, "limit": None, **more}
    return calls([ToolCall(name=tool, args=args, id="provider-id", type="tool_call")], tokens=tokens)


def calls(
    tool_calls: Sequence[ToolCall],
    *,
    invalid: Sequence[InvalidToolCall] = (),
    text: str = "",
    tokens: tuple[int, int] | None = (10, 5),
) -> AIMessage:
    """Return a message with the given tool calls."""
    extra = usage(*tokens) if tokens else {}
    return AIMessage(content=text, tool_calls=list(tool_calls), invalid_tool_calls=list(invalid), **extra)


def text(content: str, *, tokens: tuple[int, int] | None = (10, 5)) -> AIMessage:
    """Return a message that is text alone."""
    return AIMessage(content=content, **(usage(*tokens) if tokens else {}))


def no_conclusion(*, cites: Sequence[dict[str, Any]] = (), missing: Sequence[str] = ()) -> AIMessage:
    """Return a draft without a conclusion."""
    body = {"conclusion": None, "analyses": list(cites), "limitations": {"missing_info": list(missing)}}
    return text(json.dumps(body, ensure_ascii=False))


def evidence(
    lines: Sequence[str],
    *,
    status: EvidenceStatus = EvidenceStatus.EVIDENCE,
    provenance: Provenance = Provenance.MEASURED,
    relevance: RelevanceLevel = RelevanceLevel.DIRECT,
    **more: Any,
) -> Evidence:
    """Return evidence with the given lines."""
    summary = more.pop("summary", f"probe: {len(lines)} series")
    return Evidence(
        status=status, provenance=provenance, relevance=relevance, content=tuple(lines), summary=summary, **more
    )


def nothing(**more: Any) -> Evidence:
    """Return the READY answer that holds nothing."""
    return evidence([], status=EvidenceStatus.NO_EVIDENCE, summary="probe: nothing in the scope", **more)


class ProbeArguments(Arguments):
    """Arguments of the scripted tool: `target` is its scope, `limit` a display option."""

    target: str
    limit: int | None


Answers = Callable[[Scope], Evidence] | Evidence | BaseException


class ScriptedTool(EvidenceTool):
    """Answers by script: one answer for all questions, one for each target, or a callable; `executed` keeps scopes."""

    description = "asks a probe about a target"
    arguments = ProbeArguments

    def __init__(
        self, answers: Answers | dict[str, Answers], *, name: str = "probe", kind: EvidenceKind = EvidenceKind.METRICS
    ) -> None:
        self.name = name
        self.kind = kind
        self.answers = answers
        self.executed: list[str] = []

    @override
    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        if arguments.target == "senseless":
            raise ValueError("target")
        return canonical_scope({"service": arguments.target})

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        self.executed.append(scope["service"])
        answer = self.answers.get(scope["service"], nothing()) if isinstance(self.answers, dict) else self.answers
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Evidence) else answer(scope)

    @override
    def suggest(self, incident: IncidentContext) -> Scope | None:
        return {"service": incident.service or "unknown"}

    @override
    def paste(self, scope: Scope) -> str:
        return f"probe --service {scope.get('service')}"


def observations(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return the tool answers among messages, as JSON."""
    return [json.loads(str(message.content)) for message in messages if isinstance(message, ToolMessage)]
