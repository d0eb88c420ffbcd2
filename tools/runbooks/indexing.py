"""Building and updating an index file: only what changed is read, only texts that are new are embedded.

The work is done on a copy beside the index, which replaces it at the end: a reader sees the old state or the new one. A
copy that was left by an interrupted run is gone on with, so that no text is embedded twice.
"""

import hashlib
import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tools.base import SourceFailure
from tools.canonical import iso_utc
from tools.runbooks.embedding import BATCH, Embedder, EmbedderChoice
from tools.runbooks.schema import IndexInfo, check_format, create, read_info, vectors_file, write_info
from tools.runbooks.sections import Section
from tools.runbooks.shelves import Entry, Progress, Shelf, embedded_text, entries, silent
from tools.vocabulary import SourceError

_FILES_AT_ONCE = 200
"""How many files go into one transaction: the work that an interruption loses."""


class IndexInUseError(Exception):
    """Raised where another process is writing the same index."""


@dataclass(frozen=True)
class IndexReport:
    """What an update did: how many files were new or changed, gone, unchanged; how many texts were embedded."""

    info: IndexInfo
    changed: int
    removed: int
    unchanged: int
    embedded: int


async def update_index(
    index: Path,
    shelves: Sequence[Shelf],
    choice: EmbedderChoice,
    embedder: Embedder | None,
    progress: Progress = silent,
) -> IndexReport:
    """Make `index` hold exactly the documents of `shelves`, with vectors of `embedder` (None: words alone).

    `choice` is recorded; an index that another embedder made is made anew. Raises NotADirectoryError with a path for a
    shelf that is none, IndexInUseError, IndexFormatError (another format's file), OSError, and SourceFailure of the
    embedder: what was embedded before is kept for the next run.
    """
    listed = entries(shelves)
    index.parent.mkdir(parents=True, exist_ok=True)
    copy = index.with_name(index.name + ".partial")
    with _alone(index):
        with closing(_working_copy(index, copy, choice)) as database:
            old = read_info(database)
            counts = _read(database, listed, progress)
            embedded = await _embed(database, embedder, progress) if embedder else 0
            info = _finish(database, index, old, choice)
        os.replace(copy, index)
        _forget_vectors(index, {old.generation, info.generation})
    return IndexReport(info, counts.changed, counts.removed, counts.unchanged, embedded)


@dataclass
class _Counts:
    changed: int = 0
    removed: int = 0
    unchanged: int = 0


@contextmanager
def _alone(index: Path) -> Iterator[None]:
    """Hold the right to write an index; raises IndexInUseError. A process that dies gives it back."""
    with closing(sqlite3.connect(index.with_name(index.name + ".lock"), timeout=0.0)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise IndexInUseError from None
        yield


def _working_copy(index: Path, copy: Path, choice: EmbedderChoice) -> sqlite3.Connection:
    """Return the database to work on: what an interrupted run left, if it was made for the same embedder, else a copy
    of the index, else an empty one."""
    if not _goes_on(copy, choice):
        copy.unlink(missing_ok=True)
        fresh = copy.with_name(copy.name + ".new")
        fresh.unlink(missing_ok=True)
        if _goes_on(index, choice):
            shutil.copyfile(index, fresh)
        else:
            create(fresh, choice)
        os.replace(fresh, copy)
    database = sqlite3.connect(copy)
    database.execute("PRAGMA synchronous = NORMAL")
    return database


def _goes_on(path: Path, choice: EmbedderChoice) -> bool:
    """Return whether there is an index that this run can go on with; raises IndexFormatError."""
    if not path.exists():
        return False
    with closing(sqlite3.connect(path)) as database:
        check_format(database)
        return read_info(database).embedder == choice


def _read(database: sqlite3.Connection, listed: Sequence[Entry], progress: Progress) -> _Counts:
    counts = _Counts()
    kept: set[int] = set()
    for done, entry in enumerate(listed):
        progress("reading", done, len(listed))
        if done % _FILES_AT_ONCE == 0:
            database.commit()
        kept.add(_take(database, entry, counts))
    gone = [number for (number,) in database.execute("SELECT id FROM file") if number not in kept]
    for number in gone:
        _drop_chunks(database, number)
        database.execute("DELETE FROM file WHERE id = ?", (number,))
    database.commit()
    progress("reading", len(listed), len(listed))
    counts.removed = len(gone)
    return counts


def _take(database: sqlite3.Connection, entry: Entry, counts: _Counts) -> int:
    """Bring one file's chunks up to date and return the file's number; what can't be read has no chunks."""
    raw = entry.raw()
    digest = None
    if raw is not None:
        digest = hashlib.sha256(f"{entry.kind}\0{entry.shown}\0".encode(errors="replace") + raw).digest()
    known = database.execute(
        "SELECT id, digest FROM file WHERE root = ? AND name = ?", (entry.root, entry.document.name)
    ).fetchone()
    if known and digest and known[1] == digest:
        counts.unchanged += 1
        return int(known[0])
    counts.changed += 1
    chunks = entry.chunks(raw)
    row = (entry.root, entry.document.name, entry.shown, entry.kind, digest, chunks is None)
    number = _file_number(database, row)
    for chunk in chunks or ():
        _add_chunk(database, number, chunk)
    return number


def _file_number(database: sqlite3.Connection, row: tuple[str, str, str, str, bytes | None, bool]) -> int:
    database.execute(
        "INSERT INTO file (root, name, shown, kind, digest, unreadable) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (root, name) DO UPDATE SET shown = excluded.shown, kind = excluded.kind,"
        " digest = excluded.digest, unreadable = excluded.unreadable",
        row,
    )
    number = int(database.execute("SELECT id FROM file WHERE root = ? AND name = ?", row[:2]).fetchone()[0])
    _drop_chunks(database, number)
    return number


def _drop_chunks(database: sqlite3.Connection, file: int) -> None:
    database.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM chunk WHERE file = ?)", (file,))
    database.execute("DELETE FROM chunk WHERE file = ?", (file,))


def _add_chunk(database: sqlite3.Connection, file: int, chunk: Section) -> None:
    digest = hashlib.sha256(embedded_text(chunk).encode(errors="replace")).digest()
    added = database.execute(
        "INSERT INTO chunk (file, headings, body, digest) VALUES (?, ?, ?, ?)",
        (file, json.dumps(chunk.headings, ensure_ascii=False), "\n".join(chunk.lines), digest),
    )
    database.execute(
        "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)",
        (added.lastrowid, " ".join(chunk.title_words), " ".join(chunk.body_words)),
    )


async def _embed(database: sqlite3.Connection, embedder: Embedder, progress: Progress) -> int:
    """Give each text that has none its vector, batch by batch, each kept as soon as it is there."""
    # numpy and the vector engine are only loaded where there are vectors.
    from tools.runbooks.centring import is_han, packed

    missing = [
        digest
        for (digest,) in database.execute(
            "SELECT DISTINCT digest FROM chunk WHERE digest NOT IN (SELECT digest FROM vector) ORDER BY digest"
        )
    ]
    size = database.execute("SELECT max(length(data)) FROM vector").fetchone()[0]
    for begin in range(0, len(missing), BATCH):
        progress("embedding", begin, len(missing))
        digests = missing[begin : begin + BATCH]
        texts = [_text_of(database, digest) for digest in digests]
        vectors = packed(await embedder.passages(texts))
        if len(vectors[0]) != (size := size or len(vectors[0])):
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        rows = [(digest, is_han(text), vector) for digest, text, vector in zip(digests, texts, vectors, strict=True)]
        with database:
            database.executemany("INSERT INTO vector (digest, han, data) VALUES (?, ?, ?)", rows)
    progress("embedding", len(missing), len(missing))
    return len(missing)


def _text_of(database: sqlite3.Connection, digest: bytes) -> str:
    shown, headings, body = database.execute(
        "SELECT shown, headings, body FROM chunk JOIN file ON file.id = chunk.file WHERE chunk.digest = ? LIMIT 1",
        (digest,),
    ).fetchone()
    return embedded_text(Section(shown, tuple(json.loads(headings)), tuple(body.split("\n"))))


def _finish(database: sqlite3.Connection, index: Path, old: IndexInfo, choice: EmbedderChoice) -> IndexInfo:
    generation = secrets.token_hex(8)
    with database:
        database.execute("DELETE FROM vector WHERE digest NOT IN (SELECT digest FROM chunk)")
        database.execute("UPDATE chunk SET vector = (SELECT id FROM vector WHERE vector.digest = chunk.digest)")
        database.execute("DELETE FROM term")
        database.execute("INSERT INTO term SELECT term, doc FROM vocabulary")
        database.execute("INSERT INTO words (words) VALUES ('optimize')")
    dimensions = _write_vectors(database, index, old.generation, generation) if choice.kind != "none" else 0
    info = IndexInfo(
        choice,
        generation,
        iso_utc(datetime.now(UTC).replace(microsecond=0)),
        dimensions,
        database.execute("SELECT count(*) FROM file").fetchone()[0],
        database.execute("SELECT count(*) FROM chunk").fetchone()[0],
        database.execute("SELECT count(*) FROM file WHERE unreadable").fetchone()[0],
    )
    with database:
        write_info(database, info)
    return info


def _write_vectors(database: sqlite3.Connection, index: Path, old: str, new: str) -> int:
    from tools.runbooks.graph import write_graph

    return write_graph(database, vectors_file(index, old), vectors_file(index, new))


def _forget_vectors(index: Path, kept: set[str]) -> None:
    """Remove vector files of earlier generations. The last but one stays for who opened the index just before."""
    names = {vectors_file(index, generation).name for generation in kept}
    for file in _vector_files(index):
        if file.name not in names:
            file.unlink(missing_ok=True)


def _vector_files(index: Path) -> Iterator[Path]:
    prefix, suffix = index.name + ".", ".vectors"
    return (one for one in index.parent.iterdir() if one.name.startswith(prefix) and one.name.endswith(suffix))
