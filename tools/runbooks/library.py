"""A library: whatever holds runbooks and finds the sections that speak of a query."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tools.runbooks.sections import Section

MAX_SECTIONS = 10
"""How many sections one search ever returns."""


@dataclass(frozen=True)
class Hit:
    """A relevant section. `score` orders hits of one kind of library: the higher, the more relevant."""

    section: Section
    score: float


@dataclass(frozen=True)
class Found:
    """The answer of a library: at most `MAX_SECTIONS` relevant sections, the best first, and how much it looked at.

    `relevant` counts the relevant sections that it knows of, `sections` and `files` all that it holds (None: not
    known), `unreadable` the
    files that it could not read. `notes` are remarks in codes; `partial` says that a part of the search failed, so that
    more may be relevant.
    """

    hits: tuple[Hit, ...]
    relevant: int
    sections: int
    files: int | None
    unreadable: int = 0
    notes: tuple[str, ...] = ()
    partial: bool = False


class Library(ABC):
    """Runbooks behind one interface: a plain directory, an index file, a Milvus collection."""

    @abstractmethod
    async def search(self, query: str) -> Found:
        """Return what is relevant to a query; nothing relevant is an empty `hits`.

        Raises SourceFailure where the library can't answer.
        """

    @abstractmethod
    def place(self) -> str:
        """Return a path, for a person, below which the runbooks stand as files."""

    async def close(self) -> None:
        """Give back what is held open."""
        return
