"""Writing to a terminal, a pipe or a file, whatever its encoding, without letting hostile text steer it."""

import os
import sys
import unicodedata
from typing import IO, TextIO

from rich.console import Console, RenderableType
from typing_extensions import override

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNPRINTABLE = frozenset({"Cc", "Cs", "Co", "Cn"})

PIPE_COLUMNS = 100
"""Where nobody's terminal sets the width, lines are wrapped at this column or at `COLUMNS`, whichever is more."""


class OutputFailure(Exception):
    """Standard output can't be written (a full disk). Its text is one line for a person."""


class _Console(Console):
    """Falls silent when its reader has gone. Rich would leave the process, from inside of a running diagnosis."""

    @override
    def on_broken_pipe(self) -> None:
        self.quiet = True
        _drop_the_rest(self.file)


def plain(text: str) -> str:
    """Return `text` in one line that can't steer a terminal: blanks folded, control and bidi characters left out."""
    return " ".join("".join(filter(_harmless, text)).split())


def _harmless(character: str) -> bool:
    if character.isspace():
        return True
    return character not in _BIDI and unicodedata.category(character) not in _UNPRINTABLE


def prepare_streams() -> None:
    """Make both output streams write what their encoding can't hold as `?` instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def console_for(stream: TextIO | None) -> Console:
    """Return a console that takes text as it is: no markup, no emoji codes, no guesses at what to highlight."""
    console = _Console(file=stream, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, PIPE_COLUMNS)
    return console


def show(*parts: RenderableType) -> None:
    """Render `parts` to standard output, in colour where it's a terminal that wants it. Raises OutputFailure."""
    console = console_for(sys.stdout)
    with console.capture() as captured:
        for part in parts:
            console.print(part, crop=False)
    # Padding fills lines up with blanks, which only get in the way of who copies them.
    write_out("".join(f"{line.rstrip(' ')}\n" for line in captured.get().removesuffix("\n").split("\n")))


def write_out(text: str) -> None:
    """Write `text` to standard output and flush it.

    A reader that has gone (`| head`) is no failure: what it left unread is dropped. Raises OutputFailure.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_the_rest(sys.stdout)
    except OSError as error:
        _drop_the_rest(sys.stdout)
        raise OutputFailure(f"can't write to standard output: {error.strerror}") from None


def _drop_the_rest(stream: IO[str]) -> None:
    """Point `stream` at nothing, so that the interpreter's last flush can't fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
