"""Contract, "The envelope and the gate"."""

import re
from typing import Any

import pytest
from langchain_core.messages import InvalidToolCall, ToolCall

from graph.envelope import tool_schema
from tests.support.driving import Clock, harness, rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedTool, calls, evidence, no_conclusion, nothing, request, text
from tools.base import EvidenceTool
from tools.frozen.alerts import AlertsTool
from tools.frozen.changes import GetChangeTool, ListChangesTool
from tools.frozen.metrics import MetricsTool
from tools.frozen.search import SearchTool
from tools.frozen.signatures import SignaturesTool
from tools.frozen.traces import TracesTool
from tools.runbooks import RunbookSearch
from tools.vocabulary import Evidence, Scope


def call(target: Any, *, tool: str = "probe", previous: Any = None, **args: Any) -> ToolCall:
    given = {"previous_observation": previous, "target": target, "limit": None, **args}
    return ToolCall(name=tool, args=given, id="same-id", type="tool_call")


def unparsable(tool: str = "probe") -> InvalidToolCall:
    return InvalidToolCall(name=tool, args="{broken", id="x", error="BROKENTEXT", type="invalid_tool_call")


def previous(call_id: str, gain: str) -> dict[str, str]:
    return {"tool_call_id": call_id, "information_gain": gain}


def test_every_schema_requires_a_nullable_previous_observation() -> None:
    parameters = tool_schema(ScriptedTool(nothing()))["function"]["parameters"]
    assert parameters["required"][0] == "previous_observation"
    field = parameters["properties"]["previous_observation"]
    assert {"type": "null"} in field["anyOf"]
    inner = next(option for option in field["anyOf"] if option.get("properties"))
    assert set(inner["properties"]) == {"tool_call_id", "information_gain"} == set(inner["required"])
    assert inner["properties"]["information_gain"]["enum"] == ["GAINED", "NO_GAIN"]
    assert "default" not in spoken(parameters)


async def test_previous_observation_is_ignored_while_nothing_is_pending() -> None:
    driven = rig(
        request("a", previous={"tool_call_id": "r7c7", "information_gain": "NONSENSE"}),
        request("b", previous=("r1c1", "NO_GAIN")),
        no_conclusion(),
        tools=ScriptedTool({"b": evidence(["x"])}),
    )
    run = await driven.run()
    assert driven.executed == ["a", "b"]
    assert run.rejected == []
    assert run.state["consecutive_no_gain"] == 1


@pytest.mark.parametrize(
    ("given", "violation", "missing"),
    [
        (None, "MISSING_PREVIOUS_OBSERVATION", "previous_observation"),
        ("r1c1", "MISSING_PREVIOUS_OBSERVATION", "previous_observation"),
        ({}, "OUT_OF_ORDER_PREVIOUS_OBSERVATION", None),
        ({"tool_call_id": "r1c9"}, "OUT_OF_ORDER_PREVIOUS_OBSERVATION", None),
        ({"tool_call_id": "r1c9", "information_gain": "WRONG"}, "OUT_OF_ORDER_PREVIOUS_OBSERVATION", None),
        ({"tool_call_id": "r1c1"}, "INVALID_INFORMATION_GAIN", "information_gain"),
        ({"tool_call_id": "r1c1", "information_gain": None}, "INVALID_INFORMATION_GAIN", "information_gain"),
        ({"tool_call_id": "r1c1", "information_gain": "gained"}, "INVALID_INFORMATION_GAIN", None),
        ({"tool_call_id": "r1c1", "information_gain": True}, "INVALID_INFORMATION_GAIN", None),
    ],
)
async def test_a_pending_observation_is_checked_in_order(given: Any, violation: str, missing: str | None) -> None:
    driven = rig(request("a"), request("b", previous=given), no_conclusion())
    run = await driven.run()
    assert run.of("TOOL_REQUEST_REJECTED", "violation_type") == [violation]
    assert run.answers[1]["violation_type"] == violation
    assert run.answers[1].get("missing_field") == missing
    assert driven.executed == ["a"]
    assert run.state["consecutive_no_gain"] == 0


@pytest.mark.parametrize(
    "late",
    [request("z"), request("z", tool="unknown"), calls([], invalid=[unparsable()]), request("senseless")],
    ids=["valid", "unsupported", "unparsable", "senseless"],
)
async def test_any_tool_call_after_the_stop_is_a_controlled_stop(late: Any) -> None:
    driven = rig(request("a"), request("b"), request("c"), late, tools=ScriptedTool(nothing()))
    run = await driven.run()
    assert run.rejected == ["STOP_REQUIRED", "CONTROLLED_STOP"]
    assert len(run.events("CONTROLLED_STOP")) == 1
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")


async def test_the_request_budget_comes_before_the_stop() -> None:
    driven = rig(
        request("a"), request("b"), request("c"), tools=ScriptedTool(nothing()), settings=harness(max_tool_requests=2)
    )
    run = await driven.run()
    assert run.rejected == ["BUDGET_LIMIT_REACHED"]
    assert run.events("STOP_REQUIRED_DELIVERED") == []


async def test_the_stop_comes_before_the_protocol_and_the_arguments() -> None:
    driven = rig(
        request("a"),
        request("b"),
        request("senseless", previous="garbage"),
        no_conclusion(),
        tools=ScriptedTool({"a": nothing(), "b": nothing()}),
    )
    run = await driven.run()
    assert run.rejected == ["STOP_REQUIRED"]
    assert run.state["consecutive_protocol_violations"] == 0


async def test_the_protocol_comes_before_the_arguments() -> None:
    run = await rig(request("a"), request("senseless"), no_conclusion()).run()
    assert run.rejected == ["INVALID_PROGRESS_PROTOCOL"]


async def test_an_observation_is_settled_before_the_arguments_are_judged() -> None:
    driven = rig(request("a"), request("senseless", previous=("r1c1", "NO_GAIN")), request("b"), no_conclusion())
    run = await driven.run()
    assert run.rejected == ["INVALID_TOOL_ARGUMENTS"]
    assert run.state["consecutive_no_gain"] == 1
    assert driven.executed == ["a", "b"]


async def test_saturation_by_the_settled_observation_comes_before_the_arguments() -> None:
    driven = rig(
        request("a"), request("senseless", previous=("r1c1", "NO_GAIN")), no_conclusion(), settings=harness(no_gain=1)
    )
    run = await driven.run()
    assert run.rejected == ["STOP_REQUIRED"]
    assert run.answers[1]["type"] == "STOP_REQUIRED"


async def test_the_duplicate_comes_before_the_tool_budgets() -> None:
    driven = rig(
        request("a"),
        request("a", previous=("r1c1", "GAINED")),
        no_conclusion(),
        settings=harness(max_tool_calls=1, max_observation_bytes=1),
    )
    run = await driven.run()
    assert run.rejected == ["DUPLICATE_SCOPE"]
    assert run.state["stop_reason"] is None


async def test_only_the_first_supported_call_of_a_message_is_judged() -> None:
    several = calls([call("n", tool="unknown"), call("a"), call("b"), call("senseless")], invalid=[unparsable()])
    driven = rig(several, no_conclusion())
    run = await driven.run()
    assert driven.executed == ["a"]
    assert [(answer["tool_call_id"], answer.get("code")) for answer in run.answers] == [
        ("r1c1", "UNSUPPORTED_TOOL"),
        ("r1c2", None),
        ("r1c3", "PARALLEL_TOOL_REQUEST"),
        ("r1c4", "PARALLEL_TOOL_REQUEST"),
        ("r1c5", "PARALLEL_TOOL_REQUEST"),
    ]
    assert run.state["budget"]["tool_requests"] == run.state["budget"]["tool_calls"] == 1


async def test_several_calls_move_at_most_one_counter() -> None:
    driven = rig(request("a"), calls([call("b"), call("c"), call("d")]), no_conclusion())
    run = await driven.run()
    assert run.state["consecutive_protocol_violations"] == 1
    assert run.state["consecutive_no_gain"] == 0
    assert run.rejected == ["INVALID_PROGRESS_PROTOCOL", "PARALLEL_TOOL_REQUEST", "PARALLEL_TOOL_REQUEST"]


async def test_every_call_gets_an_answer_at_stops_too() -> None:
    two = calls([call("c"), call("d")])
    driven = rig(request("a"), request("b"), two, two, tools=ScriptedTool(nothing()))
    run = await driven.run()
    assert [(answer["tool_call_id"], answer["type"]) for answer in run.answers[2:]] == [
        ("r1c3", "STOP_REQUIRED"),
        ("r1c4", "REJECTED"),
        ("r1c5", "REJECTED"),
        ("r1c6", "REJECTED"),
    ]
    assert run.rejected[2:] == ["CONTROLLED_STOP", "CONTROLLED_STOP"]


async def test_every_call_gets_an_answer_at_a_budget_stop_too() -> None:
    driven = rig(calls([call("a"), call("b")]), calls([call("c"), call("d")]), settings=harness(max_tool_requests=1))
    run = await driven.run()
    assert [answer.get("code") for answer in run.answers] == [
        None,
        "PARALLEL_TOOL_REQUEST",
        "BUDGET_LIMIT_REACHED",
        "PARALLEL_TOOL_REQUEST",
    ]


async def test_calls_win_over_the_text_beside_them() -> None:
    both = calls([call("a")], text=str(no_conclusion().text))
    driven = rig(both, no_conclusion(missing=["time"]))
    await driven.run()
    assert driven.executed == ["a"]
    assert len(driven.diagnosis.seen) == 2


async def test_unparsable_arguments_are_named_and_are_no_protocol_violation() -> None:
    driven = rig(
        request("a"), calls([], invalid=[unparsable()]), request("b", previous=("r1c1", "GAINED")), no_conclusion()
    )
    run = await driven.run()
    assert run.answers[1]["code"] == "INVALID_TOOL_ARGUMENTS"
    assert run.answers[1]["unparsable"] is True
    assert run.rejected == ["INVALID_TOOL_ARGUMENTS"]
    assert run.state["consecutive_protocol_violations"] == 0
    assert driven.executed == ["a", "b"]
    assert "BROKENTEXT" not in spoken([run.chunks, run.state])


@pytest.mark.parametrize(
    ("args", "fields"),
    [
        ({"target": 5}, ["target"]),
        ({"target": "x", "limit": "VALUE"}, ["limit"]),
        ({"target": "x", "INVENTED": "VALUE"}, ["unknown_field"]),
        ({"target": "senseless"}, ["target"]),
    ],
)
async def test_arguments_at_fault_are_named_without_their_values(args: dict[str, Any], fields: list[str]) -> None:
    driven = rig(request("a"), request(**args, previous=("r1c1", "GAINED")), no_conclusion())
    run = await driven.run()
    answer = run.answers[1]
    assert answer["code"] == "INVALID_TOOL_ARGUMENTS"
    assert answer["fields"] == fields
    assert "VALUE" not in spoken(answer)
    assert "INVENTED" not in spoken(answer)
    assert run.state["consecutive_protocol_violations"] == 0
    assert run.state["pending_observation"] is None
    assert run.of("INFORMATION_GAIN", "information_gain") == ["GAINED"]


async def test_an_unknown_tool_is_unsupported_and_its_name_stays_out_of_the_trace() -> None:
    driven = rig(request("a", tool="drop_all_tables"), no_conclusion())
    run = await driven.run()
    assert run.answers[0]["code"] == "UNSUPPORTED_TOOL"
    assert run.of("TOOL_REQUEST_REJECTED", "tool_name") == ["UNSUPPORTED"]
    assert "drop_all_tables" not in spoken([run.state["trace"], run.progress])
    assert run.state["budget"]["tool_requests"] == 0


async def test_a_protocol_valid_request_sets_the_violations_to_zero() -> None:
    driven = rig(
        request("a"),
        request("b"),
        request("b"),
        request("b", previous=("r1c1", "GAINED")),
        request("c"),
        request("c"),
        request("c", previous=("r1c4", "GAINED")),
        no_conclusion(),
    )
    run = await driven.run()
    assert driven.executed == ["a", "b", "c"]
    assert run.state["stop_reason"] is None
    assert [a["consecutive_protocol_violations"] for a in run.answers if "violation_type" in a] == [1, 2, 1, 2]


async def test_violations_are_not_counted_while_saturated() -> None:
    driven = rig(
        request("a"),
        request("b"),
        request("c", previous="garbage"),
        no_conclusion(),
        tools=ScriptedTool(nothing()),
        settings=harness(violations=1),
    )
    run = await driven.run()
    assert run.state["consecutive_protocol_violations"] == 0
    assert run.state["stop_reason"] == "INFORMATION_SATURATED"


async def test_a_duplicate_names_the_earlier_call_and_owes_no_evaluation() -> None:
    driven = rig(request("a"), request("a", previous=("r1c1", "GAINED")), request("b"), no_conclusion())
    run = await driven.run()
    assert run.answers[1]["earlier_tool_call_id"] == "r1c1"
    assert driven.executed == ["a", "b"]
    assert run.rejected == ["DUPLICATE_SCOPE"]


async def test_a_duplicate_that_saturates_is_answered_by_the_stop_and_traced_as_both() -> None:
    driven = rig(request("a"), request("a", previous=("r1c1", "NO_GAIN")), no_conclusion())
    run = await driven.run()
    assert run.answers[1] == {
        "type": "STOP_REQUIRED",
        "tool_call_id": "r1c2",
        "reason": "INFORMATION_SATURATED",
    }
    assert run.rejected == ["DUPLICATE_SCOPE"]
    assert run.of("STOP_REQUIRED_DELIVERED", "stop_reason") == ["INFORMATION_SATURATED"]


async def test_a_duplicate_stays_one_though_its_record_is_gone() -> None:
    driven = rig(request("a"), request("a", previous=("r1c1", "GAINED")), no_conclusion())
    await driven.pause("diagnose")
    await driven.graph.ainvoke(None, driven.config(), interrupt_after=["evaluate_gain"])
    record = (await driven.stored())["r1c1"]
    await driven.store.adelete(record.namespace, record.key)
    run = await driven.drive(None)
    assert driven.executed == ["a"]
    assert run.rejected == ["DUPLICATE_SCOPE"]
    assert "RECORD_MISSING" in run.limitations


async def test_display_options_make_no_other_scope_and_what_is_asked_does() -> None:
    driven = rig(
        request("a", limit=1),
        request("a", limit=99, previous=("r1c1", "GAINED")),
        request("b", limit=1),
        no_conclusion(),
    )
    run = await driven.run()
    assert driven.executed == ["a", "b"]
    assert run.rejected == ["DUPLICATE_SCOPE"]


async def test_the_same_scope_of_another_tool_is_no_duplicate() -> None:
    tools = [ScriptedTool(nothing()), ScriptedTool(nothing(), name="other")]
    driven = rig(request("a"), request("a", tool="other"), no_conclusion(), tools=tools)
    run = await driven.run()
    assert driven.executed == ["a", "a"]
    assert run.rejected == []


async def test_a_slow_tool_is_ended_by_the_time_that_is_left() -> None:
    clock = Clock()

    def slow(scope: Scope) -> Evidence:
        clock.advance(500)
        return nothing()

    driven = rig(request("a"), request("b"), text("unused"), tools=ScriptedTool(slow), clock=clock)
    run = await driven.run()
    assert driven.executed == ["a"]
    assert run.of("STOP_REASON_SET", "budget") == ["seconds"]


FAMILY = (
    AlertsTool,
    MetricsTool,
    SignaturesTool,
    SearchTool,
    TracesTool,
    ListChangesTool,
    GetChangeTool,
    RunbookSearch,
)


@pytest.mark.parametrize("tool", FAMILY)
def test_the_scope_of_each_tool_is_a_table_in_its_docstring(tool: type[EvidenceTool]) -> None:
    table = [line.strip() for line in (tool.__doc__ or "").splitlines() if line.strip().startswith("|")]
    told = {name for row in table for name in re.findall(r"[a-z_]+", row.split("|")[1])}
    assert set(tool.arguments.model_fields) <= told
