"""The output of `git log -p` read row by row into bounded commits.

A record begins with a row that begins with NUL, which no row of a patch or a message can: git puts a sign before each
line of a file, and an object's message ends at a NUL. So no text of a repository can forge a record.
"""

import re
from collections.abc import AsyncIterable, AsyncIterator
from datetime import UTC, datetime

from tools.live.changes.diffs import FileDiff, unified
from tools.live.changes.ownership import Ownership
from tools.live.changes.process import decoded
from tools.live.changes.records import MAX_FILES, MAX_MESSAGE, Commit
from tools.live.changes.times import at_second

FORMAT = "--format=tformat:%x00C%H %ct%n%B%n%x00P"
OPTIONS = (
    "-p", "-U0", "--inter-hunk-context=0", "--no-ext-diff", "--no-textconv", "--no-color", "--no-show-signature",
    "--no-notes", "--no-decorate", "--no-relative", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/",
    "--diff-merges=first-parent", "--no-mailmap", "--find-renames", "-l200", FORMAT,
)  # fmt: skip
"""How commits are written for `commits_of`: nothing of the repository's configuration decides the form."""

_ESCAPE = re.compile(r"\\(?:([0-7]{3})|(.))")
_UNDATED = datetime(1970, 1, 1, tzinfo=UTC)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}


class _Reading:
    """A commit as far as its rows have come."""

    def __init__(self, head: bytes, limit: int) -> None:
        sha, _, seconds = head.decode("ascii", errors="replace").partition(" ")
        self.sha = sha
        self.at = at_second(seconds) or _UNDATED
        self._limit = limit
        self._message: list[str] = []
        self._length = 0
        self._paths: list[str] = []
        self._lines: dict[int, list[str]] = {}
        self._kept = 0
        self.in_patch = False
        self._in_hunk = False

    def take(self, row: bytes) -> None:
        if not self.in_patch:
            if self._length < MAX_MESSAGE:
                self._message.append(decoded(row))
                self._length += len(row) + 1
        elif row.startswith(b"diff --git "):
            self._in_hunk = False
            self._paths.append(_both(decoded(row[11:])))
        elif row.startswith(b"@@"):
            self._in_hunk = True
        elif self._in_hunk:
            self._changed(row)
        else:
            self._header(row)

    def commit(self, owners: Ownership) -> Commit:
        files = [FileDiff(path, tuple(self._lines.get(index, ()))) for index, path in enumerate(self._paths)]
        shown = [file for file in files if file.lines]
        return Commit(
            sha=self.sha,
            at=self.at,
            message="\n".join(self._message).strip()[:MAX_MESSAGE],
            files=tuple(file.path for file in files[:MAX_FILES]),
            diff=unified(shown, limit=self._limit),
            services=owners.services(self._paths),
        )

    def _changed(self, row: bytes) -> None:
        if row[:1] in {b"+", b"-"} and self._kept < self._limit and self._paths:
            self._lines.setdefault(len(self._paths) - 1, []).append(decoded(row))
            self._kept += 1

    def _header(self, row: bytes) -> None:
        """The new path is the better name; the old one is that of a deleted file."""
        for mark, prefix in ((b"rename to ", ""), (b"--- ", "a/"), (b"+++ ", "b/")):
            if row.startswith(mark) and self._paths:
                path = _unquoted(decoded(row[len(mark) :]).removesuffix("\t"))
                if path != "/dev/null":
                    self._paths[-1] = path.removeprefix(prefix)


async def commits_of(rows: AsyncIterable[bytes], owners: Ownership, *, limit: int) -> AsyncIterator[Commit]:
    """Yield the commits of a log written with `OPTIONS`, `limit` changed lines each, in the log's order.

    A commit whose rows were cut off by the bound is yielded as far as it came.
    """
    reading: _Reading | None = None
    async for row in rows:
        if row.startswith(b"\x00C"):
            if reading is not None:
                yield reading.commit(owners)
            reading = _Reading(row[2:], limit)
        elif row == b"\x00P" and reading is not None:
            reading.in_patch = True
        elif reading is not None:
            reading.take(row)
    if reading is not None:
        yield reading.commit(owners)


def _both(names: str) -> str:
    """Return the path of `a/x b/x`, whose halves are equal unless it was renamed."""
    if names.startswith('"'):
        end = re.match(r'"(?:[^"\\]|\\.)*"', names)
        return _unquoted(end[0]).removeprefix("a/") if end else names
    half = len(names) // 2
    return names[:half].removeprefix("a/")


def _unquoted(name: str) -> str:
    """Return a path as git quotes it (`"a/\\346\\226\\207"`) without quotes and escapes."""
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    raw = bytearray()
    last = 0
    inside = name[1:-1]
    for escape in _ESCAPE.finditer(inside):
        raw += inside[last : escape.start()].encode()
        raw += bytes([int(escape[1], 8) & 255]) if escape[1] else _LETTERS.get(escape[2], escape[2]).encode()
        last = escape.end()
    return decoded(bytes(raw + inside[last:].encode()))
