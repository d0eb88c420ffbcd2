"""Real git repositories that the tests make themselves, and one way to ask the tools."""

import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tools.base import IncidentContext

AS_OF = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
INCIDENT = IncidentContext(as_of=AS_OF, zone="UTC")
"""Noon; its default window is 09:00 to 12:15."""


class Repository:
    """A real repository in which every commit and tag is dated, in UTC on the day of the incident."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, at: str = "08:00:00", text: bytes | None = None) -> str:
        date = at if "T" in at else f"2026-03-04T{at}+00:00"
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.path), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8",
            "GIT_AUTHOR_NAME": "someone", "GIT_AUTHOR_EMAIL": "someone@example.com", "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_NAME": "someone", "GIT_COMMITTER_EMAIL": "someone@example.com", "GIT_COMMITTER_DATE": date,
        }  # fmt: skip
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments], env=environment, check=True, capture_output=True, input=text
        )
        return done.stdout.decode().strip()

    def commit(self, at: str, message: str | bytes, **files: str | bytes | None) -> str:
        """Write files (`__` stands for a slash, `_dot_` for a dot; None deletes), commit them and return the SHA."""
        named = {name.replace("__", "/").replace("_dot_", "."): content for name, content in files.items()}
        return self.commit_files(at, message, named)

    def commit_files(self, at: str, message: str | bytes, files: dict[str, str | bytes | None]) -> str:
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "-A", at=at)
        raw = message if isinstance(message, bytes) else message.encode()
        self.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-F", "-", at=at, text=raw)
        return self.git("rev-parse", "HEAD")

    def deploy(self, at: str, service: str, version: str, commit: str) -> None:
        self.git("tag", "-a", "-m", "deployed", f"deploy/{service}/{version}", commit, at=at)


MakeRepository = Callable[..., Repository]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """An empty repository."""
    return Repository(tmp_path / "clone")
