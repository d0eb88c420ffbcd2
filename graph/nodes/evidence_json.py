"""The evidence as the repair and the semantic review are shown it: what the first model saw, and nothing beside it."""

from collections.abc import Mapping
from typing import Any

from graph.contract.draft import Draft
from graph.contract.records import VerifiedRecord

UNCITED_LINES = 20


def evidence_json(draft: Draft, records: Mapping[str, VerifiedRecord], *, cited_only: bool) -> list[dict[str, Any]]:
    """Return verified records as JSON, in execution order: cited ones whole, others, if asked for, cut short."""
    cited = {call_id for analysis in draft.analyses for call_id in analysis.tool_call_ids}
    return [
        _record_json(record, whole=record.call_id in cited)
        for record in records.values()
        if record.call_id in cited or not cited_only
    ]


def _record_json(record: VerifiedRecord, *, whole: bool) -> dict[str, Any]:
    evidence = record.evidence
    return {
        "tool_call_id": record.call_id,
        "tool_name": record.tool_name,
        "kind": record.kind,
        "provenance": evidence.provenance,
        "relevance_level": evidence.relevance,
        "evidence_status": evidence.status,
        "truncated": evidence.truncated,
        "scope": dict(record.scope),
        "content": list(evidence.content if whole else evidence.content[:UNCITED_LINES]),
    }
