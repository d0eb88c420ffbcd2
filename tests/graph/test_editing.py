"""Time travel: a run whose state was edited at any of its checkpoints goes on to exactly one Release."""

from typing import Any

import pytest
from langgraph.types import StateSnapshot

from tests.support.driving import Rig, rig
from tests.support.scripted import no_conclusion, request

WHOLE_WAY = (
    "open_run",
    "classify",
    "diagnose",
    "tool_gate",
    "evaluate_gain",
    "close_collection",
    "safe_fallback",
    "release",
)


async def finished_run() -> Rig:
    """Return a rig whose run asked of `a` and gave up, with a draft left for whoever asks again."""
    driven = rig(request("a"), no_conclusion())
    await driven.run()
    driven.play(no_conclusion(), no_conclusion())
    return driven


async def before(driven: Rig, node: str) -> StateSnapshot:
    """Return the newest checkpoint of the thread that waits for `node`."""
    return await anext(shot async for shot in driven.graph.aget_state_history(driven.config()) if shot.next == (node,))


def releases(values: dict[str, Any]) -> list[str]:
    return [message.text for message in values["messages"] if message.type == "ai"]


@pytest.mark.parametrize("node", WHOLE_WAY)
async def test_an_edited_run_goes_on_where_it_stood(node: str) -> None:
    driven = await finished_run()
    driven.diagnosis.script[:0] = [request("a")] if node in WHOLE_WAY[:2] else []
    edited = await driven.graph.aupdate_state((await before(driven, node)).config, {"consecutive_no_gain": 0})
    assert (await driven.graph.aget_state(edited)).next == (node,)
    run = await driven.drive(None, config=edited)
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert len(releases(run.state)) == 1


async def test_what_was_edited_decides_how_the_run_goes_on() -> None:
    driven = await finished_run()
    waiting = await before(driven, "evaluate_gain")
    nothing = {**waiting.values["last_answer"], "evidence_status": "NO_EVIDENCE"}
    edit = {"last_answer": nothing, "consecutive_no_gain": 1}
    edited = await driven.graph.aupdate_state(waiting.config, edit, as_node="tool_gate")
    run = await driven.drive(None, config=edited)
    assert run.state["collection_state"] == "SATURATED"


async def test_an_edit_from_a_thread_of_its_own_goes_on_too() -> None:
    driven = rig(request("a"), no_conclusion())
    await driven.pause("tool_gate")
    edited = driven.graph.update_state(driven.config(), {"consecutive_no_gain": 0})
    assert driven.graph.get_state(edited).next == ("tool_gate",)


async def test_an_edit_of_a_released_run_starts_nothing() -> None:
    driven = await finished_run()
    edited = await driven.graph.aupdate_state(driven.config(), {"consecutive_no_gain": 0})
    assert (await driven.graph.aget_state(edited)).next == ()


async def test_what_is_written_in_the_name_of_the_last_node_ends_the_run() -> None:
    driven = rig(request("a"))
    await driven.pause("tool_gate")
    ended = await driven.graph.aupdate_state(driven.config(), {"draft_text": None}, as_node="release")
    assert (await driven.graph.aget_state(ended)).next == ()
