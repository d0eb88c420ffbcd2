"""What is indexed: directories of runbooks and of past cases, their files, and the chunks of each file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tools.hygiene import clean_lines, clean_text
from tools.runbooks.documents import HTML, MARKDOWN, PDF, Document, UnreadableDocumentError, documents
from tools.runbooks.sections import RUNBOOK, Section, parts

MAX_INDEXED_FILES = 100_000
MAX_HEADING = 200
_SUFFIXES = MARKDOWN | HTML | PDF

Stage: TypeAlias = Literal["reading", "embedding"]
Progress: TypeAlias = Callable[[Stage, int, int], None]
"""Is told the stage, how many files or texts of it are done, and how many there are."""


def silent(stage: Stage, done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Shelf:
    """A directory to be indexed, and what it holds: `runbook` or `case`."""

    directory: Path
    kind: str = RUNBOOK


@dataclass(frozen=True)
class Entry:
    """A file of a shelf. `root` is the shelf's resolved path, `shown` the name under which the file is shown."""

    root: str
    shown: str
    kind: str
    document: Document

    def raw(self) -> bytes | None:
        """Return the file's bytes, None where it can't be read. Blocking I/O."""
        try:
            return self.document.raw()
        except UnreadableDocumentError:
            return None

    def chunks(self, raw: bytes | None) -> list[Section] | None:
        """Return the sections of what `raw` returned, long ones in parts; None where it can't be read.

        They are cleaned: printable, without secrets, fit to be stored and to be sent to an embedding endpoint.
        """
        if raw is None:
            return None
        try:
            sections = self.document.sections(raw)
        except UnreadableDocumentError:
            return None
        return [self._cleaned(part) for section in sections for part in parts(section)]

    def _cleaned(self, section: Section) -> Section:
        headings = tuple(clean_text(heading, limit=MAX_HEADING) for heading in section.headings)
        return Section(self.shown, headings, clean_lines(section.lines), self.kind)


def entries(shelves: Sequence[Shelf]) -> list[Entry]:
    """Return the files of all shelves; where there are several, a file's shown name begins with its shelf's.

    Raises NotADirectoryError with a path for a shelf that is none. Blocking I/O.
    """
    for shelf in shelves:
        if not shelf.directory.is_dir():
            raise NotADirectoryError(str(shelf.directory))
    several = len({shelf.directory.resolve() for shelf in shelves}) > 1
    found: dict[tuple[str, str], Entry] = {}
    for shelf in shelves:
        root = shelf.directory.resolve()
        for document in documents(root, _SUFFIXES, limit=MAX_INDEXED_FILES):
            shown = f"{root.name}/{document.name}" if several else document.name
            found[str(root), document.name] = Entry(str(root), shown, shelf.kind, document)
    return list(found.values())


def embedded_text(section: Section) -> str:
    """Return what of a section is embedded: its headings, then its text."""
    return "\n".join([section.title, *section.lines])
