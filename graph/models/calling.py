"""One attempt at one model, whichever component makes it.

Retries, budgets and the trace are the caller's: each attempt is an admitted call with its own component round
(contract, "Gain and stop").
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel, ConfigDict

from graph.models.replies import ModelFailure, check_reply, failure_of, plain_reply
from graph.models.unheard import unheard

_MAX_TOKENS = 2**53
_log = logging.getLogger(__name__)


class ModelCapabilities(BaseModel):
    """What an endpoint can do, as its operator says; never guessed from a model's name (design, decision 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    strict_schemas: bool = False
    """Mark each schema `strict`: the provider then holds the model to it. The schemas must forbid further fields."""
    parallel_tool_calls_flag: bool = False
    """The endpoint knows `parallel_tool_calls`; it's sent as false."""
    tool_choice: bool = False
    """The endpoint knows `tool_choice`; it's sent as `auto` (thinking modes refuse any other)."""
    usage_reported: bool = True
    """The endpoint's token counts can be trusted; if not, usage counts as unavailable."""
    keep_tools_after_stop: bool = True
    """Tools stay bound after STOP_REQUIRED (the cached prefix stays whole); weak models only stop when they're gone."""
    enumerate_pending_id: bool = False
    """Name the pending call's id as an enumeration in the schemas: helps the weakest models, costs the prompt cache."""


@dataclass(frozen=True)
class ModelReply:
    """A usable reply: text and tool calls only, with what the provider billed for it (None where it didn't say)."""

    message: AIMessage
    input_tokens: int | None
    output_tokens: int | None


async def call_model(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    *,
    tools: Sequence[dict[str, Any]] = (),
    timeout: float,  # noqa: ASYNC109 - the attempt's deadline is part of its meaning
    capabilities: ModelCapabilities,
) -> ModelReply:
    """Make exactly one attempt within `timeout` seconds; `tools` are OpenAI-style schemas, bound where there are any.

    Raises ModelFailure with a code and, where the provider reported them, the tokens billed. It's raised outside of any
    handler, so neither its context nor its cause holds the client's exception, whose text may quote prompt or key.
    A cancellation passes through.
    """
    outcome = await _attempt(model, messages, tools, timeout, capabilities)
    if isinstance(outcome, ModelFailure):
        raise outcome
    return outcome


async def _attempt(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]],
    seconds: float,
    capabilities: ModelCapabilities,
) -> ModelReply | ModelFailure:
    billed: tuple[int | None, int | None] = (None, None)
    try:
        async with asyncio.timeout(seconds):
            runnable = model.bind_tools(_offered(tools, capabilities), **_binding(capabilities)) if tools else model
            message = await unheard(runnable.ainvoke(list(messages)))
        if capabilities.usage_reported:
            billed = usage_of(message)
        return ModelReply(plain_reply(check_reply(message)), *billed)
    except Exception as exc:  # noqa: BLE001 - any provider's client may be behind the model; every error becomes a code
        code = failure_of(exc)
        _log.info("A model attempt ended in %s: %s", code, type(exc).__name__)
    return ModelFailure(code, input_tokens=billed[0], output_tokens=billed[1])


def _offered(tools: Sequence[dict[str, Any]], capabilities: ModelCapabilities) -> list[dict[str, Any]]:
    """The schemas as they're bound. The mark is set here: `bind_tools(strict=True)` skips OpenAI-style dictionaries."""
    if not capabilities.strict_schemas:
        return list(tools)
    return [{**tool, "function": {**tool["function"], "strict": True}} for tool in tools]


def _binding(capabilities: ModelCapabilities) -> dict[str, Any]:
    """Only what the endpoint knows is sent: some refuse a request that holds a field unknown to them."""
    binding: dict[str, Any] = {}
    if capabilities.parallel_tool_calls_flag:
        binding["parallel_tool_calls"] = False
    if capabilities.tool_choice:
        binding["tool_choice"] = "auto"
    return binding


def usage_of(message: BaseMessage) -> tuple[int | None, int | None]:
    """Return (input, output) tokens as the provider reported them, or (None, None).

    Spec "Model token audit SHALL be component-scoped and reconcilable": non-negative counts, nothing fabricated. A half
    is no count: langchain-openai writes 0 for a field that the provider left out, which the raw usage tells apart.
    """
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    if usage is None:
        return None, None
    counts = usage.get("input_tokens"), usage.get("output_tokens")
    raw = message.response_metadata.get("token_usage")
    if isinstance(raw, Mapping):
        named = raw.get("prompt_tokens"), raw.get("completion_tokens")
        if any(count == 0 and source is None for count, source in zip(counts, named, strict=True)):
            return None, None
    if all(_is_count(count) for count in counts):
        return counts
    return None, None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_TOKENS
