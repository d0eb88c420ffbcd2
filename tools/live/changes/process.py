"""git as a subprocess that can do nothing but read one repository.

A clone is hostile: its configuration, attributes, refs, messages and files are others' making. So nothing of it may run
a program (hooks, file-system monitors, external diffs, text conversions, signature checks, pagers), reach a network, or
pass for an option; the environment is empty of GIT_*; output is read up to a bound and the process then killed, as it
is at a time-out and a cancellation.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tools.base import SourceFailure
from tools.live.source import raise_alone
from tools.vocabulary import SourceError

MAX_OUTPUT = 32 * 1024 * 1024
_MAX_ROW = 1 << 20
_SETTINGS = (
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.quotePath=true",
    "core.bigFileThreshold=1m",
    "protocol.allow=never",
    "log.showSignature=false",
    "i18n.logOutputEncoding=UTF-8",
    "gc.auto=0",
    "maintenance.auto=false",
)


class Rows:
    """The lines that a git process writes, without their ends, up to a bound; `cut` says whether it was reached."""

    def __init__(self, stream: asyncio.StreamReader, max_bytes: int) -> None:
        self._stream = stream
        self._left = max_bytes
        self.cut = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            try:
                row = await self._stream.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                row = end.partial
                if not row:
                    return
            except asyncio.LimitOverrunError as longer:
                # The rest of a line longer than a megabyte comes as further rows that begin with a blank.
                row = b" " + await self._stream.readexactly(longer.consumed)
            self._left -= len(row)
            if self._left < 0:
                self.cut = True
                return
            yield row.removesuffix(b"\n")


class Git:
    """Runs git on one repository. `path` is the clone's directory, bare or with a working tree."""

    def __init__(self, path: Path, *, timeout_seconds: float, max_bytes: int = MAX_OUTPUT) -> None:
        self.path = path
        self._timeout = timeout_seconds
        self._max_bytes = max_bytes

    @asynccontextmanager
    async def rows(self, command: str, arguments: Sequence[str], *, accept: bool = False) -> AsyncIterator[Rows]:
        """Give the rows of `git <command> <arguments>` as they come.

        Raises SourceFailure: SOURCE_MISSING (no git, no such directory), BACKEND_TIMEOUT, SOURCE_UNREADABLE (git ended
        with an error before the bound was reached; not where `accept` says that it may).
        """
        code: SourceError | None = None
        try:
            async with asyncio.timeout(self._timeout), self._running(command, arguments) as process:
                assert process.stdout is not None  # noqa: S101 - it was asked for
                rows = Rows(process.stdout, self._max_bytes)
                yield rows
                if not rows.cut and process.stdout.at_eof() and await process.wait() and not accept:
                    code = SourceError.SOURCE_UNREADABLE
        except TimeoutError:
            code = SourceError.BACKEND_TIMEOUT
        if code is not None:
            raise_alone(SourceFailure(code))

    async def text(self, command: str, arguments: Sequence[str], *, accept: bool = False) -> str:
        """Return a short output as text; raises SourceFailure as `rows` does."""
        async with self.rows(command, arguments, accept=accept) as rows:
            return "\n".join([decoded(row) async for row in rows])

    @asynccontextmanager
    async def _running(self, command: str, arguments: Sequence[str]) -> AsyncIterator[asyncio.subprocess.Process]:
        program, path, environment = await asyncio.to_thread(_found, self.path)
        options = [word for setting in (f"safe.directory={path}", *_SETTINGS) for word in ("-c", setting)]
        process = await asyncio.create_subprocess_exec(
            program, "--no-pager", *options, "-C", path, command, *arguments,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env=environment, limit=_MAX_ROW,
        )  # fmt: skip
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await asyncio.shield(_gone(process))


def _found(clone: Path) -> tuple[str, str, dict[str, str]]:
    """Return the program, the clone's own path, and the environment to run in; raises SourceFailure(SOURCE_MISSING)."""
    program = shutil.which("git")
    if program is None or not clone.is_dir():
        raise SourceFailure(SourceError.SOURCE_MISSING)
    return program, str(clone.resolve()), _environment(clone)


async def _gone(process: asyncio.subprocess.Process) -> None:
    """Read away what is left in the pipe: a process is gone only when its output is closed, too."""
    if process.stdout is not None:
        while await process.stdout.read(_MAX_ROW):
            pass
    await process.wait()


def decoded(raw: bytes) -> str:
    """Return a line of a file or message as text: UTF-8, else GB18030, else with its damaged places marked."""
    for encoding in ("utf-8", "gb18030"):
        with suppress(UnicodeDecodeError):
            return raw.decode(encoding)
    return raw.decode("utf-8", errors="replace")


def _environment(path: Path) -> dict[str, str]:
    return {
        # The directory is a clone itself, or it is none: no repository above it is meant.
        "GIT_CEILING_DIRECTORIES": str(path.resolve().parent),
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        # Overrides what the clone itself allows: `protocol.ext.allow` runs a command, and is stronger than the setting
        # `protocol.allow` where a git is too old to know of GIT_NO_LAZY_FETCH.
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
