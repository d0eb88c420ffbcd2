"""Sections of an HTML page: what a reader of it sees, with the headings that stand above it."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from tools.runbooks.sections import Section, below, section_of

_UNSEEN = frozenset({"script", "style", "template", "noscript", "head", "svg", "nav", "iframe", "object", "select"})
_HEADINGS = {f"h{depth}": depth for depth in range(1, 7)}
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        """address article aside blockquote body br dd div dl dt fieldset figcaption figure footer form header hr html
        li main ol p pre section table tbody thead tfoot tr ul""",
    )
)
_CELLS = frozenset({"td", "th"})
_VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})


def html_sections(file: str, text: str) -> Iterator[Section]:
    """Yield the sections of an HTML page that have lines of their own.

    Scripts, styles, navigation and elements with the attribute `hidden` aren't seen; a list item begins with `- `, the
    cells of a row stand in one line, preformatted text keeps its lines. Broken HTML is read as far as it goes.
    """
    page = _Page(file)
    page.feed(text)
    page.close()
    yield from page.sections()


class _Page(HTMLParser):
    """Collects lines and sections while it is fed."""

    def __init__(self, file: str) -> None:
        super().__init__(convert_charrefs=True)
        self._file = file
        self._path: dict[int, str] = {}
        self._done: list[Section] = []
        self._lines: list[str] = []
        self._line = ""
        self._unseen: list[str] = []
        self._heading: str | None = None
        self._verbatim = 0

    def sections(self) -> list[Section]:
        """Return what was found, the last section included."""
        self._end_section()
        return self._done

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._unseen or tag in _UNSEEN or any(name == "hidden" for name, _ in attrs):
            if tag not in _VOID:
                self._unseen.append(tag)
            return
        if tag in _HEADINGS:
            self._end_section()
            self._heading = tag
        elif self._heading is None:
            self._begin(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            if tag in self._unseen:
                del self._unseen[self._unseen.index(tag) :]
            return
        if tag == self._heading:
            self._path = below(self._path, _HEADINGS[tag], " ".join(self._line.split()))
            self._heading, self._line = None, ""
        elif self._heading is None and tag in _BLOCKS:
            self._end_line()
            self._verbatim = max(self._verbatim - (tag == "pre"), 0)

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if not self._verbatim:
            self._line += data
            return
        first, *rest = data.split("\n")
        self._line += first
        for line in rest:
            self._end_line()
            self._line = line

    def _begin(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._end_line()
        if tag == "li":
            self._line = "- "
        elif tag in _CELLS and self._line.strip():
            self._line += " | "
        self._verbatim += tag == "pre"

    def _end_line(self) -> None:
        line = self._line.rstrip() if self._verbatim else " ".join(self._line.split())
        if line not in {"", "-"} or self._verbatim:
            self._lines.append(line)
        self._line = ""

    def _end_section(self) -> None:
        self._end_line()
        self._done.extend(section_of(self._file, self._path, self._lines))
        self._lines = []
