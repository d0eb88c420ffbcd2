"""`get_database_sessions`: what a database's clients do at this moment, without any of their text."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field
from typing_extensions import override

from tools.base import Arguments, EvidenceTool, IncidentContext, SourceFailure
from tools.canonical import canonical_scope, fold
from tools.frozen.lines import fields, number
from tools.live.database.source import DatabaseSource, Sessions, paste_of
from tools.names import near
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope, SourceError


class SessionsArguments(Arguments):
    """What `get_database_sessions` is asked."""

    database: str | None = Field(description="要查看的数据库名称；只配置了一个时可为 null")


class SessionsTool(EvidenceTool):
    """Connections by state, waits for locks, and how many connections are left. MEASURED, DIRECT: the server counts,
    and neither a statement nor a name that a client gave itself is told.

    | argument | in the scope | normalized |
    |---|---|---|
    | database | yes | `fold`; null is the only database |

    It tells of the moment when it's asked, whatever the incident's time is.
    """

    name = "get_database_sessions"
    description = "查看数据库此刻的会话：各状态连接数及最长持续时间、锁等待数、连接数与上限。无需写 SQL。"
    kind = EvidenceKind.DATABASE
    arguments = SessionsArguments

    def __init__(self, sources: Mapping[str, DatabaseSource]) -> None:
        """`sources`: the opened databases by name, at least one."""
        self._sources = {fold(name): source for name, source in sources.items()}

    @override
    def normalize(self, arguments: SessionsArguments, incident: IncidentContext) -> Scope:
        name = fold(arguments.database or "")
        if not name:
            if len(self._sources) > 1:
                raise ValueError("database")
            name = next(iter(self._sources))
        return canonical_scope({"database": name})

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        source = self._sources.get(str(scope["database"]))
        if source is None:
            known = near(str(scope["database"]), self._sources) or tuple(self._sources)
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=known, field="database")
        found = await source.sessions()
        return Evidence(
            status=EvidenceStatus.EVIDENCE,
            provenance=Provenance.MEASURED,
            content=tuple(_lines(source.name, found)),
            summary=_summary(source.name, found),
            truncated=found.hidden > 0 or found.waiting is None,
            components=(source.name,),
            notes=(f"SESSIONS_HIDDEN:{found.hidden}",) if found.hidden else (),
        )

    @override
    def suggest(self, incident: IncidentContext) -> Scope | None:
        return canonical_scope({"database": next(iter(self._sources))}) if len(self._sources) == 1 else None

    @override
    def paste(self, scope: Scope) -> str:
        source = self._sources.get(str(scope["database"]))
        return paste_of(source.sessions_query, str(scope["database"])) if source else ""


def _lines(name: str, found: Sessions) -> list[str]:
    lines = [fields("capacity", {"service": name, "connections": found.used, "max_connections": found.maximum})]
    if found.waiting is not None:
        waits = {"service": name, "waiting": found.waiting, "longest_seconds": number(found.longest_wait)}
        lines.append(fields("lock_waits", waits))
    for state, count, longest in found.states:
        said = {"service": name, "state": state, "count": count, "longest_seconds": number(longest)}
        lines.append(fields("sessions", said))
    return lines


def _summary(name: str, found: Sessions) -> str:
    said = [f"{found.used} of {found.maximum} connections"]
    said += [f"{count} {state} (longest {number(longest)} s)" for state, count, longest in found.states[:4]]
    if found.waiting is not None:
        longest = f" (longest {number(found.longest_wait)} s)" if found.waiting else ""
        said.append(f"{found.waiting} waiting for locks{longest}")
    return f"{name}: {', '.join(said)}"
