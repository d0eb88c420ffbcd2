"""Text files in UTF-8 or GB18030, brought to UTF-8 in bounded memory.

DuckDB reads UTF-8 alone without an extension from the network, so other files are transcoded block by block into the
scratch directory of their database.
"""

import codecs
from collections.abc import Iterator
from pathlib import Path

_BLOCK = 1 << 20
_FEW_DAMAGED = 0.3


def as_utf8(path: Path, scratch: Path) -> tuple[Path, tuple[str, ...]]:
    """Return a path whose content is UTF-8 without a byte order mark, and remarks on what had to be done for it.

    The path is `path` itself where nothing had to be done. Blocking I/O, one block in memory at a time. A file with few
    undecodable places stays UTF-8 (each place becomes U+FFFD and is counted); one with many is GB18030.
    """
    marked = _has_mark(path)
    if not marked and _is_utf8(path):
        return path, ()
    encoding, notes = _encoding(path)
    target = scratch / f"utf8-{path.name}"
    with target.open("w", encoding="utf-8", newline="") as out:
        for text in _decoded(path, encoding):
            out.write(text)
    return target, notes


def _has_mark(path: Path) -> bool:
    with path.open("rb") as source:
        return source.read(3) == codecs.BOM_UTF8


def _is_utf8(path: Path) -> bool:
    try:
        for _ in _decoded(path, "utf-8", errors="strict"):
            pass
    except UnicodeDecodeError:
        return False
    return True


def _encoding(path: Path) -> tuple[str, tuple[str, ...]]:
    damaged, wide = _damage(path, "utf-8-sig")
    if damaged > wide * _FEW_DAMAGED:
        damaged_otherwise, _ = _damage(path, "gb18030")
        if damaged_otherwise < damaged:
            return "gb18030", ("ENCODING:GB18030", *_remark(damaged_otherwise))
    return "utf-8-sig", _remark(damaged)


def _remark(damaged: int) -> tuple[str, ...]:
    return (f"UNDECODABLE_CHARACTERS:{damaged}",) if damaged else ()


def _damage(path: Path, encoding: str) -> tuple[int, int]:
    """Count the undecodable places and the characters beyond ASCII."""
    damaged = wide = 0
    for text in _decoded(path, encoding):
        if not text.isascii():
            damaged += text.count("\ufffd")
            wide += len(text) - len(text.encode("ascii", "ignore"))
    return damaged, wide


def _decoded(path: Path, encoding: str, errors: str = "replace") -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    with path.open("rb") as source:
        while block := source.read(_BLOCK):
            yield decoder.decode(block)
    yield decoder.decode(b"", final=True)
