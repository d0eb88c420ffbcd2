"""MySQL and MariaDB through PyMySQL, in threads. Every statement runs in a READ ONLY transaction that is rolled back.

PyMySQL sends one statement at a time, and loads no local file. Cancelling a task has a second connection kill the query
that runs on the first.
"""

import asyncio
import re
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import pymysql
from pymysql.connections import Connection
from pymysql.constants import FIELD_TYPE
from pymysql.cursors import Cursor, SSCursor
from pymysql.err import DataError, MySQLError, ProgrammingError
from typing_extensions import override

from tools.base import SourceFailure
from tools.live.database.grants import UNSEEN, may_write, roles_in
from tools.live.database.pinned import zone_of
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
from tools.vocabulary import SourceError

_Answered = TypeVar("_Answered")
if TYPE_CHECKING:
    from tools.live.database.settings import MysqlSettings

    _Connection = Connection[Cursor]
else:
    _Connection = Connection
_KEPT = 2
_BETWEEN_KILLS = 0.2
_WIDE_TYPES: frozenset[Any] = frozenset(
    {
        FIELD_TYPE.VARCHAR,
        FIELD_TYPE.VAR_STRING,
        FIELD_TYPE.STRING,
        FIELD_TYPE.ENUM,
        FIELD_TYPE.SET,
        FIELD_TYPE.TINY_BLOB,
        FIELD_TYPE.MEDIUM_BLOB,
        FIELD_TYPE.LONG_BLOB,
        FIELD_TYPE.BLOB,
        FIELD_TYPE.JSON,
        FIELD_TYPE.GEOMETRY,
    }
)
_GONE = frozenset({0, 1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 2002, 2003, 2006, 2013, 2055})
_CODES = {
    **dict.fromkeys(_GONE | {1040, 1203, 1226, 2026}, SourceError.BACKEND_UNAVAILABLE),
    **dict.fromkeys({1044, 1045, 1142, 1143, 1227, 1698, 1820, 3118}, SourceError.ACCESS_DENIED),
    **dict.fromkeys({1205, 1317, 1907, 1969, 3024}, SourceError.BACKEND_TIMEOUT),
    **dict.fromkeys({1054, 1109, 1146}, SourceError.UNKNOWN_SELECTOR),
    1049: SourceError.SOURCE_MISSING,
}
"""https://mariadb.com/kb/en/mariadb-error-code-reference/ and MySQL's error reference, by number."""

_SESSION = (
    # Strings and quotes have to be read as they were written, whatever the server's own mode is. A column that isn't
    # grouped by would be answered with any value of its group.
    "SET SESSION sql_mode = 'ONLY_FULL_GROUP_BY,NO_ENGINE_SUBSTITUTION'",
    "SET SESSION lock_wait_timeout = 1",
    "SET SESSION TRANSACTION READ ONLY",
)
_SESSIONS = (
    "SELECT IF(command = 'Sleep', 'idle', 'active') AS state, COUNT(*) AS sessions, MAX(time) AS longest"
    " FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command NOT IN ('Daemon', 'Binlog Dump')"
    " GROUP BY 1 ORDER BY 2 DESC, 1"
)
_WAITS = (
    "SELECT COUNT(*), MAX(TIMESTAMPDIFF(SECOND, trx_wait_started, NOW()))"
    " FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
)
_NOT_FOR_US = 1227


class MysqlSource(DatabaseSource):
    """A MySQL or MariaDB server. Up to two connections are kept open."""

    dialect: ClassVar[Dialect] = Dialect.MYSQL
    settings: "MysqlSettings"

    def __init__(self, name: str, settings: "MysqlSettings") -> None:
        super().__init__(name, settings, home=settings.database)
        self._idle: list[_Connection] = []
        self._lock = threading.Lock()

    @override
    async def _rows(self, statement: Statement) -> Found:
        offset = datetime.now(zone_of(statement.zone, statement.at)).isoformat()[-6:]
        return await self._asked(lambda connection: _fetch(connection, statement), offset)

    @override
    async def _look_at_sessions(self) -> Sessions:
        # The times of InnoDB's own tables are in the server's zone.
        return await self._asked(_sessions, "SYSTEM")

    @property
    @override
    def sessions_query(self) -> str:
        return _SESSIONS

    @override
    async def _examine(self) -> Role:
        return await self._asked(_look_at_role, "+00:00")

    @override
    async def _describe(self, tables: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
        return await self._asked(lambda connection: _look_at_columns(connection, tables), "+00:00")

    async def _asked(self, question: Callable[[_Connection], _Answered], offset: str) -> _Answered:
        """Answer a question in a thread; where the asking task is cancelled, the server's query is killed."""
        job = _Job()
        task = asyncio.ensure_future(asyncio.to_thread(self._answered, question, offset, job))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await self._kill(task, job)
            raise

    def _answered(self, question: Callable[[_Connection], _Answered], offset: str, job: "_Job") -> _Answered:
        """Answer in a read-only transaction; once more on a new connection where one broke."""
        failure = SourceFailure(SourceError.BACKEND_UNAVAILABLE)
        for _ in range(2):
            try:
                return self._in_transaction(question, offset, job)
            except SourceFailure as known:
                failure = known
                break
            except (MySQLError, OSError) as error:
                failure = _failure(error)
                if job.gone or _number(error) not in _GONE or failure.code is SourceError.BACKEND_TIMEOUT:
                    break
        raise failure

    def _in_transaction(self, question: Callable[[_Connection], _Answered], offset: str, job: "_Job") -> _Answered:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._connect()
        sound = False
        try:
            job.running = connection.thread_id()  # type: ignore[no-untyped-call]
            with connection.cursor() as cursor:
                cursor.execute("SET time_zone = %s", (offset,))
                cursor.execute("START TRANSACTION READ ONLY")
            try:
                answer = question(connection)
            except MySQLError as error:
                sound = _number(error) not in _GONE
                raise
            sound = True
        finally:
            job.running = None
            self._give_back(connection, sound=sound and not job.gone)
        return answer

    def _give_back(self, connection: _Connection, *, sound: bool) -> None:
        """Roll back and keep a connection; end one that isn't sound, or one too many."""
        try:
            if sound:
                connection.rollback()
        except (MySQLError, OSError):
            sound = False
        with self._lock:
            kept = sound and len(self._idle) < _KEPT
            if kept:
                self._idle.append(connection)
        if not kept:
            _end(connection)

    def _connect(self, seconds: float | None = None) -> _Connection:
        host, context = self.settings.host, self.tls()
        connection: _Connection | None = None
        with suppress(RuntimeError):
            connection = pymysql.connect(
                host=None if host.startswith("/") else host,
                unix_socket=host if host.startswith("/") else None,
                port=self.settings.port,
                user=self.settings.user,
                password=(self.password() or "").encode(),
                database=self.settings.database,
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                read_timeout=(seconds or self.settings.timeout_seconds) + GRACE_SECONDS,
                write_timeout=CONNECT_SECONDS,
                program_name="zhizhi",
                **_security(context),
            )
        if connection is None:
            # MySQL's newer passwords travel over TLS or a socket alone, unless an extra package encrypts them.
            raise SourceFailure(SourceError.ACCESS_DENIED, near_names=("PASSWORD_NEEDS_TLS_OR_A_SOCKET",), field="tls")
        with connection.cursor() as cursor:
            for setting in (*_SESSION, self._time_limit(_is_mariadb(connection))):
                cursor.execute(setting)
        return connection

    def _time_limit(self, is_mariadb: bool) -> str:
        seconds = self.settings.timeout_seconds
        if is_mariadb:
            return f"SET SESSION max_statement_time = {seconds:.3f}"
        return f"SET SESSION max_execution_time = {int(seconds * 1000)}"

    async def _kill(self, task: "asyncio.Future[Any]", job: "_Job") -> None:
        """Kill what runs until the thread has ended; one whose server is away ends by its own time-out."""
        job.gone = True
        deadline = asyncio.get_running_loop().time() + GRACE_SECONDS
        while not task.done() and asyncio.get_running_loop().time() < deadline:
            if job.running is not None:
                await asyncio.to_thread(self._kill_query, job.running)
            await asyncio.wait([task], timeout=_BETWEEN_KILLS)
        if task.done():
            task.exception()
        else:
            task.add_done_callback(lambda ended: ended.exception())

    def _kill_query(self, number: int) -> None:
        with suppress(MySQLError, OSError, SourceFailure):
            connection = self._connect(CONNECT_SECONDS)
            try:
                with connection.cursor() as cursor:
                    cursor.execute("KILL QUERY %s", (number,))
            finally:
                _end(connection)

    @override
    async def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            await asyncio.to_thread(_end, connection)


class _Job:
    """What the asking task has to know of the thread that answers it: the server's number of its connection."""

    def __init__(self) -> None:
        self.running: int | None = None
        self.gone = False


def _is_mariadb(connection: _Connection) -> bool:
    return "mariadb" in str(connection.get_server_info()).casefold()  # type: ignore[no-untyped-call]


def _security(context: ssl.SSLContext | None) -> dict[str, Any]:
    return {"ssl_disabled": True} if context is None else {"ssl": context}


def _fetch(connection: _Connection, statement: Statement) -> Found:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM ({statement.inner}) AS answer LIMIT 0")  # noqa: S608 -- of a checked tree
        sorts = [Sort.WIDE if column[1] in _WIDE_TYPES else Sort.PLAIN for column in cursor.description or ()]
    rows: list[tuple[Any, ...]] = []
    size = 0
    with connection.cursor(SSCursor) as cursor:
        cursor.execute(wrapped(statement.inner, sorts, Dialect.MYSQL))
        while (found := cursor.fetchone()) is not None:
            row = tuple(map(_text_of, found))
            size += size_of(row)
            if len(rows) == statement.max_rows or (rows and size > statement.max_bytes):
                return Found((), tuple(rows), more=True)
            rows.append(row)
    return Found((), tuple(rows), more=False)


def _text_of(value: Any) -> Any:
    """Return bytes that are text as text: the slow log keeps its statements as bytes."""
    if not isinstance(value, bytes):
        return value
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return value
    return text if all(mark.isprintable() or mark.isspace() for mark in text) else value


def _sessions(connection: _Connection) -> Sessions:
    with connection.cursor() as cursor:
        cursor.execute(_SESSIONS)
        states = tuple((str(state), int(count), float(longest or 0)) for state, count, longest in cursor.fetchall())
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
        used = int((cursor.fetchone() or ("", 0))[1])
        cursor.execute("SHOW GLOBAL VARIABLES LIKE 'max_connections'")
        maximum = int((cursor.fetchone() or ("", 0))[1])
        waiting: int | None = None
        longest: float | None = None
        try:
            cursor.execute(_WAITS)
            waiting, longest = cursor.fetchone() or (None, None)
        except MySQLError as error:
            if _number(error) != _NOT_FOR_US:
                raise
        seen = 1 + sum(count for _, count, _ in states)
        return Sessions(states, waiting, longest, used, maximum, hidden=0 if waiting is not None else used - seen)


def _look_at_role(connection: _Connection) -> Role:
    with connection.cursor() as cursor:
        cursor.execute("SELECT UTC_TIMESTAMP(6), VERSION()")
        clock, version = cursor.fetchone() or (datetime.now(UTC), "")
        cursor.execute("SHOW GRANTS")
        grants = [str(row[0]) for row in cursor.fetchall()]
        grants += [grant for role in roles_in(grants) for grant in _grants_of(cursor, role)]
    server = "MariaDB" if "mariadb" in str(version).casefold() else "MySQL"
    number = re.match(r"[\d.]+", str(version))
    return Role(clock.replace(tzinfo=UTC), f"{server} {number[0] if number else ''}".strip(), may_write(grants))


def _grants_of(cursor: Cursor, role: str) -> list[str]:
    """Return what a granted role may do; a role that can't be looked at counts as one that may write.

    MariaDB shows it in the first way; MySQL in the second, where the first is for administrators.
    """
    for asked in (role, f"CURRENT_USER() USING {role}"):
        try:
            cursor.execute(f"SHOW GRANTS FOR {asked}")
            return [str(row[0]) for row in cursor.fetchall()]
        except MySQLError:
            continue
    return [UNSEEN]


def _look_at_columns(connection: _Connection, tables: tuple[str, ...]) -> dict[str, list[str]]:
    known = {table.casefold(): table for table in tables}
    schemas = sorted({table.split(".", 1)[0] for table in tables})
    found: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_schema, table_name, column_name FROM information_schema.columns"
            " WHERE table_schema IN %s ORDER BY table_schema, table_name, ordinal_position",
            (schemas,),
        )
        for schema, table, column in cursor.fetchall():
            listed = known.get(f"{schema}.{table}".casefold())
            if listed is not None:
                found.setdefault(listed, []).append(str(column).casefold())
    return found


def _number(error: Exception) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _failure(error: Exception) -> SourceFailure:
    if isinstance(error, TimeoutError) or "timed out" in str(error):
        return SourceFailure(SourceError.BACKEND_TIMEOUT)
    if isinstance(error, OSError):
        return SourceFailure(SourceError.BACKEND_UNAVAILABLE)
    number = _number(error)
    rejected = isinstance(error, ProgrammingError | DataError) or 1000 < number < 2000 or 3000 < number < 5000
    code = _CODES.get(number, SourceError.QUERY_REJECTED if rejected else SourceError.BACKEND_UNAVAILABLE)
    if code is SourceError.QUERY_REJECTED:
        return SourceFailure(code, near_names=(f"ERROR_{number}",), field="sql")
    return SourceFailure(code, field="sql" if code is SourceError.UNKNOWN_SELECTOR else None)


def _end(connection: _Connection) -> None:
    with suppress(MySQLError, OSError):
        connection.close()
