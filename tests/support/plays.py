"""Plays: what arbitrary models and tools do in a run, as data, and the players that perform it.

A player resolves its move against the oracle (which call is pending, which ids exist), tells the oracle what it is
about to reply, and replies. Every text of its own carries a canary, so that a test can tell where it must not turn up.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from typing_extensions import override

from tests.support.driving import Clock
from tests.support.oracle import Oracle, PlayedCall
from tests.support.scripted import ScriptedTool, evidence, nothing, observations, usage
from tools.base import SourceFailure
from tools.vocabulary import Evidence, EvidenceKind, Provenance, RelevanceLevel, Scope, SourceError

MODEL_CANARY = "mdl-canary-7319"
"""Stands in every text that a played model writes."""
ERROR_CANARY = "err-canary-7319"
"""Stands in every exception that a played part raises."""
SOURCE_CANARY = "src-canary-7319"
"""Stands in every line that a played source gives."""

SPELLINGS: Mapping[str, str] = {
    "a": "a", " A ": "a", "ａ": "a", "b": "b", "B": "b", "c": "c", "d": "d", "e": "e",
}  # fmt: skip
"""Targets as a played model spells them, and what each means."""


@dataclass(frozen=True)
class Call:
    """A tool call: `previous` names an evaluation (see `_previous`) or is any other JSON value, sent as it is."""

    tool: str = "probe"
    target: Any = "a"
    previous: Any = "gained"
    parsable: bool = True
    extra: tuple[str, ...] = ()


@dataclass(frozen=True)
class Move:
    """One reply of a model: calls, or text, or an exception; `usage` None where the provider reports nothing."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    error: type[Exception] | None = None
    cut: bool = False
    usage: tuple[int, int] | None = (10, 5)
    seconds: float = 0.0


@dataclass(frozen=True)
class Play:
    """A run's moves by component; a component that has played all of its moves repeats the last one."""

    diagnosis: tuple[Move, ...]
    router: tuple[Move, ...] = (Move(text='{"route": "diagnosis", "context": {}}'),)
    evidence_repair: tuple[Move, ...] = (Move(text="no draft"),)
    semantic_guard: tuple[Move, ...] = (Move(text='{"verdict": "SUPPORTED", "reason": ""}'),)
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the source says of a target, in turn (see `_answer`)."""
    incident: bool = True


AGAIN = (ConnectionError, TimeoutError, ValueError, LookupError)
"""Exceptions of a client after which another attempt is worth it: no answer, or none that can be read."""


class PlayedModel(BaseChatModel):
    """A chat model whose replies come from `play`."""

    play: Callable[[list[BaseMessage]], AIMessage]

    @property
    @override
    def _llm_type(self) -> str:
        return "played"

    @override
    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=list(tools), **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.play(messages))])

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)


class Stage:
    """Performs one play after another against one graph; `oracle` accounts for the play that runs."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.play = Play(())
        self.oracle: Oracle
        self.left: dict[str, list[Move]] = {}
        self.complaints: list[str] = []

    def begin(self, play: Play, oracle: Oracle) -> None:
        """The next run performs `play`."""
        self.play, self.oracle, self.complaints = play, oracle, []
        self.left = {
            "router": list(play.router),
            "diagnosis": list(play.diagnosis),
            "evidence_repair": list(play.evidence_repair),
            "semantic_guard": list(play.semantic_guard),
        }

    def models(self) -> dict[str, BaseChatModel]:
        """Return the played models by component."""
        return {
            "router": PlayedModel(play=lambda _: self._speak("router", kept_back=3)),
            "diagnosis": PlayedModel(play=self._diagnose),
            "evidence_repair": PlayedModel(play=lambda _: self._speak("evidence_repair", kept_back=1)),
            "semantic_guard": PlayedModel(play=lambda _: self._speak("semantic_guard", kept_back=0)),
        }

    def tools(self) -> list[ScriptedTool]:
        """Return the two played tools."""
        return [
            ScriptedTool(lambda scope: self._answer("probe", scope)),
            ScriptedTool(lambda scope: self._answer("reader", scope), name="reader", kind=EvidenceKind.LOGS),
        ]

    def _next(self, component: str) -> Move:
        left = self.left[component]
        return left.pop(0) if len(left) > 1 else left[0]

    def _bill(self, move: Move, kept_back: int) -> None:
        if not self.oracle.may_ask(kept_back=kept_back):
            self.complaints.append(f"a model was asked beyond its budget, with {kept_back} calls to keep back")
        self.oracle.billed(None if move.error else move.usage)
        self.oracle.elapsed += move.seconds
        self.clock.advance(move.seconds)

    def _speak(self, component: str, *, kept_back: int) -> AIMessage:
        move = self._next(component)
        self._bill(move, kept_back)
        if move.error:
            raise move.error(ERROR_CANARY)
        return self._message(move, [])

    def _diagnose(self, messages: list[BaseMessage]) -> AIMessage:
        self.oracle.observation_bytes = observed_bytes(messages)
        if self.oracle.over:
            self.complaints.append("the model was asked after collection was over")
        move = self._next("diagnosis")
        self._bill(move, 2)
        if move.error:
            self.oracle.attempt_failed(again=issubclass(move.error, AGAIN))
            raise move.error(ERROR_CANARY)
        if move.cut or not (move.calls or move.text.strip()):
            self.oracle.attempt_failed(again=True)
            return self._message(move, [])
        ordered = sorted(move.calls, key=lambda call: not call.parsable)
        previous = [self._previous(call.previous) for call in ordered]
        message = self._message(move, list(zip(ordered, previous, strict=True)))
        if ordered:
            self.oracle.requested([_told(call, said) for call, said in zip(ordered, previous, strict=True)])
        else:
            self.oracle.drafted()
        return message

    def _previous(self, name: Any) -> Any:
        """Resolve an evaluation's name: of what is pending, of another call, or not an evaluation at all."""
        pending = self.oracle.pending or "r9c9"
        named: dict[str, Any] = {
            "gained": {"tool_call_id": pending, "information_gain": "GAINED"},
            "no_gain": {"tool_call_id": pending, "information_gain": "NO_GAIN"},
            "other_id": {"tool_call_id": f"r{self.oracle.run}c999", "information_gain": "GAINED"},
            "no_value": {"tool_call_id": pending},
            "null_value": {"tool_call_id": pending, "information_gain": None},
            "unknown_value": {"tool_call_id": pending, "information_gain": "gained"},
            "odd_value": {"tool_call_id": pending, "information_gain": ["GAINED"]},
            "chatty": {"tool_call_id": pending, "information_gain": "NO_GAIN", "why": MODEL_CANARY},
        }
        return named.get(name, name) if isinstance(name, str) else name

    def _message(self, move: Move, calls: list[tuple[Call, Any]]) -> AIMessage:
        valid = [
            ToolCall(name=call.tool, args=_arguments(call, said), id=f"p{i}", type="tool_call")
            for i, (call, said) in enumerate(calls)
            if call.parsable
        ]
        broken = [
            InvalidToolCall(name=call.tool, args="{" + MODEL_CANARY, id=None, error=None, type="invalid_tool_call")
            for call, _ in calls
            if not call.parsable
        ]
        reason = {"response_metadata": {"finish_reason": "length"}} if move.cut else {}
        billed = usage(*move.usage) if move.usage else {}
        return AIMessage(content=move.text, tool_calls=valid, invalid_tool_calls=broken, **reason, **billed)

    def _answer(self, tool: str, scope: Scope) -> Evidence:
        target = scope["service"]
        script = self.play.answers.get(target, ("evidence",))
        earlier = self.oracle.executed[:-1].count(f"{tool}:{target}")
        kind = script[min(earlier, len(script) - 1)]
        self.oracle.answered({"nothing": "NO_EVIDENCE", "failure": "ERROR", "bug": "ERROR"}.get(kind, "EVIDENCE"))
        return _evidence(kind, target)


def _evidence(kind: str, target: str) -> Evidence:
    if kind == "failure":
        raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=("a", "b"), field="target")
    if kind == "bug":
        raise RuntimeError(ERROR_CANARY)
    if kind == "nothing":
        return nothing()
    line = f"series service={target} metric=latency direction=UP baseline=1 extreme=9 | {SOURCE_CANARY}"
    if kind == "reference":
        return evidence([line], provenance=Provenance.TEXT, relevance=RelevanceLevel.REFERENCE)
    return evidence([line] * 200 if kind == "long" else [line], truncated=kind == "cut", first_failing=target)


def _told(call: Call, said: Any) -> PlayedCall:
    meant = SPELLINGS.get(call.target) if isinstance(call.target, str) else None
    scope = f"{call.tool}:{meant}" if meant and not call.extra else None
    return PlayedCall(call.tool in ("probe", "reader"), call.parsable, scope, said)


def _arguments(call: Call, said: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {"previous_observation": said, "limit": None}
    if said == "absent":
        del arguments["previous_observation"]
    if call.target is not None:
        arguments["target"] = call.target
    return arguments | dict.fromkeys(call.extra, MODEL_CANARY)


def observed_bytes(messages: list[BaseMessage]) -> int:
    """Return the UTF-8 bytes of the answers among `messages` that tools gave."""
    sizes = [
        len(str(message.content).encode())
        for message, body in zip([m for m in messages if m.type == "tool"], observations(messages), strict=True)
        if body["type"] in ("OBSERVATION", "ERROR")
    ]
    return sum(sizes)


def draft(conclusion: dict[str, Any] | None, analyses: list[dict[str, Any]], *, missing: tuple[str, ...] = ()) -> str:
    """Return a draft's JSON."""
    body = {"conclusion": conclusion, "analyses": analyses, "limitations": {"missing_info": list(missing)}}
    return json.dumps(body, ensure_ascii=False)


def observation(call_id: str, target: str, *, kind: str = "OBSERVATION", analysis_id: str = "o1") -> dict[str, Any]:
    """Return an analysis that tells what a played source says of `target`."""
    quote = f"service={target} metric=latency direction=UP baseline=1 extreme=9"
    text = f"{target} latency extreme 9"
    return {"analysis_id": analysis_id, "kind": kind, "text": text, "quotes": [quote], "tool_call_ids": [call_id]}


def concluded(target: str, *analyses: dict[str, Any]) -> str:
    """Return a draft that concludes `target` to be the cause, resting on `analyses`."""
    ids = [analysis["analysis_id"] for analysis in analyses]
    conclusion = {"text": f"{target} latency", "component": target, "cause": f"{target} latency", "analysis_ids": ids}
    return draft(conclusion, list(analyses))
