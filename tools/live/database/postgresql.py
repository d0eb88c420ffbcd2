"""PostgreSQL through asyncpg. Every statement runs in a READ ONLY transaction of its own that is rolled back.

What a session has to be is set with SET LOCAL in the transaction, so that it holds behind a connection pooler, too.
asyncpg prepares each statement, and a prepared statement is one statement. Cancelling a task sends a cancel request.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from zoneinfo import ZoneInfo

import asyncpg
from asyncpg.exceptions import (
    CannotConnectNowError,
    ConnectionDoesNotExistError,
    IdleInTransactionSessionTimeoutError,
    InsufficientPrivilegeError,
    InterfaceError,
    InvalidAuthorizationSpecificationError,
    InvalidCatalogNameError,
    LockNotAvailableError,
    OperatorInterventionError,
    PostgresConnectionError,
    PostgresError,
    QueryCanceledError,
    TooManyConnectionsError,
    UndefinedColumnError,
    UndefinedTableError,
)
from typing_extensions import override

from tools.base import SourceFailure
from tools.live.database.source import (
    CONNECT_SECONDS,
    GRACE_SECONDS,
    DatabaseSource,
    Found,
    Role,
    Sessions,
    Sort,
    Statement,
    size_of,
    wrapped,
)
from tools.live.database.vocabulary import Dialect
from tools.live.loops import PerLoop
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.database.settings import PostgresqlSettings

    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

_Answered = TypeVar("_Answered")
_KEPT = 2
_BATCH = 20
_PLAIN_TYPES = frozenset(
    {"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "date", "time", "timestamp", "timestamptz"}
    | {"interval", "uuid", "oid"}
)
_GONE = (
    OSError,
    PostgresConnectionError,
    ConnectionDoesNotExistError,
    CannotConnectNowError,
    InterfaceError,
    IdleInTransactionSessionTimeoutError,
)
_CODES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], SourceError], ...] = (
    (TimeoutError, SourceError.BACKEND_TIMEOUT),
    ((QueryCanceledError, LockNotAvailableError), SourceError.BACKEND_TIMEOUT),
    ((InvalidAuthorizationSpecificationError, InsufficientPrivilegeError), SourceError.ACCESS_DENIED),
    (InvalidCatalogNameError, SourceError.SOURCE_MISSING),
    ((UndefinedTableError, UndefinedColumnError), SourceError.UNKNOWN_SELECTOR),
    ((*_GONE, TooManyConnectionsError, OperatorInterventionError), SourceError.BACKEND_UNAVAILABLE),
    (PostgresError, SourceError.QUERY_REJECTED),
)

_SESSION = """
    SET LOCAL transaction_read_only = on;
    SET LOCAL statement_timeout = {milliseconds};
    SET LOCAL lock_timeout = 1000;
    SET LOCAL idle_in_transaction_session_timeout = {idle};
    SET LOCAL search_path = pg_catalog;
    SET LOCAL standard_conforming_strings = on;
    SET LOCAL TimeZone = '{zone}';
"""
_ROLE = """
    SELECT now() AS clock, current_setting('server_version') AS version,
        (SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
            FROM pg_roles WHERE rolname = current_user)
        OR EXISTS (
            SELECT 1 FROM pg_roles WHERE rolname IN ('pg_write_all_data', 'pg_execute_server_program',
                'pg_read_server_files', 'pg_write_server_files', 'pg_signal_backend', 'pg_maintain')
                AND pg_has_role(current_user, oid, 'MEMBER'))
        OR EXISTS (
            SELECT 1 FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
                AND relnamespace NOT IN (SELECT oid FROM pg_namespace
                    WHERE nspname LIKE 'pg\\_%' OR nspname = 'information_schema')
                AND (has_table_privilege(oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                    OR has_any_column_privilege(oid, 'INSERT, UPDATE'))) AS may_write
"""
_COLUMNS = """
    SELECT n.nspname || '.' || c.relname AS relation, a.attname AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE n.nspname || '.' || c.relname = ANY($1::text[]) AND a.attnum > 0 AND NOT a.attisdropped
        AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    ORDER BY 1, a.attnum
"""

_SESSIONS = """
    SELECT replace(state, ' ', '_') AS state, count(*) AS sessions,
        extract(epoch FROM max(now() - CASE WHEN state = 'active' THEN query_start ELSE state_change END)) AS longest
    FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND (backend_type = 'client backend' OR backend_type IS NULL AND datid IS NOT NULL)
    GROUP BY 1 ORDER BY 2 DESC, 1
"""
_CAPACITY = """
    SELECT (SELECT sum(numbackends) FROM pg_stat_database) AS used, current_setting('max_connections')::int AS maximum,
        count(DISTINCT pid) AS waiting, extract(epoch FROM max(now() - waitstart)) AS longest
    FROM pg_locks WHERE NOT granted
"""


class PostgresqlSource(DatabaseSource):
    """A PostgreSQL server. Up to two connections an event loop are kept open."""

    dialect: ClassVar[Dialect] = Dialect.POSTGRESQL
    settings: "PostgresqlSettings"

    def __init__(self, name: str, settings: "PostgresqlSettings") -> None:
        super().__init__(name, settings, home="public")
        self._idle: PerLoop[list[_Connection]] = PerLoop()

    @override
    async def _rows(self, statement: Statement) -> Found:
        return await self._asked(lambda connection: _fetch(connection, statement), statement.zone)

    @override
    async def _look_at_sessions(self) -> Sessions:
        return await self._asked(_sessions, "UTC")

    @property
    @override
    def sessions_query(self) -> str:
        return " ".join(_SESSIONS.split())

    @override
    async def _examine(self) -> Role:
        async def look(connection: _Connection) -> Role:
            row = await connection.fetchrow(_ROLE)
            if row is None:
                raise InterfaceError("no row")
            return Role(row["clock"], f"PostgreSQL {str(row['version']).split(' ')[0]}", bool(row["may_write"]))

        return await self._asked(look, "UTC")

    @override
    async def _describe(self, tables: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}

        async def look(connection: _Connection) -> None:
            for row in await connection.fetch(_COLUMNS, list(tables)):
                found.setdefault(str(row["relation"]), []).append(str(row["name"]))

        await self._asked(look, "UTC")
        return found

    async def _asked(self, question: Callable[[_Connection], Awaitable[_Answered]], zone: str) -> _Answered:
        """Answer a question in a read-only transaction; once more on a new connection where one broke."""
        failure = SourceFailure(SourceError.BACKEND_UNAVAILABLE)
        for _ in range(2):
            caught: Exception | None = None
            try:
                async with self._connection() as connection:
                    return await self._in_transaction(connection, question, zone)
            except SourceFailure as known:
                failure = known
            except (PostgresError, InterfaceError, OSError) as error:
                caught = error
                failure = _failure(error)
            if not isinstance(caught, _GONE) or isinstance(caught, TimeoutError):
                break
        raise failure

    async def _in_transaction(
        self, connection: _Connection, question: Callable[[_Connection], Awaitable[_Answered]], zone: str
    ) -> _Answered:
        transaction = connection.transaction(readonly=True)
        await transaction.start()
        milliseconds = int(self.settings.timeout_seconds * 1000)
        idle = milliseconds + int(GRACE_SECONDS * 1000)
        await connection.execute(_SESSION.format(milliseconds=milliseconds, idle=idle, zone=ZoneInfo(zone).key))
        try:
            return await question(connection)
        finally:
            if not connection.is_closed():
                await transaction.rollback()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[_Connection]:
        """Give a connection: a kept one first. It's kept again unless something went wrong on it."""
        idle = self._idle.ensure(list)
        connection = idle.pop() if idle else await self._connect()
        sound = False
        try:
            yield connection
            sound = True
        except PostgresError as error:
            sound = not isinstance(error, _GONE)
            raise
        finally:
            if sound and len(idle) < _KEPT and not connection.is_closed():
                idle.append(connection)
            else:
                await _end(connection)

    async def _connect(self) -> _Connection:
        password = await asyncio.to_thread(self.password)
        context = await asyncio.to_thread(self.tls)
        return await asyncpg.connect(
            host=self.settings.host,
            port=self.settings.port,
            user=self.settings.user,
            password=password or "",
            database=self.settings.database,
            ssl=context or False,
            timeout=CONNECT_SECONDS,
            # Behind a pooler, the next transaction may be on another server connection.
            statement_cache_size=0,
            server_settings={"application_name": "zhizhi"},
        )

    @override
    async def close(self) -> None:
        for connection in self._idle.take() or ():
            await _end(connection)


async def _sessions(connection: _Connection) -> Sessions:
    rows = await connection.fetch(_SESSIONS)
    capacity = await connection.fetchrow(_CAPACITY)
    if capacity is None:
        raise InterfaceError("no row")
    waited = capacity["longest"]
    return Sessions(
        states=tuple((row["state"], row["sessions"], _seconds(row["longest"])) for row in rows if row["state"]),
        waiting=capacity["waiting"],
        longest_wait=_seconds(waited),
        used=int(capacity["used"]),
        maximum=capacity["maximum"],
        hidden=sum(row["sessions"] for row in rows if not row["state"]),
    )


def _seconds(value: Any) -> float | None:
    return None if value is None else max(0.0, float(value))


async def _fetch(connection: _Connection, statement: Statement) -> Found:
    described = await connection.prepare(statement.inner)
    sorts = [_sort(attribute.type) for attribute in described.get_attributes()]
    prepared = await connection.prepare(wrapped(statement.inner, sorts, Dialect.POSTGRESQL))
    rows: list[tuple[Any, ...]] = []
    size = 0
    cursor = await prepared.cursor()
    while batch := await cursor.fetch(min(_BATCH, statement.max_rows + 1 - len(rows))):
        for row in map(tuple, batch):
            size += size_of(row)
            if len(rows) == statement.max_rows or (rows and size > statement.max_bytes):
                return Found((), tuple(rows), more=True)
            rows.append(row)
    return Found((), tuple(rows), more=False)


def _sort(kind: asyncpg.Type) -> Sort:
    if kind.kind == "scalar" and kind.schema == "pg_catalog":
        if kind.name in _PLAIN_TYPES:
            return Sort.PLAIN
        if kind.name == "bytea":
            return Sort.BYTES
    return Sort.WIDE


def _failure(error: Exception) -> SourceFailure:
    code = next((code for sort, code in _CODES if isinstance(error, sort)), SourceError.BACKEND_UNAVAILABLE)
    if code is SourceError.QUERY_REJECTED:
        # The class tells what is wrong (`GroupingError`, `DatatypeMismatchError`); the server's text may hold values.
        return SourceFailure(code, near_names=(type(error).__name__,), field="sql")
    return SourceFailure(code, field="sql" if code is SourceError.UNKNOWN_SELECTOR else None)


async def _end(connection: _Connection) -> None:
    """Close a connection; what still runs on it is cancelled at the server first."""
    with suppress(PostgresError, InterfaceError, OSError, TimeoutError):
        await asyncio.shield(connection.close(timeout=GRACE_SECONDS))
