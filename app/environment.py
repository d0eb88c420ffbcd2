"""Make `.venv` from the hashed requirements. Run by the launcher, with nothing but the standard library.

Usage: `python3 -I app/environment.py ROOT SET`, SET being `runtime`, `live`, `evals` or `dev`.

A `.venv` is whole when `.venv/zhizhi/SET.txt` equals `requirements/SET.txt` and `.venv/zhizhi/root` names its place:
both are written last. A `.venv` that is ours and isn't whole is thrown away and made again. An exclusive lock, which
the operating system drops with its last holder, keeps two launchers from making it at the same time; pip inherits
it, so that a pip that outlives a killed launcher still keeps the next one waiting.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HELD = {"runtime": (), "live": ("runtime",), "evals": ("runtime",), "dev": ("runtime", "live", "evals")}
"""The requirement sets, and those that each of them holds."""

UNFETCHED = "the packages could not be fetched: is a package index reachable from here (pip config list)?"


class EnvironmentFailure(Exception):
    """What went wrong, in one line for a person."""


def is_whole(root: Path, wanted: str) -> bool:
    """Tell whether `root/.venv` holds everything that the set `wanted` asks for, and was made where it lies."""
    made = root / ".venv" / "zhizhi"
    try:
        same_place = (made / "root").read_text(encoding="utf-8").strip() == str(root)
        same_set = (made / f"{wanted}.txt").read_bytes() == (root / "requirements" / f"{wanted}.txt").read_bytes()
    except OSError:
        return False
    return same_place and same_set and os.access(root / ".venv" / "bin" / "python", os.X_OK)


def ensure(root: Path, wanted: str) -> None:
    """Make `root/.venv` whole for the set `wanted`; returns at once where it is. Raises EnvironmentFailure."""
    if os.pathsep in str(root):
        raise EnvironmentFailure(f"a virtual environment can't lie under a path with {os.pathsep!r} in it: {root}")
    try:
        lock = (root / ".venv.lock").open("a")
    except OSError:
        raise EnvironmentFailure(f"can't write to {root}, where .venv has to be made") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("waiting for another zhizhi that is making .venv …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_whole(root, wanted):
            _make(root, wanted, lock.fileno())


def _make(root: Path, wanted: str, lock: int) -> None:
    venv = root / ".venv"
    made = venv / "zhizhi"
    if not is_whole(root, "runtime"):
        if venv.exists() and any(venv.iterdir()) and not made.is_dir():
            raise EnvironmentFailure(f"{venv} was not made by zhizhi; move it away and start again")
        shutil.rmtree(venv, ignore_errors=True)
        made.mkdir(parents=True)
        _say(f"first use: making {venv} …")
        _create(venv, lock)
    requirements = root / "requirements" / f"{wanted}.txt"
    count = sum(line[:1].isalnum() for line in requirements.read_text(encoding="utf-8").splitlines())
    _say(f"installing {count} packages ({wanted}), about a minute …")
    _install(venv, requirements, lock)
    _vouch(root, wanted)


def _create(venv: Path, lock: int) -> None:
    """Create the environment; Debian's python3 comes without ensurepip, and then this Python's own pip has to do."""
    if _run([sys.executable, "-I", "-m", "venv", str(venv)], lock)[0] == 0:
        return
    if _run([sys.executable, "-I", "-m", "venv", "--without-pip", str(venv)], lock)[0] != 0:
        raise EnvironmentFailure("python3 can't make a virtual environment; install its venv module (python3-venv)")


def _install(venv: Path, requirements: Path, lock: int) -> None:
    python = str(venv / "bin" / "python")
    pip = [python, "-I", "-m", "pip"]
    if not any(venv.glob("lib/python*/site-packages/pip")):
        pip = [sys.executable, "-I", "-m", "pip", "--python", python]
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--require-hashes"]
    code, output = _run([*pip, "install", *options, "-r", str(requirements)], lock)
    if code != 0:
        raise EnvironmentFailure(_why_pip_failed(output))


def _why_pip_failed(output: str) -> str:
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")]
    if "No module named pip" in output:
        return "python3 has neither ensurepip nor pip; install python3-venv or python3-pip"
    if any("Could not find a version" in line for line in errors) or "NewConnectionError" in output:
        return UNFETCHED
    reason = errors[-1].removeprefix("ERROR:").strip()[:300] if errors else "pip said no more"
    return f"the packages could not be installed: {reason}"


def _vouch(root: Path, wanted: str) -> None:
    """Put the checkout on the environment's path, then write down what it holds: the last step, file by file."""
    site = next((root / ".venv" / "lib").glob("python3*/site-packages"))
    (site / "zhizhi.pth").write_text(f"{root}\n", encoding="utf-8")
    made = root / ".venv" / "zhizhi"
    _write(made / "root", f"{root}\n".encode())
    for name in (*HELD[wanted], wanted):
        _write(made / f"{name}.txt", (root / "requirements" / f"{name}.txt").read_bytes())


def _write(path: Path, content: bytes) -> None:
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.replace(path)


def _run(command: Sequence[str], lock: int) -> tuple[int, str]:
    """Run `command` quietly; return its exit code and everything it printed."""
    # A user's `pip install --user` default would be refused inside of a virtual environment.
    environ = os.environ | {"PIP_USER": "0"}
    with tempfile.TemporaryFile() as log:
        done = subprocess.run(  # noqa: S603 (this module's own commands, no word of a user's)
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ, pass_fds=[lock], check=False
        )
        log.seek(0)
        return done.returncode, log.read().decode("utf-8", "replace")


def _say(line: str) -> None:
    sys.stderr.write(f"zhizhi: {line}\n")
    sys.stderr.flush()


def main() -> int:
    """Return 0 when the environment is whole, 2 with one line on stderr when it can't be made, 130 on Ctrl-C."""
    root, wanted = sys.argv[1:]
    try:
        ensure(Path(root), wanted)
    except EnvironmentFailure as failure:
        _say(str(failure))
        return 2
    except OSError as failure:
        _say(f"can't make {root}/.venv: {failure.strerror}")
        return 2
    except KeyboardInterrupt:
        _say("interrupted; the next start begins again")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
