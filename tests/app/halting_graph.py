"""A graph for the server's tests: the real one, but its router never answers.

A run that brings its incident skips the router and ends by itself; one that doesn't, stays in `classify` until somebody
cancels it.
"""

import asyncio
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from graph.models.offline import offline_models
from graph.wiring import build_graph


class HaltingModel(BaseChatModel):
    """A model that takes a call and never answers it."""

    @property
    def _llm_type(self) -> str:
        return "halting"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, *_: Any, **__: Any) -> ChatResult:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets this event")


models: dict[str, BaseChatModel] = {component.value: model for component, model in offline_models().items()}
graph = build_graph(models={**models, "router": HaltingModel()})
