"""PDF files made by hand, small enough to be read here."""

from collections.abc import Sequence

_FONT = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [<< /Type /Font"
    b" /Subtype /CIDFontType2 /BaseFont /Any /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
    b" /DW 1000 >>] /ToUnicode 4 0 R >>"
)
_TO_UNICODE = (
    b"/CIDInit /ProcSet findresource begin begincmap /CMapName /Any def\n"
    b"1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
    b"1 beginbfrange <0000> <FFFF> <0000> endbfrange\nendcmap end"
)


def pdf_of(pages: Sequence[str], outline: Sequence[tuple[str, int]] = ()) -> bytes:
    """Return a PDF with a text of lines on each page, and an outline of titles that lead to pages (from 0)."""
    first_page, kids = 6, " ".join(f"{6 + 2 * number} 0 R" for number in range(len(pages)))
    objects = {
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        3: _FONT,
        4: _stream(_TO_UNICODE),
    }
    for number, text in enumerate(pages):
        lines = "".join(f"<{line.encode('utf-16-be').hex()}> Tj 0 -20 Td " for line in text.split("\n"))
        content = f"BT /F1 12 Tf 50 700 Td {lines}ET".encode()
        objects[first_page + 2 * number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {first_page + 2 * number + 1} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        ).encode()
        objects[first_page + 2 * number + 1] = _stream(content)
    entry = first_page + 2 * len(pages)
    objects[1] = f"<< /Type /Catalog /Pages 2 0 R /Outlines {entry} 0 R >>".encode()
    objects[entry] = f"<< /Type /Outlines /First {entry + 1} 0 R /Last {entry + len(outline)} 0 R >>".encode()
    for number, (title, page) in enumerate(outline, 1):
        following = f" /Next {entry + number + 1} 0 R" if number < len(outline) else ""
        told = title.encode("utf-16").hex() if title.isascii() else ("feff" + title.encode("utf-16-be").hex())
        objects[entry + number] = (
            f"<< /Title <{told}> /Parent {entry} 0 R /Dest [{first_page + 2 * page} 0 R /Fit]{following} >>".encode()
        )
    if not outline:
        objects[1] = b"<< /Type /Catalog /Pages 2 0 R >>"
        del objects[entry]
    return _file(objects)


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)


def _file(objects: dict[int, bytes]) -> bytes:
    out, places = b"%PDF-1.7\n", {}
    for number in sorted(objects):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    count = max(objects) + 1
    table = b"".join(
        b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
        for number in range(count)
    )
    start = len(out)
    return out + b"xref\n0 %d\n%strailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        count,
        table,
        count,
        start,
    )
