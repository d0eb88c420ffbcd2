"""Contract, "Prompt": what the diagnosis model is really sent says what it must, and nothing of the harness."""

import re
from itertools import pairwise

import pytest
from langchain_core.messages import SystemMessage

from graph.settings import DiagnosisContext
from graph.wiring import build_graph
from tests.support.driving import harness, rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedTool, no_conclusion, nothing, request


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9_]+", text.lower()))


async def _system_prompt(locale: str = "zh") -> str:
    driven = rig(no_conclusion())
    await driven.run(context=DiagnosisContext.model_validate({"locale": locale}))
    system = driven.diagnosis.seen[0][0]
    assert isinstance(system, SystemMessage)
    return str(system.text)


@pytest.mark.parametrize("word", ["GAINED", "NO_GAIN", "STOP_REQUIRED", "conclusion=null", "limitations.missing_info"])
async def test_the_prompt_speaks_of(word: str) -> None:
    assert word in await _system_prompt()


async def test_the_prompt_names_no_tool_no_argument_no_setting_and_no_node() -> None:
    words = _words(await _system_prompt())
    nodes = set(build_graph(settings=harness()).get_graph().nodes) - {"__start__", "__end__"}
    settings = {name for group in harness().model_dump().values() if isinstance(group, dict) for name in group}
    limits = set(harness().limits().model_dump())
    counters = {"consecutive_no_gain", "consecutive_protocol_violations", "pending_observation", "stop_reason"}
    banned = nodes | settings | limits | counters | {"probe", "target", "previous_observation", "next_action", "budget"}
    assert words & (banned - {"default", "limit"}) == set()


async def test_a_model_is_sent_a_stable_prefix_that_only_grows() -> None:
    driven = rig(request("a"), request("b"), request("c"), request("d"), tools=ScriptedTool(nothing()))
    await driven.run()
    sent = [
        spoken([(m.type, m.content, getattr(m, "tool_calls", None)) for m in seen]) for seen in driven.diagnosis.seen
    ]
    for before, after in pairwise(sent):
        assert after.startswith(before[:-1])
    assert len({tuple(bound) for bound in driven.diagnosis.bound}) == 1


async def test_no_limit_and_no_counter_enters_the_models_context() -> None:
    driven = rig(request("a"), request("b"), no_conclusion(), settings=harness(no_gain=7, max_tokens=54321))
    await driven.run()
    sent = spoken([message.content for seen in driven.diagnosis.seen for message in seen])
    for word in ("54321", "consecutive_no_gain", "max_tokens", "stop_after", "limits", "tool_requests"):
        assert word not in sent


async def test_the_diagnosis_is_asked_for_in_the_runs_language() -> None:
    assert "中文" in await _system_prompt("zh")
    assert "英文" in await _system_prompt("en")
