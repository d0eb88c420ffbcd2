"""Runbooks in a plain directory: read at each search, ranked by BM25 as SQLite's full-text index counts it.

A section that shares too little with the query is not shown, so that nothing relevant is NO_EVIDENCE. For a few files,
as a frozen incident has them; a larger collection is indexed (`tools.runbooks.indexing`).
"""

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from tools.base import SourceFailure
from tools.runbooks.documents import MARKDOWN, UnreadableDocumentError, documents
from tools.runbooks.fusion import enough_shared, rarity
from tools.runbooks.library import MAX_SECTIONS, Found, Hit, Library
from tools.runbooks.sections import Section
from tools.runbooks.words import asked_words
from tools.vocabulary import SourceError

_BY_BM25 = "SELECT rowid, bm25(section, 4.0, 1.0) FROM section WHERE section MATCH ? ORDER BY 2, 1"
"""A word in a title counts as four in the text."""


class RunbookDirectory(Library):
    """The `*.md` files of a directory, in UTF-8 or GB18030, at any depth; the directory may be missing."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def search(self, query: str) -> Found:
        """Return the relevant sections; raises SourceFailure SOURCE_MISSING without a directory, SOURCE_UNREADABLE
        where none of its files can be read."""
        return await asyncio.to_thread(self._search, query)

    def place(self) -> str:
        """Return the directory's name."""
        return self._directory.name + "/"

    def _search(self, query: str) -> Found:
        if not self._directory.is_dir():
            raise SourceFailure(SourceError.SOURCE_MISSING)
        sections: list[Section] = []
        files = unreadable = 0
        for document in documents(self._directory, MARKDOWN):
            try:
                sections.extend(document.sections(document.raw()))
                files += 1
            except UnreadableDocumentError:
                unreadable += 1
        if unreadable and not files:
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        hits = _ranked(sections, query)
        return Found(tuple(hits[:MAX_SECTIONS]), len(hits), len(sections), files, unreadable)


def _ranked(sections: list[Section], query: str) -> list[Hit]:
    """Return the relevant sections, the best first; equal ones in the order of files."""
    words = asked_words(query)
    held = [frozenset((*section.title_words, *section.body_words)) for section in sections]
    frequency = Counter(word for words_held in held for word in words_held)
    weights = {word: rarity(frequency[word], len(sections)) for word in words}
    relevant = {number for number, words_held in enumerate(held) if enough_shared(words_held, weights)}
    ranked = _by_bm25(sections, words) if relevant else []
    return [Hit(sections[number], -rank) for number, rank in ranked if number in relevant]


def _by_bm25(sections: list[Section], words: tuple[str, ...]) -> list[tuple[int, float]]:
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE section USING fts5(title, body)")
        index.executemany(
            "INSERT INTO section (rowid, title, body) VALUES (?, ?, ?)",
            (
                (number, " ".join(section.title_words), " ".join(section.body_words))
                for number, section in enumerate(sections)
            ),
        )
        rows = index.execute(_BY_BM25, (" OR ".join(f'"{word}"' for word in words),))
        return [(number, rank) for number, rank in rows]
