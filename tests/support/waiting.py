"""Parts that wait: a hold stops a run at one point, tells that it is there, and notices a cancellation."""

import asyncio
from collections.abc import Iterable
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langgraph.store.base import Op, Result
from langgraph.store.memory import InMemoryStore
from pydantic import ConfigDict
from typing_extensions import override

from tests.support.scripted import ScriptedChatModel, ScriptedTool
from tools.base import IncidentContext
from tools.vocabulary import Evidence, Scope


class Hold:
    """Waits for ever at the `at`-th visit (from 1; 0: never), and passes every other."""

    def __init__(self, at: int = 1) -> None:
        self.at = at
        self.visits = 0
        self.reached = asyncio.Event()
        self.cancelled = False

    async def visit(self) -> None:
        """Pass, or wait until the run is cancelled."""
        self.visits += 1
        if self.visits != self.at:
            return
        self.reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


class WaitingModel(ScriptedChatModel):
    """A scripted chat model that visits its hold before each reply."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    hold: Hold

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        await self.hold.visit()
        return self._generate(messages, stop, None, **kwargs)


class WaitingTool(ScriptedTool):
    """A scripted tool that visits its hold before each answer."""

    hold: Hold

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        await self.hold.visit()
        return await super().collect(scope, arguments, incident)


class WaitingStore(InMemoryStore):
    """A store that visits its hold before each batch."""

    hold: Hold

    @override
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        await self.hold.visit()
        return await super().abatch(ops)
