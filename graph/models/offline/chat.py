"""What all offline models share: real chat models whose every answer is computed from the messages alone."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

OFFLINE_MODEL_NAME = "zhizhi-offline"
"""The name under which a release says that no endpoint was asked."""


class OfflineChatModel(BaseChatModel):
    """A chat model that is embedded: no network, no clock, no memory between calls.

    It uses no tokens and says so (zero input, zero output), so that a run's token audit reconciles.
    """

    @property
    def _llm_type(self) -> str:
        return OFFLINE_MODEL_NAME

    @abstractmethod
    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
        """Return the reply to the messages; `tools` are the bound ones in the OpenAI format."""

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with tools to choose from; `tool_choice` has nothing to force here."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self.answer(messages, kwargs.get("tools") or ())
        nothing = UsageMetadata(input_tokens=0, output_tokens=0, total_tokens=0)
        marked = reply.model_copy(
            update={
                "usage_metadata": nothing,
                "response_metadata": {"model_name": OFFLINE_MODEL_NAME, "finish_reason": "stop"},
            }
        )
        return ChatResult(generations=[ChatGeneration(message=marked)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await asyncio.to_thread(self._generate, messages, stop, None, **kwargs)
