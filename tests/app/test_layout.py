import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from app.layout import Paragraph, break_offsets
from app.terminal import console_for

ALPHABET = st.text("ab 支付，（）“”1:/", max_size=60)


def lines(text: str, first: int, further: int) -> list[str]:
    cuts = [0, *break_offsets(text, first, further), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


@given(ALPHABET, st.integers(2, 20), st.integers(2, 20))
def test_nothing_is_lost_and_every_line_fits(text: str, first: int, further: int) -> None:
    broken = lines(text, first, further)
    assert "".join(broken) == text
    assert all(cell_len(line.rstrip()) <= (further if number else first) for number, line in enumerate(broken))


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("one two three", ["one two ", "three"]),
        ("支付服务超时", ["支付服务", "超时"]),
        ("原因是abcdef，已证实", ["原因是", "abcdef，", "已证实"]),
        ("支付服务（超时）", ["支付服务", "（超时）"]),
        ("abcdefghijkl", ["abcdefgh", "ijkl"]),
    ],
)
def test_lines_break_where_a_reader_expects_it(text: str, broken: list[str]) -> None:
    assert lines(text, 8, 8) == broken


def test_further_lines_hang_and_keep_their_style() -> None:
    out = io.StringIO()
    console = console_for(out)
    console.width = 12
    console.print(Paragraph(Text("one two three four", "bold"), indent=2, hanging=3), crop=False)
    assert out.getvalue() == "  one two\n     three\n     four\n"
