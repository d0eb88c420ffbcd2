"""A graph whose state can be edited in the middle of a run, as Studio's fork does, and whose run then goes on.

A node sends its run on by a command. An edit (`update_state`) is none, so LangGraph would end the thread behind it,
without a Release. Source: contract, "Ledger" (a forked or edited thread), "Release" (exactly one a run).
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.constants import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from langgraph.typing import ContextT, InputT, OutputT, StateT
from typing_extensions import override

LAST_NODE = "release"
"""What is written in its name ends the run: nothing goes on behind it."""


class EditableGraph(CompiledStateGraph[StateT, ContextT, InputT, OutputT]):
    """A compiled state graph in which the nodes that were to go next before an edit still go next behind it."""

    @classmethod
    def of(
        cls, compiled: CompiledStateGraph[StateT, ContextT, InputT, OutputT]
    ) -> "EditableGraph[StateT, ContextT, InputT, OutputT]":
        """Return a compiled graph as an editable one."""
        return cls(**{name: value for name, value in vars(compiled).items() if name != "__orig_class__"})

    @override
    def update_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> RunnableConfig:
        """Edit the state, as LangGraph does; the run goes on where it stood."""
        if _is_edit(values, as_node):
            values = _going_on(values, self.get_state(config).next)
        return super().update_state(config, values, as_node, task_id)

    @override
    async def aupdate_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> RunnableConfig:
        """Edit the state, as LangGraph does; the run goes on where it stood."""
        if _is_edit(values, as_node):
            values = _going_on(values, (await self.aget_state(config)).next)
        return await super().aupdate_state(config, values, as_node, task_id)


def _going_on(values: dict[str, Any], waiting: Sequence[str]) -> Command[str]:
    return Command(update=values, goto=[name for name in waiting if name != START])


def _is_edit(values: Any, as_node: str | None) -> bool:
    """Whether an update is a person's change of values: LangGraph's own marks for nodes, as `__copy__`, mean more."""
    return isinstance(values, dict) and as_node != LAST_NODE and not (as_node or "").startswith("__")
