"""Paragraphs of mixed Chinese and Latin text. Rich breaks lines at blanks alone, which leaves Chinese lines ragged."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import get_character_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

_NEVER_FIRST = frozenset("，。；：、！？）》」』”’…,.;:!?)]}")
_NEVER_LAST = frozenset("（《「『“‘([{")


@dataclass(frozen=True)
class Paragraph:
    """Text that is set in by `indent` columns, and by `hanging` more from its second line on. No line is filled up."""

    text: Text
    indent: int = 0
    hanging: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines for the width that there is."""
        first = max(options.max_width - self.indent, 1)
        further = max(first - self.hanging, 1)
        cuts = list(break_offsets(self.text.plain, first, further))
        for number, line in enumerate(self.text.divide(cuts)):
            line.rstrip()
            blanks = self.indent + (self.hanging if number else 0)
            shown = Text.assemble(" " * blanks, line) if line.plain else Text()
            shown.no_wrap, shown.overflow = True, "ignore"
            yield shown


def break_offsets(text: str, first: int, further: int) -> Iterator[int]:
    """Yield where `text` breaks so that its first line takes `first` columns at most, each other one `further`.

    A line breaks after a blank or beside a wide character, never before closing or after opening punctuation; where
    there's no such place, anywhere.
    """
    end = _line_end(text, 0, first)
    while end < len(text):
        yield end
        end = _line_end(text, end, further)


def _line_end(text: str, start: int, width: int) -> int:
    columns, place = 0, None
    for index in range(start, len(text)):
        size = get_character_cell_size(text[index])
        if index > start and _may_break(text[index - 1], text[index]):
            place = index
        if columns + size > width and index > start and text[index] != " ":
            return place or index
        columns += size
    return len(text)


def _may_break(before: str, after: str) -> bool:
    if before == " ":
        return after != " "
    if after in _NEVER_FIRST or before in _NEVER_LAST:
        return False
    return get_character_cell_size(before) == 2 or get_character_cell_size(after) == 2
