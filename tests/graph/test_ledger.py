"""The ledger on real stores: what is written is read, by its run alone; every wait is bounded; no error's text."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

import graph.ledger
from graph.contract.records import InvocationRecord, VerifiedRecord
from graph.contract.vocabulary import EvidenceKind, InvocationStatus, LimitationCode, SourceError
from graph.ledger import NAMESPACE, Ledger, LedgerUnavailable, records_of
from tests.support.scripted import evidence

CANARY = "err-canary-7319"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BaseStore]:
    if request.param == "memory":
        yield InMemoryStore()
        return
    async with AsyncSqliteStore.from_conn_string(str(tmp_path / "store.db")) as opened:
        await opened.setup()
        yield opened


def record(call_id: str = "r1c1", run_id: str = "run", **changed: Any) -> InvocationRecord:
    fields: dict[str, Any] = {
        "run_id": run_id,
        "call_id": call_id,
        "tool_name": "probe",
        "kind": EvidenceKind.METRICS,
        "scope": {"service": "支付", "share": 0.25},
        "scope_digest": "a" * 64,
        "status": InvocationStatus.READY,
        "attempt": 1,
        "recorded_at": 1000.5,
        "expires_at": 2000.0,
        "evidence": evidence(["line | 文本"], onset="2026-06-18T15:04:00Z"),
    }
    return InvocationRecord(**{**fields, **changed})


async def test_what_is_written_is_read_and_believed(store: BaseStore) -> None:
    ledger, kept = Ledger(store, "run"), record()
    await ledger.write(record(status=InvocationStatus.STARTED, evidence=None))
    await ledger.write(kept)
    assert await ledger.read("r1c1", kept.scope_digest) == kept
    checked = await ledger.verified([kept.key()], now=1500.0)
    assert records_of(checked)["r1c1"].evidence == kept.evidence


async def test_what_was_not_written_is_none_and_missing(store: BaseStore) -> None:
    ledger = Ledger(store, "run")
    assert await ledger.read("r1c1", "a" * 64) is None
    assert await ledger.verified([record().key()], now=1500.0) == {"r1c1": LimitationCode.RECORD_MISSING}


async def test_another_runs_record_is_never_found(store: BaseStore) -> None:
    await Ledger(store, "other").write(record(run_id="other"))
    assert await Ledger(store, "run").read("r1c1", "a" * 64) is None


async def test_a_record_of_another_run_that_lies_in_its_place_is_not_its_own(store: BaseStore) -> None:
    await Ledger(store, "run").write(record(run_id="other"))
    checked = await Ledger(store, "run").verified([record().key()], now=1500.0)
    assert checked == {"r1c1": LimitationCode.RECORD_NOT_OWNED}


async def test_two_branches_of_a_thread_keep_a_record_each(store: BaseStore) -> None:
    ledger = Ledger(store, "run")
    one, two = record(scope_digest="a" * 64), record(scope_digest="b" * 64, attempt=2)
    await ledger.write(one)
    await ledger.write(two)
    for kept in (one, two):
        assert isinstance((await ledger.verified([kept.key()], now=1500.0))["r1c1"], VerifiedRecord)


async def test_a_record_that_expired_is_not_believed_at_the_very_second(store: BaseStore) -> None:
    ledger, kept = Ledger(store, "run"), record()
    await ledger.write(kept)
    assert isinstance((await ledger.verified([kept.key()], now=1999.999))["r1c1"], VerifiedRecord)
    assert await ledger.verified([kept.key()], now=2000.0) == {"r1c1": LimitationCode.RECORD_EXPIRED}


async def test_a_value_that_is_no_record_is_unavailable_to_read_and_altered_to_believe(store: BaseStore) -> None:
    await store.aput((*NAMESPACE, "run"), f"r1c1.{'a' * 16}", {"text": CANARY})
    ledger = Ledger(store, "run")
    with pytest.raises(LedgerUnavailable) as caught:
        await ledger.read("r1c1", "a" * 64)
    assert CANARY not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.__context__!r}"
    assert await ledger.verified([record().key()], now=1500.0) == {"r1c1": LimitationCode.RECORD_ALTERED}


class BrokenStore(InMemoryStore):
    hangs = False

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        if self.hangs:
            await asyncio.Event().wait()
        raise RuntimeError(CANARY)


@pytest.mark.parametrize("hangs", [False, True], ids=["raises", "hangs"])
async def test_a_store_that_is_gone_is_one_error_without_its_text(monkeypatch: pytest.MonkeyPatch, hangs: bool) -> None:
    monkeypatch.setattr(graph.ledger, "STORE_TIMEOUT_SECONDS", 0.005)
    store = BrokenStore()
    store.hangs = hangs
    ledger = Ledger(store, "run")
    for work in (ledger.write(record()), ledger.read("r1c1", "a" * 64)):
        with pytest.raises(LedgerUnavailable) as caught:
            await work
        assert CANARY not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.__context__!r}"
    assert await ledger.verified([record().key()], now=1500.0) == {"r1c1": SourceError.LEDGER_UNAVAILABLE}


async def test_a_cancellation_is_no_failure_of_the_store() -> None:
    store = BrokenStore()
    store.hangs = True
    waiting = asyncio.create_task(Ledger(store, "run").write(record()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
