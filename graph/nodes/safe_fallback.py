"""`safe_fallback`: gathers, from the ledger and by rule, what helps the reader of a fallback on.

Source: contract, "Release" ("A FALLBACK helps").
"""

from collections.abc import Iterable
from typing import Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from graph.contract.gaps import (
    Asked,
    CheckedScope,
    changes_in_window,
    find_gaps,
    measured_first_failing,
    measured_onset,
)
from graph.contract.records import InvocationRecord
from graph.contract.vocabulary import InvocationStatus
from graph.ledger import Ledger, LedgerUnavailable, gaps_after, records_of
from graph.nodes.edge import Node, contained
from graph.parts import Parts
from graph.settings import DiagnosisContext
from graph.state import DiagnosisState
from graph.views import incident_context, keys_of
from tools.base import EvidenceTool, IncidentContext

To = Literal["release"]


def make_safe_fallback(parts: Parts) -> Node[To]:
    """Return the node."""

    @contained(parts, on_failure="release")
    async def safe_fallback(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[To]:
        checked = await parts.checked(state, runtime)
        records = list(records_of(checked).values())
        asked = Asked(
            answered=records,
            failed=await _failed(state, parts.ledger(state, runtime), parts),
            suggested=suggestions(incident_context(state), parts.tools.values()),
            pastes={r.call_id: parts.tools[r.tool_name].paste(r.scope) for r in records},
        )
        gaps = gaps_after(state, "safe_fallback", checked)
        return Command(goto="release", update={"help": helpful(asked), "ledger_gaps": gaps})

    return safe_fallback


def helpful(asked: Asked) -> dict[str, Any]:
    """Return what a fallback offers beside its facts, as JSON."""
    records = asked.answered
    onset = measured_onset(records)
    return {
        "gaps": [gap.model_dump(mode="json") for gap in find_gaps(asked)],
        "onset": onset.isoformat() if onset else None,
        "first_failing": measured_first_failing(records),
        "unproven_changes": [change.model_dump(mode="json") for change in changes_in_window(records)],
    }


def suggestions(incident: IncidentContext, tools: Iterable[EvidenceTool]) -> list[CheckedScope]:
    """Return the question that each tool would ask first, with its query to paste; none of a tool that has none."""
    suggested = [(tool, tool.suggest(incident)) for tool in tools]
    return [(tool.kind, scope, tool.paste(scope)) for tool, scope in suggested if scope is not None]


async def _failed(state: DiagnosisState, ledger: Ledger, parts: Parts) -> list[CheckedScope]:
    failed: list[CheckedScope] = []
    for key in keys_of(state):
        if key.status is not InvocationStatus.ERROR:
            continue
        record = await _read(ledger, key.call_id, key.scope_digest)
        if record is not None:
            failed.append((record.kind, record.scope, parts.tools[record.tool_name].paste(record.scope)))
    return failed


async def _read(ledger: Ledger, call_id: str, scope_digest: str) -> InvocationRecord | None:
    try:
        return await ledger.read(call_id, scope_digest)
    except LedgerUnavailable:
        return None
