"""Runbooks and past cases, in Chinese and English, searched by section: reference material, never proof.

A plain directory is searched as it is (`RunbookDirectory`); a larger collection is indexed (`tools.runbooks.indexing`)
and searched by words and by meaning (`tools.runbooks.indexed`, `tools.runbooks.milvus`).
"""

from tools.runbooks.directory import RunbookDirectory
from tools.runbooks.documents import MAX_FILE_BYTES
from tools.runbooks.library import Found, Hit, Library
from tools.runbooks.search import MAX_SECTION_LINES, RunbookArguments, RunbookSearch

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_SECTION_LINES",
    "Found",
    "Hit",
    "Library",
    "RunbookArguments",
    "RunbookDirectory",
    "RunbookSearch",
]
