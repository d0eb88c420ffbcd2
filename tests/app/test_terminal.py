import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from app.terminal import console_for, plain

ROOT = Path(__file__).resolve().parents[2]
WRITE = "from app.terminal import prepare_streams, write_out; prepare_streams(); write_out('根因 ✓ ' * {times} + '\\n')"


@given(st.text(st.characters(codec=None)))
def test_plain_text_is_one_printable_line(text: str) -> None:
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in plain(text))
    assert plain(text).encode("utf-8").decode() == plain(text)
    assert plain(plain(text)) == plain(text)


def test_plain_keeps_words_and_drops_what_steers() -> None:
    assert plain("a\x1b[31m b\r\n\tc \u202ed\u2028e") == "a[31m b c d e"


def test_console_takes_no_markup_and_no_emoji_codes() -> None:
    out = io.StringIO()
    console_for(out).print(Text("[red]x[/] :smile:"), "[red]y[/]")
    assert out.getvalue() == "[red]x[/] :smile: [red]y[/]\n"


def write(times: int, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-c", WRITE.format(times=times)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    return subprocess.run(command, env=environ, stderr=subprocess.PIPE, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_an_encoding_that_lacks_a_character_gets_a_question_mark() -> None:
    done = write(1, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"?? ? \n", b"")


def test_a_reader_that_has_gone_is_no_failure() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = write(100_000, stdout=write_end)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_output_failure() -> None:
    with Path("/dev/full").open("wb") as full:
        done = write(1, stdout=full)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(b"app.terminal.OutputFailure: can't write to standard output: ")
