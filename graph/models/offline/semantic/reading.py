"""What the semantic guard reads in the evidence, by itself: nothing here is shared with the diagnostician."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

_PAIR = re.compile(r"(?P<key>[\w.]+)=(?P<value>\S+)")
_ALARMING = frozenset(("WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "SEVERE", "ALERT", "EMERGENCY"))
SLACK = timedelta(seconds=60)
"""Samples of a minute are dated to its start."""


@dataclass(frozen=True)
class Deployed:
    """A change record: `minus` and `plus` are its changed lines as shown."""

    change_id: str
    kind: str
    service: str
    at: datetime | None
    minus: tuple[str, ...]
    plus: tuple[str, ...]
    call_id: str


@dataclass(frozen=True)
class Sign:
    """Something out of the ordinary at a service: a metric that moved (`up` tells where to), or a text of an error."""

    service: str
    at: datetime | None
    text: str
    up: bool | None
    call_id: str
    measured: bool = False


@dataclass
class World:
    """All of the evidence, sorted. `calls` holds (caller, callee)."""

    changes: list[Deployed] = field(default_factory=list)
    signs: list[Sign] = field(default_factory=list)
    notices: list[Sign] = field(default_factory=list)
    """What was only said in passing, but is new: a job starts, a daemon loses its peer."""
    still: set[tuple[str, str]] = field(default_factory=set)
    failed_first: list[tuple[str, datetime | None]] = field(default_factory=list)
    calls: set[tuple[str, str]] = field(default_factory=set)
    alerts: list[tuple[str, str]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    lines: dict[str, list[str]] = field(default_factory=dict)

    def earliest(self, service: str) -> datetime | None:
        """Return when the first sign at a service was seen, or None."""
        return min((one.at for one in self.signs if one.service == service and one.at is not None), default=None)

    def callers_of(self, service: str) -> set[str]:
        """Return who calls a service, directly or through others."""
        found: set[str] = set()
        front = {service}
        while front:
            front = {caller for caller, callee in self.calls if callee in front} - found - {service}
            found |= front
        return found


def read_world(evidence: Sequence[Mapping[str, Any]]) -> World:
    """Return what the evidence of a semantic review says; references (runbooks) say nothing of what happened."""
    world = World()
    measured = {str(one.get("tool_call_id") or "") for one in evidence if one.get("provenance") == "MEASURED"}
    for record in evidence:
        content = [line for line in record.get("content") or () if isinstance(line, str)]
        call_id = str(record.get("tool_call_id") or "")
        world.lines[call_id] = content
        if record.get("relevance_level") != "REFERENCE":
            for head, tail in _entries(content):
                _read_entry(world, head, tail, call_id)
    world.signs = [replace(sign, measured=sign.call_id in measured) for sign in world.signs]
    _names_in_texts(world)
    return world


def _entries(content: Sequence[str]) -> list[tuple[str, list[str]]]:
    entries: list[tuple[str, list[str]]] = []
    for line in content:
        if line[:2] != "  ":
            entries.append((line, []))
        elif entries:
            entries[-1][1].append(line[2:])
    return entries


def _when(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text and text != "-" else None
    except ValueError:
        return None


def _read_entry(world: World, head: str, tail: list[str], call_id: str) -> None:
    front, _, text = head.partition(" | ")
    sort = front.split(" ", 1)[0]
    pairs = {found["key"]: found["value"] for found in _PAIR.finditer(front)}
    service = pairs.get("service", "")
    world.names.update(pairs[key] for key in ("service", "caller", "callee") if pairs.get(key, "-") != "-")
    told = " ".join([text, *tail]).strip()
    if sort == "change":
        world.changes.append(_deployed(pairs, tail, call_id))
    elif sort == "alert":
        world.alerts.append((service, pairs.get("metric", "")))
    elif sort == "series" and pairs.get("direction") == "FLAT":
        world.still.add((service, pairs.get("metric", "")))
    elif sort == "series":
        up = pairs.get("direction") == "UP"
        world.signs.append(Sign(service, _when(pairs.get("onset")), pairs.get("metric", ""), up, call_id))
    elif sort in ("signature", "log"):
        if pairs.get("severity", "").upper() in _ALARMING or pairs.get("severity") == "DEBUG":
            at = _when(pairs.get("first_seen") or pairs.get("at"))
            world.signs.append(Sign(service, at, f"{pairs.get('severity')} {told}", None, call_id))
        elif pairs.get("status") == "NEW":
            world.notices.append(Sign(service, _when(pairs.get("first_seen")), told, None, call_id))
    elif sort == "span" and pairs.get("status", "OK").upper() not in ("OK", "UNSET"):
        rest = " ".join(
            f"{key}={value}" for key, value in pairs.items() if key not in ("trace_id", "span_id", "parent")
        )
        world.signs.append(Sign(service, _when(pairs.get("start")), f"{told} {rest}", None, call_id))
    elif sort == "edge":
        world.calls.add((pairs.get("caller", ""), pairs.get("callee", "")))
    elif sort == "first_failing":
        world.failed_first.append((service, _when(pairs.get("at"))))


def _deployed(pairs: Mapping[str, str], tail: list[str], call_id: str) -> Deployed:
    return Deployed(
        change_id=pairs.get("id", ""),
        kind=pairs.get("kind", ""),
        service="" if pairs.get("service") == "-" else pairs.get("service", ""),
        at=_when(pairs.get("at")),
        minus=tuple(line[1:].strip() for line in tail if line.startswith("-")),
        plus=tuple(line[1:].strip() for line in tail if line.startswith("+")),
        call_id=call_id,
    )


def _names_in_texts(world: World) -> None:
    """An error of one service that names another is a call from the one to the other."""
    for sign in world.signs:
        if sign.up is None:
            said = set(re.findall(r"[\w.-]+", sign.text))
            world.calls.update((sign.service, name) for name in world.names & said if name != sign.service)
