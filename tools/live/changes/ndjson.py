"""Changes that somebody appends to a file, one JSON object a line: feature flags' audit logs, pipelines' deploys.

Only the end of a large file is read, as far back as the window reaches. Fields are those of an incident directory's
flags and deploys (docs/incident-format.md), under the names that are understood there, and `at`.
"""

import asyncio
import json
import shlex
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from typing_extensions import override

from tools.base import SourceFailure
from tools.frozen.change_records import MAX_DIFF_CHARACTERS
from tools.live.changes.records import Deploy, Flag, Recorded, is_sha
from tools.live.changes.source import ChangeSource
from tools.live.changes.times import moment_of
from tools.live.source import Probe
from tools.vocabulary import ChangeKind, Scope, SourceError

MAX_RECORDS = 5_000
_BLOCK = 1 << 20
_LONGEST_LINE = 8 * _BLOCK
_OUT_OF_ORDER = 1_000
"""How many older records in a row end the search: writers of one file may overtake each other, but not by more. They
also tell which services there are."""
_TIMES = ("at", "timestamp", "time", "date", "deployed_at", "created_at")
_FLAGS = ("flag", "name", "key", "id")
_SHAS = ("commit_sha", "sha", "commit", "revision", "version")
_VERSIONS = ("version", "tag", "image", "release")
_SERVICES = ("service", "service_name")
_MESSAGES = ("message", "subject", "title")
_FILES = ("files_changed", "files")
_DIFFS = ("diff", "patch")
_NOT_LIVE = frozenset({"failed", "failure", "error", "canceled", "cancelled", "aborted", "pending", "running"})


@dataclass(frozen=True)
class FileAccess:
    """Where a file lies and how it is read: `zone` is of times that name none, `service` of records that name none."""

    path: Path
    zone: str
    service: str | None
    timeout_seconds: float
    max_bytes: int


@dataclass(frozen=True)
class Tail:
    """The records of a file's end, newest first: what couldn't be read, what was assumed, whether older ones stayed
    unread before the window's beginning was reached."""

    records: tuple[tuple[datetime, Mapping[str, Any]], ...]
    broken: int
    zoneless: int
    cut: bool


def tail(access: FileAccess, start: datetime) -> Tail:
    """Return the records that a file holds since `start` (aware, UTC), and those read on the way. Blocking I/O.

    Raises SourceFailure: SOURCE_MISSING, SOURCE_UNREADABLE (no line of it is a record).
    """
    if access.path.exists() and not access.path.is_file():
        # A pipe would be waited for without an end, in a thread that nothing can stop.
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    records: list[tuple[datetime, Mapping[str, Any]]] = []
    broken = zoneless = older = 0
    cut = False
    for line in _backwards(access.path, access.max_bytes):
        if line is None or len(records) >= MAX_RECORDS:
            cut = True
            break
        if not line.strip():
            continue
        document = _document(line)
        said = moment_of(_first(document, _TIMES), ZoneInfo(access.zone))
        if document is None or said is None:
            broken += 1
            continue
        records.append((said.at, document))
        zoneless += said.zoneless
        older = older + 1 if said.at < start else 0
        if older >= _OUT_OF_ORDER:
            break
    if broken and not records:
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return Tail(tuple(records), broken, zoneless, cut)


class _FileSource(ChangeSource):
    """A file of records that a machine appends to."""

    def __init__(self, name: str, access: FileAccess) -> None:
        self.name = name
        self._access = access

    @abstractmethod
    def _told(self, found: Tail) -> Recorded:
        """Return the records as changes."""

    @override
    async def probe(self) -> Probe:
        found = await self._since(datetime.max.replace(tzinfo=UTC))
        return Probe(None, f"{len(found.deploys) + len(found.flags)} newest records read")

    @override
    async def close(self) -> None:
        """Nothing is held open."""

    @override
    async def recorded(self, start: datetime, end: datetime) -> Recorded:
        found = await self._since(start)
        return replace(found.within(start, end), services=found.names())

    @override
    async def change(self, folded: str) -> Recorded:
        return (await self._since(datetime.min.replace(tzinfo=UTC))).of_id(folded)

    @override
    def paste(self, scope: Scope) -> str:
        return f"tail -n 1000 {shlex.quote(str(self._access.path))}"

    async def _since(self, start: datetime) -> Recorded:
        code = SourceError.BACKEND_TIMEOUT
        try:
            async with asyncio.timeout(self._access.timeout_seconds):
                found = await asyncio.to_thread(tail, self._access, start)
                return replace(self._told(found), truncated=found.cut, notes=self._notes(found))
        except TimeoutError:
            pass
        except FileNotFoundError:
            code = SourceError.SOURCE_MISSING
        except OSError:
            code = SourceError.SOURCE_UNREADABLE
        raise SourceFailure(code)

    def _notes(self, found: Tail) -> tuple[str, ...]:
        notes = [f"BROKEN_LINES:{found.broken}"] if found.broken else []
        return tuple(notes + ([f"ZONE_ASSUMED:{self._access.zone}"] if found.zoneless else []))


class FlagsSource(_FileSource):
    """An audit log of feature flags: at, flag, service, and `change` or from and to."""

    tells: ClassVar[frozenset[ChangeKind]] = frozenset({ChangeKind.FLAG})

    @override
    def _told(self, found: Tail) -> Recorded:
        flags = []
        for at, document in found.records:
            flag = _text(document, _FLAGS)
            if flag is not None:
                service = _text(document, _SERVICES) or self._access.service
                flags.append(Flag(flag, service, at, _switched(document)))
        return Recorded(flags=tuple(flags))


class DeploysSource(_FileSource):
    """A file that pipelines append their deploys to: timestamp, service, commit_sha, version, and message, files and
    diff of a release that no commit made; those with a `status` that says that nothing went live are left out."""

    tells: ClassVar[frozenset[ChangeKind]] = frozenset({ChangeKind.DEPLOY})

    @override
    def _told(self, found: Tail) -> Recorded:
        deploys: list[Deploy] = []
        last: dict[str | None, str] = {}
        for at, document in sorted(found.records, key=lambda one: one[0]):
            sha = _text(document, _SHAS)
            if sha is None or (_text(document, ("status", "state")) or "").casefold() in _NOT_LIVE:
                continue
            service = _text(document, _SERVICES) or self._access.service
            deploys.append(
                Deploy(
                    sha,
                    service,
                    at,
                    _text(document, _VERSIONS),
                    previous=last.get(service),
                    message=_text(document, _MESSAGES) or "",
                    files=_files(document),
                    diff=(_text(document, _DIFFS) or "")[:MAX_DIFF_CHARACTERS],
                )
            )
            if is_sha(sha):
                last[service] = sha
        return Recorded(deploys=tuple(deploys))


def _backwards(path: Path, max_bytes: int) -> Iterator[bytes | None]:
    """Yield a file's lines from its end; None, as the last, where the bound was reached first."""
    with path.open("rb") as file:
        position = file.seek(0, 2)
        rest = b""
        read = 0
        while position:
            if read >= max_bytes or len(rest) > _LONGEST_LINE:
                yield None
                return
            step = min(_BLOCK, position)
            position -= step
            read += step
            file.seek(position)
            rest, *lines = (file.read(step) + rest).split(b"\n")
            yield from reversed(lines)
        if rest:
            yield rest


def _document(line: bytes) -> Mapping[str, Any] | None:
    try:
        document = json.loads(line.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _first(document: Mapping[str, Any] | None, names: tuple[str, ...]) -> Any:
    return next((document[name] for name in names if document.get(name) is not None), None) if document else None


def _text(document: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    value = _first(document, names)
    return str(value) if isinstance(value, str | int | float) and str(value).strip() else None


def _files(document: Mapping[str, Any]) -> tuple[str, ...]:
    said = _first(document, _FILES)
    return tuple(one for one in said if isinstance(one, str)) if isinstance(said, list) else ()


def _switched(document: Mapping[str, Any]) -> str | None:
    said = _text(document, ("change",))
    if said is not None:
        return said
    before, after = _first(document, ("from", "old")), _first(document, ("to", "new", "value"))
    if after is None:
        return None
    return _value(after) if before is None else f"{_value(before)}->{_value(after)}"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
