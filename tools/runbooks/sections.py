"""Sections: the pieces in which runbooks are found and shown. Headings are kept, long sections are taken apart."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import PurePosixPath

from markdown_it import MarkdownIt

from tools.runbooks.words import words_of

MAX_PART_CHARACTERS = 1_200
"""Where an indexed section is taken apart: about what an embedding model of 512 tokens reads of Chinese or English."""

RUNBOOK = "runbook"
CASE = "case"
_FENCE = re.compile(r"\s*(```|~~~)")


@dataclass(frozen=True)
class Section:
    """One section of a document: the headings above it, outermost first, and its lines as they stand in the file.

    `kind` is `runbook`, or `case` for a past case. Headings and lines are the source's text: hostile until cleaned.
    """

    file: str
    headings: tuple[str, ...]
    lines: tuple[str, ...]
    kind: str = RUNBOOK

    @property
    def title(self) -> str:
        """Return the headings in one line, or the file's name where there are none."""
        return " > ".join(self.headings) or self.file

    @cached_property
    def title_words(self) -> list[str]:
        """Return the words of the headings and of the file's name."""
        return words_of(" ".join([PurePosixPath(self.file).stem, *self.headings]))

    @cached_property
    def body_words(self) -> list[str]:
        """Return the words of the lines."""
        return words_of("\n".join(self.lines))


def markdown_sections(file: str, text: str) -> Iterator[Section]:
    """Yield the sections of a Markdown text that have lines of their own; a heading in a code block is none."""
    lines = text.splitlines()
    path: dict[int, str] = {}
    begin = 0
    tokens = MarkdownIt("commonmark").parse("\n".join(lines))
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        yield from section_of(file, path, lines[begin : token.map[0]])
        depth = int(token.tag[1:])
        path = below(path, depth, inline.content)
        begin = token.map[1]
    yield from section_of(file, path, lines[begin:])


def below(path: dict[int, str], depth: int, title: str) -> dict[int, str]:
    """Return the headings by depth once a heading of `depth` was met: deeper ones and its own predecessor end."""
    return {level: above for level, above in path.items() if level < depth} | {depth: title}


def section_of(file: str, path: dict[int, str], lines: list[str]) -> Iterator[Section]:
    """Yield the section of `lines` under the headings of `path`, without blank lines around; none if it has no text."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    if lines:
        yield Section(file, tuple(path[level] for level in sorted(path)), tuple(lines))


def parts(section: Section) -> Iterator[Section]:
    """Yield a long section in parts under the same headings, cut at blank lines outside of code where there are such.

    A part has at most `MAX_PART_CHARACTERS` characters, except where a paragraph or a block of code is longer by
    itself: that is cut between lines, and one line that is longer alone stays whole.
    """
    part: list[str] = []
    size = 0
    for paragraph in _paragraphs(section.lines):
        length = sum(len(line) + 1 for line in paragraph)
        if part and size + length > MAX_PART_CHARACTERS:
            yield from _part(section, part)
            part, size = [], 0
        for line in paragraph:
            if part and size + len(line) + 1 > MAX_PART_CHARACTERS:
                yield from _part(section, part)
                part, size = [], 0
            part.append(line)
            size += len(line) + 1
    yield from _part(section, part)


def _part(section: Section, lines: list[str]) -> Iterator[Section]:
    for trimmed in section_of(section.file, {}, lines):
        yield replace(section, lines=trimmed.lines)


def _paragraphs(lines: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield runs of lines, each with the blank lines behind it; code between fences belongs together."""
    paragraph: list[str] = []
    in_code = ended = False
    for line in lines:
        if ended and line.strip():
            yield paragraph
            paragraph, ended = [], False
        paragraph.append(line)
        if _FENCE.match(line):
            in_code = not in_code
        ended = not in_code and not line.strip()
    if paragraph:
        yield paragraph
