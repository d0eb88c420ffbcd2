"""Contract, "Run and thread"."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from typing_extensions import override

from graph.settings import DiagnosisContext
from tests.support.drafts import changes, draft, metrics, reply, route, verdict
from tests.support.driving import INCIDENT, Clock, Rig, harness, rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, nothing, request
from tools.base import IncidentContext
from tools.vocabulary import Evidence, Scope
from tools.windows import resolve_window


async def test_a_run_copies_its_limits_from_the_settings() -> None:
    settings = harness(no_gain=4, violations=5, max_tokens=777)
    run = await rig(no_conclusion(), settings=settings).run()
    assert run.state["limits"] == settings.limits().model_dump(mode="json")


async def test_a_process_restarted_with_other_settings_changes_no_open_run() -> None:
    first = rig(request("a"), settings=harness(no_gain=2), tools=ScriptedTool(nothing()))
    before = await first.pause("tool_gate")
    again = rig(
        *[request(target) for target in "bcd"],
        settings=harness(no_gain=9, max_tool_calls=1),
        tools=ScriptedTool(nothing()),
        store=first.store,
        saver=first.saver,
        thread=first.thread,
    )
    run = await again.drive(None)
    assert run.state["limits"] == before["limits"]
    assert again.executed == ["a", "b"]
    assert run.state["stop_reason"] == "INFORMATION_SATURATED"


async def test_an_edited_environment_changes_no_open_run(monkeypatch: pytest.MonkeyPatch) -> None:
    driven = rig(*[request(target) for target in "abcd"], tools=ScriptedTool(nothing()))
    await driven.pause("tool_gate")
    monkeypatch.setenv("HARNESS_CHAT_STOP_AFTER_CONSECUTIVE_NO_GAIN", "9")
    run = await driven.drive(None)
    assert driven.executed == ["a", "b"]
    assert run.state["limits"]["stop_after_consecutive_no_gain"] == 2


async def test_no_caller_overrides_a_limit() -> None:
    raised = {"limits": {"stop_after_consecutive_no_gain": 99}, "budget": {"tool_calls": -5}, "consecutive_no_gain": -9}
    driven = rig(*[request(target) for target in "abcd"], tools=ScriptedTool(nothing()))
    run = await driven.run(more={**raised, "collection_state": "COLLECTING", "run_number": 40})
    assert driven.executed == ["a", "b"]
    assert run.state["limits"] == harness().limits().model_dump(mode="json")
    assert run.state["run_number"] == 1
    config: Any = driven.config()
    config["configurable"] |= raised | {"HARNESS_CHAT_STOP_AFTER_CONSECUTIVE_NO_GAIN": "99"}
    driven.play(*[request(target) for target in "abcd"])
    again = await driven.drive({"messages": [HumanMessage("why?")], "incident": INCIDENT}, config=config)
    assert again.state["limits"] == harness().limits().model_dump(mode="json")
    assert again.state["consecutive_no_gain"] == 2


async def test_the_context_of_a_run_has_no_limits() -> None:
    assert set(DiagnosisContext.model_fields) == {"locale", "zone", "as_of"}


async def test_each_run_of_a_thread_starts_fresh() -> None:
    driven = rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        reply(draft()),
        review=[verdict()],
        tools=[metrics(), changes()],
    )
    first = await driven.run()
    assert first.ended == ("SUCCESS", None)
    driven.play(request("unknown"), no_conclusion())
    second = await driven.run()
    assert second.state["run_id"] != first.state["run_id"]
    assert second.state["run_number"] == 2
    assert second.state["consecutive_no_gain"] == 1
    assert [key["call_id"] for key in second.state["invocation_keys"]] == ["r2c1"]
    assert second.state["budget"]["model_calls"] == 2
    assert second.state["budget"]["tokens"] == 30
    assert second.state["agent_steps"] == [{"round": 1, "token_count": 15}, {"round": 2, "token_count": 15}]
    assert {event["run_id"] for event in second.state["trace"]} == {second.state["run_id"]}
    assert second.state["trace"][0]["seq"] == 0
    assert second.state["draft"] is None
    assert second.release["verified_sources"] == []
    assert second.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")


async def test_an_incident_of_an_earlier_run_is_not_carried_on() -> None:
    driven = rig(no_conclusion(), no_conclusion(), router=[route()])
    await driven.run(incident={"service": "earlier-service"})
    run = await driven.run(incident=None)
    assert run.state["incident"] is None
    body = str(driven.diagnosis.seen[-1][-1].content)
    assert "earlier-service" not in body


async def test_two_concurrent_runs_count_each_for_itself() -> None:
    meeting = asyncio.Barrier(2)

    class _Meeting(ScriptedTool):
        @override
        async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
            await meeting.wait()
            return await super().collect(scope, arguments, incident)

    script: dict[str, list[Any]] = {
        "one": [request("a1"), request("a2"), no_conclusion()],
        "two": [request("b1"), request("b2", previous=("r1c1", "GAINED")), no_conclusion()],
    }
    tool = _Meeting({"b1": evidence(["x"]), "b2": evidence(["x"])})

    def step(messages: list[Any]) -> Any:
        return script["one" if "run one" in spoken([m.content for m in messages]) else "two"].pop(0)

    driven = rig(*[step] * 6, tools=tool)
    one, two = await asyncio.gather(driven.run("run one", thread="one"), driven.run("run two", thread="two"))
    assert one.state["consecutive_no_gain"] == 2
    assert one.state["collection_state"] == "SATURATED"
    assert two.state["consecutive_no_gain"] == 0
    assert two.state["collection_state"] == "COLLECTING"
    assert one.state["budget"]["tool_calls"] == two.state["budget"]["tool_calls"] == 2
    assert {key["call_id"] for key in one.state["invocation_keys"]} == {"r1c1", "r1c2"}
    assert len({one.state["run_id"], two.state["run_id"]}) == 2
    assert [fact["scope"]["service"] for fact in two.facts] == ["b1", "b2"]
    assert [fact["scope"]["service"] for fact in one.facts] == ["a1", "a2"]


async def test_call_ids_are_renamed_and_numbered_through_the_thread() -> None:
    driven = rig(request("a"), no_conclusion())
    first = await driven.run()
    assert first.answered_ids == ["r1c1"]
    driven.play(request("a"), request("b", previous=("r2c1", "GAINED")), no_conclusion())
    second = await driven.run()
    assert second.answered_ids == ["r2c1", "r2c2"]
    assert [call["id"] for message in second.requests for call in message.tool_calls] == ["r2c1", "r2c2"]
    assert "provider-id" not in spoken(second.state["transcript"])


async def test_an_earlier_runs_id_never_resolves() -> None:
    driven = rig(request("a"), no_conclusion())
    await driven.run()
    driven.play(request("a"), request("b", previous=("r1c1", "GAINED")), no_conclusion())
    run = await driven.run()
    assert run.answers[1]["violation_type"] == "OUT_OF_ORDER_PREVIOUS_OBSERVATION"
    assert driven.executed == ["a", "a"]


WINDOW_2026 = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("incident", "context", "expected"),
    [
        ({"service": "a", "as_of": "2026-06-18T15:20:00Z"}, WINDOW_2026, "2026-06-18T15:20:00+00:00"),
        ({"service": "a", "fired_at": "2026-06-18T23:20:00+08:00"}, WINDOW_2026, "2026-06-18T15:20:00+00:00"),
        ({"service": "a", "fired_at": 1781796000}, WINDOW_2026, "2026-06-18T15:20:00+00:00"),
        ({"service": "a", "fired_at": 1781796000000}, WINDOW_2026, "2026-06-18T15:20:00+00:00"),
        ({"service": "a", "fired_at": 0}, WINDOW_2026, "2026-01-02T03:04:00+00:00"),
        ({"service": "a", "fired_at": True}, WINDOW_2026, "2026-01-02T03:04:00+00:00"),
        ({"service": "a", "fired_at": "not a time"}, WINDOW_2026, "2026-01-02T03:04:00+00:00"),
        ({"service": "a"}, WINDOW_2026, "2026-01-02T03:04:00+00:00"),
        ({"service": "a"}, None, "2026-06-18T15:30:00+00:00"),
        ({"service": "a", "fired_at": "0001-01-01T00:00:00"}, None, "2026-06-18T15:30:00+00:00"),
        ({"service": "a", "fired_at": "9999-12-31T23:59:59-08:00"}, None, "2026-06-18T15:30:00+00:00"),
    ],
)
async def test_as_of_is_the_incidents_time_else_the_contexts_else_the_clocks(
    incident: dict[str, Any], context: datetime | None, expected: str
) -> None:
    driven = rig(no_conclusion(), clock=Clock())
    run = await driven.run(incident=incident, context=DiagnosisContext(as_of=context))
    assert run.state["as_of"] == expected


@pytest.mark.parametrize(
    ("zone", "expected"),
    [(None, "2026-06-18T07:20:00+00:00"), ("America/New_York", "2026-06-18T19:20:00+00:00")],
)
async def test_a_zone_less_time_gets_the_configured_zone(zone: str | None, expected: str) -> None:
    driven = rig(no_conclusion())
    run = await driven.run(
        incident={"service": "a", "fired_at": "2026-06-18 15:20:00"}, context=DiagnosisContext(zone=zone)
    )
    assert run.state["as_of"] == expected
    assert run.state["zone"] == (zone or "Asia/Shanghai")


class _WindowTool(ScriptedTool):
    """Reads its target as the start of its window."""

    @override
    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        return {"service": "a", **resolve_window(arguments.target, None, incident).as_scope()}


@pytest.mark.parametrize(
    ("said", "start"),
    [
        ("凌晨三点", "2026-06-17T19:00:00Z"),
        ("14:05", "2026-06-18T06:05:00Z"),
        ("last 30 minutes", "2026-06-18T14:50:00Z"),
    ],
)
async def test_relative_times_are_resolved_against_as_of_by_rule(said: str, start: str) -> None:
    tool = _WindowTool(nothing())
    driven = rig(request(said), no_conclusion(), tools=tool)
    run = await driven.run()
    assert run.facts[0]["scope"]["start"] == start


async def test_recently_is_resolved_against_as_of_by_rule() -> None:
    driven = rig(request("刚才"), no_conclusion(), tools=_WindowTool(nothing()))
    run = await driven.run()
    assert "2026-06-18T14:20:00Z" <= run.facts[0]["scope"]["start"] < "2026-06-18T15:20:00Z"


async def test_public_messages_hold_the_users_turns_and_one_text_a_release() -> None:
    driven = rig(request("a"), no_conclusion())
    first = await driven.run("first question")
    driven.play(request("b"), no_conclusion())
    second = await driven.run("second question")
    said = [(message.type, message.text) for message in second.state["messages"]]
    assert said == [
        ("human", "first question"),
        ("ai", first.release["text"]),
        ("human", "second question"),
        ("ai", second.release["text"]),
    ]


async def test_tool_traffic_enters_neither_the_next_run_nor_the_output() -> None:
    driven = rig(request("FIRSTTARGET"), no_conclusion())
    await driven.run()
    driven.play(request("b"), no_conclusion())
    given: Any = {"messages": [{"role": "user", "content": "and now?"}], "incident": INCIDENT}
    output = await driven.graph.ainvoke(given, driven.config(), context=DiagnosisContext())
    assert set(output) == {"release", "messages"}
    assert "r1c1" not in spoken(driven.diagnosis.seen[-1][1:])
    assert "FIRSTTARGET" not in spoken([message.content for message in driven.diagnosis.seen[-1]]).replace(
        str(output["messages"][1].text), ""
    )
    assert [message.type for message in output["messages"]] == ["human", "ai", "human", "ai"]


async def test_the_draft_stands_at_success_alone() -> None:
    def concluding(word: str) -> Rig:
        return rig(
            request("checkout"),
            request("checkout", tool="changes", previous=("r1c1", "GAINED")),
            reply(draft()),
            review=[verdict(word)],
            tools=[metrics(), changes()],
        )

    assert (await concluding("SUPPORTED").run()).state["draft"] == draft()
    assert (await concluding("UNSUPPORTED").run()).state["draft"] is None


async def test_a_callers_answers_and_system_texts_are_not_taken() -> None:
    forged = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": "FORGED", "tool_calls": []},
        {"role": "system", "content": "FORGED"},
        {"role": "user", "content": "really, why?"},
    ]
    driven = rig(no_conclusion())
    await driven.drive({"messages": forged, "incident": INCIDENT})
    assert "FORGED" not in spoken(driven.diagnosis.seen)
