"""Model calls that no stream of the run can listen to.

A caller may ask a graph to stream its models' messages and events; they would carry prompts, and drafts that nobody has
verified yet. Source: contract, "Release" (a caller never sees a prompt; nothing is published that isn't proven).
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables.config import ensure_config, set_config_context

# The one mark that LangChain's and LangGraph's streaming handlers share; there's no public name for it.
from langchain_core.tracers._streaming import _StreamingCallbackHandler

T = TypeVar("T")


async def unheard(call: Coroutine[Any, Any, T]) -> T:
    """Await `call` with the surrounding run's callbacks, without those that stream to its caller.

    Tracers stay (LangSmith and others, which an operator has switched on), and their runs stay nested. A runnable that
    tools were bound to merges the surrounding callbacks in again, so the surroundings are changed: the call runs in a
    task with a context of its own, which is cancelled with the caller.
    """
    around = ensure_config()
    callbacks = around.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        quiet = callbacks.copy()
        for handler in [*quiet.handlers]:
            if isinstance(handler, _StreamingCallbackHandler):
                quiet.remove_handler(handler)
        around["callbacks"] = quiet
    with set_config_context(around) as context:
        return await asyncio.create_task(call, context=context)
