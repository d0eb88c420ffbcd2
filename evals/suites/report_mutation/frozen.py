"""Stories from frozen incidents: each source is asked through its own tool, as an engineer would ask it first.

One story an incident and service that has its own series; what nobody ever logged or traced gives the absences.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.suites.report_mutation.story import Call, Story
from tools.base import EvidenceTool, IncidentContext, SourceFailure
from tools.frozen import frozen_tools, read_alert
from tools.hygiene import clean_evidence
from tools.vocabulary import Evidence, EvidenceStatus

ZONE = "UTC"
OBSERVATION_BYTES = 16 * 1024
MAX_SERVICES = 4
_OWN_TIMES = ("as_of", "fired_at", "started_at", "timestamp")


async def frozen_stories(directory: Path) -> AsyncIterator[Story]:
    """Yield the stories of the incident in `directory`, in a fixed order; none where its alert tells no time."""
    alert = read_alert(directory) or {}
    moment = next((str(alert[name]) for name in _OWN_TIMES if alert.get(name)), None)
    if moment is None:
        return
    at = datetime.fromisoformat(moment)
    incident = IncidentContext(as_of=at if at.tzinfo else at.replace(tzinfo=UTC), zone=ZONE)
    source = _Source({tool.name: tool for tool in frozen_tools(directory)}, incident)
    overview = await source.ask("query_metrics")
    shared = [await source.ask(name) for name in ("list_changes", "find_log_signatures", "query_traces")]
    services = overview.evidence.components[:MAX_SERVICES] if overview and overview.evidence else ()
    for service in services:
        own = await source.ask("query_metrics", service=service)
        nothing = await source.nothing(services)
        failed = await source.ask("search_logs", service="no-such-service-here")
        asked = [call for call in (own, *shared, nothing, failed) if call is not None]
        calls = tuple(Call(f"r1c{n}", c.tool_name, c.kind, c.scope, c.evidence) for n, c in enumerate(asked, start=1))
        yield Story(f"{directory.name}-{service}", ZONE, calls)


class _Source:
    """The tools over one incident."""

    def __init__(self, tools: Mapping[str, EvidenceTool], incident: IncidentContext) -> None:
        self._tools, self._incident = tools, incident

    async def ask(self, name: str, **asked: Any) -> Call | None:
        """Ask a tool with the given arguments, the others left open; None where the incident has no such tool."""
        tool = self._tools.get(name)
        if tool is None:
            return None
        arguments = tool.arguments.model_validate({**dict.fromkeys(tool.arguments.model_fields), **asked})
        scope = tool.normalize(arguments, self._incident)
        found: Evidence | None = None
        with suppress(SourceFailure):
            found = clean_evidence(await tool.collect(scope, arguments, self._incident), max_bytes=OBSERVATION_BYTES)
        return Call("", name, tool.kind, dict(scope), found)

    async def nothing(self, services: tuple[str, ...]) -> Call | None:
        """Return the first question about a service that the incident answers with nothing, or None."""
        for service in services:
            call = await self.ask("find_log_signatures", service=service)
            if call and call.evidence and call.evidence.status is EvidenceStatus.NO_EVIDENCE:
                return call
        return None
