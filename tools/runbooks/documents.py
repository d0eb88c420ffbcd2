"""Documents on disk: which files of a directory are read, how far, and in which encoding."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.runbooks.html import html_sections
from tools.runbooks.sections import Section, markdown_sections

MAX_FILES = 1_000
MAX_FILE_BYTES = 1_000_000
MAX_PDF_BYTES = 30_000_000
MARKDOWN = frozenset({".md", ".markdown"})
HTML = frozenset({".html", ".htm"})
PDF = frozenset({".pdf"})


class UnreadableDocumentError(Exception):
    """Raised for a file that can't be read, or whose text is in no known encoding."""


@dataclass(frozen=True)
class Document:
    """A file below its root directory; `name` is its path there, with slashes."""

    name: str
    path: Path

    def raw(self) -> bytes:
        """Return the file's bytes up to the bound of its type; raises UnreadableDocumentError. Blocking I/O."""
        bound = MAX_PDF_BYTES if self.path.suffix.lower() in PDF else MAX_FILE_BYTES
        try:
            with self.path.open("rb") as file:
                return file.read(bound + 1)
        except OSError:
            raise UnreadableDocumentError from None

    def sections(self, raw: bytes) -> tuple[Section, ...]:
        """Return the sections of what `raw` returned; raises UnreadableDocumentError."""
        if self.path.suffix.lower() in PDF:
            return self._pdf_sections(raw)
        read: Callable[[str, str], Iterator[Section]] = (
            html_sections if self.path.suffix.lower() in HTML else markdown_sections
        )
        return tuple(read(self.name, decoded(raw)))

    def _pdf_sections(self, raw: bytes) -> tuple[Section, ...]:
        # The PDF reader is only loaded where there is a PDF.
        from tools.runbooks.pdf import UnreadablePdfError, pdf_sections

        if len(raw) > MAX_PDF_BYTES:
            raise UnreadableDocumentError
        try:
            return tuple(pdf_sections(self.name, raw))
        except UnreadablePdfError:
            raise UnreadableDocumentError from None


def documents(directory: Path, suffixes: frozenset[str], *, limit: int = MAX_FILES) -> list[Document]:
    """Return the files of `directory` with one of `suffixes`, at any depth, in the order of their paths.

    A link that leads out of the directory isn't followed. `limit` bounds how many entries are looked at. Blocking I/O.
    """
    root = directory.resolve()
    return [
        Document(path.relative_to(root).as_posix(), path)
        for path in sorted(root.rglob("*"))[:limit]
        if path.suffix.lower() in suffixes and path.is_file() and path.resolve().is_relative_to(root)
    ]


def decoded(raw: bytes) -> str:
    """Return a text in UTF-8 or GB18030, cut at a line's end beyond the bound; raises UnreadableDocumentError."""
    # A bound that goes through a character must not make the whole file unreadable.
    kept = raw if len(raw) <= MAX_FILE_BYTES else raw[: raw.rfind(b"\n", 0, MAX_FILE_BYTES) + 1]
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return kept.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UnreadableDocumentError
