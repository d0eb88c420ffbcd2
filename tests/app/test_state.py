import os
import time
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from app.state import new_run_directory, open_persistence, state_home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_state_lies_where_xdg_says(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert state_home() == home / "state" / "zhizhi"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert state_home() == home / ".local" / "state" / "zhizhi"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert state_home() == home / ".local" / "state" / "zhizhi"


def test_state_is_private_and_two_runs_share_nothing(home: Path) -> None:
    first, second = new_run_directory(60), new_run_directory(60)
    assert first != second
    assert [path.stat().st_mode & 0o777 for path in (state_home(), first, second)] == [0o700] * 3


def test_runs_whose_evidence_has_expired_are_dropped(home: Path) -> None:
    old, young = new_run_directory(60), new_run_directory(60)
    past = time.time() - 61
    os.utime(old, (past, past))
    new_run_directory(60)
    assert not old.exists()
    assert young.exists()


async def test_persistence_is_sqlite_on_disk(home: Path) -> None:
    async with open_persistence(60, pytest.fail) as kept:
        assert isinstance(kept.checkpointer, AsyncSqliteSaver)
        await kept.store.aput(("a",), "k", {"v": 1}, index=False)
    names = sorted(path.name for path in (home / "state" / "zhizhi" / "runs").glob("*/*"))
    assert names == ["checkpoints.sqlite", "ledger.sqlite"]


async def test_persistence_stays_in_memory_and_says_so_where_the_disk_cannot_be_written(home: Path) -> None:
    (home / "state").write_text("a file where the directory should be")
    told: list[str] = []
    async with open_persistence(60, told.append) as kept:
        assert isinstance(kept.checkpointer, InMemorySaver)
        await kept.store.aput(("a",), "k", {"v": 1}, index=False)
    assert len(told) == 1
    assert "stays in memory" in told[0]
