"""A real MariaDB on loopback, from Debian's package `mariadb-server`.

Documentation: https://mariadb.com/kb/en/mariadb-install-db/ and https://mariadb.com/kb/en/mariadbd-options/
"""

import getpass
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from tests.live.servers.prometheus import free_port, needs

_PATIENCE = 60.0
_BETWEEN_POLLS = 0.05


@dataclass(frozen=True)
class Mariadb:
    """A running server. `root` comes in over the socket without a password."""

    port: int
    socket: Path

    def run(self, *statements: str) -> list[tuple[object, ...]]:
        """Run statements as root and return the rows of the last one."""
        root = pymysql.connect(unix_socket=str(self.socket), user="root", autocommit=True)
        with root as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    @contextmanager
    def session(self, *statements: str) -> Iterator[None]:
        """Have a session of root run statements while the block runs; it is ended with what it runs."""
        connection = pymysql.connect(unix_socket=str(self.socket), user="root")
        thread = threading.Thread(target=_run_until_killed, args=(connection, statements))
        thread.start()
        try:
            yield
        finally:
            self.run(f"KILL CONNECTION {connection.thread_id()}")  # type: ignore[no-untyped-call]
            thread.join()
            connection.close()


def _run_until_killed(connection: Any, statements: Iterable[str]) -> None:
    with suppress(pymysql.err.MySQLError), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@contextmanager
def start_mariadb(options: Iterable[str] = ()) -> Iterator[Mariadb]:
    """Give a fresh MariaDB, ready; it and its data are gone afterwards. Skips where the package isn't installed."""
    server = needs("mariadbd", "mariadb-server")
    installer = needs("mariadb-install-db", "mariadb-server")
    with tempfile.TemporaryDirectory(prefix="zhizhi-my-") as name:
        directory = Path(name)
        data, path, port, user = directory / "data", directory / "socket", free_port(), getpass.getuser()
        install = [
            *(installer, "--no-defaults", f"--datadir={data}", f"--user={user}", "--skip-test-db"),
            *("--auth-root-authentication-method=normal", "--innodb-log-file-size=8M"),
        ]
        done = subprocess.run(install, capture_output=True, text=True, cwd=directory, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        command = [
            *(server, "--no-defaults", f"--datadir={data}", f"--user={user}", f"--socket={path}"),
            *(f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={directory / 'pid'}"),
            *("--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0"),
            *("--skip-name-resolve", "--performance-schema=OFF", *options),
        ]
        log = directory / "server.log"
        with log.open("wb") as written:
            process = subprocess.Popen(command, stdout=written, stderr=written, cwd=directory)
            try:
                running = Mariadb(port, path)
                _wait(process, running, log)
                yield running
            finally:
                process.terminate()
                process.wait(_PATIENCE)


def _wait(process: "subprocess.Popen[bytes]", running: Mariadb, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        assert process.poll() is None, log.read_text(errors="replace")
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        # The socket is there before the server listens on it, the port is not.
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", running.port)) == 0:
                break
        time.sleep(_BETWEEN_POLLS)
    running.run("SELECT 1")
