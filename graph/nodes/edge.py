"""The edge of a node: no exception's text leaves it.

LangGraph writes an exception's text into checkpoints and streams, even where an error handler stands; so nothing is
raised: a node that fails goes on to where its failure is released in order. Source: contract, "Release".
"""

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.cancellation import cancelled_from_outside
from graph.contract.vocabulary import Ending, FailureCode, TraceEventType
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState

To = TypeVar("To", bound=str)


class Node(Protocol[To]):
    """A node of the graph: the state and the runtime in, an update and the way on out."""

    async def __call__(self, state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        """Run the node."""
        ...


def contained(parts: Parts, *, on_failure: Any) -> Callable[[Node[To]], Node[To]]:
    """Return a decorator that turns a node's exception into `Command(goto=on_failure)`.

    The run's ending is then INTERNAL_ERROR, unless it was decided before.

    A cancellation passes through: it belongs to whoever holds the run.
    """

    def decorate(node: Node[To]) -> Node[To]:
        @wraps(node)
        async def guarded(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
            try:
                return await node(state, runtime)
            except asyncio.CancelledError:
                if cancelled_from_outside():
                    raise
                failed = FailureCode.INTERNAL_ERROR
            except Exception:  # noqa: BLE001 - the last line before a checkpoint; a code goes on, the text stays here
                failed = FailureCode.INTERNAL_ERROR
            recorder = Recorder(parts.clock, state, runtime.stream_writer)
            recorder.event(TraceEventType.RUN_FAILURE, code=failed)
            ending = state.get("ending") or Ending.INTERNAL_ERROR.value
            update = {"ending": ending, "failure": failed.value, **recorder.flush()}
            return Command(goto=on_failure, update=update)

        return guarded

    return decorate
