"""Sections keep their headings and every line; long ones are taken apart where a reader would."""

from hypothesis import given
from hypothesis import strategies as st

from tools.runbooks.html import html_sections
from tools.runbooks.sections import MAX_PART_CHARACTERS, Section, markdown_sections, parts

PAGE = """<!doctype html><html><head><title>not read</title><style>p{}</style></head><body>
<nav>Home | Search</nav><h1>Mail</h1><p>Sent &amp; received by <b>postfix</b>.</p>
<h2>Queue <em>grows</em></h2><script>alert("no")</script>
<ul><li>Read the log</li><li>Slow down<br>and wait</li></ul>
<pre>postqueue -p
  postsuper -d ALL</pre>
<p hidden>unseen <b>too</b></p>
<table><tr><th>Code</th><th>Meaning</th></tr><tr><td>421</td><td>busy</td></tr></table>
<h3>Deep</h3><div>deep text<h2>Other</h2>last"""


def test_a_page_is_read_as_it_is_seen_under_its_headings() -> None:
    sections = list(html_sections("mail.html", PAGE))
    assert [section.headings for section in sections] == [
        ("Mail",),
        ("Mail", "Queue grows"),
        ("Mail", "Queue grows", "Deep"),
        ("Mail", "Other"),
    ]
    assert sections[0].lines == ("Sent & received by postfix.",)
    assert sections[1].lines == (
        "- Read the log",
        "- Slow down",
        "and wait",
        "postqueue -p",
        "  postsuper -d ALL",
        "Code | Meaning",
        "421 | busy",
    )
    assert sections[3].lines == ("last",)


@given(st.text(alphabet="<>/abhpre123li ul\n&;\"'=!-", max_size=300))
def test_broken_html_is_read_as_far_as_it_goes(text: str) -> None:
    assert all(section.lines for section in html_sections("a.html", text))


def test_a_page_that_closes_what_it_never_opened_keeps_its_text() -> None:
    (section,) = html_sections("a.html", "</div></pre></h1>text</p>")
    assert section.lines == ("text",)


@given(st.lists(st.text(alphabet="ab`~ 连", max_size=400), min_size=1, max_size=30))
def test_parts_hold_every_line_once_and_in_order(lines: list[str]) -> None:
    section = Section("a.md", ("A", "B"), tuple(lines))
    found = list(parts(section))
    assert [line for part in found for line in part.lines if line.strip()] == [line for line in lines if line.strip()]
    assert all(part.headings == section.headings for part in found)
    assert all(len("\n".join(part.lines)) <= MAX_PART_CHARACTERS or len(part.lines) == 1 for part in found)


def test_a_part_ends_where_a_paragraph_ends_and_code_stays_together() -> None:
    code = "```\n" + "\n\n".join(f"step {number} of the repair" for number in range(20)) + "\n```"
    text = "\n\n".join(["first paragraph " * 30, code, "last paragraph " * 40])
    found = list(parts(Section("a.md", (), tuple(text.split("\n")))))
    assert len(found) > 1
    whole = [part for part in found if "step 0 of the repair" in part.lines]
    assert "step 19 of the repair" in whole[0].lines


def test_a_short_section_stays_as_it_is() -> None:
    section = Section("a.md", ("A",), ("one", "", "two"))
    assert list(parts(section)) == [section]


def test_headings_of_markdown_are_a_path_and_end_where_a_higher_one_begins() -> None:
    text = "intro\n\n# A\n\na\n\n### C\n\nc\n\n## B\n\nb\n"
    assert [(section.headings, section.lines) for section in markdown_sections("x.md", text)] == [
        ((), ("intro",)),
        (("A",), ("a",)),
        (("A", "C"), ("c",)),
        (("A", "B"), ("b",)),
    ]
