"""`query_database`: one SELECT over listed tables of a configured database."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field
from sqlglot import exp
from typing_extensions import override

from tools.base import Arguments, EvidenceTool, IncidentContext, SourceFailure
from tools.canonical import canonical_scope, fold
from tools.live.database.admission import Refused, UnknownTable, admit, generated
from tools.live.database.answers import evidence_of
from tools.live.database.canonical import canonicalize
from tools.live.database.pinned import Clock, pin
from tools.live.database.sessions import SessionsTool
from tools.live.database.source import DatabaseSource, paste_of
from tools.live.database.vocabulary import Dialect
from tools.names import near
from tools.vocabulary import Evidence, EvidenceKind, Scope, SourceError

_LONGEST_LISTING = 4_000
_LONGEST_REFUSED = 2_000
_SYSTEMS = {Dialect.POSTGRESQL: "PostgreSQL", Dialect.MYSQL: "MySQL"}


class DatabaseArguments(Arguments):
    """What `query_database` is asked."""

    database: str | None = Field(description="要查询的数据库名称；能读到所需表的只有一个时可为 null")
    sql: str = Field(description="一条只读 SELECT 语句，只用允许的表、列和常规函数；聚合优先于明细")


class DatabaseTool(EvidenceTool):
    """Rows of the enterprise's own tables. TEXT, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | database | yes | `fold`; null is the one database whose tables the statement names |
    | sql | yes | parsed, checked, the clock pinned to the incident's minute, written in one spelling (`canonical`) |
    | (zone) | yes | the zone of times that name none: the source's, else the incident's |

    A statement that is refused keeps its folded text as its scope, with the reason: QUERY_REJECTED says it again.
    """

    name = "query_database"
    kind = EvidenceKind.DATABASE
    arguments = DatabaseArguments

    def __init__(self, sources: Mapping[str, DatabaseSource]) -> None:
        """`sources`: the opened databases by name, at least one."""
        self._sources = {fold(name): source for name, source in sources.items()}

    @property
    def description(self) -> str:  # type: ignore[override]
        """What the tool does, and which tables may be read, with their columns as far as they're known."""
        lines = [
            "用一条只读 SELECT 查询业务库中的表（如卡住的订单、队列长度）。"
            "不支持注释、子查询之外的语句、SELECT 常量；now() 固定为事件时间。可查询的表："
        ]
        for name, source in self._sources.items():
            tables = [f"{table}({', '.join(columns)})" if columns else table for table, columns in _listed(source)]
            lines.append(f"{name} ({_SYSTEMS[source.dialect]}): {'; '.join(tables)}")
        text = "\n".join(lines)
        return text if len(text) <= _LONGEST_LISTING else text[: _LONGEST_LISTING - 1] + "…"

    @override
    def normalize(self, arguments: DatabaseArguments, incident: IncidentContext) -> Scope:
        if arguments.database is not None and arguments.database.strip():
            name = fold(arguments.database)
            source = self._sources.get(name)
            said = _scope_of(arguments.sql, source, incident) if source else {"sql": fold(arguments.sql)}
        else:
            name, said = self._only(arguments.sql, incident)
        return canonical_scope({"database": name, **said}, exact=frozenset({"sql", "zone", "refused", "unknown_table"}))

    def _only(self, sql: str, incident: IncidentContext) -> tuple[str, dict[str, str]]:
        """Return the one database that a statement fits, with its scope; raises ValueError where several do."""
        scopes = {name: _scope_of(sql, source, incident) for name, source in self._sources.items()}
        fitting = [name for name, scope in scopes.items() if "zone" in scope]
        if len(fitting) > 1:
            raise ValueError("database")
        name = fitting[0] if fitting else next(iter(scopes))
        return name, scopes[name]

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        name = str(scope["database"])
        source = self._sources.get(name)
        if source is None:
            known = near(name, self._sources) or tuple(self._sources)
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=known, field="database")
        if "unknown_table" in scope:
            tables = source.tables.names
            known = near(str(scope["unknown_table"]), tables) or tables
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=known, field="sql")
        if "refused" in scope:
            raise SourceFailure(SourceError.QUERY_REJECTED, near_names=(str(scope["refused"]),), field="sql")
        tree = _admitted(str(scope["sql"]), source)
        zone = str(scope["zone"])
        found = await source.answer(tree, zone=zone, at=incident.as_of)
        tables = tuple(dict.fromkeys(table.name for table in tree.find_all(exp.Table) if table.db))
        # A row that fits may stand behind the LIMIT of what the statement itself reads from.
        narrowed = any(limit.parent is not tree for limit in tree.find_all(exp.Limit))
        return evidence_of(found, source=source.name, tables=tables, zone=zone, narrowed=narrowed)

    @override
    def paste(self, scope: Scope) -> str:
        return paste_of(str(scope["sql"]), str(scope["database"]))


def _listed(source: DatabaseSource) -> list[tuple[str, tuple[str, ...] | None]]:
    home = source.tables.home + "."
    return [(table.removeprefix(home), columns) for table, columns in source.listing.items()]


def _scope_of(sql: str, source: DatabaseSource, incident: IncidentContext) -> dict[str, str]:
    """Return a statement's part of the scope: its canonical SQL and zone, or why it isn't sent."""
    zone = source.settings.zone or incident.zone
    try:
        tree = admit(sql, source.tables)
        pin(tree, Clock(incident.as_of, zone), source.dialect)
        canonicalize(tree)
        return {"sql": generated(tree, source.dialect), "zone": zone}
    except Refused as refused:
        return {"sql": fold(sql)[:_LONGEST_REFUSED], "refused": refused.reason.value}
    except UnknownTable as unknown:
        return {"sql": fold(sql)[:_LONGEST_REFUSED], "unknown_table": fold(unknown.name)[:200]}


def _admitted(sql: str, source: DatabaseSource) -> exp.Query:
    """Return the tree of a scope's SQL, checked again: a scope is kept between runs, in hands that aren't ours."""
    try:
        return admit(sql, source.tables)
    except (Refused, UnknownTable):
        pass
    raise SourceFailure(SourceError.QUERY_REJECTED, field="sql")


def tools_of(sources: Mapping[str, DatabaseSource]) -> tuple[EvidenceTool, ...]:
    """Return the evidence tools over opened databases, at least one, by name."""
    return (DatabaseTool(sources), SessionsTool(sources))
