"""diagnosis-information-gain-stop-contract: Tool loop completion SHALL project bounded progress once."""

from collections.abc import Awaitable, Callable

import pytest
from langgraph.store.base import Item

from graph.contract.snapshot import ProgressSnapshot
from tests.support.driving import Clock, Rig, harness, rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, nothing, request
from tools.base import SourceFailure
from tools.vocabulary import SourceError


async def test_unknown_problem_has_completed_checks() -> None:
    """diagnosis-information-gain-stop-contract / Tool loop completion SHALL project bounded progress once / Unknown
    problem has completed checks.
    """
    probe = ScriptedTool(
        {
            "b": evidence(["RAW-LINE service=b"], summary="b: baseline 1", truncated=True),
            "a": nothing(),
            "c": evidence(["RAW-LINE service=c"], summary="c: baseline 3"),
        }
    )
    driven = rig(request("b"), request("a", previous=("r1c1", "GAINED")), request("c"), no_conclusion(), tools=probe)
    run = await driven.run()
    snapshot = ProgressSnapshot.model_validate(run.state["progress_snapshot"])
    assert [dict(fact.scope) for fact in snapshot.observed_facts] == [
        {"service": "b"},
        {"service": "a"},
        {"service": "c"},
    ]
    assert [fact.result for fact in snapshot.observed_facts] == [
        "b: baseline 1",
        "probe: nothing in the scope",
        "c: baseline 3",
    ]
    assert [fact.truncated for fact in snapshot.observed_facts] == [True, False, False]
    assert {fact.source for fact in snapshot.observed_facts} == {"probe"}
    assert run.facts == [fact.model_dump(mode="json") for fact in snapshot.observed_facts]
    assert "RAW-LINE" not in spoken(run.state["progress_snapshot"]) + spoken(run.release)
    assert len(run.events("COLLECTION_CLOSED")) == 1
    assert run.of("COLLECTION_CLOSED", "facts") == [3]


Spoil = Callable[[Rig, Item, Clock], Awaitable[None]]


async def _missing(driven: Rig, item: Item, clock: Clock) -> None:
    await driven.store.adelete(item.namespace, item.key)


async def _incomplete(driven: Rig, item: Item, clock: Clock) -> None:
    await driven.store.aput(item.namespace, item.key, {**item.value, "status": "STARTED", "evidence": None})


async def _not_owned(driven: Rig, item: Item, clock: Clock) -> None:
    await driven.store.aput(item.namespace, item.key, {**item.value, "run_id": "f" * 32})


async def _altered(driven: Rig, item: Item, clock: Clock) -> None:
    changed = {**item.value["evidence"], "summary": "something else"}
    await driven.store.aput(item.namespace, item.key, {**item.value, "evidence": changed})


async def _expired(driven: Rig, item: Item, clock: Clock) -> None:
    clock.advance(120)


SPOILED: dict[str, tuple[Spoil, str]] = {
    "missing": (_missing, "RECORD_MISSING"),
    "incomplete": (_incomplete, "RECORD_ALTERED"),
    "not owned": (_not_owned, "RECORD_NOT_OWNED"),
    "altered": (_altered, "RECORD_ALTERED"),
    "expired": (_expired, "RECORD_EXPIRED"),
}


@pytest.mark.parametrize("case", sorted(SPOILED))
async def test_canonical_record_cannot_be_verified(case: str) -> None:
    """diagnosis-information-gain-stop-contract / Tool loop completion SHALL project bounded progress once / Canonical
    record cannot be verified.
    """
    spoil, code = SPOILED[case]
    clock = Clock()
    probe = ScriptedTool({"a": evidence(["x"], summary="a: first"), "b": SourceFailure(SourceError.BACKEND_TIMEOUT)})
    driven = rig(
        request("a"),
        request("b", previous=("r1c1", "GAINED")),
        no_conclusion(),
        tools=probe,
        settings=harness(ttl=100, max_seconds=100),
        clock=clock,
    )
    state = await driven.pause("close_collection")
    await spoil(driven, (await driven.stored())["r1c1"], clock)
    run = await driven.drive(None)
    assert run.state["invocation_keys"] == state["invocation_keys"]
    assert run.facts == []
    assert code in run.limitations
    assert "BACKEND_TIMEOUT" in run.limitations or case == "expired"
    assert "a: first" not in spoken(run.release)
    assert run.release["verified_sources"] == []
