"""Records of runs: each one that a run writes verifies, and each one that was changed in one place doesn't."""

import asyncio
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from langchain_core.runnables import RunnableConfig

from graph.record import RecordUnavailable, run_record, write_record
from graph.replay.seals import seal
from graph.verify import NotARecord, read_record, verify
from tests.graph.test_machine import Machine
from tests.support import records
from tests.support.drafts import changes, metrics
from tests.support.driving import harness, rig
from tests.support.machine import bounds, plays
from tests.support.oracle import Bounds
from tests.support.plays import Play
from tests.support.records import KEY, altered, leaves, spelled, with_leaf
from tests.support.scripted import ScriptedTool, no_conclusion, nothing, request
from tests.support.stores import RaisingStore

RECORDS: dict[str, Callable[[], Awaitable[dict[str, Any]]]] = {
    "published": records.published,
    "stopped": records.stopped,
    "unproven": records.unproven,
}
NODES = ("classify", "diagnose", "tool_gate", "evaluate_gain", "close_collection", "safe_fallback", "release")


async def _made(name: str) -> dict[str, Any]:
    return await RECORDS[name]()


@settings(max_examples=40, derandomize=True, phases=(Phase.explicit, Phase.generate))
@given(limits=bounds(), first=plays(), second=plays())
def test_every_record_that_a_run_writes_verifies(limits: Bounds, first: Play, second: Play) -> None:
    async def perform() -> None:
        machine = Machine(limits)
        for play in (first, second):
            ended = await machine.perform(play)
            record = await run_record(ended.state, tools=machine.tools, store=machine.store)
            assert verify(record).difference is None

    asyncio.run(perform())


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_survives_its_file(name: str, tmp_path: Path) -> None:
    record = asyncio.run(_made(name))
    write_record(tmp_path / "run.json", record)
    assert read_record(tmp_path / "run.json") == record
    assert verify(record, key=KEY).difference is None
    assert stat.S_IMODE((tmp_path / "run.json").stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [tmp_path / "run.json"]


@pytest.mark.parametrize("node", NODES)
async def test_the_record_of_a_cancelled_run_verifies(node: str) -> None:
    record = await records.cancelled(node)
    assert record["outputs"]["release"]["outcome"] == "CANCELLED"
    assert verify(record, key=KEY).difference is None


async def test_the_record_of_a_run_that_was_handed_over_verifies() -> None:
    away = [ConnectionError("away")] * 2
    made = rig(*away, tools=[metrics(), changes()], settings=harness(fallback="offline"))
    run = await made.run()
    assert run.events("MODEL_HANDED_OVER")
    assert verify(await records.record_of(made), key=KEY).difference is None


@pytest.mark.parametrize("limit", [2, 12, 16, 20, 24])
async def test_the_record_of_a_run_that_a_callers_step_limit_ended_verifies(limit: int) -> None:
    steps = (request(name, previous=(f"r1c{n}", "GAINED")) for n, name in enumerate("abcdef"))
    made = rig(*steps, no_conclusion())
    config: RunnableConfig = {**made.config(), "recursion_limit": limit + 9}
    await made.drive({"messages": [{"role": "user", "content": "why?"}], "incident": {"service": "a"}}, config=config)
    assert verify(await records.record_of(made), key=KEY).difference is None


@pytest.mark.parametrize(("broken", "code"), [("aget", "LEDGER_UNAVAILABLE"), ("aput", "RECORD_MISSING")])
async def test_the_record_of_a_run_whose_ledger_failed_verifies(broken: str, code: str) -> None:
    store = RaisingStore()
    made = rig(request("a"), request("b", previous=("r1c1", "GAINED")), no_conclusion(), store=store)
    await made.pause("close_collection" if broken == "aget" else "tool_gate")
    store.broken = {broken}
    await made.drive(None)
    store.broken = set()
    record = await records.record_of(made)
    assert code in [limitation["code"] for limitation in record["outputs"]["release"]["limitations"]]
    assert verify(record, key=KEY).difference is None


@pytest.mark.parametrize("name", RECORDS)
async def test_a_record_that_was_changed_in_one_place_names_it(name: str) -> None:
    record = await RECORDS[name]()
    for path, value in leaves({part: record[part] for part in ("inputs", "outputs")}):
        found = verify(with_leaf(record, path, altered(value))).difference
        assert found is not None, spelled(path)
        named = spelled(path)
        assert named.startswith(found.path) if "violations" in path else found.path.startswith(named)


@pytest.mark.parametrize("name", RECORDS)
async def test_seals_format_and_signature_cant_be_changed_either(name: str) -> None:
    record = await RECORDS[name]()
    for path, value in leaves({part: record[part] for part in ("format", "seals", "signature")}):
        assert verify(with_leaf(record, path, altered(value)), key=KEY).difference is not None, spelled(path)
    for part in record:
        assert verify({name: value for name, value in record.items() if name != part}).difference is not None
    assert verify({**record, "more": 1}).difference is not None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("inputs", "submissions", 0), '{"conclusion": null}'),
        (("inputs", "ledger", 0, "stored", "evidence", "content", 0), "series service=checkout extreme=4121"),
        (("inputs", "ledger", 0, "stored", "status"), "ERROR"),
        (("inputs", "ledger", 1, "key", "call_id"), "r1c1"),
        (("inputs", "limits", "max_tool_calls"), 1),
        (("inputs", "limits", "record_ttl_seconds"), 1e9),
        (("inputs", "replies", 0, "input_tokens"), 9_999),
        (("inputs", "transcript", 1, "content"), "{}"),
        (("inputs", "transcript", 2, "tool_calls", 0, "args", "previous_observation", "information_gain"), "NO_GAIN"),
        (("inputs", "transcript", 2, "read", 0, "scope", "service"), "another"),
        (("inputs", "tools"), []),
        (("inputs", "run", "zone"), "UTC+25"),
        (("inputs", "model"), "another"),
        (("inputs", "times"), []),
    ],
)
async def test_new_seals_dont_hide_a_change_that_the_rules_notice(path: records.Path, value: Any) -> None:
    forged = with_leaf(await records.published(), path, value)
    forged["seals"] = seal(forged["inputs"])
    assert verify(forged).difference is not None


async def test_only_the_key_signs() -> None:
    signed, plain = await records.published(), await records.published(key=None)
    assert verify(signed, key=KEY).difference is None
    assert str(verify(signed, key=b"another").difference).startswith("signature: ")
    assert str(verify(plain, key=KEY).difference) == "signature: expected the one of the configured key, found none"
    assert not verify(plain).signed


async def test_a_record_of_lone_surrogates_can_be_written(tmp_path: Path) -> None:
    made = rig(request("a", note="\ud83d"), no_conclusion())
    await made.run()
    record = await records.record_of(made)
    write_record(tmp_path / "run.json", record)
    assert verify(read_record(tmp_path / "run.json"), key=KEY).difference is None


async def test_no_record_is_made_without_a_release_or_without_its_evidence() -> None:
    made = rig(request("a"), no_conclusion(), tools=ScriptedTool(lambda _: nothing()))
    paused = await made.pause("close_collection")
    with pytest.raises(RecordUnavailable, match="no state"):
        await run_record(paused, tools=made.tools, store=made.store)
    await made.drive(None)
    with pytest.raises(RecordUnavailable, match="r1c1"):
        await run_record(await made.values(), tools=made.tools, store=RaisingStore("aget"))


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b"\xff", b'{"format": "zhizhi.run-record/0"}', b"[" * 99999])
def test_a_file_that_holds_no_record_is_refused_in_one_line(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(text)
    with pytest.raises(NotARecord) as refused:
        read_record(tmp_path / "run.json")
    assert len(str(refused.value).splitlines()) == 1
