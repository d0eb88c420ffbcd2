"""One attempt at a scripted model of any provider: what is bound, what counts as usage, what a failure holds."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.base import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import ValidationError

from graph.contract.vocabulary import FailureCode
from graph.models.calling import ModelCapabilities, ModelReply, call_model
from graph.models.replies import ModelFailure

TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}


class Scripted(BaseChatModel):
    """Answers with one message, or raises; remembers how it was bound and how often it was asked."""

    step: Any
    bound: list[Any]
    asked: list[list[BaseMessage]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        self.bound.append((list(tools), {"tool_choice": tool_choice, **kwargs}))
        return self.bind()

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked.append(messages)
        if isinstance(self.step, Exception):
            raise self.step
        return ChatResult(generations=[ChatGeneration(message=self.step)])


def scripted(step: AIMessage | Exception) -> Scripted:
    return Scripted(step=step, bound=[], asked=[])


async def ask(model: Scripted, tools: Sequence[dict[str, Any]] = (), **capabilities: bool) -> ModelReply:
    return await call_model(
        model, [HumanMessage("why?")], tools=tools, timeout=30, capabilities=ModelCapabilities(**capabilities)
    )


def usage(inside: int, outside: int) -> UsageMetadata:
    return UsageMetadata(input_tokens=inside, output_tokens=outside, total_tokens=inside + outside)


async def test_a_model_that_names_neither_finish_reason_nor_usage_is_fine() -> None:
    found = await ask(scripted(AIMessage("text")))
    assert (found.message.text, found.input_tokens, found.output_tokens) == ("text", None, None)


async def test_usage_is_taken_as_the_provider_reported_it() -> None:
    found = await ask(scripted(AIMessage("text", usage_metadata=usage(11, 0))))
    assert (found.input_tokens, found.output_tokens) == (11, 0)


async def test_tools_are_bound_only_where_there_are_any() -> None:
    model = scripted(AIMessage("text"))
    await ask(model)
    assert model.bound == []
    await ask(model, [TOOL])
    assert model.bound == [([TOOL], {"tool_choice": None})]


async def test_a_strict_mark_leaves_the_callers_schemas_alone() -> None:
    model = scripted(AIMessage("text"))
    await ask(model, [TOOL], strict_schemas=True)
    assert model.bound[0][0][0]["function"]["strict"] is True
    assert "strict" not in TOOL["function"]


@pytest.mark.parametrize("exc", [RuntimeError("the secret prompt"), ValueError("the secret prompt")])
async def test_a_failure_holds_nothing_of_the_exception_that_caused_it(exc: Exception) -> None:
    model = scripted(exc)
    with pytest.raises(ModelFailure) as raised:
        await ask(model)
    assert len(model.asked) == 1
    assert (raised.value.__context__, raised.value.__cause__) == (None, None)
    assert "secret" not in repr(raised.value) + repr(vars(raised.value))


async def test_the_log_names_the_exceptions_class_and_nothing_of_its_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="graph.models.calling")
    with pytest.raises(ModelFailure):
        await ask(scripted(ZeroDivisionError("the secret prompt")))
    assert [record.getMessage() for record in caplog.records] == [
        "A model attempt ended in INTERNAL_ERROR: ZeroDivisionError"
    ]


async def test_a_failure_within_a_handler_of_the_caller_is_still_free_of_the_clients_exception() -> None:
    try:
        raise LookupError("the caller's own")
    except LookupError:
        with pytest.raises(ModelFailure) as raised:
            await ask(scripted(ValueError("the secret prompt")))
    assert isinstance(raised.value.__context__, LookupError)
    assert raised.value.__context__.__context__ is None


async def test_a_cut_reply_carries_what_was_billed() -> None:
    cut = AIMessage("half", response_metadata={"stop_reason": "max_tokens"}, usage_metadata=usage(11, 512))
    with pytest.raises(ModelFailure) as raised:
        await ask(scripted(cut))
    assert raised.value.code is FailureCode.MODEL_REPLY_INVALID
    assert (raised.value.input_tokens, raised.value.output_tokens) == (11, 512)


def test_capabilities_are_fixed_and_unknown_ones_are_refused() -> None:
    with pytest.raises(ValidationError):
        ModelCapabilities.model_validate({"strict_schema": True})
    with pytest.raises(ValidationError):
        ModelCapabilities().strict_schemas = True  # type: ignore[misc]
