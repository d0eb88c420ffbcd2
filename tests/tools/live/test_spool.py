"""Records of live backends are told by the frozen side, and nothing of them stays behind."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from tools.frozen.database import Loaded, Rows
from tools.frozen.logs import load_logs
from tools.live.spool import spooled

RECORDS = [
    {"timestamp": "2026-09-08T06:59:00Z", "service": "payment", "severity_text": "ERROR", "msg": "连接池耗尽"},
    {"timestamp": "2026-09-08T06:58:00Z", "service": "order", "severity_text": "INFO", "msg": "ok"},
]


@pytest.fixture(autouse=True)
def _scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def _left(directory: Path) -> list[Path]:
    return list(directory.glob("zhizhi-live-*"))


async def test_records_become_the_tables_of_an_incident(tmp_path: Path) -> None:
    def told(rows: Rows, loaded: Loaded) -> list[tuple[str, str]]:
        return rows.all("SELECT service, message FROM logs ORDER BY moment")

    answer = await spooled({"logs": RECORDS}, {"logs": load_logs}, told)
    assert answer == [("order", "ok"), ("payment", "连接池耗尽")]
    assert _left(tmp_path) == []


async def test_no_record_at_all_is_an_empty_table() -> None:
    assert await spooled(
        {"logs": []}, {"logs": load_logs}, lambda rows, loaded: rows.all("SELECT count(*) FROM logs")
    ) == [(0,)]


async def test_a_cancelled_question_leaves_nothing_behind(tmp_path: Path) -> None:
    task = asyncio.ensure_future(
        spooled({"logs": RECORDS * 1000}, {"logs": load_logs}, lambda rows, loaded: rows.all("SELECT 1"))
    )
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _left(tmp_path) == []
