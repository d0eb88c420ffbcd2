"""One source of a frozen incident as tables of a private, in-memory DuckDB.

The files are read by DuckDB, never loaded into Python. The database sees only the files it was opened for and its own
scratch directory, has no network and no extensions to install, and bounded memory and threads. Every question is
answered in a thread; cancelling the asking task interrupts the query that runs there.
"""

import asyncio
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from tools.base import SourceFailure
from tools.frozen.encoding import as_utf8
from tools.frozen.layout import Found, find
from tools.frozen.sql import MACROS, PLAIN_FIELDS
from tools.vocabulary import SourceError

Answer = TypeVar("Answer")
Row = tuple[Any, ...]

_MEMORY = "256MB"
_THREADS = "2"
_SCRATCH_LIMIT = "4GB"
_FETCH = 2048
_INTERRUPT_EVERY = 0.02


class _Interrupted(Exception):
    """The asking task is gone."""


class Rows:
    """What a question may do with its database: parameterized SQL, rows in bounded batches."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self._gone = threading.Event()

    def run(self, sql: str, **values: Any) -> None:
        """Execute a statement that gives no rows."""
        self._execute(sql, values)

    def all(self, sql: str, **values: Any) -> list[Row]:
        """Return all rows; for statements whose result is bounded by themselves."""
        return self._execute(sql, values).fetchall()

    def stream(self, sql: str, **values: Any) -> Iterator[Row]:
        """Yield the rows of a large result, a batch in memory at a time."""
        cursor = self._execute(sql, values)
        while batch := cursor.fetchmany(_FETCH):
            if self._gone.is_set():
                raise _Interrupted
            yield from batch

    def interrupt(self) -> None:
        """End what runs now and refuse what would come."""
        self._gone.set()
        self._cursor.interrupt()

    def _execute(self, sql: str, values: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        if self._gone.is_set():
            raise _Interrupted
        return self._cursor.execute(sql, values or None)


@dataclass(frozen=True)
class Source:
    """A file ready to be loaded: UTF-8 text or Parquet at `path`; `sort` is the suffix of its name without the dot."""

    part: str
    path: str
    sort: str
    empty: bool


@dataclass(frozen=True)
class Quality:
    """How many records of a source couldn't be read, and how many of its times named no zone."""

    broken: int = 0
    zoneless: int = 0


Loader = Callable[[Rows, Source, str], Quality]
"""Loads a source into a table named after its part; zone-less times are in the zone given."""


@dataclass(frozen=True)
class Loaded:
    """What is in the database: the parts that could be read, those that couldn't, and remarks on quality in codes."""

    parts: frozenset[str]
    unreadable: frozenset[str]
    notes: tuple[str, ...]


class _Opened:
    """An open database; its scratch directory goes when the last question that uses it has been answered."""

    def __init__(self, zone: str, found: Sequence[Found]) -> None:
        self.key = _key(zone, found)
        self.scratch = Path(tempfile.mkdtemp(prefix="zhizhi-"))
        weakref.finalize(self, shutil.rmtree, self.scratch, ignore_errors=True)
        prepared = [_prepared(one, self.scratch) for one in found]
        self.sources = [source for source, _ in prepared]
        self._encodings = [note for _, notes in prepared for note in notes]
        self._zone = zone
        self._qualities: dict[str, Quality] = {}
        self.connection = _connected([source.path for source in self.sources], self.scratch)

    def load(self, rows: Rows, loaders: dict[str, Loader]) -> None:
        for source in self.sources:
            try:
                self._qualities[source.part] = loaders[source.part](rows, source, self._zone)
            except (duckdb.InterruptException, _Interrupted):
                raise
            except (duckdb.Error, SourceFailure):
                continue

    @property
    def loaded(self) -> Loaded:
        broken = sum(quality.broken for quality in self._qualities.values())
        zoneless = sum(quality.zoneless for quality in self._qualities.values())
        notes = [f"BROKEN_LINES:{broken}"] if broken else []
        notes += [f"ZONE_ASSUMED:{self._zone}"] if zoneless else []
        return Loaded(
            parts=frozenset(self._qualities),
            unreadable=frozenset(source.part for source in self.sources) - frozenset(self._qualities),
            notes=tuple(notes + list(dict.fromkeys(self._encodings))),
        )


class Database:
    """The tables of one tool's parts, loaded on the first question and again when a file changes."""

    def __init__(self, directory: Path, loaders: dict[str, Loader]) -> None:
        self.directory = directory
        self._loaders = loaders
        self._lock = threading.Lock()
        self._opened: _Opened | None = None

    async def ask(self, zone: str, work: Callable[[Rows, Loaded], Answer]) -> Answer:
        """Run `work` in a thread against the loaded tables and return its answer.

        Raises SourceFailure where no part exists (SOURCE_MISSING) or one can't be read (SOURCE_UNREADABLE). A
        cancelled caller waits only until the interrupted query has ended.
        """
        job = _Job()
        task = asyncio.ensure_future(asyncio.to_thread(self._answer, zone, work, job))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await _end(task, job)
            raise

    def close(self) -> None:
        """Give the tables and their scratch directory back; they're loaded again when asked. Blocking I/O."""
        with self._lock:
            self._opened = None

    def _answer(self, zone: str, work: Callable[[Rows, Loaded], Answer], job: "_Job") -> Answer:
        try:
            with self._lock:
                opened = self._current(zone, job)
            return work(job.begin(opened.connection.cursor()), opened.loaded)
        except _Interrupted:
            code = SourceError.INTERRUPTED
        except (duckdb.Error, OSError):
            code = SourceError.INTERRUPTED if job.gone else SourceError.SOURCE_UNREADABLE
        raise SourceFailure(code)

    def _current(self, zone: str, job: "_Job") -> _Opened:
        found = [one for part in self._loaders if (one := find(self.directory, part))]
        if not found:
            raise SourceFailure(SourceError.SOURCE_MISSING)
        if self._opened is None or self._opened.key != _key(zone, found):
            self._opened = None
            opened = _Opened(zone, found)
            opened.load(job.begin(opened.connection.cursor()), self._loaders)
            if not opened.loaded.parts:
                raise SourceFailure(SourceError.SOURCE_UNREADABLE)
            self._opened = opened
        return self._opened


class _Job:
    """The thread's half of a question, as far as the asking task has to know it."""

    def __init__(self) -> None:
        self.gone = False
        self._rows: Rows | None = None

    def begin(self, cursor: duckdb.DuckDBPyConnection) -> Rows:
        self._rows = Rows(cursor)
        if self.gone:
            raise _Interrupted
        return self._rows

    def interrupt(self) -> None:
        self.gone = True
        if self._rows is not None:
            self._rows.interrupt()


async def _end(task: asyncio.Future[Any], job: _Job) -> None:
    """Interrupt until the thread has ended: an interrupt between two statements would be lost if sent once."""
    while not task.done():
        job.interrupt()
        await asyncio.wait([task], timeout=_INTERRUPT_EVERY)
    task.exception()


def _key(zone: str, found: Sequence[Found]) -> tuple[Any, ...]:
    return (zone, *((one.path, one.stamp) for one in found))


def _prepared(found: Found, scratch: Path) -> tuple[Source, tuple[str, ...]]:
    sort = found.path.suffix.removeprefix(".")
    path, notes = (found.path, ()) if sort == "parquet" else as_utf8(found.path, scratch)
    return Source(found.part, str(path.resolve()), sort, path.stat().st_size == 0), notes


def _connected(paths: Sequence[str], scratch: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": _MEMORY,
            "threads": _THREADS,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "temp_directory": str(scratch),
            "max_temp_directory_size": _SCRATCH_LIMIT,
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    for macro in (*MACROS, PLAIN_FIELDS):
        connection.execute(macro)
    connection.execute("SET allowed_paths = $paths", {"paths": list(paths)})
    connection.execute("SET allowed_directories = $paths", {"paths": [f"{scratch}/"]})
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection
