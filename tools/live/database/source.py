"""What a database answers to a checked statement, and how a statement is sent so that little comes back."""

import asyncio
import ssl
from abc import abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sqlglot import exp
from typing_extensions import override

from tools.base import SourceFailure
from tools.live.database.admission import Refused, Tables, generated
from tools.live.database.columns import Catalog, UnknownColumn, resolve
from tools.live.database.vocabulary import Dialect, Refusal
from tools.live.source import Probe, Source, secret_of
from tools.names import near
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.live.database.settings import DatabaseSettings

Answered = TypeVar("Answered")

LONGEST_TEXT = 400
"""How many characters of one value are ever read."""
MOST_COLUMNS = 60
CATALOG_SECONDS = 300.0
CONNECT_SECONDS = 3.0
GRACE_SECONDS = 2.0
"""How much longer than the server, which ends a statement at its time-out, we wait for the server to say so."""


class Sort(StrEnum):
    """How a column of an answer is read. A WIDE value may be of any length: only its beginning is fetched."""

    PLAIN = "PLAIN"
    WIDE = "WIDE"
    BYTES = "BYTES"


@dataclass(frozen=True)
class Found:
    """The rows of an answer, columns labelled; `more` where the tables hold more than was read."""

    labels: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


@dataclass(frozen=True)
class Statement:
    """What is sent: the checked SELECT, and at most how many rows and bytes of its answer are read. `zone`: the
    session's zone; `at`: the moment (aware) whose offset it has where the server knows no zones."""

    inner: str
    max_rows: int
    max_bytes: int
    zone: str
    at: datetime


@dataclass(frozen=True)
class Role:
    """What the server says of us: its clock (aware), its version, and whether we may write anything."""

    clock: datetime
    version: str
    may_write: bool


@dataclass(frozen=True)
class Sessions:
    """What a server's clients do at one moment.

    `states`: how many sessions are in each state, and for how many seconds the oldest has been in it. `waiting`: how
    many wait for a lock, `longest_wait`: for how many seconds the first of them has; None where the role can't see
    that. `used` of `maximum` connections are open; `hidden` of them are of others whom the role can't see.
    """

    states: tuple[tuple[str, int, float | None], ...]
    waiting: int | None
    longest_wait: float | None
    used: int
    maximum: int
    hidden: int


class DatabaseSource(Source):
    """A configured database. Asking it checks once that its role can't write: one that can is refused."""

    dialect: ClassVar[Dialect]

    def __init__(self, name: str, settings: "DatabaseSettings", *, home: str) -> None:
        """`home`: the schema of tables that name none."""
        self.name = name
        self.settings = settings
        self._listed = settings.listed(home)
        self.tables = Tables(self.dialect, home, tuple(self._listed))
        self._catalog: Catalog | None = None
        self._read_at = 0.0
        self._role: Role | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def listing(self) -> Mapping[str, tuple[str, ...] | None]:
        """The tables that may be read, with their columns where these are known: listed, or read from the server."""
        if self._catalog is not None:
            return {table: self._catalog.open(table) or columns for table, columns in self._listed.items()}
        return self._listed

    async def answer(self, tree: exp.Query, *, zone: str, at: datetime) -> Found:
        """Send a checked tree and return its rows. `zone`: where times that name none are; `at`: aware.

        Raises SourceFailure: UNKNOWN_SELECTOR for a column that isn't there, SOURCE_MISSING for a listed table that
        isn't there or not for us, QUERY_REJECTED for a denied column or what the server refuses, ACCESS_DENIED for a
        role that may write, BACKEND_TIMEOUT where the server ended the statement, BACKEND_UNAVAILABLE.
        """
        catalog = await self._columns()
        _require_columns(tree, catalog)
        resolved = tree.copy()
        failure: SourceFailure | None = None
        labels: tuple[str, ...] = ()
        try:
            labels = resolve(resolved, catalog)
            if len(labels) > MOST_COLUMNS:
                raise Refused(Refusal.TOO_LONG)
        except Refused as refused:
            failure = SourceFailure(SourceError.QUERY_REJECTED, near_names=(refused.reason.value,), field="sql")
        except UnknownColumn as unknown:
            names = near(unknown.name, unknown.known) or unknown.known
            failure = SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=names, field="sql")
        if failure is not None:
            raise failure
        rows = _limited(resolved, self.settings.max_rows)
        statement = Statement(generated(resolved, self.dialect), rows, self.settings.max_bytes, zone, at)
        return replace(await self._bounded(self._rows(statement)), labels=labels)

    @override
    async def probe(self) -> Probe:
        catalog = await self._columns()
        self._role = role = await self._bounded(self._examine())
        tables = sum(bool(catalog.open(table)) for table in self._listed)
        found = f"{role.version}, role can't write, {tables} of {len(self._listed)} tables readable"
        return Probe(role.clock, found)

    async def sessions(self) -> Sessions:
        """Return what the server's clients do now; no text of theirs. Raises SourceFailure as `answer` does."""
        await self._columns()
        return await self._bounded(self._look_at_sessions())

    async def _columns(self) -> Catalog:
        """Return the catalogue, read again after some minutes; a role that may write gets no further."""
        now = asyncio.get_running_loop().time()
        if self._role is None:
            self._role = await self._bounded(self._examine())
        if self._role.may_write:
            self._role = None
            raise SourceFailure(SourceError.ACCESS_DENIED, near_names=("ROLE_MAY_WRITE",), field="user")
        if self._catalog is None or now - self._read_at > CATALOG_SECONDS:
            found = await self._bounded(self._describe(tuple(self._listed)))
            self._catalog = Catalog(
                {table: self._allowed(table, columns) for table, columns in found.items()},
                tuple(self.settings.denied_columns),
            )
            self._read_at = now
        return self._catalog

    def _allowed(self, table: str, columns: Sequence[str]) -> tuple[str, ...]:
        listed = self._listed[table]
        if listed is None:
            return tuple(columns)
        names = {column.casefold() for column in listed}
        return tuple(column for column in columns if column.casefold() in names)

    async def _bounded(self, question: Coroutine[Any, Any, Answered]) -> Answered:
        """Wait for the server no longer than it may take; it ends what takes too long itself, a moment earlier."""
        seconds = self.settings.timeout_seconds + CONNECT_SECONDS + GRACE_SECONDS
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await question
        raise SourceFailure(SourceError.BACKEND_TIMEOUT)

    def password(self) -> str | None:
        """Return the password, read now; raises SourceFailure(ACCESS_DENIED) where its file gives none."""
        return secret_of(self.settings.password, self.settings.password_file)

    def tls(self) -> ssl.SSLContext | None:
        """Return how the server's certificate and name are verified, None where TLS is off.

        Raises SourceFailure(ACCESS_DENIED) where the authorities' file can't be read.
        """
        if self.settings.tls == "off":
            return None
        try:
            return ssl.create_default_context(cafile=self.settings.ca_file)
        except OSError:
            pass
        raise SourceFailure(SourceError.ACCESS_DENIED, field="ca_file")

    @abstractmethod
    async def _rows(self, statement: Statement) -> Found:
        """Run a statement in a read-only transaction that is rolled back; `labels` are left empty."""

    @abstractmethod
    async def _look_at_sessions(self) -> Sessions:
        """Return what the server's clients do now."""

    @property
    @abstractmethod
    def sessions_query(self) -> str:
        """A query that a person can paste to look at the same."""

    @abstractmethod
    async def _examine(self) -> Role:
        """Return who we are there."""

    @abstractmethod
    async def _describe(self, tables: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
        """Return the columns of each `schema.table` in the server's order; none of a table that isn't there."""


def _require_columns(tree: exp.Query, catalog: Catalog) -> None:
    for table in tree.find_all(exp.Table):
        name = f"{table.db}.{table.name}"
        if table.db and not catalog.columns.get(name):
            raise SourceFailure(SourceError.SOURCE_MISSING, near_names=(name,), field="sql")


def _limited(tree: exp.Query, max_rows: int) -> int:
    """Have a statement answer one row more than is shown, and return how many are."""
    said = tree.args.get("limit")
    rows = min(int(said.expression.this), max_rows) if said is not None else max_rows
    tree.set("limit", exp.Limit(expression=exp.Literal.number(rows + 1)))
    return rows


def wrapped(inner: str, sorts: Sequence[Sort], dialect: Dialect) -> str:
    """Return the SELECT around a checked one that fetches the beginning of wide values, and the length of bytes.

    The inner SELECT is sorted and limited, so both servers hand its rows on in their order.
    """
    columns = [exp.column(f"answer_{number}", quoted=True) for number in range(1, len(sorts) + 1)]
    selected = [
        _narrowed(column, sort, dialect).sql(dialect.value) for column, sort in zip(columns, sorts, strict=True)
    ]
    quote = '"' if dialect is Dialect.POSTGRESQL else "`"
    return f"SELECT {', '.join(selected)} FROM ({inner}) AS {quote}answer{quote}"  # noqa: S608 -- generated from a checked tree


def _narrowed(column: exp.Expr, sort: Sort, dialect: Dialect) -> exp.Expr:
    if sort is Sort.PLAIN:
        return column
    if sort is Sort.BYTES:
        return exp.Anonymous(this="OCTET_LENGTH", expressions=[column])
    if dialect is Dialect.POSTGRESQL:
        column = exp.Cast(this=column, to=exp.DataType(this=exp.DType.TEXT))
    return exp.Left(this=column, expression=exp.Literal.number(LONGEST_TEXT + 1))


def size_of(row: Sequence[Any]) -> int:
    """Return about how many bytes a row takes."""
    return sum(len(value.encode()) if isinstance(value, str) else 16 for value in row)


def paste_of(sql: str, database: str) -> str:
    """Return a statement as a person pastes it into the database's own client."""
    return f"-- {database}\n{sql};"
