"""Documents in every form that is indexed: what is read of them, and what can't be."""

from pathlib import Path

import pytest

from tests.tools.runbooks.documents import pdf_of
from tools.runbooks.documents import HTML, MARKDOWN, PDF, Document, UnreadableDocumentError, documents
from tools.runbooks.sections import Section


def read(path: Path) -> tuple[Section, ...]:
    document = Document(path.name, path)
    return document.sections(document.raw())


def test_a_pdf_has_a_section_a_page_under_the_headings_of_its_outline(tmp_path: Path) -> None:
    file = tmp_path / "disk.pdf"
    file.write_bytes(pdf_of(["磁盘写满时先清理日志\ndf -h", "second page", "Certificates"], [("磁盘", 0), ("证书", 2)]))
    sections = read(file)
    assert [section.headings for section in sections] == [("磁盘", "p. 1"), ("磁盘", "p. 2"), ("证书", "p. 3")]
    assert sections[0].lines == ("磁盘写满时先清理日志", "df -h")


def test_a_pdf_without_an_outline_has_its_pages(tmp_path: Path) -> None:
    file = tmp_path / "a.PDF"
    file.write_bytes(pdf_of(["only page"]))
    (section,) = read(file)
    assert (section.headings, section.lines) == (("p. 1",), ("only page",))


@pytest.mark.parametrize("raw", [b"", b"%PDF-1.7\n", b"not a pdf at all", pdf_of(["text"])[:300]])
def test_a_damaged_pdf_is_unreadable_and_raises_nothing_else(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(raw)
    with pytest.raises(UnreadableDocumentError):
        read(file)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
def test_html_is_read_in_either_encoding(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.htm"
    file.write_bytes("<h1>磁盘</h1><p>写满</p>".encode(encoding))
    (section,) = read(file)
    assert (section.headings, section.lines) == (("磁盘",), ("写满",))


def test_only_files_of_the_asked_forms_are_listed_in_the_order_of_their_paths(tmp_path: Path) -> None:
    for name in ("b.md", "a/c.HTML", "a/d.pdf", "e.txt", "f.markdown"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [document.name for document in documents(tmp_path, MARKDOWN | HTML | PDF)] == [
        "a/c.HTML",
        "a/d.pdf",
        "b.md",
        "f.markdown",
    ]
    assert [document.name for document in documents(tmp_path, MARKDOWN)] == ["b.md", "f.markdown"]
