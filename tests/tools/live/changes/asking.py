"""Asking the live tools of changes as the graph does."""

from typing import Any

from tests.tools.live.changes.conftest import INCIDENT
from tests.tools.live.conformance import ask
from tools.base import EvidenceTool
from tools.live.changes import tools_of
from tools.live.changes.source import ChangeSource
from tools.live.source import SourceSettings
from tools.vocabulary import Evidence


def opened(**settings: SourceSettings) -> dict[str, ChangeSource]:
    """Return opened sources by their names."""
    sources = {name: one.open(name) for name, one in settings.items()}
    return {name: source for name, source in sources.items() if isinstance(source, ChangeSource)}


def tool(sources: dict[str, ChangeSource], name: str) -> EvidenceTool:
    return next(one for one in tools_of(sources) if one.name == name)


async def list_changes(sources: dict[str, ChangeSource], **said: str | None) -> Evidence:
    """Ask `list_changes`; arguments that aren't given are null. Times are of the incident's day, `11:30`."""
    arguments: dict[str, Any] = dict.fromkeys(("service", "change_kind", "start", "end")) | said
    for end in ("start", "end"):
        if arguments[end] is not None and "T" not in arguments[end]:
            arguments[end] = f"2026-03-04T{arguments[end]}:00Z"
    return await ask(tool(sources, "list_changes"), arguments, INCIDENT)


async def get_change(sources: dict[str, ChangeSource], change_id: str) -> Evidence:
    return await ask(tool(sources, "get_change"), {"change_id": change_id}, INCIDENT)


def heads(evidence: Evidence) -> list[str]:
    """Return the lines of an answer that name a change."""
    return [line for line in evidence.content if line.startswith("change ")]
