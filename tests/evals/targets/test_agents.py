"""The bare agents: what they are sent, how limits, fingerprint and review end them, and what is told of it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.tool import tool_call
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from evals.cases import Attempt, Case
from evals.targets import ZHIZHI, load_target
from evals.targets.middleware import LAST_ANSWER
from graph.settings import BudgetSettings, HarnessSettings
from tests.support.drafts import changes, draft, metrics, reply, verdict
from tests.support.scripted import ScriptedChatModel, ScriptedTool, Step, calls, evidence, observations, text, usage
from tools.base import EvidenceTool

PLAIN, FINGERPRINT, VERIFIED = "create-agent", "create-agent-fingerprint", "create-agent-verified"
CASE = Case(
    suite="made-up",
    case_id="a",
    cluster="a",
    query="checkout 为什么变慢?",
    incident={"service": "checkout", "fired_at": "2026-06-18T15:20:00Z"},
)
SETTINGS = HarnessSettings(openai_api_key=None)


def asks(target: str, number: int, *, tool: str = "probe") -> AIMessage:
    return calls([tool_call(name=tool, args={"target": target, "limit": None}, id=f"c{number}")])


PROVEN: tuple[Step, ...] = (asks("checkout", 1), asks("checkout", 2, tool="changes"), reply(draft(calls=("c1", "c2"))))


class Scripted(ScriptedChatModel):
    """Binds LangChain tools, as a real client does."""

    @override
    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return super().bind_tools([convert_to_openai_tool(tool) for tool in tools], **kwargs)


def scripted(*steps: Step, said: str = "SUPPORTED") -> dict[str, Any]:
    return {
        "diagnosis": Scripted(script=list(steps)),
        "semantic_guard": ScriptedChatModel(script=[verdict(said)]),
    }


async def attempt(
    name: str,
    models: Any,
    tools: Sequence[EvidenceTool] | None = None,
    *,
    case: Case = CASE,
    settings: HarnessSettings = SETTINGS,
) -> Attempt:
    return await load_target(name, models, settings).attempt(case, tools or (metrics(), changes()))


async def test_an_answer_is_published_as_it_stands_with_calls_tokens_and_what_came_back() -> None:
    found = await attempt(PLAIN, scripted(*PROVEN))
    assert found.failure is None
    assert found.conclusion is not None
    assert found.conclusion["change_id"] == "deploy-77"
    assert [(c.call_id, c.tool_name, c.executed, c.status) for c in found.calls] == [
        ("c1", "probe", True, "READY"),
        ("c2", "changes", True, "READY"),
    ]
    assert found.calls[0].scope == {"service": "checkout"}
    assert "metric=latency_ms" in found.calls[0].content[0]
    assert (found.model_calls, found.tokens) == (3, 45)


def said(models: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message.type, str(message.content)) for message in models["diagnosis"].seen[0]]


async def test_the_agent_is_sent_prompt_context_and_observations_as_zhizhi_is() -> None:
    bare, ours = scripted(*PROVEN), scripted(*PROVEN)
    await attempt(PLAIN, bare)
    await attempt(ZHIZHI, ours)
    assert said(bare) == said(ours)
    theirs, own = (observations(models["diagnosis"].seen[1]) for models in (bare, ours))
    assert [{**one, "tool_call_id": ""} for one in theirs] == [{**one, "tool_call_id": ""} for one in own]


async def test_tools_have_no_envelope_and_ignore_one_that_a_model_fills_all_the_same() -> None:
    filled = tool_call(name="probe", args={"target": "checkout", "previous_observation": None}, id="c1")
    found = await attempt(PLAIN, scripted(calls([filled]), text('{"conclusion": null}')))
    assert [(c.arguments, c.status) for c in found.calls] == [({"target": "checkout", "limit": None}, "READY")]


async def test_every_call_of_one_message_runs() -> None:
    together = [tool_call(name="probe", args={"target": name, "limit": None}, id=name) for name in ("a", "b", "c")]
    found = await attempt(PLAIN, scripted(calls(together), text('{"conclusion": null}')))
    assert sorted(str(call.call_id) for call in found.executed) == ["a", "b", "c"]


def endless(messages: list[BaseMessage]) -> AIMessage:
    return asks("checkout", len(messages))


def told_to_answer(messages: list[BaseMessage]) -> AIMessage:
    last = messages[-1]
    assert isinstance(last, HumanMessage)
    assert last.content == LAST_ANSWER["zh"]
    return text('{"conclusion": null}')


async def test_at_the_tool_limit_the_last_answer_is_asked_for_without_tools() -> None:
    settings = SETTINGS.model_copy(update={"budget": BudgetSettings(max_tool_calls=3)})
    models = scripted(endless, endless, endless, told_to_answer)
    found = await attempt(PLAIN, models, settings=settings)
    assert (len(found.executed), found.model_calls, found.conclusion) == (3, 4, None)
    assert [bool(bound) for bound in models["diagnosis"].bound] == [True, True, True, False]


async def test_at_the_last_model_call_the_answer_is_asked_for_and_who_gives_none_has_none() -> None:
    settings = SETTINGS.model_copy(update={"budget": BudgetSettings(max_model_calls=3)})
    models = scripted(endless, endless, endless)
    found = await attempt(PLAIN, models, settings=settings)
    assert found.failure is None
    assert (found.model_calls, found.conclusion) == (3, None)
    assert [bool(bound) for bound in models["diagnosis"].bound] == [True, True, False]


async def test_calls_beyond_the_limit_are_refused_and_told_apart() -> None:
    settings = SETTINGS.model_copy(update={"budget": BudgetSettings(max_tool_calls=1)})
    found = await attempt(PLAIN, scripted(endless, endless, text('{"conclusion": null}')), settings=settings)
    assert [(c.executed, c.status) for c in found.calls] == [(True, "READY"), (False, "REFUSED")]


async def test_the_fingerprint_refuses_the_same_arguments_and_ends_collection_after_two_repeats() -> None:
    found = await attempt(FINGERPRINT, scripted(endless, endless, endless, told_to_answer))
    assert [call.executed for call in found.calls] == [True, False, False]


async def test_the_fingerprint_knows_an_answer_again_and_lets_new_ones_pass() -> None:
    tool = ScriptedTool(lambda scope: evidence(["series metric=n" if scope["service"] == "z" else "series metric=m"]))
    steps = (asks("a", 1), asks("b", 2), asks("z", 3), asks("c", 4), asks("d", 5), told_to_answer)
    found = await attempt(FINGERPRINT, scripted(*steps), [tool])
    assert tool.executed == ["a", "b", "z", "c", "d"]
    assert found.conclusion is None


@pytest.mark.parametrize("said", ["UNSUPPORTED", "no JSON"])
async def test_the_verifying_pass_withholds_what_it_does_not_find_supported(said: str) -> None:
    published = await attempt(VERIFIED, scripted(*PROVEN))
    withheld = await attempt(VERIFIED, scripted(*PROVEN, said=said))
    assert published.conclusion is not None
    assert withheld.conclusion is None
    assert withheld.model_calls == 4


async def test_the_verifying_pass_is_shown_the_answer_and_the_evidence() -> None:
    models = scripted(*PROVEN)
    await attempt(VERIFIED, models)
    shown = json.loads(str(models["semantic_guard"].seen[0][-1].content))
    assert shown["draft"]["conclusion"]["change_id"] == "deploy-77"
    assert [record["tool_call_id"] for record in shown["evidence"]] == ["c1", "c2"]


async def test_without_a_structured_incident_the_router_is_asked_as_in_zhizhi() -> None:
    route = {"route": "diagnosis", "context": {"service": "checkout"}}
    models = {**scripted(*PROVEN), "router": ScriptedChatModel(script=[text(json.dumps(route))])}
    found = await attempt(PLAIN, models, case=CASE.model_copy(update={"incident": None}))
    context, _ = json.JSONDecoder().raw_decode(said(models)[-1][1])
    assert context["context"]["service"] == "checkout"
    assert found.model_calls == 4


async def test_what_is_no_diagnosis_is_not_begun() -> None:
    models = {**scripted(), "router": ScriptedChatModel(script=[text('{"route": "other", "context": {}}')])}
    found = await attempt(PLAIN, models, case=CASE.model_copy(update={"incident": None}))
    assert (found.conclusion, found.calls) == (None, ())


async def test_usage_that_is_missing_once_makes_the_sum_unknown() -> None:
    silent = text('{"conclusion": null}', tokens=None)
    assert (await attempt(PLAIN, scripted(asks("checkout", 1), silent))).tokens is None


async def test_a_model_that_is_away_fails_the_case_after_as_many_attempts_as_zhizhi_makes() -> None:
    found = await attempt(PLAIN, scripted(ConnectionError("away"), ConnectionError("away")))
    assert (found.failure, found.release, found.model_calls) == ("MODEL_UNREACHABLE", None, 2)


async def test_one_attempt_that_fails_is_made_good_by_the_next() -> None:
    found = await attempt(PLAIN, scripted(ConnectionError("away"), *PROVEN))
    assert (found.failure, found.model_calls) == (None, 4)
    assert found.conclusion is not None


async def test_arguments_that_mean_nothing_are_answered_and_run_nothing() -> None:
    wrong = tool_call(name="probe", args={"target": {"not": "a text"}}, id="c1")
    tool = metrics()
    found = await attempt(PLAIN, scripted(calls([wrong]), asks("senseless", 2), text('{"conclusion": null}')), [tool])
    assert tool.executed == []
    assert [(c.executed, c.status) for c in found.calls] == [(False, "REFUSED"), (True, "ERROR")]


async def test_prose_is_no_conclusion_and_is_told() -> None:
    found = await attempt(PLAIN, scripted(AIMessage("我先看看日志。", **usage(1, 1))))
    assert found.conclusion is None
    assert found.release is not None
    assert found.release["prose"] is True
