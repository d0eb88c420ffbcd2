"""What evidence lines tell, to compare what two tools tell of the same state."""

import re
from typing import Any

from tools.vocabulary import Evidence

Facts = tuple[str, dict[str, str], str]
_UNSAID = frozenset(("-", "<none>"))


def facts(line: str) -> Facts:
    """Return a line's sort, its fields that say something, and its text."""
    head, _, text = line.partition(" | ")
    sort, *fields = head.split()
    said = {key: value for key, _, value in (one.partition("=") for one in fields) if value not in _UNSAID}
    return sort, {key: ",".join(sorted(value.split(","))) for key, value in said.items()}, text


def untold(frozen: Evidence, live: Evidence) -> list[str]:
    """Return the frozen lines that no live line says at least as much as."""
    held = [facts(line) for line in live.content]
    return [line for line in frozen.content if not line.startswith("  ") and not _is_told(facts(line), held)]


def _is_told(told: Facts, held: list[Facts]) -> bool:
    sort, fields, text = told
    return any(
        sort == other and fields.items() <= more.items() and re.sub(r"\W+", "", text) in re.sub(r"\W+", "", said)
        for other, more, said in held
    )


def comparable(tool: str, given: dict[str, Any], evidence: Evidence) -> Evidence:
    """Leave out what one side can't know: a recorded age, the lines that a recorder counted, a made-up log ratio; and a
    pod's status in its description, which the small state takes from its row: kubectl describes the phase."""
    dropped = r" (?:last_seen|age|last_restart|over|ratio|count|lines|errors|times|from)=\S+"
    if tool == "DescribeResource":
        content = tuple(
            re.sub(r" status=[A-Z]\S+(?= node_selectors=)|" + dropped, "", line) for line in evidence.content
        )
    elif tool == "GetErrorLogs" or given.get("resource_type") == "events":
        content = tuple(re.sub(dropped, "", line) for line in evidence.content)
    else:
        content = tuple(re.sub(r" (?:age|last_restart)=\S+", "", line) for line in evidence.content)
    return evidence.model_copy(update={"content": content})
