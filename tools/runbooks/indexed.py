"""Searching an index file: by words, by meaning, and by both on one scale."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.base import SourceFailure
from tools.live.source import HttpAccess
from tools.runbooks.embedding import Embedder, EmbedderChoice, MissingExtraError, embedder_for, optional
from tools.runbooks.fusion import AskedWords, Candidate, ranked
from tools.runbooks.library import MAX_SECTIONS, Found, Hit, Library
from tools.runbooks.schema import IndexFormatError, IndexInfo, opened, read_info, vectors_file
from tools.runbooks.sections import Section
from tools.runbooks.words import asked_words
from tools.vocabulary import SourceError

if TYPE_CHECKING:
    from tools.runbooks.centring import Centre
    from tools.runbooks.neighbours import Neighbours

CANDIDATES = 20
"""How many sections each side proposes."""

MAX_POSTINGS = 5_000
"""How many places of words the full-text search looks at: the rarest words of a query first. What a common word would
add is small, and its places grow with the collection."""

COMMON = 5
"""A word that more than a fifth of the chunks hold finds none by itself, where the query has rarer ones."""

EMBEDDER_FAILED = "EMBEDDER_FAILED"
"""The note of an answer that was found by words alone, because the query could not be embedded."""

_BY_WORDS = "SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
_ROWS = (
    "SELECT chunk.id, vector, c0 || ' ' || c1 FROM chunk JOIN words_content ON words_content.id = chunk.id"
    " WHERE chunk.id IN (%s) OR vector IN (%s)"
)
_SECTIONS = (
    "SELECT chunk.id, shown, headings, body, kind FROM chunk JOIN file ON file.id = chunk.file WHERE chunk.id IN"
)
_Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class _Reading:
    """One state of the index, held open."""

    stamp: _Stamp
    database: sqlite3.Connection
    info: IndexInfo
    centre: "Centre | None" = None
    neighbours: "Neighbours | None" = None


class IndexedRunbooks(Library):
    """Runbooks in an index file. Safe in several threads, and beside a process that updates the index."""

    def __init__(self, index: Path, access: HttpAccess | None = None, *, embedder: Embedder | None = None) -> None:
        """`index` is the file; it may be missing until it is asked. `access` reaches the embedding endpoint where the
        index was made with one. `embedder` stands in for the one that the index names."""
        self._index = index
        self._access = access
        self._given = embedder
        self._made: tuple[EmbedderChoice, Embedder | None] | None = None
        self._reading: _Reading | None = None
        self._turn = threading.Lock()

    async def search(self, query: str) -> Found:
        """Return what is relevant to a query.

        Raises SourceFailure: SOURCE_MISSING without an index, SOURCE_UNREADABLE where it can't be read, and the
        embedder's failure where words alone find nothing; where they do, the answer is partial.
        """
        vector: Sequence[float] | None = None
        failure: SourceFailure | None = None
        try:
            vector = await self._embedded(query)
        except SourceFailure as failed:
            failure = failed
        found = await asyncio.to_thread(self.look_up, query, vector, failed=failure is not None)
        if failure is not None and not found.hits:
            raise SourceFailure(failure.code)
        return found

    async def proposed(self, query: str) -> tuple[AskedWords, list[tuple[Candidate, Section]]]:
        """Return all candidates for a query, whatever their relevance: what weights and floors are chosen on."""
        vector = await self._embedded(query)
        with self._turn:
            reading = self._open()
            asked, candidates = _proposed(reading, query, vector)
            sections = _sections(reading.database, [int(one.key) for one in candidates])
        return asked, [(one, sections[int(one.key)]) for one in candidates]

    def place(self) -> str:
        """Return the directory that was indexed, or the index where there were several or none."""
        with suppress(SourceFailure), self._turn:
            rows = self._open().database.execute("SELECT DISTINCT root FROM file LIMIT 2").fetchall()
            if len(rows) == 1:
                return str(rows[0][0]) + "/"
        return str(self._index.parent) + "/"

    def info(self) -> IndexInfo:
        """Return what the index says of itself; raises SourceFailure as `search` does. Blocking I/O."""
        with self._turn:
            return self._open().info

    async def close(self) -> None:
        """Close the index and the embedder."""
        with self._turn:
            if self._reading is not None:
                self._reading.database.close()
            self._reading = None
        if self._made and self._made[1]:
            await self._made[1].close()

    async def _embedded(self, query: str) -> list[float] | None:
        """Return the query's vector, None where the index has none."""
        info = await asyncio.to_thread(self.info)
        embedder = self._embedder(info.embedder) if info.dimensions else None
        vector = await embedder.query(query) if embedder else None
        if vector is not None and len(vector) != info.dimensions:
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        return vector

    def _embedder(self, choice: EmbedderChoice) -> Embedder | None:
        if self._given is not None:
            return self._given
        if self._made is None or self._made[0] != choice:
            try:
                self._made = (choice, embedder_for(choice, self._access))
            except (MissingExtraError, ValueError):
                raise SourceFailure(SourceError.BACKEND_UNAVAILABLE) from None
        return self._made[1]

    def look_up(self, query: str, vector: Sequence[float] | None, *, failed: bool = False) -> Found:
        """Return what is relevant to a query of a given vector, None for words alone; `failed` says that its embedding
        failed. Raises SourceFailure as `search` does. Blocking I/O."""
        with self._turn:
            reading = self._open()
            try:
                return _answer(reading, query, vector, failed=failed)
            except sqlite3.Error:
                pass
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)

    def _open(self) -> _Reading:
        """Return the present state of the index. An update has put another file in its place: that is opened anew."""
        try:
            stamp = self._stamp()
            if self._reading is None or self._reading.stamp != stamp:
                if self._reading is not None:
                    self._reading.database.close()
                    self._reading = None
                self._reading = self._read(stamp)
            return self._reading
        except FileNotFoundError:
            code = SourceError.SOURCE_MISSING
        except (OSError, IndexFormatError, MissingExtraError):
            code = SourceError.SOURCE_UNREADABLE
        raise SourceFailure(code)

    def _stamp(self) -> _Stamp:
        status = self._index.stat()
        return status.st_dev, status.st_ino, status.st_mtime_ns

    def _read(self, stamp: _Stamp) -> _Reading:
        database = opened(self._index)
        info = read_info(database)
        if not info.dimensions:
            return _Reading(stamp, database, info)
        optional("usearch", extra="live")
        from tools.runbooks.graph import read_centre
        from tools.runbooks.neighbours import Neighbours

        neighbours = Neighbours.mapped(vectors_file(self._index, info.generation))
        return _Reading(stamp, database, info, read_centre(database), neighbours)


def _answer(reading: _Reading, query: str, vector: Sequence[float] | None, *, failed: bool) -> Found:
    info = reading.info
    asked, candidates = _proposed(reading, query, vector)
    best = ranked(candidates, asked)
    shown = best[:MAX_SECTIONS]
    sections = _sections(reading.database, [int(key) for _, key in shown])
    hits = tuple(Hit(sections[int(key)], score) for score, key in shown)
    notes = (EMBEDDER_FAILED,) if failed else ()
    return Found(hits, len(best), info.chunks, info.files, info.unreadable, notes, partial=failed)


def _proposed(reading: _Reading, query: str, vector: Sequence[float] | None) -> tuple[AskedWords, list[Candidate]]:
    asked = _asked(reading.database, query, reading.info.chunks)
    by_words = _by_words(reading.database, asked)
    if vector is None or reading.centre is None or reading.neighbours is None:
        rows = _rows(reading.database, by_words, ())
        return asked, [Candidate(chunk, words, by_words[chunk]) for chunk, _, words in rows]
    moved = reading.centre.query(vector, query)
    cosines = reading.neighbours.nearest(moved, CANDIDATES)
    rows = _rows(reading.database, by_words, cosines)
    cosines |= reading.neighbours.cosines(moved, [key for _, key, _ in rows if key not in cosines])
    return asked, [Candidate(chunk, words, by_words.get(chunk, 0.0), cosines[key]) for chunk, key, words in rows]


def _asked(database: sqlite3.Connection, query: str, chunks: int) -> AskedWords:
    words = asked_words(query)
    marks = ",".join("?" * len(words))
    known = dict(database.execute(f"SELECT word, chunks FROM term WHERE word IN ({marks})", words))  # noqa: S608
    return AskedWords({word: known.get(word, 0) for word in words}, chunks)


def _by_words(database: sqlite3.Connection, asked: AskedWords) -> dict[int, float]:
    """Return the BM25 of the best chunks by their words."""
    chosen: list[str] = []
    places = 0
    for word, count in sorted(asked.frequencies.items(), key=lambda pair: pair[1]):
        places += count
        if chosen and (places > MAX_POSTINGS or count * COMMON > asked.sections):
            break
        if count:
            chosen.append(word)
    if not chosen:
        return {}
    return dict(database.execute(_BY_WORDS, (" OR ".join(f'"{word}"' for word in chosen), CANDIDATES)))


def _rows(
    database: sqlite3.Connection, chunks: Collection[int], vectors: Collection[int]
) -> list[tuple[int, int, str]]:
    """Return number, vector and words of some chunks and of those with some vectors, the first ones in their order."""
    listed = (",".join(map(str, chunks)), ",".join(map(str, vectors)))
    rows: list[tuple[int, int, str]] = database.execute(_ROWS % listed).fetchall()
    order = {chunk: place for place, chunk in enumerate(chunks)}
    return sorted(rows, key=lambda row: order.get(row[0], len(order)))


def _sections(database: sqlite3.Connection, keys: Sequence[int]) -> dict[int, Section]:
    rows = database.execute(f"{_SECTIONS} ({','.join(map(str, keys))})")
    return {
        key: Section(shown, tuple(json.loads(headings)), tuple(body.split("\n")), kind)
        for key, shown, headings, body, kind in rows
    }
