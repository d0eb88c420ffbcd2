"""Filling a Milvus collection with runbooks: sections are added, those that are gone are removed, the rest stays.

Unlike an index file, a collection is changed in place: while it is filled, a search may find old and new sections.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tools.base import SourceFailure
from tools.runbooks.centring import is_han
from tools.runbooks.embedding import BATCH, Embedder, EmbedderChoice, optional
from tools.runbooks.milvus_schema import (
    PROPERTY,
    MilvusAccess,
    OtherEmbedderError,
    choice_of,
    described,
    failure_of,
    identity,
    quiet,
    row_of,
    schema_of,
)
from tools.runbooks.sections import Section
from tools.runbooks.shelves import Progress, Shelf, embedded_text, entries, silent
from tools.vocabulary import SourceError

_AT_ONCE = 5_000


@dataclass(frozen=True)
class MilvusReport:
    """What filling did: how many sections there are, how many were added and removed, how many files unreadable."""

    sections: int
    added: int
    removed: int
    unreadable: int


async def update_collection(
    access: MilvusAccess,
    shelves: Sequence[Shelf],
    choice: EmbedderChoice,
    embedder: Embedder,
    progress: Progress = silent,
) -> MilvusReport:
    """Make the collection hold exactly the sections of `shelves`; an interrupted run is gone on with by the next.

    Raises NotADirectoryError, OtherEmbedderError, MissingExtraError, and SourceFailure of Milvus or of the embedder.
    """
    wanted, unreadable = _read(shelves, progress)
    collection = _Collection(access, choice)
    try:
        stored = collection.stored()
        missing = [chunk for key, chunk in wanted.items() if key not in stored]
        for begin in range(0, len(missing), BATCH):
            progress("embedding", begin, len(missing))
            await _add(collection, missing[begin : begin + BATCH], embedder)
        progress("embedding", len(missing), len(missing))
        gone = sorted(stored - set(wanted))
        collection.remove(gone)
    finally:
        collection.close()
    return MilvusReport(len(wanted), len(missing), len(gone), unreadable)


class _Collection:
    """The collection that is filled; its client's failures are raised as SourceFailure. Blocking I/O."""

    def __init__(self, access: MilvusAccess, choice: EmbedderChoice) -> None:
        pymilvus = optional("pymilvus", extra="milvus")
        quiet()
        self._name = access.collection
        self._choice = choice
        self._seconds = access.timeout_seconds
        secret = access.secret()
        with _told():
            self._client = pymilvus.MilvusClient(access.url, token=secret, timeout=self._seconds)

    def stored(self) -> set[str]:
        """Return the keys of all sections; nothing where there's no collection. Raises OtherEmbedderError."""
        with _told():
            if not self._client.has_collection(self._name, timeout=self._seconds):
                return set()
            description = self._client.describe_collection(self._name, timeout=self._seconds)
        if choice_of(description) != self._choice:
            raise OtherEmbedderError
        found: set[str] = set()
        with _told():
            pages = self._client.query_iterator(self._name, batch_size=_AT_ONCE, output_fields=["id"])
            while page := pages.next():
                found |= {str(row["id"]) for row in page}
            pages.close()
        return found

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Add sections; the first ones make the collection."""
        with _told():
            if not self._client.has_collection(self._name, timeout=self._seconds):
                schema, parameters = schema_of(self._client, self._choice, len(rows[0]["vector"]))
                told = {PROPERTY: described(self._choice)}
                self._client.create_collection(self._name, schema=schema, index_params=parameters, properties=told)
            self._client.insert(self._name, rows, timeout=self._seconds)

    def remove(self, keys: list[str]) -> None:
        """Remove sections by their keys."""
        for begin in range(0, len(keys), _AT_ONCE):
            with _told():
                self._client.delete(self._name, ids=keys[begin : begin + _AT_ONCE], timeout=self._seconds)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


@contextmanager
def _told() -> Iterator[None]:
    """Raise what the client raises as a SourceFailure, without its text."""
    code: SourceError
    try:
        yield
        return
    # The client raises exceptions of its own, of grpc and of its parsing.
    except Exception as error:  # noqa: BLE001
        code = failure_of(error)
    raise SourceFailure(code)


async def _add(collection: _Collection, chunks: Sequence[Section], embedder: Embedder) -> None:
    texts = [embedded_text(chunk) for chunk in chunks]
    vectors = await embedder.passages(texts)
    rows = [row_of(chunk, vector, han=is_han(text)) for chunk, text, vector in zip(chunks, texts, vectors, strict=True)]
    await asyncio.to_thread(collection.add, rows)


def _read(shelves: Sequence[Shelf], progress: Progress) -> tuple[dict[str, Section], int]:
    wanted: dict[str, Section] = {}
    unreadable = 0
    listed = entries(shelves)
    for done, entry in enumerate(listed):
        progress("reading", done, len(listed))
        chunks = entry.chunks(entry.raw())
        unreadable += chunks is None
        wanted |= {identity(chunk): chunk for chunk in chunks or ()}
    progress("reading", len(listed), len(listed))
    return wanted, unreadable
