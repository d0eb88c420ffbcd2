"""What comes back from a model: every failure as one code, every reply in one plain shape.

Sources: contract, "Gain and stop" (an endpoint reply that is blank, cut by length or unreadable is a technical failure
of the attempt), "Router" and "Draft" (one surrounding code fence is peeled off).
"""

import json
import re
import socket
import ssl
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpx
import httpx2
import openai
from langchain_core.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall

from graph.contract.replied import unfenced, without_repeats
from graph.contract.vocabulary import FailureCode, SemanticVerdict

_UNREACHABLE = (
    TimeoutError,
    ConnectionError,
    socket.gaierror,
    ssl.SSLError,
    openai.APIConnectionError,
    httpx.TransportError,
    httpx2.TransportError,
    ModelAPIError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
)
_REFUSED = (ModelError, openai.ContentFilterFinishReasonError)
_UNREADABLE = (
    openai.APIError,
    openai.LengthFinishReasonError,
    httpx.HTTPError,
    httpx2.HTTPError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    RecursionError,
)
_TRY_AGAIN_LATER = frozenset({408, 425, 429})
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_WITHHELD = frozenset({"content_filter", "safety", "refusal"})
_CALL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_THINKING = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_MAX_ARGUMENT_DEPTH = 32
_MAX_CONTEXT_LENGTH = 200
_ROUTE_CONTEXT = ("enterprise", "service", "environment", "window", "error")


class ModelFailure(Exception):
    """An attempt that gave no usable reply, as a code and nothing else: no text of the exception that caused it.

    `input_tokens` and `output_tokens` are what the provider billed for the attempt, None where it didn't say.
    """

    def __init__(self, code: FailureCode, *, input_tokens: int | None = None, output_tokens: int | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens


def failure_of(exc: BaseException) -> FailureCode:
    """Return the code of whatever a chat model raised; the one place where errors of clients are known.

    No answer, 5xx, 429 and time-outs: MODEL_UNREACHABLE. Any other status that isn't a success, redirects included
    (none is followed): MODEL_REFUSED. A success whose body isn't a chat completion, which langchain-openai reports as
    ValueError, TypeError, IndexError, KeyError or AttributeError: MODEL_REPLY_INVALID. Anything else: INTERNAL_ERROR.
    """
    if isinstance(exc, ModelFailure):
        return exc.code
    if isinstance(exc, openai.APIStatusError):
        return _failure_of_status(exc.status_code)
    if isinstance(exc, httpx.HTTPStatusError | httpx2.HTTPStatusError):
        return _failure_of_status(exc.response.status_code)
    if isinstance(exc, _UNREACHABLE):
        return FailureCode.MODEL_UNREACHABLE
    if isinstance(exc, _REFUSED):
        return FailureCode.MODEL_REFUSED
    if isinstance(exc, _UNREADABLE):
        return FailureCode.MODEL_REPLY_INVALID
    if isinstance(exc, openai.OpenAIError):
        return FailureCode.MODEL_REFUSED
    return FailureCode.INTERNAL_ERROR


def _failure_of_status(status: int) -> FailureCode:
    later = status >= 500 or status in _TRY_AGAIN_LATER
    return FailureCode.MODEL_UNREACHABLE if later else FailureCode.MODEL_REFUSED


def check_reply(message: object) -> AIMessage:
    """Return `message` if it is a usable reply; raise ModelFailure without usage if it isn't.

    MODEL_REPLY_INVALID: not an assistant's message, cut by length (also inside a tool call), or blank with no call in
    it. MODEL_REFUSED: withheld by the provider's filter, or a refusal in place of content. A reply that names no finish
    reason (other providers, servers that cut the stream) is judged by its content alone. Calls whose arguments can't be
    parsed are no failure: the gate answers them.
    """
    if not isinstance(message, AIMessage):
        raise ModelFailure(FailureCode.MODEL_REPLY_INVALID)
    reason = _finish_reason(message)
    if reason in _CUT:
        raise ModelFailure(FailureCode.MODEL_REPLY_INVALID)
    if reason in _WITHHELD:
        raise ModelFailure(FailureCode.MODEL_REFUSED)
    if not message.tool_calls and not message.invalid_tool_calls and _is_blank(_text_of(message)):
        refused = bool(message.additional_kwargs.get("refusal"))
        raise ModelFailure(FailureCode.MODEL_REFUSED if refused else FailureCode.MODEL_REPLY_INVALID)
    return message


def _finish_reason(message: AIMessage) -> str | None:
    for key in ("finish_reason", "stop_reason"):
        reason = message.response_metadata.get(key)
        if isinstance(reason, str):
            return reason.lower()
    return None


def _text_of(message: AIMessage) -> str:
    """The reply's text without a leading block of thinking, which some servers leave in the content."""
    return _THINKING.sub("", str(message.text), count=1) if _THINKING.match(message.text) else str(message.text)


def _is_blank(text: str) -> bool:
    return not any(character.isprintable() and not character.isspace() for character in text)


def plain_reply(message: AIMessage) -> AIMessage:
    """Return the reply as a run may keep it and send it back: text and calls, nothing of the provider.

    Response metadata, usage, reasoning and logprobs are left out (spec "Model token audit": none of them is persisted).
    A call that no checkpoint or strict server would take (arguments with NaN, integers beyond 64 bits, deep nesting)
    joins the unparsable ones; those keep their name and id, with `{}` for arguments, because servers refuse a
    history that holds broken JSON.
    """
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for call in message.tool_calls:
        if _storable(call["args"]):
            arguments = _well_formed(call["args"])
            calls.append(ToolCall(name=_call_name(call["name"]), args=arguments, id=call["id"], type="tool_call"))
        else:
            invalid.append(_unparsable(call["name"], call["id"]))
    invalid += [_unparsable(call["name"], call["id"]) for call in message.invalid_tool_calls]
    return AIMessage(content=_well_formed(_text_of(message)), tool_calls=calls, invalid_tool_calls=invalid)


def _unparsable(name: str | None, call_id: str | None) -> InvalidToolCall:
    return InvalidToolCall(name=_call_name(name), args="{}", id=call_id, error=None, type="invalid_tool_call")


def _call_name(name: str | None) -> str:
    """A name that providers accept in a history. One that had to be changed can't become a registered tool's."""
    if name and _CALL_NAME.fullmatch(name):
        return name
    return "unsupported-" + re.sub(r"[^A-Za-z0-9_-]", "-", name or "")[:48]


def _storable(value: Any, depth: int = 0) -> bool:
    if depth > _MAX_ARGUMENT_DEPTH:
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and _storable(item, depth + 1) for key, item in value.items())
    if isinstance(value, list):
        return all(_storable(item, depth + 1) for item in value)
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return True
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return isinstance(value, float) and value - value == 0


def _well_formed(value: Any) -> Any:
    """Replace lone surrogates, which a JSON escape can carry in and no encoder lets out."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_well_formed(item) for item in value]
    return value


def parse_verdict(text: str) -> SemanticVerdict:
    """Return the verdict of `{"verdict": "SUPPORTED" | "UNSUPPORTED", "reason": "…"}`; the reason is dropped.

    Spec "Fail-closed release policy": the reason is never published. Raises ModelFailure(MODEL_REPLY_INVALID) for any
    other shape, a key named twice included.
    """
    reply = _object_in(text, allowed=("verdict", "reason"))
    verdict = reply.get("verdict")
    if not isinstance(verdict, str) or verdict not in set(SemanticVerdict):
        raise ModelFailure(FailureCode.MODEL_REPLY_INVALID)
    if not isinstance(reply.get("reason"), str | None):
        raise ModelFailure(FailureCode.MODEL_REPLY_INVALID)
    return SemanticVerdict(verdict)


@dataclass(frozen=True)
class Route:
    """Where a query goes, and what of its context was found: None where the query doesn't say."""

    kind: Literal["diagnosis", "other"]
    context: Mapping[str, str | None]
    """Keys: enterprise, service, environment, window, error; always all five."""


def parse_route(text: str) -> Route:
    """Return the route of `{"route": "diagnosis" | "other", "context": {…}}` (contract, "Router").

    A context field that is left out, null or blank is None; text is folded (NFKC, single blanks, no control
    characters). Raises ModelFailure(MODEL_REPLY_INVALID) for any other shape, unknown fields and fields of over 200
    characters included.
    """
    reply = _object_in(text, allowed=("route", "context"))
    kind = reply.get("route")
    context = reply.get("context")
    if kind not in ("diagnosis", "other") or not isinstance(context, dict | None):
        raise ModelFailure(FailureCode.MODEL_REPLY_INVALID)
    found = context or {}
    if set(found) - set(_ROUTE_CONTEXT):
        raise ModelFailure(FailureCode.MODEL_REPLY_INVALID)
    return Route(kind=kind, context={key: _context_text(found.get(key)) for key in _ROUTE_CONTEXT})


def _context_text(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > _MAX_CONTEXT_LENGTH:
        raise ModelFailure(FailureCode.MODEL_REPLY_INVALID)
    folded = unicodedata.normalize("NFKC", _well_formed(value))
    return " ".join("".join(c if c.isprintable() else " " for c in folded).split()) or None


def _object_in(text: str, *, allowed: Sequence[str]) -> dict[str, Any]:
    try:
        value = json.loads(unfenced(text), object_pairs_hook=without_repeats)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or set(value) - set(allowed):
        raise ModelFailure(FailureCode.MODEL_REPLY_INVALID)
    return value
