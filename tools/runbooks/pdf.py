"""Sections of a PDF: one a page, under the headings of the document's outline where it has one."""

import io
import logging
from collections.abc import Iterator
from typing import Any

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from tools.runbooks.sections import Section, section_of

MAX_PAGES = 300
MAX_PAGE_CHARACTERS = 20_000
_MAX_DEPTH = 6


class UnreadablePdfError(Exception):
    """Raised for a PDF that is damaged or that a password closes."""


def pdf_sections(file: str, raw: bytes) -> Iterator[Section]:
    """Yield a section for each of at most `MAX_PAGES` pages that hold text; raises UnreadablePdfError.

    The headings are the outline's entries that lead to the page or stand last before it, then `p. N`. A page that is
    only a picture has no text.
    """
    # The parser logs remarks on damaged files, with text of theirs.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadablePdfError
        headings = _headings(reader)
        above: dict[int, str] = {}
        for number, page in enumerate(reader.pages[:MAX_PAGES]):
            above = headings.get(number, above)
            text = page.extract_text()[:MAX_PAGE_CHARACTERS]
            yield from section_of(file, above | {_MAX_DEPTH + 1: f"p. {number + 1}"}, text.splitlines())
    # A damaged file makes the parser fail in ways that it doesn't name.
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OSError):
        raise UnreadablePdfError from None


def _headings(reader: PdfReader) -> dict[int, dict[int, str]]:
    """Return the headings by depth for each page that an entry of the outline leads to."""
    found: dict[int, dict[int, str]] = {}
    path: dict[int, str] = {}
    for depth, title, page in _entries(reader, reader.outline, 1):
        path = {level: above for level, above in path.items() if level < depth} | {depth: title}
        # The first entry of a page names it; deeper ones belong to parts of it.
        found.setdefault(page, path)
    return found


def _entries(reader: PdfReader, outline: Any, depth: int) -> Iterator[tuple[int, str, int]]:
    for entry in outline:
        if isinstance(entry, list):
            if depth < _MAX_DEPTH:
                yield from _entries(reader, entry, depth + 1)
            continue
        page = reader.get_destination_page_number(entry)
        if page is not None and page >= 0:
            yield depth, str(entry.title), page
