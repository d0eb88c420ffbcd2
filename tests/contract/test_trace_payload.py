"""No payload in a trace, and neither a prompt nor an exception's text anywhere.

Canaries stand in everything that may hold payload: query, prompts, model text, arguments, scopes, tool content,
summary, exception texts, credentials. The runs below carry all of them through every path, streamed in every mode.
A fixture of this directory walks the events of every other contract test's runs, too (`tests.support.payload`).
"""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, InvalidToolCall, ToolCall
from pydantic import SecretStr

import graph.nodes.classify
import graph.nodes.diagnose
import graph.nodes.evidence_repair
import graph.nodes.semantic_guard
from prompts.loader import render
from tests.support.drafts import changes, draft, metrics, reply, route, verdict
from tests.support.driving import Rig, Run, harness, rig
from tests.support.payload import check_event, check_no_prompt, checkpointed, recorded, spoken
from tests.support.scripted import ScriptedTool, Step, calls, evidence, no_conclusion, nothing, request, text
from tests.support.stores import RaisingStore
from tools.base import SourceFailure
from tools.vocabulary import SourceError

QUERY = "CANARYQUERY"
PROMPT = "CANARYPROMPT"
MODEL_TEXT = "CANARYMODELTEXT"
ARGUMENT = "canaryargument"
CONTENT = "CANARYCONTENT"
SUMMARY = "CANARYSUMMARY"
NAME = "CANARYNAME"
EXCEPTION = "CANARYEXCEPTION"
REASON = "CANARYREASON"
API_KEY = "sk-CANARYAPIKEY0123456789abcdef"
PASSWORD = "CANARYPASSWORD99"

IN_NO_TRACE = (QUERY, PROMPT, MODEL_TEXT, ARGUMENT, CONTENT, SUMMARY, NAME, EXCEPTION, REASON, API_KEY, PASSWORD)
NOWHERE = (PROMPT, EXCEPTION, REASON, API_KEY, PASSWORD)
"""What no checkpoint, no store, no stream and no result holds, in whatever mode."""


@pytest.fixture(autouse=True)
def _prompts_carry_a_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    def marked(name: Any, **values: str) -> str:
        return f"{render(name, **values)}\n{PROMPT}"

    for node in (graph.nodes.classify, graph.nodes.diagnose, graph.nodes.evidence_repair, graph.nodes.semantic_guard):
        monkeypatch.setattr(node, "render", marked)


def found() -> ScriptedTool:
    """A tool that answers some targets, and raises or refuses for others."""
    return ScriptedTool(
        {
            f"{ARGUMENT}-a": evidence([f"log | {CONTENT} password={PASSWORD}"], summary=f"{SUMMARY} baseline 1"),
            f"{ARGUMENT}-raises": RuntimeError(EXCEPTION),
            f"{ARGUMENT}-fails": SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=(NAME,), field="target"),
            f"{ARGUMENT}-b": nothing(),
        }
    )


def ask(target: str, **more: Any) -> AIMessage:
    message = request(f"{ARGUMENT}-{target}", **more)
    message.content = MODEL_TEXT
    return message


def collecting() -> Rig:
    """Every kind of request, answer and refusal, and a router."""
    odd = calls(
        [ToolCall(name=NAME, args={ARGUMENT: ARGUMENT}, id=ARGUMENT, type="tool_call")],
        invalid=[InvalidToolCall(name="probe", args=ARGUMENT, id="x", error=EXCEPTION, type="invalid_tool_call")],
        text=MODEL_TEXT,
    )
    return rig(
        ask("a"),
        ask("b"),
        ask("b", previous={"tool_call_id": ARGUMENT, "information_gain": ARGUMENT}),
        ask("raises", previous=("r1c1", "GAINED")),
        ask("fails"),
        calls([ToolCall(name="probe", args={"target": "x", ARGUMENT: ARGUMENT}, id="x", type="tool_call")]),
        odd,
        ask("a"),
        ask("b"),
        ask("late"),
        ask("later"),
        tools=found(),
        router=[route(service=ARGUMENT)],
        settings=harness(max_model_calls=20, max_tool_requests=20),
    )


def _concluding(*review: Step, repaired: bool = True) -> Rig:
    body = draft()
    body["conclusion"]["cause"] = MODEL_TEXT
    spoiled = json.loads(json.dumps(body))
    spoiled["analyses"][0]["quotes"] = [MODEL_TEXT]
    return rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        reply(spoiled),
        repair=[reply(body if repaired else spoiled)],
        review=review,
        tools=[metrics(), changes()],
    )


def _raising_store() -> Rig:
    return rig(ask("a"), ask("b"), no_conclusion(), tools=found(), store=RaisingStore("aput", "aget", text=EXCEPTION))


RIGS: dict[str, Any] = {
    "collecting": collecting,
    "released": lambda: _concluding(verdict("SUPPORTED", REASON)),
    "unsupported": lambda: _concluding(verdict("UNSUPPORTED", REASON)),
    "review raises": lambda: _concluding(RuntimeError(EXCEPTION)),
    "review unreadable": lambda: _concluding(text(REASON), text(REASON)),
    "refused": lambda: _concluding(repaired=False),
    "prose": lambda: rig(ask("a"), text(MODEL_TEXT), tools=found()),
    "endpoint raises": lambda: rig(ask("a"), *[ConnectionError(EXCEPTION)] * 2, tools=found()),
    "endpoint raises at once": lambda: rig(*[ValueError(EXCEPTION)] * 2, router=[KeyError(EXCEPTION)]),
    "bug in the model": lambda: rig(RuntimeError(EXCEPTION)),
    "store raises": _raising_store,
}


async def _everything(name: str) -> tuple[Rig, Run]:
    driven: Rig = RIGS[name]()
    query = f"{QUERY} password={PASSWORD} api_key={API_KEY}"
    with_incident = name not in ("collecting", "endpoint raises at once")
    incident = {"service": "checkout", "note": f"password={PASSWORD}"} if with_incident else None
    return driven, await driven.run(query, incident=incident)


@pytest.mark.parametrize("name", RIGS)
async def test_no_event_holds_payload(name: str) -> None:
    driven, run = await _everything(name)
    assert PROMPT in spoken([seen[0].content for model in driven.models.values() for seen in model.seen])
    told = spoken([run.state["trace"], run.streamed])
    for canary in IN_NO_TRACE:
        assert canary.lower() not in told.lower()


@pytest.mark.parametrize("name", RIGS)
async def test_no_stream_checkpoint_store_or_result_holds_a_prompt_a_secret_or_an_exceptions_text(name: str) -> None:
    driven, run = await _everything(name)
    places = {mode: spoken([data for told, data in run.chunks if told == mode]) for mode, _ in run.chunks}
    places["checkpoint"] = checkpointed(driven.saver)
    places["result"] = spoken([run.release, run.state])
    if name != "store raises":
        places["store"] = await recorded(driven.store)
    assert {"values", "updates", "custom", "checkpoints", "tasks", "debug", "checkpoint"} <= set(places)
    for place, told in places.items():
        for canary in NOWHERE:
            assert canary not in told, place


@pytest.mark.parametrize("name", RIGS)
async def test_no_listener_to_events_hears_a_prompt_or_an_exceptions_text(name: str) -> None:
    driven: Rig = RIGS[name]()
    given: Any = {"messages": [{"role": "user", "content": "why?"}], "incident": {"service": "checkout"}}
    heard = [event async for event in driven.graph.astream_events(given, driven.config(), version="v2")]
    told = spoken(heard)
    assert "on_chain_end" in told
    for canary in (PROMPT, EXCEPTION, REASON):
        assert canary not in told


async def test_a_result_without_a_conclusion_holds_no_word_of_a_model_and_no_line_of_a_source() -> None:
    for name in ("collecting", "unsupported", "refused", "prose"):
        _, run = await _everything(name)
        assert run.release["outcome"] == "FALLBACK"
        assert MODEL_TEXT not in spoken([run.release, run.state["messages"]])
        assert CONTENT not in spoken([run.release, run.state["messages"]])


async def test_what_a_caller_gets_is_its_own_turns_and_the_release_text() -> None:
    driven = collecting()
    given: Any = {"messages": [{"role": "user", "content": f"why? password={PASSWORD}"}]}
    output = await driven.graph.ainvoke(given, driven.config())
    assert set(output) == {"messages", "release"}
    assert [message.type for message in output["messages"]] == ["human", "ai"]
    for canary in (*NOWHERE, MODEL_TEXT, CONTENT):
        assert canary not in spoken(output)


async def test_no_key_of_the_endpoint_is_in_what_a_run_lets_out() -> None:
    settings = harness().model_copy(update={"openai_api_key": SecretStr(API_KEY)})
    driven = rig(request("a"), no_conclusion(), settings=settings)
    run = await driven.run()
    assert API_KEY not in spoken([run.chunks, run.state]) + checkpointed(driven.saver)
    assert API_KEY not in repr(settings)


def test_the_walk_finds_a_canary_in_whatever_it_walks() -> None:
    """The walk itself is proven: what it is given comes out of it, however deep it stands."""
    assert EXCEPTION in spoken([{"a": [RuntimeError(EXCEPTION)]}])
    assert MODEL_TEXT in spoken({"messages": [ask("a")]})
    error = RuntimeError("outer")
    error.__cause__ = ValueError(EXCEPTION)
    assert EXCEPTION in spoken((error,))
    with pytest.raises(AssertionError):
        check_no_prompt([spoken([HumanMessage(render("router"))])])


async def test_the_walk_reads_streams_checkpoints_and_stores() -> None:
    driven, run = await _everything("collecting")
    for told in (spoken(run.chunks), checkpointed(driven.saver), await recorded(driven.store)):
        assert CONTENT in told
    assert MODEL_TEXT in checkpointed(driven.saver)
    assert SUMMARY in spoken(run.progress)


@pytest.mark.parametrize("field", ["call_id", "tool_name", "code", "at", "run_id"])
async def test_the_walk_refuses_an_event_with_a_word_of_its_own(field: str) -> None:
    run = await rig(request("a"), request("b"), no_conclusion()).run()
    event = run.events("TOOL_REQUEST_REJECTED")[0]
    check_event(event, run.tool_names)
    with pytest.raises((AssertionError, ValueError)):
        check_event({**event, field: "innocent"}, run.tool_names)
