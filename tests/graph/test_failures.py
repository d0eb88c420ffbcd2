"""Whatever a part raises, exactly one Release leaves, in order, and no exception's text reaches anybody."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.store.base import GetOp, Op, PutOp, Result
from langgraph.store.memory import InMemoryStore

import graph.ledger
from graph.running import diagnose
from graph.settings import DiagnosisContext
from tests.support.drafts import changes, draft, metrics, reply, route, verdict
from tests.support.driving import INCIDENT, Rig, Run, harness, rig
from tests.support.payload import check_release, checkpointed, recorded, spoken
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, request
from tests.support.wiring import OFFLINE_NAME, wired
from tools.base import IncidentContext
from tools.vocabulary import Evidence, Scope

CANARY = "err-canary-7319"
FALLBACK = ("FALLBACK", "INSUFFICIENT_EVIDENCE")
FAILED = ("FAILED", None)


class _Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError(CANARY)


RAISED: list[BaseException] = [
    ValueError(CANARY),
    RuntimeError(CANARY),
    TimeoutError(CANARY),
    StopIteration(CANARY),
    StopAsyncIteration(CANARY),
    RecursionError(CANARY),
    MemoryError(CANARY),
    ExceptionGroup(CANARY, [ValueError(CANARY)]),
    _Speechless(),
    asyncio.CancelledError(CANARY),
]


async def check_contained(made: Rig, run: Run) -> None:
    """Assert what holds of every run, and that no canary is in its Release, its state, its streams, its checkpoints or
    its store."""
    check_release(run)
    assert run.release["run_id"] == run.state["run_id"]
    said = [spoken([run.state, run.chunks]), checkpointed(made.saver), await recorded(made.store)]
    assert not [text for text in said if CANARY in text]


def whole(**parts: Any) -> Rig:
    """Return a rig whose run passes every node: router, two tools, a draft, its repair, its review."""
    asked = request("checkout", tool="changes", previous=("r1c1", "GAINED"))
    spoiled = draft(action_plan=[{"text": "回滚", "analysis_ids": ["unknown"]}])
    given: dict[str, Any] = {
        "tools": [metrics(), changes()],
        "router": [route()],
        "repair": [reply(draft())],
        "review": [verdict()],
    }
    return rig(request("checkout"), asked, reply(spoiled), **{**given, **parts})


async def test_the_whole_way_ends_in_success() -> None:
    made = whole()
    run = await made.run(incident=None)
    assert run.ended == ("SUCCESS", None)
    await check_contained(made, run)


class OddTool(ScriptedTool):
    """Raises, or returns, whatever it is given."""

    odd: Any = None

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        self.executed.append(scope["service"])
        if isinstance(self.odd, BaseException):
            raise self.odd
        answer: Evidence = self.odd
        return answer


def odd_tool(odd: Any) -> OddTool:
    tool = OddTool(evidence(["x"]))
    tool.odd = odd
    return tool


@pytest.mark.parametrize("odd", [*RAISED, None, 7, CANARY, {"content": CANARY}], ids=lambda odd: type(odd).__name__)
async def test_a_tool_that_raises_or_returns_anything_is_an_error_and_the_run_goes_on(odd: Any) -> None:
    made = rig(request("a"), request("b"), no_conclusion(), tools=odd_tool(odd))
    run = await made.run()
    assert [answer["type"] for answer in run.answers] == ["ERROR", "ERROR"]
    assert made.executed == ["a", "b"]
    assert run.ended == FALLBACK
    await check_contained(made, run)


class SpoiledTool(ScriptedTool):
    """Raises in one of the functions that aren't its query."""

    spoiled = ""
    error: Exception = RuntimeError(CANARY)

    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        self._spoil("normalize")
        return super().normalize(arguments, incident)

    def suggest(self, incident: IncidentContext) -> Scope | None:
        self._spoil("suggest")
        return super().suggest(incident)

    def paste(self, scope: Scope) -> str:
        self._spoil("paste")
        return super().paste(scope)

    def _spoil(self, name: str) -> None:
        if name == self.spoiled:
            raise self.error


@pytest.mark.parametrize("error", [ValueError(CANARY), KeyError(CANARY), OverflowError(CANARY), RuntimeError(CANARY)])
@pytest.mark.parametrize("spoiled", ["normalize", "suggest", "paste"])
async def test_a_tool_that_raises_beside_its_query_keeps_no_release_back(spoiled: str, error: Exception) -> None:
    tool = SpoiledTool(evidence(["x"]))
    tool.spoiled, tool.error = spoiled, error
    made = rig(request("a"), no_conclusion(), tools=tool)
    run = await made.run()
    assert run.ended == FALLBACK
    if spoiled == "normalize":
        assert [(answer["code"], answer["fields"]) for answer in run.answers] == [
            ("INVALID_TOOL_ARGUMENTS", ["arguments"])
        ]
    await check_contained(made, run)


NODES = [
    ("classify.render", ("SUCCESS", None)),
    ("classify.parse_route", ("SUCCESS", None)),
    ("diagnose.render", FAILED),
    ("diagnose.name_calls", FAILED),
    ("tool_gate.read_requests", FAILED),
    ("tool_gate.admit", FAILED),
    ("evaluate_gain.settle_answer", FALLBACK),
    ("close_collection.parse_draft", FAILED),
    ("close_collection.project_snapshot", FAILED),
    ("evidence_guard.check_draft", FALLBACK),
    ("evidence_repair.evidence_json", FALLBACK),
    ("evidence_repair.parse_draft", FALLBACK),
    ("semantic_guard.evidence_json", FALLBACK),
    ("release.reconcile", FAILED),
    ("release.decide_release", FAILED),
    ("release.release_text", FAILED),
]


@pytest.mark.parametrize(("broken", "ended"), NODES)
async def test_a_node_that_raises_releases_in_order(
    monkeypatch: pytest.MonkeyPatch, broken: str, ended: tuple[str, str | None]
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(f"graph.nodes.{broken}", fail)
    made = whole()
    run = await made.run(incident=None)
    if not broken.startswith("classify"):
        assert run.ended == ended
    await check_contained(made, run)


@pytest.mark.parametrize("broken", ["find_gaps", "measured_onset", "changes_in_window"])
async def test_a_fallback_whose_help_fails_is_released_without_it(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(f"graph.nodes.safe_fallback.{broken}", fail)
    made = rig(request("a"), no_conclusion())
    run = await made.run()
    assert run.ended == FALLBACK
    assert len(run.facts) == 1
    assert run.release["gaps"] == []
    await check_contained(made, run)


class BrokenStore(InMemoryStore):
    """Raises for operations of some kinds from the `since`-th (from 1) on, or waits for ever."""

    kinds: tuple[type, ...] = (PutOp, GetOp)
    since = 1
    hangs = False
    seen = 0

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        asked = list(ops)
        self.seen += isinstance(asked[0], self.kinds)
        if isinstance(asked[0], self.kinds) and self.seen >= self.since:
            if self.hangs:
                await asyncio.Event().wait()
            raise RuntimeError(CANARY)
        return await super().abatch(asked)


STORES = [(PutOp,), (GetOp,), (PutOp, GetOp)]


@pytest.mark.parametrize("hangs", [False, True], ids=["raises", "hangs"])
@pytest.mark.parametrize("since", [1, 2, 3, 4, 6, 9])
@pytest.mark.parametrize("kinds", STORES, ids=["put", "get", "both"])
async def test_a_store_that_goes_away_at_any_time_leaves_a_release_and_no_fact_that_it_cannot_prove(
    monkeypatch: pytest.MonkeyPatch, kinds: tuple[type, ...], since: int, hangs: bool
) -> None:
    monkeypatch.setattr(graph.ledger, "STORE_TIMEOUT_SECONDS", 0.005)
    store = BrokenStore()
    store.kinds, store.since, store.hangs = kinds, since, hangs
    made = whole(store=store)
    run = await made.run(incident=None)
    store.kinds = ()
    assert run.release["outcome"] != "CANCELLED"
    ready = [item.value for item in await store.asearch((), limit=100) if item.value["status"] == "READY"]
    assert {fact["source"] for fact in run.facts} <= {record["tool_name"] for record in ready}
    if GetOp in kinds and since == 1:
        assert run.facts == []
        assert "LEDGER_UNAVAILABLE" in run.limitations
    await check_contained(made, run)


class BrokenSaver(InMemorySaver):
    """Raises at the `at`-th write of a checkpoint (from 1), or at every read."""

    at = 0
    writes_seen = 0
    unreadable = False

    async def aput(self, *args: Any, **kwargs: Any) -> RunnableConfig:
        self.writes_seen += 1
        if self.writes_seen == self.at:
            raise RuntimeError(CANARY)
        return await super().aput(*args, **kwargs)

    async def aget_tuple(self, config: RunnableConfig) -> Any:
        if self.unreadable:
            raise RuntimeError(CANARY)
        return await super().aget_tuple(config)


async def held(made: Rig, on_event: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    given = {"messages": [{"role": "user", "content": "why?"}], "incident": INCIDENT}
    return await diagnose(made.graph, given, thread_id=made.thread, context=DiagnosisContext(), on_event=on_event)


@pytest.mark.parametrize("at", [*range(1, 8), 0])
async def test_a_thread_that_cannot_be_kept_gives_a_failed_release_or_the_runs_own(at: int) -> None:
    saver = BrokenSaver()
    saver.at, saver.unreadable = at, at == 0
    made = rig(request("a"), no_conclusion(), saver=saver)
    told: list[dict[str, Any]] = []
    release = await held(made, told.append)
    assert (release["outcome"], release["fallback_type"]) in (FAILED, FALLBACK)
    assert CANARY not in spoken([release, told])
    assert CANARY not in checkpointed(saver)


DOWN: list[Exception] = [ConnectionError(CANARY), TimeoutError(CANARY)]
GARBAGE: list[Any] = [
    AIMessage(""),
    AIMessage("\u200b "),
    AIMessage("cut", response_metadata={"finish_reason": "length"}),
    AIMessage("no", response_metadata={"finish_reason": "content_filter"}),
    AIMessage("[" * 5000),
    ValueError(CANARY),
    KeyError(CANARY),
    RuntimeError(CANARY),
]


def _steps(bad: Any) -> list[Any]:
    return [bad, bad]


@pytest.mark.parametrize("bad", [*DOWN, *GARBAGE], ids=repr)
async def test_a_router_that_is_away_leads_to_the_diagnosis(bad: Any) -> None:
    made = whole(router=_steps(bad))
    run = await made.run(incident=None)
    assert run.ended == ("SUCCESS", None)
    await check_contained(made, run)


@pytest.mark.parametrize("asked", [0, 1])
@pytest.mark.parametrize("bad", [*DOWN, *GARBAGE], ids=repr)
async def test_a_diagnosis_model_that_is_away_ends_collection_with_what_there_is(bad: Any, asked: int) -> None:
    made = rig(*[request("a")][:asked], *_steps(bad))
    run = await made.run()
    assert run.ended == (FALLBACK if asked else FAILED)
    assert len(run.facts) == asked
    await check_contained(made, run)


@pytest.mark.parametrize("bad", [*DOWN, *GARBAGE], ids=repr)
async def test_a_repair_model_that_is_away_leaves_the_draft_refused(bad: Any) -> None:
    made = whole(repair=_steps(bad))
    run = await made.run(incident=None)
    assert run.ended == ("FALLBACK", "EVIDENCE_VALIDATION_FAILED")
    assert run.release["verified_sources"] == []
    await check_contained(made, run)


@pytest.mark.parametrize("bad", [*DOWN, *GARBAGE], ids=repr)
async def test_a_review_that_is_away_leaves_the_draft_unpublished(bad: Any) -> None:
    made = whole(review=_steps(bad))
    run = await made.run(incident=None)
    assert run.ended == ("FALLBACK", "SEMANTIC_UNAVAILABLE")
    await check_contained(made, run)


class AwayModels:
    """An endpoint that can't be reached, and a model of last resort."""

    def __init__(self, *last: Any, calls: int = 12) -> None:
        away = rig(*[ConnectionError(CANARY)] * 4)
        self.last = rig(*last).diagnosis
        self.saver = InMemorySaver()
        tools: Sequence[ScriptedTool] = [ScriptedTool(evidence(["x"]))]
        settings = harness(fallback="offline", max_model_calls=calls)
        self.graph = wired(away.models, tools, settings, offline=self.last, checkpointer=self.saver)

    async def run(self) -> dict[str, Any]:
        given: Any = {"messages": [{"role": "user", "content": "why?"}], "incident": INCIDENT}
        config: RunnableConfig = {"configurable": {"thread_id": "t"}}
        return dict(await self.graph.ainvoke(given, config, context=DiagnosisContext()))


async def test_an_endpoint_that_is_away_at_first_hands_the_run_over() -> None:
    made = AwayModels(request("a"), no_conclusion())
    out = await made.run()
    assert out["release"]["outcome"] == "FALLBACK"
    assert out["release"]["model"] == OFFLINE_NAME
    assert len(out["release"]["observed_facts"]) == 1
    assert CANARY not in checkpointed(made.saver)


async def test_a_last_resort_that_fails_too_fails_the_run() -> None:
    out = await AwayModels(RuntimeError(CANARY)).run()
    assert out["release"]["outcome"] == "FAILED"
    assert CANARY not in spoken(out)


async def test_a_run_that_no_call_is_left_for_is_not_handed_over() -> None:
    out = await AwayModels(calls=1).run()
    assert out["release"]["outcome"] == "FAILED"
    assert out["release"]["model"] != OFFLINE_NAME


LEAST_STEPS = 7
"""The super-steps of a run that may do nothing: open_run, classify, diagnose, close_collection, safe_fallback, release,
and one more that LangGraph wants to see that nothing is left."""


@pytest.mark.parametrize("limit", [LEAST_STEPS, 10, 12, 13, 15, 16, 18, 19, 25])
@pytest.mark.parametrize("incident", [INCIDENT, None], ids=["incident", "query"])
async def test_a_callers_recursion_limit_ends_the_run_in_order(limit: int, incident: dict[str, Any] | None) -> None:
    made = whole()
    given = {"messages": [{"role": "user", "content": "why?"}], "incident": incident}
    run = await made.drive(given, config={**made.config(), "recursion_limit": limit})
    collected = max(0, min(2, (limit - 10) // 3))
    assert len(run.facts) == collected
    if limit >= 19:
        assert run.ended == ("SUCCESS", None)
    else:
        assert run.ended == (FALLBACK if collected else FAILED)
        assert "BUDGET_LIMIT_REACHED" in run.limitations
        assert run.of("STOP_REASON_SET", "budget") == ["steps"]
    await check_contained(made, run)


async def test_a_recursion_limit_without_room_for_any_run_is_refused_by_langgraph() -> None:
    made = whole()
    with pytest.raises(GraphRecursionError):
        await made.drive({"incident": INCIDENT}, config={**made.config(), "recursion_limit": LEAST_STEPS - 1})
