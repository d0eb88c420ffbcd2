"""The offline diagnostician keeps the protocol of collection, whatever it is answered."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from graph.contract.draft import parse_draft
from graph.contract.vocabulary import ModelComponent
from graph.models.offline import OFFLINE_MODEL_NAME, OfflineDiagnostician, offline_models
from graph.models.offline.plan import MAX_CALLS, MAX_REQUESTS
from tests.graph.models.offline.faults import all_faults, observations

NULLABLE = {"anyOf": [{"type": "string"}, {"type": "null"}]}
FIELDS = {
    "get_alerts": ["service"],
    "query_metrics": ["service", "metric", "start", "end"],
    "find_log_signatures": ["service", "start", "end"],
    "search_logs": ["service", "contains", "severity", "start", "end", "limit"],
    "query_traces": ["service", "operation", "start", "end"],
    "list_changes": ["service", "change_kind", "start", "end"],
    "get_change": ["change_id"],
    "search_runbooks": ["query", "limit"],
}
FAULT = all_faults()["rate_limit_tightened"]


def schema(name: str, fields: list[str]) -> dict[str, Any]:
    properties = dict.fromkeys([*fields, "previous_observation"], NULLABLE)
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TOOLS = [schema(name, fields) for name, fields in FIELDS.items()]


class Talk:
    """A conversation with the diagnostician, in which the other side says what it likes."""

    def __init__(
        self, query: str = "", *, tools: list[dict[str, Any]] | None = None, service: str | None = "api-gateway"
    ):
        self.model = OfflineDiagnostician().bind_tools(TOOLS if tools is None else tools)
        context = {"as_of": "2026-03-04T13:05:00Z", "zone": "UTC", "context": {"service": service}, "alert": None}
        self.messages: list[BaseMessage] = [SystemMessage("…"), *([HumanMessage(query)] if query else [])]
        self.messages.append(HumanMessage(json.dumps({"type": "INCIDENT_CONTEXT", **context})))
        self.number = 0

    def ask(self) -> AIMessage:
        reply = self.model.invoke(self.messages)
        assert isinstance(reply, AIMessage)
        assert len(reply.tool_calls) <= 1
        return reply

    def request(self) -> dict[str, Any]:
        return dict(self.ask().tool_calls[0])

    def answer(self, body: dict[str, Any]) -> str:
        reply = self.ask()
        self.number += 1
        call_id = f"r1c{self.number}"
        self.messages.append(AIMessage(content="", tool_calls=[{**reply.tool_calls[0], "id": call_id}]))
        self.messages.append(ToolMessage(json.dumps({"tool_call_id": call_id, **body}), tool_call_id=call_id))
        return call_id

    def observe(self, tool: str, *, evidence: bool = True) -> str:
        content = [
            text
            for one in observations(FAULT)
            if one.tool == tool
            for line in one.lines
            for text in (line.raw, *line.more)
        ]
        return self.answer(
            {
                "type": "OBSERVATION",
                "tool_name": tool,
                "evidence_status": "EVIDENCE" if evidence and content else "NO_EVIDENCE",
                "relevance_level": "DIRECT",
                "provenance": "MEASURED",
                "truncated": False,
                "summary": "",
                "content": content if evidence else [],
            }
        )

    def draft(self) -> dict[str, Any]:
        text = str(self.ask().content)
        parse_draft(text)
        found: dict[str, Any] = json.loads(text)
        return found


def test_the_first_question_owes_no_evaluation() -> None:
    request = Talk().request()
    assert request["name"] == "get_alerts"
    assert request["args"]["previous_observation"] is None


def test_a_pending_observation_is_evaluated_with_the_next_question() -> None:
    talk = Talk()
    call_id = talk.observe("get_alerts")
    assert talk.request()["args"]["previous_observation"] == {"tool_call_id": call_id, "information_gain": "GAINED"}


def test_an_observation_that_tells_nothing_new_is_no_gain() -> None:
    talk = Talk()
    talk.observe("get_alerts")
    talk.observe("get_alerts")
    assert talk.request()["args"]["previous_observation"]["information_gain"] == "NO_GAIN"


def test_an_empty_answer_owes_no_evaluation() -> None:
    talk = Talk()
    talk.observe("get_alerts", evidence=False)
    assert talk.request()["args"]["previous_observation"] is None


def test_a_violation_is_repaired_with_the_expected_id_and_the_same_question() -> None:
    talk = Talk()
    talk.observe("get_alerts")
    before = talk.request()
    talk.answer(
        {
            "type": "REJECTED",
            "code": "INVALID_PROGRESS_PROTOCOL",
            "repair_required": True,
            "violation_type": "OUT_OF_ORDER_PREVIOUS_OBSERVATION",
            "expected_previous_tool_call_id": "r1c1",
            "allowed_information_gain": ["GAINED", "NO_GAIN"],
            "consecutive_protocol_violations": 1,
        }
    )
    after = talk.request()
    assert after["name"] == before["name"]
    assert after["args"]["previous_observation"]["tool_call_id"] == "r1c1"


@pytest.mark.parametrize(
    "code", ["DUPLICATE_SCOPE", "INVALID_TOOL_ARGUMENTS", "UNSUPPORTED_TOOL", "ATTEMPTS_EXHAUSTED"]
)
def test_what_was_refused_for_good_is_not_asked_again(code: str) -> None:
    talk = Talk()
    refused = talk.request()
    talk.answer({"type": "REJECTED", "code": code})
    assert talk.request()["name"] != refused["name"]


def test_an_error_that_may_pass_is_tried_once_more() -> None:
    talk = Talk()
    first = talk.request()["name"]
    talk.answer({"type": "ERROR", "code": "BACKEND_TIMEOUT"})
    assert talk.request()["name"] == first
    talk.answer({"type": "ERROR", "code": "BACKEND_TIMEOUT"})
    assert talk.request()["name"] != first


@pytest.mark.parametrize("code", ["BACKEND_UNAVAILABLE", "BACKEND_TIMEOUT"])
def test_where_all_sources_fail_one_question_alone_is_tried_twice_and_the_run_ends_by_itself(code: str) -> None:
    talk = Talk()
    asked = []
    while talk.ask().tool_calls:
        asked.append(talk.request()["name"])
        talk.answer({"type": "ERROR", "code": code})
    assert len(asked) == len(set(asked)) + 1
    assert len(asked) < MAX_CALLS
    assert json.loads(str(talk.ask().content))["conclusion"] is None


def test_a_source_that_is_missing_is_asked_once() -> None:
    talk = Talk()
    first = talk.request()["name"]
    talk.answer({"type": "ERROR", "code": "SOURCE_MISSING"})
    assert talk.request()["name"] != first


@pytest.mark.parametrize("reason", ["INFORMATION_SATURATED", "PROGRESS_PROTOCOL_VIOLATED"])
def test_after_a_stop_there_is_a_draft_and_no_question(reason: str) -> None:
    talk = Talk()
    talk.observe("get_alerts")
    talk.answer({"type": "STOP_REQUIRED", "reason": reason})
    assert talk.ask().tool_calls == []
    assert talk.draft()["conclusion"] is None


def test_a_spent_budget_ends_the_questions() -> None:
    talk = Talk()
    talk.answer({"type": "REJECTED", "code": "BUDGET_LIMIT_REACHED"})
    assert talk.ask().tool_calls == []


def test_a_stop_after_enough_evidence_still_names_the_cause() -> None:
    talk = Talk()
    for tool in ("get_alerts", "query_metrics", "list_changes", "find_log_signatures"):
        assert talk.request()["name"] == tool
        talk.observe(tool)
    if talk.ask().tool_calls:
        talk.answer({"type": "STOP_REQUIRED", "reason": "INFORMATION_SATURATED"})
    assert talk.draft()["conclusion"]["component"] == "api-gateway"


def test_with_unknown_tools_only_it_gives_up() -> None:
    talk = Talk(tools=[schema("read_tea_leaves", ["cup"])])
    assert talk.draft()["conclusion"] is None


def test_without_a_tool_for_changes_it_works_with_the_rest() -> None:
    talk = Talk(tools=[tool for tool in TOOLS if tool["function"]["name"] not in ("list_changes", "get_change")])
    for tool in ("get_alerts", "query_metrics", "find_log_signatures"):
        assert talk.request()["name"] == tool
        talk.observe(tool)
    while talk.ask().tool_calls:
        talk.observe(talk.request()["name"], evidence=False)
    assert talk.draft()["conclusion"] is None
    assert talk.draft()["analyses"]


def test_a_query_without_any_context_asks_what_fires_and_goes_on_where_something_does() -> None:
    talk = Talk("出什么事了", service=None)
    assert talk.request()["name"] == "get_alerts"
    talk.observe("get_alerts")
    assert talk.request()["name"] == "query_metrics"


def test_a_query_without_any_context_names_what_is_missing_where_nothing_fires() -> None:
    talk = Talk("出什么事了", service=None)
    talk.observe("get_alerts", evidence=False)
    assert talk.ask().tool_calls == []
    assert talk.draft()["limitations"]["missing_info"] == ["service", "time", "error"]


def test_a_query_without_any_context_asks_nothing_where_no_alerts_can_be_asked() -> None:
    talk = Talk("出什么事了", service=None, tools=[tool for tool in TOOLS if tool["function"]["name"] != "get_alerts"])
    assert talk.ask().tool_calls == []
    assert talk.draft()["limitations"]["missing_info"] == ["service", "time", "error"]


def test_every_argument_of_a_tool_is_filled_and_no_other() -> None:
    talk = Talk()
    while calls := talk.ask().tool_calls:
        assert set(calls[0]["args"]) == {*FIELDS[calls[0]["name"]], "previous_observation"}
        talk.observe(calls[0]["name"])


@pytest.mark.parametrize(
    ("query", "expected"), [("api-gateway 怎么了?", "根因"), ("What broke?", "root cause"), ("", "根因")]
)
def test_the_draft_speaks_the_language_of_the_query(query: str, expected: str) -> None:
    talk = Talk(query)
    while calls := talk.ask().tool_calls:
        talk.observe(calls[0]["name"])
    assert expected in talk.draft()["conclusion"]["text"]


ANSWERS = st.sampled_from(
    [
        {"type": "ERROR", "code": "BACKEND_TIMEOUT"},
        {"type": "ERROR", "code": "UNKNOWN_SELECTOR", "field": "service", "near_names": ["a"]},
        {"type": "REJECTED", "code": "INVALID_PROGRESS_PROTOCOL", "expected_previous_tool_call_id": "r1c1"},
        {"type": "REJECTED", "code": "INVALID_PROGRESS_PROTOCOL", "missing_field": "previous_observation"},
        {"type": "REJECTED", "code": "DUPLICATE_SCOPE", "earlier_tool_call_id": "r1c1"},
        {"type": "REJECTED", "code": "PARALLEL_TOOL_REQUEST"},
        {"type": "REJECTED", "code": "INVALID_TOOL_ARGUMENTS", "fields": ["start"]},
        {"type": "OBSERVATION", "evidence_status": "NO_EVIDENCE", "content": []},
        {
            "type": "OBSERVATION",
            "evidence_status": "EVIDENCE",
            "content": ["series service=a", "alert", "  x", "change id=1"],
        },
        {"type": "OBSERVATION", "evidence_status": "EVIDENCE", "content": "nonsense"},
        {},
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ANSWERS, max_size=MAX_REQUESTS + 4))
def test_whatever_it_is_answered_it_ends_within_bounds_with_a_draft(answers: list[dict[str, Any]]) -> None:
    talk = Talk()
    asked: list[str] = []
    for body in answers:
        if not talk.ask().tool_calls:
            break
        asked.append(talk.request()["name"])
        talk.answer(body)
    assert len(asked) <= MAX_REQUESTS
    while calls := talk.ask().tool_calls:
        talk.observe(calls[0]["name"], evidence=False)
        asked.append(calls[0]["name"])
    assert len(asked) <= MAX_REQUESTS + MAX_CALLS
    talk.draft()


async def test_async_and_sync_and_another_instance_answer_the_same() -> None:
    talk = Talk()
    talk.observe("get_alerts")
    again = OfflineDiagnostician().bind_tools(TOOLS)
    assert (await talk.model.ainvoke(talk.messages)).tool_calls == again.invoke(talk.messages).tool_calls


def test_it_reports_that_it_used_no_tokens() -> None:
    reply = Talk().ask()
    assert reply.usage_metadata == {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


def test_there_is_an_embedded_model_for_each_component() -> None:
    models = offline_models()
    assert set(models) == set(ModelComponent)
    assert all(isinstance(model, BaseChatModel) and model._llm_type == OFFLINE_MODEL_NAME for model in models.values())
