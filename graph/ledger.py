"""Canonical invocation records on a LangGraph store: written once as STARTED, then once as READY or ERROR.

Source: contract, "Ledger". The key is run id and call id; the scope's digest stands in it, too, so that two branches of
a forked thread, which share both, never write over each other. Every wait on the store is bounded.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from langgraph.store.base import BaseStore
from pydantic import ValidationError

from graph.contract.records import InvocationKey, InvocationRecord, VerifiedRecord, verify_record
from graph.contract.vocabulary import LimitationCode, SourceError

NAMESPACE = ("zhizhi", "invocations")
STORE_TIMEOUT_SECONDS = 10.0
_SCOPE_DIGITS = 16

T = TypeVar("T")
Checked = VerifiedRecord | LimitationCode | SourceError


class LedgerUnavailable(Exception):
    """The store can't be read or written. Carries no text of its error."""


class Ledger:
    """The records of one run in `store`."""

    def __init__(self, store: BaseStore, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._namespace = (*NAMESPACE, run_id)

    async def write(self, record: InvocationRecord) -> None:
        """Store a record; raises LedgerUnavailable."""
        name = _name(record.call_id, record.scope_digest)
        value = record.model_dump(mode="json")
        await _bounded(self._store.aput(self._namespace, name, value, index=False))

    async def read(self, call_id: str, scope_digest: str) -> InvocationRecord | None:
        """Return the stored record of a call, or None where there's none; raises LedgerUnavailable."""
        item = await _bounded(self._store.aget(self._namespace, _name(call_id, scope_digest)))
        if item is None:
            return None
        try:
            return InvocationRecord.model_validate(item.value)
        except ValidationError:
            unreadable = LedgerUnavailable()
        raise unreadable

    async def verified(self, keys: Sequence[InvocationKey], *, now: float) -> dict[str, Checked]:
        """Return for each call id its verified record, or the code that says why it can't be believed.

        `now` is POSIX seconds. A store that is gone makes every record LEDGER_UNAVAILABLE; nothing is raised.
        """
        return {key.call_id: await self._check(key, now) for key in keys}

    async def _check(self, key: InvocationKey, now: float) -> Checked:
        try:
            item = await _bounded(self._store.aget(self._namespace, _name(key.call_id, key.scope_digest)))
        except LedgerUnavailable:
            return SourceError.LEDGER_UNAVAILABLE
        return verify_record(key, item.value if item else None, run_id=self._run_id, now=now)


def _name(call_id: str, scope_digest: str) -> str:
    return f"{call_id}.{scope_digest[:_SCOPE_DIGITS]}"


async def _bounded(work: Awaitable[T]) -> T:
    """Any store may stand behind BaseStore: whatever it raises becomes one exception, which carries no text of it."""
    with suppress(Exception):
        async with asyncio.timeout(STORE_TIMEOUT_SECONDS):
            return await work
    raise LedgerUnavailable


def gaps_after(state: Mapping[str, Any], reader: str, checked: Mapping[str, Checked]) -> list[dict[str, Any]]:
    """Return the run's `ledger_gaps` with what the node `reader` couldn't believe of what `Ledger.verified` returned.

    An ERROR record is believed: its code stands in it.
    """
    unbelieved = {
        call_id: found
        for call_id, found in checked.items()
        if isinstance(found, LimitationCode) or found is SourceError.LEDGER_UNAVAILABLE
    }
    found_now = [{"reader": reader, "call_id": call_id, "code": code.value} for call_id, code in unbelieved.items()]
    return [*(state.get("ledger_gaps") or ()), *found_now]


def records_of(checked: Mapping[str, Checked]) -> dict[str, VerifiedRecord]:
    """Return the verified records among what `Ledger.verified` returned, by call id."""
    return {call_id: found for call_id, found in checked.items() if isinstance(found, VerifiedRecord)}
