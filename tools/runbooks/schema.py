"""The index file: one SQLite database that is replaced whole, never changed in place, and so can be read by many.

| table | holds |
|---|---|
| `meta` | what is told at `IndexInfo`, and the centre of the vectors |
| `file` | each indexed file with the digest of its bytes, by which an unchanged one is known |
| `chunk` | a section, or a part of a long one: headings (JSON), text, and the vector of its text |
| `words` | full-text index over the segmented words of title and text; its rowid is the chunk's |
| `term` | in how many chunks each word stands |
| `vector` | the embedding of each distinct text, by the digest of the text |

Vectors are also in a file beside the index, mapped into memory (`tools.runbooks.neighbours`), whose name holds the
generation, so that a reader never meets vectors of another state of the index.
"""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.runbooks.embedding import EmbedderChoice

FORMAT = 1
_APPLICATION = 0x5A5A5242
_MAPPED = 1 << 30
"""How many bytes of the file are mapped into memory, which processes share."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE file (
    id INTEGER PRIMARY KEY, root TEXT NOT NULL, name TEXT NOT NULL, shown TEXT NOT NULL, kind TEXT NOT NULL,
    digest BLOB, unreadable INTEGER NOT NULL, UNIQUE (root, name)
);
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL REFERENCES file, headings TEXT NOT NULL, body TEXT NOT NULL,
    digest BLOB NOT NULL, vector INTEGER
);
CREATE INDEX chunk_file ON chunk (file);
CREATE INDEX chunk_digest ON chunk (digest);
CREATE INDEX chunk_vector ON chunk (vector);
CREATE VIRTUAL TABLE words USING fts5(title, body);
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(4.0, 1.0)');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
CREATE TABLE term (word TEXT PRIMARY KEY, chunks INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE vector (
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, han INTEGER NOT NULL, data BLOB NOT NULL
);
"""


class IndexFormatError(Exception):
    """Raised for a file that is no index, is damaged, or has another version's format."""


@dataclass(frozen=True)
class IndexInfo:
    """What an index says of itself. `generation` is empty before it is first finished; `dimensions` is 0 without
    vectors; `unreadable` counts the files that couldn't be read; `updated_at` is ISO UTC."""

    embedder: EmbedderChoice
    generation: str = ""
    updated_at: str = ""
    dimensions: int = 0
    files: int = 0
    chunks: int = 0
    unreadable: int = 0


def create(path: Path, embedder: EmbedderChoice) -> None:
    """Write an empty index to `path`, which doesn't exist. Blocking I/O."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(_TABLES)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {FORMAT}")
        write_info(database, IndexInfo(embedder))
        database.commit()


def opened(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to a finished index, for any one thread at a time.

    Raises FileNotFoundError, and IndexFormatError where the file is no index of this format.
    """
    if not path.is_file():
        raise FileNotFoundError
    database: sqlite3.Connection | None = None
    try:
        # A finished index never changes, so that neither locks nor side files are needed.
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        check_format(database)
        database.execute(f"PRAGMA mmap_size = {_MAPPED}")
    except (sqlite3.Error, IndexFormatError):
        if database is not None:
            database.close()
        raise IndexFormatError from None
    return database


def check_format(database: sqlite3.Connection) -> None:
    """Raise IndexFormatError where a database is no index of this format."""
    try:
        kind = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError:
        raise IndexFormatError from None
    if (kind, version) != (_APPLICATION, FORMAT):
        raise IndexFormatError


def read_info(database: sqlite3.Connection) -> IndexInfo:
    """Return what an index says of itself; raises IndexFormatError where that can't be read."""
    try:
        found: dict[str, Any] = dict(database.execute("SELECT key, value FROM meta WHERE key != 'centre'"))
        embedder = EmbedderChoice.model_validate(json.loads(found.pop("embedder")))
        return IndexInfo(embedder=embedder, **found)
    except (sqlite3.Error, KeyError, TypeError, ValueError):
        raise IndexFormatError from None


def write_info(database: sqlite3.Connection, info: IndexInfo) -> None:
    """Write what an index says of itself."""
    values = {**vars(info), "embedder": info.embedder.model_dump_json()}
    database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def vectors_file(index: Path, generation: str) -> Path:
    """Return where the vectors of a generation stand."""
    return index.with_name(f"{index.name}.{generation}.vectors")
