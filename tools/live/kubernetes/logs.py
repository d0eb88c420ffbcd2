"""Logs of a workload's pods: the newest lines, and the patterns of its error lines. All of it is hostile text, bounded.

Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/ (read log of the specified Pod:
`tailLines`, `limitBytes`, `previous`, `timestamps`).
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tools.base import SourceFailure
from tools.cluster.state import Told
from tools.frozen.signatures import GENERALIZED
from tools.live.kubernetes.objects import Object, at, each, name_of, one, path_of
from tools.live.kubernetes.reading import Reading, gathered
from tools.live.kubernetes.workloads import pods_of
from tools.live.reading import moment
from tools.vocabulary import SourceError

MAX_PODS = 8
RECENT_LINES = 200
ERROR_LINES = 2_000
MAX_LOG_BYTES = 1024 * 1024
MAX_LINE = 4_000
MAX_PATTERNS = 40
_AT_ONCE = 4
_FIRST = datetime(1, 1, 1, tzinfo=UTC)
_SIDECARS = frozenset(("istio-proxy", "istio-validation", "istio-init", "linkerd-proxy", "linkerd-init"))
_STAMP = re.compile(r"(?P<at>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) (?P<text>.*)", re.DOTALL)
_ERROR = re.compile(
    r"\b(?:ERROR|FATAL|PANIC|CRITICAL|SEVERE|EMERG|ALERT|Traceback|Exception|fatal|ERR)\b|\b(?:panic|error):"
    r"|\b\w+(?:Error|Exception)\b|^[EF]\d{4} "
    r"|[\"']?(?:level|severity|lvl)[\"']?\s*[:=]\s*[\"']?(?:error|fatal|panic|critical|err)\b"
    r"|\b(?:failed|refused|timed out|unavailable|OOM|killed|no such host|denied)\b"
)
_CALM = re.compile(
    r"[\"']?(?:level|severity|lvl)[\"']?\s*[:=]\s*[\"']?(?:info|debug|trace)\b|\b(?:INFO|DEBUG|TRACE)\b|^[ID]\d{4} ",
    re.IGNORECASE,
)
_GENERALIZED = tuple((re.compile(pattern), replacement) for pattern, replacement in GENERALIZED)


@dataclass(frozen=True)
class Line:
    """One line of a container's log: when it was written, as the API server says it (blank where it doesn't), and of
    which pod."""

    at: str
    pod: str
    text: str

    @property
    def when(self) -> datetime:
        """When it was written, to sort by: the text of a time has as many digits as it needs, and sorts otherwise."""
        return moment(self.at) or _FIRST


async def recent_logs(reading: Reading, namespace: str, service: str) -> Told:
    """Return the newest lines of all pods of a service, the newest last; each begins with its time, and with its pod
    where there are several. Raises SourceFailure."""
    told, lines = await _read(reading, namespace, service, RECENT_LINES, previous=False)
    lines.sort(key=lambda line: line.when)
    several = len({line.pod for line in lines}) > 1
    rows = [" ".join(filter(None, (line.at, f"{line.pod}:" if several else "", line.text))) for line in lines]
    return Told(rows[-RECENT_LINES:], told.notes, cut=told.cut or len(rows) > RECENT_LINES, missing=told.missing)


async def error_logs(reading: Reading, namespace: str, service: str) -> Told:
    """Return the patterns of a service's error lines, those of the container before a restart included.

    A pattern is a line with numbers, ids, addresses and quoted values generalized; its sample is its newest line.
    Raises SourceFailure.
    """
    told, lines = await _read(reading, namespace, service, ERROR_LINES, previous=True)
    lines.sort(key=lambda line: line.when)
    errors = [line for line in lines if is_error(line.text)]
    groups: dict[str, list[Line]] = defaultdict(list)
    for line in errors:
        groups[generalized(line.text)].append(line)
    patterns = [_pattern(group, len(errors)) for group in sorted(groups.values(), key=len, reverse=True)]
    report = {"total_log_count": len(lines), "total_errors": len(errors), "patterns": patterns[:MAX_PATTERNS]}
    cut = told.cut or len(groups) > MAX_PATTERNS
    return Told(report, told.notes, cut=cut, missing=told.missing)


def _pattern(group: list[Line], errors: int) -> dict[str, Any]:
    times = [line.at for line in group if line.at]
    seen = {"first_seen": times[0], "last_seen": times[-1]} if times else {}
    return {"count": len(group), "ratio": round(len(group) / errors, 3), **seen, "sample": group[-1].text}


def is_error(text: str) -> bool:
    """Return whether a line tells of trouble: by its level, else by what it says."""
    return bool(_ERROR.search(text)) and not _CALM.search(text[:200])


def generalized(text: str) -> str:
    """Return a line without what differs between lines of one sort."""
    text = text[:600]
    for pattern, replacement in _GENERALIZED:
        text = pattern.sub(replacement, text)
    return text.strip()


async def _read(
    reading: Reading, namespace: str, service: str, tail: int, *, previous: bool
) -> tuple[Told, list[Line]]:
    """Return the newest lines of every container of a service's pods, and what of them couldn't be read."""
    place = reading.allowed(namespace, "namespace")
    listed = await pods_of(reading, place, service)
    pods = sorted(listed.items, key=_telling)[-MAX_PODS:]
    room = asyncio.Semaphore(_AT_ONCE)

    async def asked(pod: str, container: str, before: bool) -> tuple[list[Line], bool]:
        async with room:
            return await _container(reading, place, pod, container, tail, before=before)

    questions = {
        f"{pod}/{container}{'/previous' if before else ''}": asked(pod, container, before)
        for pod, container, before in _containers(pods, previous=previous)
    }
    found = await gathered(questions)
    lines = [line for part, _ in found.found for line in part]
    short = [part for part, cut in found.found if cut]
    notes = [*found.notes[:8]]
    notes += [f"LOGS_CUT:{tail}"] if short else []
    notes += [f"PODS_CUT:{MAX_PODS}"] if len(listed.items) > MAX_PODS else []
    cut = bool(short) or listed.cut or len(listed.items) > MAX_PODS
    return Told([], tuple(notes), cut=cut, missing=found.missing), lines


def _telling(pod: Object) -> tuple[bool, str]:
    """Order pods by what their logs may tell: those that aren't ready last, the newest after older ones."""
    ready = any(
        found.get("type") == "Ready" and found.get("status") == "True" for found in each(pod, "status", "conditions")
    )
    return not ready, str(at(pod, "metadata", "creationTimestamp"))


def _containers(pods: list[Object], *, previous: bool) -> Iterator[tuple[str, str, bool]]:
    """Yield pod, container, and whether the log before its restart is meant; injected sidecars are left out."""
    for pod in pods:
        for key in ("initContainerStatuses", "containerStatuses"):
            for status in each(pod, "status", key):
                container = one(status.get("name"))
                if container in _SIDECARS or (key.startswith("init") and status.get("ready")):
                    continue
                yield name_of(pod), container, False
                if previous and status.get("restartCount"):
                    yield name_of(pod), container, True


async def _container(
    reading: Reading, place: str, pod: str, container: str, tail: int, *, before: bool
) -> tuple[list[Line], bool]:
    """Return the newest lines of one container, and whether there were more than were asked for.

    The API server counts `limitBytes` from the first line of the tail, so that a limit that is reached loses the newest
    lines, the ones that matter: ask again for fewer.
    """
    for lines in (tail, max(1, tail // 8), max(1, tail // 64)):
        params = {
            "container": container,
            "tailLines": lines,
            "limitBytes": MAX_LOG_BYTES,
            "timestamps": "true",
            **({"previous": "true"} if before else {}),
        }
        text, full = await _text(reading, path_of("pods", place, pod, "log"), params)
        if not full:
            break
    rows = text.split("\n")
    kept = [_line(pod, row) for row in rows if row.strip()]
    return kept, full or len(kept) >= lines


async def _text(reading: Reading, path: str, params: dict[str, Any]) -> tuple[str, bool]:
    """Return a log's text; blank where the container has none (it hasn't begun, or never restarted: 400)."""
    try:
        return await reading.api.text(path, params, limit=MAX_LOG_BYTES)
    except SourceFailure as failure:
        if failure.code is not SourceError.QUERY_REJECTED:
            raise
    return "", False


def _line(pod: str, row: str) -> Line:
    found = _STAMP.fullmatch(row.rstrip("\r"))
    return Line(found["at"], pod, found["text"][:MAX_LINE]) if found else Line("", pod, row[:MAX_LINE])
