"""What needs no agent: never answer, and blame the last deploy."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from evals.cases import Attempt, Case, Target, ToolCall
from graph.models.registry import GivenModels
from graph.nodes.open_run import incident_time
from graph.settings import DEFAULT_ZONES, HarnessSettings
from tools.base import EvidenceTool, IncidentContext, SourceFailure
from tools.vocabulary import ChangeKind, ChangeRef, Evidence, EvidenceKind

ABSTAINED: dict[str, Any] = {"outcome": "FALLBACK", "fallback_type": "INSUFFICIENT_EVIDENCE", "draft": None}


class Abstain:
    """Asks nothing and publishes nothing: never wrong, never of use."""

    name = "abstain"

    async def attempt(self, case: Case, tools: Sequence[EvidenceTool]) -> Attempt:
        """Return an attempt without a conclusion."""
        return Attempt(release=ABSTAINED)


class LastDeploy:
    """Convicts the newest deploy before the incident's own time; abstains where no source tells of deploys."""

    name = "last-deploy"

    async def attempt(self, case: Case, tools: Sequence[EvidenceTool]) -> Attempt:
        """Return an attempt that blames the last deploy, after one question to the change records."""
        started = time.monotonic()
        zone = DEFAULT_ZONES[case.locale]
        as_of = incident_time(case.incident or {}, zone) or datetime.now(UTC)
        incident = IncidentContext(as_of=as_of, zone=zone)
        for tool in (tool for tool in tools if tool.kind is EvidenceKind.CHANGES):
            evidence = await _ask_openly(tool, incident)
            if evidence is not None:
                call = ToolCall(tool_name=tool.name, evidence_status=evidence.status.value, content=evidence.content)
                seconds = time.monotonic() - started
                return Attempt(release=_blame(evidence, as_of), calls=(call,), seconds=seconds)
        return Attempt(release=ABSTAINED, seconds=time.monotonic() - started)


async def _ask_openly(tool: EvidenceTool, incident: IncidentContext) -> Evidence | None:
    """Ask with every argument left open; None of a tool that can't be asked so, or can't answer."""
    try:
        arguments = tool.arguments.model_validate(dict.fromkeys(tool.arguments.model_fields))
        return await tool.collect(tool.normalize(arguments, incident), arguments, incident)
    except (ValidationError, ValueError, SourceFailure):
        return None


def _blame(evidence: Evidence, as_of: datetime) -> dict[str, Any]:
    deploys = [change for change in evidence.changes if change.kind is ChangeKind.DEPLOY and change.at <= as_of]
    if not deploys:
        return ABSTAINED
    last: ChangeRef = max(deploys, key=lambda change: change.at)
    conclusion: dict[str, Any] = {
        "text": f"{last.service or ''} {last.change_id}",
        "component": last.service or "",
        "cause": "deploy",
        "change_id": last.change_id,
        "first_failing": last.service,
        "affected": [],
        "alternatives": [],
        "analysis_ids": [],
    }
    action = {"text": f"rollback {last.change_id}", "analysis_ids": []}
    return {"outcome": "SUCCESS", "draft": {"conclusion": conclusion, "action_plan": [action]}}


def make_target(name: str, models: GivenModels | None, settings: HarnessSettings) -> Target:
    """Return the naive target called `name`; it asks no model."""
    return Abstain() if name == Abstain.name else LastDeploy()
