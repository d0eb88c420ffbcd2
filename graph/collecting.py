"""Running the one tool that the gate admitted: record STARTED, ask within the time that is left, record the answer.

Source: contract, "Ledger" (records are written once; resume reuses READY, repeats STARTED at most once) and "Answers of
tools".
"""

import asyncio
from dataclasses import dataclass

from langchain_core.messages import ToolMessage

from graph.cancellation import cancelled_from_outside
from graph.contract.budget import Budget, seconds_left
from graph.contract.limits import Limits
from graph.contract.records import InvocationRecord
from graph.contract.vocabulary import InvocationStatus
from graph.envelope import ReadRequest, error_message, observation_message
from graph.ledger import Ledger, LedgerUnavailable
from graph.parts import Parts
from tools.base import IncidentContext, SourceFailure
from tools.hygiene import clean_evidence, clean_text
from tools.vocabulary import Evidence, SourceError

MAX_ATTEMPTS = 2
"""A query that was begun and never answered (the process died) is repeated once."""
MAX_NAME_CHARS = 100


@dataclass(frozen=True)
class Admitted:
    """The request that runs, of which run, and until when (POSIX seconds)."""

    read: ReadRequest
    run_id: str
    incident: IncidentContext
    limits: Limits
    budget: Budget


@dataclass(frozen=True)
class Collected:
    """The canonical record, and what the model gets to see of it."""

    record: InvocationRecord
    message: ToolMessage
    near_names: tuple[str, ...] = ()


async def collect(admitted: Admitted, ledger: Ledger, parts: Parts) -> Collected:
    """Run the admitted request and return its canonical record, READY or ERROR. Raises nothing but a cancellation.

    Without a ledger nothing is canonical: where it can't be written, the invocation is an ERROR LEDGER_UNAVAILABLE.
    """
    request = admitted.read.request
    try:
        earlier = await ledger.read(request.call_id, str(request.scope_digest))
        if earlier and earlier.status is InvocationStatus.READY and earlier.evidence:
            return _ready(earlier, earlier.evidence)
        attempt = earlier.attempt + 1 if earlier else 1
        if attempt > MAX_ATTEMPTS:
            return await _failed(admitted, ledger, parts, attempt, SourceFailure(SourceError.INTERRUPTED))
        await ledger.write(_record(admitted, parts, attempt, InvocationStatus.STARTED))
        answer = await _ask_source(admitted, parts)
        if isinstance(answer, SourceFailure):
            return await _failed(admitted, ledger, parts, attempt, answer)
        record = _record(admitted, parts, attempt, InvocationStatus.READY, evidence=answer)
        await ledger.write(record)
    except LedgerUnavailable:
        return _error(admitted, parts, SourceFailure(SourceError.LEDGER_UNAVAILABLE))
    return _ready(record, answer)


async def _ask_source(admitted: Admitted, parts: Parts) -> Evidence | SourceFailure:
    tool, scope = admitted.read.tool, admitted.read.scope
    if tool is None or scope is None:
        return SourceFailure(SourceError.INTERNAL_ERROR)
    limits = admitted.limits
    seconds = min(limits.tool_timeout_seconds, seconds_left(admitted.budget, limits, parts.now()))
    try:
        async with asyncio.timeout(seconds):
            evidence = await tool.collect(scope, admitted.read.arguments, admitted.incident)
        return clean_evidence(evidence, max_bytes=limits.observation_bytes_each)
    except SourceFailure as failure:
        return failure
    except TimeoutError:
        return SourceFailure(SourceError.BACKEND_TIMEOUT)
    except asyncio.CancelledError:
        if cancelled_from_outside():
            raise
        return SourceFailure(SourceError.INTERNAL_ERROR)
    except Exception:  # noqa: BLE001 - a tool may be anyone's; its exception's text must reach nobody
        return SourceFailure(SourceError.INTERNAL_ERROR)


async def _failed(admitted: Admitted, ledger: Ledger, parts: Parts, attempt: int, failure: SourceFailure) -> Collected:
    collected = _error(admitted, parts, failure, attempt=attempt)
    await ledger.write(collected.record)
    return collected


def _error(admitted: Admitted, parts: Parts, failure: SourceFailure, *, attempt: int = 1) -> Collected:
    record = _record(admitted, parts, attempt, InvocationStatus.ERROR, error=failure.code)
    names = tuple(clean_text(name, limit=MAX_NAME_CHARS) for name in failure.near_names)
    message = error_message(record.call_id, record.tool_name, failure.code, names, failure.field)
    return Collected(record, message, names)


def _ready(record: InvocationRecord, evidence: Evidence) -> Collected:
    return Collected(record, observation_message(record.call_id, record.tool_name, record.kind, evidence))


def _record(
    admitted: Admitted,
    parts: Parts,
    attempt: int,
    status: InvocationStatus,
    *,
    evidence: Evidence | None = None,
    error: SourceError | None = None,
) -> InvocationRecord:
    read = admitted.read
    tool = parts.tools[str(read.request.tool_name)]
    now = parts.now()
    return InvocationRecord(
        run_id=admitted.run_id,
        call_id=read.request.call_id,
        tool_name=tool.name,
        kind=tool.kind,
        scope=dict(read.scope or {}),
        scope_digest=str(read.request.scope_digest),
        status=status,
        attempt=attempt,
        recorded_at=now,
        expires_at=now + admitted.limits.record_ttl_seconds,
        evidence=evidence,
        error=error,
    )
