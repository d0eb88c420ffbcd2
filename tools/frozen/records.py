
"""How a file's records become rows: one JSON document each, the broken ones counted."""

from tools.frozen.database import Rows, Source
from tools.frozen.sql import DOCUMENTS


def load_documents(rows: Rows, source: Source) -> int:
    """Create table `documents(seq, doc)` from a source; returns how many of its lines are broken.

    A document is a JSON object; anything else counts as broken.
    """
    rows.run("DROP TABLE IF EXISTS documents")
    if source.empty:
        rows.run("CREATE TABLE documents (seq BIGINT, doc JSON)")
        return 0
    rows.run(f"CREATE TABLE documents AS {DOCUMENTS[source.sort]}", path=source.path)
    broken = _rejected(rows) if source.sort == "csv" else 0
    counted = rows.all("SELECT count(*) FROM documents WHERE doc IS NULL OR json_type(doc) <> 'OBJECT'")[0][0]
    rows.run("DELETE FROM documents WHERE doc IS NULL OR json_type(doc) <> 'OBJECT'")
    return broken + int(counted)


def _rejected(rows: Rows) -> int:
    broken = rows.all("SELECT count(DISTINCT line) FROM reject_errors WHERE error_type <> 'NONE'")[0][0]
    rows.run("DROP TABLE reject_errors")
    rows.run("DROP TABLE reject_scans")
    return int(broken)
