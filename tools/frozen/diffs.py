"""A change's diff reduced to what it removes and adds, file by file."""

import re
from collections.abc import Sequence

from tools.frozen.lines import MAX_TEXT, plain

_GIT = re.compile(r"diff --git a/(?P<old>\S+) b/(?P<new>\S+)")
_NEW = re.compile(r"\+\+\+ (?:b/)?(?P<file>\S+)")
_OLD = re.compile(r"--- (?:a/)?(?P<file>\S+)")
_HUNK = re.compile(r"@@ (?P<inside>.+?)(?: @@.*)?$")


def changed_lines(diff: str | None, files: Sequence[str]) -> list[str]:
    """Return `@ file`, `- old` and `+ new` lines of a unified diff, in its order, blank ones left out.

    Files are named by `diff --git`, `+++`, or a hunk header that holds one of `files` (`@@ path @@`); a diff that names
    none belongs to the only file, where there is one. The text is cleaned and each line bounded.
    """
    current = files[0] if len(files) == 1 else None
    told: str | None = None
    lines: list[str] = []
    for row in (diff or "").splitlines():
        header = _file(row, files)
        if header is not None:
            current = header
        elif row[:1] in {"+", "-"} and not _is_header(row) and plain(row[1:]):
            if current != told:
                lines.append(f"@ {plain(current or '-')}"[:MAX_TEXT])
                told = current
            lines.append(f"{row[0]} {plain(row[1:])}"[:MAX_TEXT])
    return lines


def _is_header(row: str) -> bool:
    return row.startswith(("+++ ", "--- ")) and not row[4:].startswith(" ")


def _file(row: str, files: Sequence[str]) -> str | None:
    git = _GIT.match(row)
    if git:
        return git["new"]
    new = _NEW.match(row)
    if new and new["file"] != "/dev/null":
        return new["file"]
    hunk = _HUNK.match(row)
    if hunk is None:
        return None
    inside = hunk["inside"]
    named = next((file for file in files if file in inside or inside.strip() == file), None)
    return named or (inside.strip() if "/" in inside and " " not in inside.strip() else None)
