"""Where the files of a frozen incident lie, and whether a directory is one.

The layout is documented in `docs/incident-format.md`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILES: Mapping[str, tuple[str, ...]] = {
    "alert": ("alert.json",),
    "notices": ("status_feed.json",),
    "logs": ("logs.ndjson", "logs.jsonl", "logs.csv", "logs.parquet"),
    "metrics": ("metrics.csv", "metrics.ndjson", "metrics.jsonl", "metrics.parquet"),
    "traces": ("traces.json", "traces.ndjson", "traces.jsonl", "traces.parquet"),
    "commits": ("context/commits.json", "context/commits.ndjson", "context/commits.jsonl"),
    "deploys": ("context/deploys.json", "context/deploys.ndjson", "context/deploys.jsonl"),
    "flags": ("context/flags.json", "context/flags.ndjson", "context/flags.jsonl"),
}
"""The names under which a part may lie there; the first that exists is read. No other file is ever opened."""
RUNBOOKS = "runbooks"

_MAX_ALERT_BYTES = 1 << 20


class IncidentDirectoryError(Exception):
    """A path that holds no incident. Its text is one line: what is wrong, where, and what would be right."""


@dataclass(frozen=True)
class Found:
    """A file of the incident: `stamp` changes when its content may have changed."""

    part: str
    path: Path
    stamp: tuple[int, int]


def check_directory(directory: Path) -> None:
    """Raise IncidentDirectoryError where `directory` isn't a directory with at least one part of an incident, or a part
    is a link that leads out of it."""
    wanted = "alert.json, logs.ndjson, metrics.csv, traces.json or context/deploys.json"
    if not directory.exists():
        raise IncidentDirectoryError(f"no such incident directory: {directory} (expected a directory with {wanted})")
    if not directory.is_dir():
        raise IncidentDirectoryError(f"not a directory: {directory} (expected a directory with {wanted})")
    for name in (*(name for names in FILES.values() for name in names), RUNBOOKS):
        if _leads_out(directory, directory / name):
            raise IncidentDirectoryError(
                f"{directory / name} is a link out of the incident directory; put a copy there"
            )
    if not any(find(directory, part) for part in FILES):
        raise IncidentDirectoryError(f"no incident in {directory}: none of its files is there (expected {wanted})")


def find(directory: Path, part: str) -> Found | None:
    """Return the file that holds `part`, or None where there is none."""
    for name in FILES[part]:
        path = directory / name
        try:
            status = path.stat()
        except OSError:
            continue
        if path.is_file() and not _leads_out(directory, path):
            return Found(part, path, (status.st_mtime_ns, status.st_size))
    return None


def _leads_out(directory: Path, path: Path) -> bool:
    """Whether `path` is elsewhere than it says: who made the incident must not choose what else of a disk is read."""
    return path.exists() and not path.resolve().is_relative_to(directory.resolve())


def expected(directory: Path, part: str) -> Path:
    """Return the path at which `part` lies, or would have to lie."""
    found = find(directory, part)
    return found.path if found else directory / FILES[part][0]


def read_alerts(directory: Path) -> list[dict[str, Any]] | None:
    """Return the alerts of `alert.json` (one object or a list), None where the file is missing.

    Raises ValueError where the file is no JSON object or list, or is larger than 1 MiB.
    """
    found = find(directory, "alert")
    if found is None:
        return None
    if found.stamp[1] > _MAX_ALERT_BYTES:
        raise ValueError("alert.json")
    content = json.loads(_decoded(found.path.read_bytes()))
    alerts = content if isinstance(content, list) else [content]
    if not all(isinstance(alert, dict) for alert in alerts):
        raise ValueError("alert.json")
    return alerts


def read_notices(directory: Path) -> list[dict[str, Any]]:
    """Return the events of a provider's status feed, where the incident has one that can be read; else none."""
    found = find(directory, "notices")
    if found is None or found.stamp[1] > _MAX_ALERT_BYTES:
        return []
    try:
        content = json.loads(_decoded(found.path.read_bytes()))
    except (ValueError, OSError, RecursionError):
        return []
    events = content.get("events") if isinstance(content, dict) else content
    return [event for event in events if isinstance(event, dict)] if isinstance(events, list) else []


def read_alert(directory: Path) -> dict[str, Any] | None:
    """Return the (first) alert of an incident directory as a plain dict, None where it has none.

    Blocking I/O. Raises IncidentDirectoryError where the directory holds no incident or its alert can't be read.
    """
    check_directory(directory)
    try:
        alerts = read_alerts(directory)
    except (ValueError, OSError, RecursionError):
        path = directory / "alert.json"
        raise IncidentDirectoryError(f"unreadable alert: {path} (expected one JSON object)") from None
    return alerts[0] if alerts else None


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("gb18030", errors="replace")
