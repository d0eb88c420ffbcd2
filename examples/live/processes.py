"""Programs started on loopback, waited for within bounds, and ended in any case."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

PATIENCE = 30.0
"""How long anything is waited for, in seconds, where nothing else is said."""
_POLL = 0.05
_GRACE = 5.0
_LAST_WORDS = 1_500


class NotReady(Exception):
    """Something that didn't happen within its time, in one line; a program's last words may follow."""


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def until(what: str, happened: Callable[[], bool], *, patience: float = PATIENCE) -> None:
    """Return as soon as `happened`; raises NotReady(`what`) after `patience` seconds."""
    end = time.monotonic() + patience
    while not happened():
        if time.monotonic() > end:
            raise NotReady(f"waited {patience:.0f} s in vain: {what}")
        time.sleep(_POLL)


def answers(url: str) -> bool:
    """Whether somebody answers at the address who isn't in trouble; one who doesn't let us in is there, too."""
    status, _ = _asked(url, "GET", None)
    return 0 < status < 500


def fetch(url: str, method: str = "GET", body: bytes | None = None) -> bytes | None:
    """Return the body of a 2xx answer, None where there is none. Straight to the address, whatever proxy is set."""
    status, content = _asked(url, method, body)
    return content if 200 <= status < 300 else None


def _asked(url: str, method: str, body: bytes | None) -> tuple[int, bytes]:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port or 80, timeout=PATIENCE)
    try:
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection.request(method, path, body=body, headers={"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, HTTPException):
        return 0, b""
    finally:
        connection.close()


@contextmanager
def running(command: Sequence[str | Path], log: Path, ready: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program while the block runs; what it prints goes to `log`. It is ready once the address `ready` answers.

    Raises NotReady where it ends before that, or isn't ready in time.
    """
    with log.open("ab") as output:
        program = subprocess.Popen(  # noqa: S603 - the programs of this package's own callers
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        if ready is not None:
            _wait(program, ready, log)
        yield program
    finally:
        _end(program)


def _wait(program: subprocess.Popen[bytes], ready: str, log: Path) -> None:
    name = Path(str(program.args[0] if isinstance(program.args, list | tuple) else program.args)).name
    try:
        until(f"{name} to answer", lambda: program.poll() is not None or answers(ready))
        if program.poll() is None:
            return
        reason = f"{name} ended at once"
    except NotReady as late:
        reason = str(late)
    raise NotReady(f"{reason}\n{log.read_text(encoding='utf-8', errors='replace')[-_LAST_WORDS:]}")


def _end(program: subprocess.Popen[bytes]) -> None:
    program.terminate()
    with suppress(subprocess.TimeoutExpired):
        program.wait(_GRACE)
    if program.poll() is None:
        program.kill()
        program.wait()
