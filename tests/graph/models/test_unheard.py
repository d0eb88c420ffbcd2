"""No stream that a caller can ask for carries a prompt or an unverified draft."""

from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler

from graph.settings import DiagnosisContext, HarnessSettings
from graph.wiring import build_graph
from tests.support.scripted import ScriptedChatModel, ScriptedTool, evidence, no_conclusion, request, text

PROMPT_WORDS = "值班故障诊断员"
INPUTS = {"messages": [{"role": "user", "content": "why?"}], "incident": {"service": "a"}}
DRAFT = '{"conclusion": null, "analyses": [{"analysis_id": "unverified-words"}]}'


async def _listen(mode: str) -> list[Any]:
    model = ScriptedChatModel(script=[request("a"), text(DRAFT)])
    tools = [ScriptedTool(evidence(["series service=a"]))]
    graph: Any = build_graph(models=model, tools=tools, settings=HarnessSettings())
    if mode == "events":
        return [event async for event in graph.astream_events(INPUTS, context=DiagnosisContext(), version="v2")]
    return [part async for part in graph.astream(INPUTS, context=DiagnosisContext(), stream_mode=mode)]


@pytest.mark.parametrize("mode", ["messages", "custom", "values", "events"])
async def test_a_callers_stream_carries_no_prompt(mode: str) -> None:
    assert PROMPT_WORDS not in repr(await _listen(mode))


@pytest.mark.parametrize("mode", ["messages", "custom"])
async def test_a_callers_stream_carries_no_unverified_draft(mode: str) -> None:
    assert "unverified-words" not in repr(await _listen(mode))


async def test_a_tracer_of_the_operator_still_sees_the_model_call() -> None:
    class Tracer(AsyncCallbackHandler):
        heard = 0

        async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            Tracer.heard += 1

    graph: Any = build_graph(models=ScriptedChatModel(script=[no_conclusion()]), tools=[], settings=HarnessSettings())
    await graph.ainvoke(INPUTS, {"callbacks": [Tracer()]}, context=DiagnosisContext())
    assert Tracer.heard == 1
