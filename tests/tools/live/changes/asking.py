"""Asking the live tools of changes as the graph does."""

from collections.abc import Mapping
from typing import Any

from tests.tools.live.changes.conftest import INCIDENT
from tests.tools.live.conformance import ask
from tools.base import EvidenceTool
from tools.live.changes.source import ChangeSource
from tools.live.changes.tools import tools_of
from tools.live.source import SourceSettings
from tools.vocabulary import Evidence


def opened(**settings: SourceSettings) -> dict[str, ChangeSource]:
    """Return opened sources by their names."""
    sources = {name: one.open(name) for name, one in settings.items()}
    return {name: source for name, source in sources.items() if isinstance(source, ChangeSource)}


def tool(sources: Mapping[str, ChangeSource], name: str) -> EvidenceTool:
    return next(one for one in tools_of(sources) if one.name == name)


async def list_changes(sources: Mapping[str, ChangeSource], **said: str | None) -> Evidence:
    """Ask `list_changes`; arguments that aren't given are null. Times are of the incident's day, `11:30`."""
    arguments: dict[str, Any] = dict.fromkeys(("service", "change_kind", "start", "end")) | said
    for end in ("start", "end"):
        if arguments[end] is not None and "T" not in arguments[end]:
            arguments[end] = f"2026-03-04T{arguments[end]}:00Z"
    return await asked(sources, "list_changes", arguments)


async def get_change(sources: Mapping[str, ChangeSource], change_id: str) -> Evidence:
    return await asked(sources, "get_change", {"change_id": change_id})


async def asked(sources: Mapping[str, ChangeSource], name: str, arguments: dict[str, Any]) -> Evidence:
    """Ask one tool and give the connections back; the next question opens new ones."""
    try:
        return await ask(tool(sources, name), arguments, INCIDENT)
    finally:
        for source in sources.values():
            await source.close()


def heads(evidence: Evidence) -> list[str]:
    """Return the lines of an answer that name a change."""
    return [line for line in evidence.content if line.startswith("change ")]
