"""Contract, "Ledger"."""

import asyncio
from typing import Any

import pytest
from langgraph.types import Command
from pydantic import ValidationError

from graph.contract.records import InvocationRecord
from graph.wiring import build_graph
from tests.support.drafts import changes, draft, metrics, reply, verdict
from tests.support.driving import Clock, Rig, arrival, harness, rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedChatModel, ScriptedTool, evidence, no_conclusion, request
from tests.support.stores import DyingStore, NotingStore, RaisingStore
from tools.base import SourceFailure
from tools.vocabulary import SourceError


async def test_records_are_keyed_by_run_and_call_and_their_digest_stands_in_the_state() -> None:
    driven = rig(request("a"), no_conclusion())
    run = await driven.run()
    item = (await driven.stored())["r1c1"]
    assert run.state["run_id"] in item.namespace
    record = InvocationRecord.model_validate(item.value)
    assert record.run_id == run.state["run_id"]
    assert record.digest() == run.state["invocation_keys"][0]["digest"]


async def test_records_are_written_once_as_started_and_once_as_answered() -> None:
    store = NotingStore()
    probe = ScriptedTool({"a": evidence(["x"]), "b": SourceFailure(SourceError.BACKEND_TIMEOUT)})
    await rig(request("a"), request("b", previous=("r1c1", "GAINED")), no_conclusion(), tools=probe, store=store).run()
    assert store.writes == [("r1c1", "STARTED"), ("r1c1", "READY"), ("r1c2", "STARTED"), ("r1c2", "ERROR")]


async def test_a_fork_does_not_pass_one_branchs_evidence_for_anothers() -> None:
    driven = rig(request("a"), request("b", previous=("r1c1", "GAINED")), no_conclusion())
    original = await driven.run()
    history = [snapshot async for snapshot in driven.graph.aget_state_history(driven.config())]
    before = next(snapshot for snapshot in reversed(history) if snapshot.next == ("diagnose",))
    driven.play(request("c"), no_conclusion())
    forked = await driven.drive(None, config=before.config)
    assert driven.executed == ["a", "b", "c"]
    assert forked.state["run_id"] == original.state["run_id"]
    assert [fact["scope"]["service"] for fact in forked.facts] == ["c"]
    digests = [run.state["invocation_keys"][0]["digest"] for run in (original, forked)]
    assert len(set(digests)) == 2
    assert {item.value["scope"]["service"] for item in await driven.store.asearch(())} == {"a", "b", "c"}


async def test_a_key_of_another_branch_is_not_verified() -> None:
    driven = rig(request("a"), no_conclusion())
    state = await driven.pause("close_collection")
    forged = [{**state["invocation_keys"][0], "digest": "0" * 64}]
    run = await driven.drive(Command(update={"invocation_keys": forged}))
    assert run.state["invocation_keys"] == forged
    assert run.facts == []
    assert "RECORD_ALTERED" in run.limitations


async def _die(driven: Rig, store: DyingStore, given: Any) -> None:
    work = asyncio.create_task(driven.graph.ainvoke(given, driven.config()))
    await arrival(store.reached, work)
    store.reached.clear()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


GIVEN: Any = {"messages": [{"role": "user", "content": "why?"}], "incident": {"service": "a"}}


async def test_a_resume_reuses_what_is_ready() -> None:
    store = DyingStore("READY")
    driven = rig(request("a"), no_conclusion(), store=store)
    await _die(driven, store, GIVEN)
    run = await driven.drive(None)
    assert driven.executed == ["a"]
    assert store.writes == [("r1c1", "STARTED"), ("r1c1", "READY")]
    assert [fact["scope"] for fact in run.facts] == [{"service": "a"}]
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")


async def test_a_resume_repeats_what_was_started_once() -> None:
    store = DyingStore("STARTED")
    driven = rig(request("a"), no_conclusion(), store=store)
    await _die(driven, store, GIVEN)
    run = await driven.drive(None)
    assert driven.executed == ["a"]
    assert store.writes == [("r1c1", "STARTED"), ("r1c1", "STARTED"), ("r1c1", "READY")]
    assert len(run.facts) == 1


async def test_a_resume_repeats_what_was_started_at_most_once() -> None:
    store = DyingStore("STARTED", "STARTED")
    driven = rig(request("a"), no_conclusion(), store=store)
    await _die(driven, store, GIVEN)
    await _die(driven, store, None)
    run = await driven.drive(None)
    assert driven.executed == []
    assert store.writes == [("r1c1", "STARTED"), ("r1c1", "STARTED"), ("r1c1", "ERROR")]
    assert run.answers[0]["code"] == "INTERRUPTED"
    assert "INTERRUPTED" in run.limitations


async def test_every_record_carries_its_expiry_and_it_is_checked_on_reading() -> None:
    clock = Clock()

    def late(messages: list[Any]) -> Any:
        clock.advance(150)
        return no_conclusion()

    driven = rig(request("a"), late, clock=clock, settings=harness(ttl=100, max_seconds=100))
    run = await driven.run()
    record = (await driven.stored())["r1c1"].value
    assert record["expires_at"] - record["recorded_at"] == 100
    assert run.facts == []
    assert "RECORD_EXPIRED" in run.limitations


def test_settings_refuse_a_record_that_dies_before_its_run() -> None:
    with pytest.raises(ValidationError, match="record-ttl-seconds"):
        harness(ttl=10, max_seconds=11)


async def test_a_cited_record_that_cannot_be_verified_is_an_unresolved_reference() -> None:
    driven = rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        reply(draft()),
        repair=[reply(draft())],
        review=[verdict()],
        tools=[metrics(), changes()],
    )
    await driven.pause("evidence_guard")
    record = (await driven.stored())["r1c2"]
    await driven.store.adelete(record.namespace, record.key)
    run = await driven.drive(None)
    assert "TOOL_CALL_ID_UNRESOLVED" in run.of("EVIDENCE_GUARD", "violations")[0]
    assert run.ended == ("FALLBACK", "EVIDENCE_VALIDATION_FAILED")


@pytest.mark.parametrize("broken", [("aput",), ("aget",), ("aput", "aget")])
async def test_a_store_that_raises_gives_no_fact_and_no_text_of_its_error(broken: tuple[str, ...]) -> None:
    driven = rig(request("a"), request("b"), no_conclusion(), store=RaisingStore(*broken))
    run = await driven.run()
    assert run.answers[0]["code"] == "LEDGER_UNAVAILABLE"
    assert run.facts == []
    assert set(run.limitations) <= {"LEDGER_UNAVAILABLE", "RECORD_MISSING"}
    assert run.limitations
    assert "STOREHOST" not in spoken([run.chunks, run.state])


async def test_a_store_that_goes_away_later_leaves_limitations() -> None:
    store = RaisingStore()

    def gone(messages: list[Any]) -> Any:
        store.broken |= {"aget", "aput"}
        return no_conclusion()

    driven = rig(request("a"), gone, store=store)
    run = await driven.run()
    assert run.facts == []
    assert "LEDGER_UNAVAILABLE" in run.limitations
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")


async def test_a_graph_without_a_store_keeps_its_ledger_all_the_same() -> None:
    model = ScriptedChatModel(script=[request("a"), no_conclusion()])
    graph = build_graph(models=model, tools=[ScriptedTool(evidence(["x"]))], settings=harness())
    output = await graph.ainvoke(GIVEN)
    assert len(output["release"]["observed_facts"]) == 1
