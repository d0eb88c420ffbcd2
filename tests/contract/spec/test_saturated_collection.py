"""diagnosis-information-gain-stop-contract: Saturated collection SHALL stop further Tool execution."""

from tests.support.driving import rig
from tests.support.scripted import no_conclusion, request


async def test_model_evaluation_reaches_threshold() -> None:
    """diagnosis-information-gain-stop-contract / Saturated collection SHALL stop further Tool execution / Model
    evaluation reaches threshold.
    """
    driven = rig(
        request("a"),
        request("b", previous=("r1c1", "NO_GAIN")),
        request("c", previous=("r1c2", "NO_GAIN")),
        no_conclusion(),
    )
    run = await driven.run()
    assert driven.executed == ["a", "b"]
    stop = driven.seen[-1]
    assert stop == {"type": "STOP_REQUIRED", "tool_call_id": "r1c3", "reason": "INFORMATION_SATURATED"}
    assert [answer["type"] for answer in driven.seen].count("STOP_REQUIRED") == 1
    assert run.of("STOP_REQUIRED_DELIVERED", "stop_reason") == ["INFORMATION_SATURATED"]
    assert run.state["budget"]["tool_calls"] == 2
    assert run.state["stop_delivered"] is True


async def test_model_ignores_stop_instruction() -> None:
    """diagnosis-information-gain-stop-contract / Saturated collection SHALL stop further Tool execution / Model ignores
    stop instruction.
    """
    driven = rig(
        request("a"),
        request("b", previous=("r1c1", "NO_GAIN")),
        request("c", previous=("r1c2", "NO_GAIN")),
        request("d"),
    )
    run = await driven.run()
    assert driven.executed == ["a", "b"]
    assert run.state["budget"]["tool_calls"] == 2
    assert run.of("CONTROLLED_STOP", "stop_reason") == ["INFORMATION_SATURATED"]
    assert run.events("RUN_FAILURE") == []
    assert [answer["type"] for answer in run.answers].count("STOP_REQUIRED") == 1
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")
    assert [fact["scope"] for fact in run.facts] == [{"service": "a"}, {"service": "b"}]
