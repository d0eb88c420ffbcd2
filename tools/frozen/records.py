# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""How a file's records become rows: one JSON document each, the broken ones counted."""

import duckdb

from tools.base import SourceFailure
from tools.frozen.database import Quality, Rows, Source
from tools.frozen.sql import DOCUMENTS, SALVAGED
from tools.vocabulary import SourceError

_BROKEN = "doc IS NULL OR json_type(doc) <> 'OBJECT'"


def load_documents(rows: Rows, source: Source) -> int:
    """Create table `documents(seq, doc)` from a source; returns how many of its records are broken.

    A document is a JSON object; anything else counts as broken. Of a JSON array that is broken somewhere, the objects
    that begin on lines of their own are still read. Raises SourceFailure(SOURCE_UNREADABLE) where all is broken.
    """
    rows.run("DROP TABLE IF EXISTS documents")
    if source.empty:
        rows.run("CREATE TABLE documents (seq BIGINT, doc JSON)")
        return 0
    salvaged = 0
    try:
        rows.run(f"CREATE TABLE documents AS {DOCUMENTS[source.sort]}", path=source.path)
    except duckdb.InvalidInputException:
        if source.sort != "json":
            raise
        rows.run(f"CREATE TABLE documents AS {SALVAGED}", path=source.path)
        salvaged = 1
    lost = rejected(rows)
    broken = rows.all(f"SELECT count(*) FROM documents WHERE {_BROKEN}")[0][0]
    rows.run(f"DELETE FROM documents WHERE {_BROKEN}")
    check_readable(rows, lost + int(broken) + salvaged)
    return lost + int(broken)


def check_readable(rows: Rows, broken: int) -> None:
    """Raise SourceFailure(SOURCE_UNREADABLE) where `broken` records and no good one were found in `documents`."""
    if broken and not rows.all("SELECT count(*) FROM documents WHERE doc IS NOT NULL")[0][0]:
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)


def judged(rows: Rows, table: str, broken: int, zoneless: int) -> Quality:
    """Return the quality of a loaded table. Raises SourceFailure(SOURCE_UNREADABLE) where every record is broken: such
    a source says nothing, not even that there was nothing."""
    if broken and not rows.all(f"SELECT count(*) FROM {table}")[0][0]:
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return Quality(broken, zoneless)


def rejected(rows: Rows) -> int:
    """Return how many lines DuckDB itself refused (too long, too many columns) since this was last asked."""
    if not rows.all("SELECT 1 FROM duckdb_tables() WHERE table_name = 'reject_errors'"):
        return 0
    broken = rows.all("SELECT count(DISTINCT line) FROM reject_errors")[0][0]
    rows.run("DROP TABLE reject_errors")
    rows.run("DROP TABLE reject_scans")
    return int(broken)
