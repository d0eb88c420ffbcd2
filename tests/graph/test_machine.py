"""Arbitrary models and sources, played against the compiled graph under arbitrary limits, twice in one thread."""

import asyncio
import uuid
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, event, given, settings
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from graph.ledger import NAMESPACE
from graph.settings import DiagnosisContext
from tests.support.driving import Clock, harness
from tests.support.machine import bounds, plays
from tests.support.oracle import Bounds, Oracle
from tests.support.payload import check_event, checkpointed, spoken
from tests.support.plays import ERROR_CANARY, MODEL_CANARY, SOURCE_CANARY, Play, Stage, observed_bytes
from tests.support.scripted import ScriptedTool, observations
from tests.support.wiring import wired

TOOL_NAMES = ("probe", "reader")


@dataclass
class Played:
    """One run as it came out: the thread's state, its Release, what the tools ran, what the oracle expected."""

    state: dict[str, Any]
    oracle: Oracle
    executed: list[str]
    records: list[dict[str, Any]]
    streamed: list[tuple[str, Any]]
    complaints: list[str]
    """What a played model was asked against the contract."""

    @property
    def release(self) -> dict[str, Any]:
        release: dict[str, Any] = self.state["release"]
        return release

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.state["trace"] if event["type"] == kind]


class Machine:
    """A graph whose models and tools perform plays, and its thread."""

    def __init__(self, limits: Bounds) -> None:
        self.limits = limits
        self.stage = Stage(Clock())
        self.tools = self.stage.tools()
        self.saver = InMemorySaver()
        self.store: BaseStore = InMemoryStore()
        chosen = harness(
            no_gain=limits.no_gain,
            violations=limits.violations,
            attempts=limits.attempts,
            max_model_calls=limits.model_calls,
            max_tool_calls=limits.tool_calls,
            max_tool_requests=limits.tool_requests,
            max_tokens=limits.tokens,
            max_observation_bytes=limits.observation_bytes,
            max_seconds=limits.seconds,
        )
        self.graph = wired(
            self.stage.models(),
            self.tools,
            chosen,
            clock=self.stage.clock,
            checkpointer=self.saver,
            store=self.store,
        )
        self.config: RunnableConfig = {"configurable": {"thread_id": uuid.uuid4().hex}}
        self.runs = 0

    async def perform(self, play: Play) -> Played:
        """Run a play to its end."""
        self.runs += 1
        oracle = Oracle(self.limits, self.runs)
        self.stage.begin(play, oracle)
        for tool in self.tools:
            tool.executed.clear()
        given = {"messages": [{"role": "user", "content": "why?"}]} | (
            {"incident": {"service": "a", "fired_at": "2026-06-18T15:20:00Z"}} if play.incident else {}
        )
        streamed = [
            (str(mode), data)
            async for mode, data in self.graph.astream(  # type: ignore[call-overload]
                given, self.config, context=DiagnosisContext(), stream_mode=["custom", "tasks"]
            )
        ]
        state = (await self.graph.aget_state(self.config)).values
        found = await self.store.asearch((*NAMESPACE, state["run_id"]), limit=100)
        return Played(
            state, oracle, _executed(self.tools), [item.value for item in found], streamed, self.stage.complaints
        )


def _executed(tools: list[ScriptedTool]) -> list[str]:
    return sorted(f"{tool.name}:{target}" for tool in tools for target in tool.executed)


SETTINGS = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # shrinking a whole play takes minutes; a failing one is short enough
    suppress_health_check=[HealthCheck.too_slow],
)


@SETTINGS
@given(limits=bounds(), first=plays(), second=plays())
def test_whatever_a_model_does_the_run_keeps_the_contract(limits: Bounds, first: Play, second: Play) -> None:
    async def perform() -> None:
        machine = Machine(limits)
        ended = await machine.perform(first)
        check(ended)
        event(f"ended {ended.release['outcome']} {ended.release['fallback_type']}")
        event(f"stopped {ended.state['stop_reason']}")
        again = await machine.perform(second)
        check(again)
        check_fresh(ended, again)
        check_secrets(machine.saver)

    asyncio.run(perform())


def check(run: Played) -> None:
    """Assert every invariant of a run."""
    assert run.complaints == []
    check_one_release(run)
    check_trace(run)
    check_counters(run)
    check_answers(run)
    check_executions(run)
    check_budgets(run)
    check_tokens(run)
    check_published(run)
    check_guarded(run)
    assert ERROR_CANARY not in spoken([run.state, [data for _, data in run.streamed]])


def check_one_release(run: Played) -> None:
    assert len(run.events("RELEASE")) == 1
    assert run.state["trace"][-1]["type"] == "RELEASE"
    assert run.release["run_id"] == run.state["run_id"]
    newest = run.state["messages"][-1]
    assert isinstance(newest, AIMessage)
    assert newest.text == run.release["text"]
    assert [m.type for m in run.state["messages"]] == ["human", "ai"] * run.oracle.run


def check_trace(run: Played) -> None:
    numbers = [event["seq"] for event in run.state["trace"]]
    assert numbers == sorted(set(numbers))
    assert {event["run_id"] for event in run.state["trace"]} == {run.state["run_id"]}
    told = [data["event"] for mode, data in run.streamed if mode == "custom" and data["stream"] == "trace"]
    assert told == run.state["trace"]
    for recorded in run.state["trace"]:
        check_event(recorded, TOOL_NAMES)
    said = spoken(run.state["trace"])
    assert not [canary for canary in (MODEL_CANARY, SOURCE_CANARY, ERROR_CANARY) if canary in said]


def check_counters(run: Played) -> None:
    oracle, state = run.oracle, run.state
    oracle.observation_bytes = observed_bytes(state["transcript"])
    if not oracle.over and state["ending"] != "NOT_A_DIAGNOSIS":
        assert not oracle.may_ask(kept_back=2), "collection ended without a reason"
        oracle.out_of_budget()
    assert state["consecutive_no_gain"] == oracle.no_gain
    assert state["consecutive_protocol_violations"] == oracle.violations
    assert state["collection_state"] == ("SATURATED" if oracle.saturated else "COLLECTING")
    assert state["stop_reason"] == oracle.reason
    assert state["stop_delivered"] == oracle.delivered
    assert state["pending_observation"] == oracle.pending
    assert state["calls_named"] == oracle.named
    spent = state["budget"]
    assert spent["tool_requests"] == oracle.requests
    assert spent["tool_calls"] == oracle.tool_calls
    assert spent["model_calls"] == oracle.model_calls
    assert spent["tokens"] == oracle.tokens
    assert spent["observation_bytes"] == oracle.observation_bytes


def check_answers(run: Played) -> None:
    """Each call got exactly one answer, in order, and the one that the oracle expects."""
    asked = [
        str(call["id"])
        for message in run.state["transcript"]
        if isinstance(message, AIMessage)
        for call in (*message.tool_calls, *message.invalid_tool_calls)
    ]
    answers = observations(run.state["transcript"])
    assert [answer["tool_call_id"] for answer in answers] == asked
    got = {answer["tool_call_id"]: answer.get("code", answer["type"]) for answer in answers}
    ran = {"RUN": {"OBSERVATION", "UNKNOWN_SELECTOR", "INTERNAL_ERROR"}}
    assert {
        call_id for call_id, code in run.oracle.answers.items() if got[call_id] not in ran.get(code, {code})
    } == set()
    assert [answer["type"] for answer in answers].count("STOP_REQUIRED") <= 1


def check_executions(run: Played) -> None:
    """What ran is what the oracle let run; no scope ran again after READY; nothing ran after the stop."""
    assert run.executed == sorted(run.oracle.executed)
    keys = run.state["invocation_keys"]
    assert len(keys) == len(run.oracle.executed)
    done: set[tuple[str, str]] = set()
    for key in keys:
        scope = (key["tool_name"], key["scope_digest"])
        assert scope not in done
        if key["status"] == "READY":
            done.add(scope)
    kinds = [event["type"] for event in run.state["trace"]]
    stops = [kinds.index(kind) for kind in ("STOP_REQUIRED_DELIVERED", "CONTROLLED_STOP") if kind in kinds]
    assert "TOOL_INVOCATION" not in kinds[min(stops, default=len(kinds)) :]
    assert kinds.count("STOP_REQUIRED_DELIVERED") == run.oracle.delivered
    assert kinds.count("CONTROLLED_STOP") <= 1
    assert kinds.count("TOOL_INVOCATION") == len(keys)


def check_budgets(run: Played) -> None:
    """Nothing was begun beyond a limit (the players hold the model calls against the oracle as they're made)."""
    limits, spent = run.oracle.bounds, run.state["budget"]
    assert spent["model_calls"] <= limits.model_calls
    assert spent["tool_calls"] <= limits.tool_calls
    assert spent["tool_requests"] <= limits.tool_requests


def check_tokens(run: Played) -> None:
    (sums,) = run.events("TOKEN_RECONCILIATION")
    usages = run.events("MODEL_TOKEN_USAGE")
    assert sums["reconciled"] is (run.oracle.usage_gaps == 0)
    assert sums["usage_unavailable"] == run.oracle.usage_gaps
    assert sums["audited_tokens"] == sums["budget_tokens"] == run.oracle.tokens
    rounds = [(usage["component"], usage["component_round"]) for usage in usages]
    assert len(set(rounds)) == len(rounds) == run.oracle.model_calls
    steps = {step["round"]: step["token_count"] for step in run.state["agent_steps"]}
    audited = {
        usage["component_round"]: usage["input_tokens"] + usage["output_tokens"] if usage["usage_available"] else None
        for usage in usages
        if usage["component"] == "diagnosis"
    }
    assert steps == audited


def check_published(run: Played) -> None:
    """Every published fact and source has a READY record of this run; an unproven text is in no fallback."""
    ready = [record for record in run.records if record["status"] == "READY"]
    assert {record["run_id"] for record in run.records} <= {run.state["run_id"]}
    known = [(record["tool_name"], record["scope"], record["evidence"]["summary"]) for record in ready]
    for fact in run.release["observed_facts"]:
        assert (fact["source"], fact["scope"], fact["result"]) in known
    assert {s["tool_call_id"] for s in run.release["verified_sources"]} <= {record["call_id"] for record in ready}
    said = spoken(run.release)
    assert SOURCE_CANARY not in said or run.release["outcome"] == "SUCCESS"
    assert MODEL_CANARY not in said or run.release["outcome"] == "SUCCESS"


def check_guarded(run: Played) -> None:
    checks = [event["passed"] for event in run.events("EVIDENCE_GUARD")]
    verdicts = [event.get("verdict") for event in run.events("SEMANTIC_GUARD")]
    proven = checks[-1:] == [True] and verdicts == ["SUPPORTED"]
    assert (run.release["outcome"] == "SUCCESS") is proven
    assert len(checks) <= 2
    assert len(verdicts) <= 1
    assert len(run.events("EVIDENCE_REPAIR")) <= 1
    assert (run.release["draft"] is not None) is proven
    assert run.release["outcome"] != "CANCELLED"


def check_fresh(first: Played, second: Played) -> None:
    """The second run of a thread has nothing of the first."""
    assert first.state["run_id"] != second.state["run_id"]
    assert first.state["run_number"] == 1
    assert second.state["run_number"] == 2
    assert all(key["call_id"].startswith("r2c") for key in second.state["invocation_keys"])
    ready = {record["call_id"] for record in second.records}
    assert all(source["tool_call_id"] in ready for source in second.release["verified_sources"])


def check_secrets(saver: InMemorySaver) -> None:
    assert ERROR_CANARY not in checkpointed(saver)
