"""The database behind the tools: closed to everything else, bounded, and interrupted with its asker."""

import asyncio
import json
import tracemalloc
from pathlib import Path

import duckdb
import pytest

from tests.tools.frozen.conftest import Asker, Writer
from tools.base import SourceFailure
from tools.frozen import IncidentDirectoryError, frozen_tools, read_alert
from tools.frozen.database import Database, Loaded, Rows
from tools.frozen.logs import load_logs
from tools.vocabulary import SourceError

LINE = {"timestamp": "2026-03-04T11:20:00Z", "service": "shop", "severity_text": "ERROR", "msg": "boom"}
ENDLESS = (
    "SELECT count(*) FROM range(100000000) AS one, range(100000000) AS other WHERE one.range % 7 = other.range % 11"
)


@pytest.fixture
def logs(write: Writer) -> Database:
    directory = write({"logs.ndjson": [LINE], "ground_truth.json": '{"root_cause_commit": "none"}'})
    return Database(directory, {"logs": load_logs})


async def test_no_other_file_and_no_network_can_be_reached(logs: Database) -> None:
    def denied(rows: Rows, loaded: Loaded) -> list[str]:
        refused = []
        for sql in (
            f"FROM read_text('{logs.directory / 'ground_truth.json'}')",
            "SELECT * FROM read_csv('https://example.invalid/x.csv')",
            "INSTALL httpfs",
            "SET enable_external_access = true",
            f"COPY logs TO '{logs.directory / 'copy.csv'}'",
        ):
            try:
                rows.run(sql)
            except duckdb.Error as error:
                refused.append(type(error).__name__)
        return refused

    assert len(await logs.ask("UTC", denied)) == 5
    assert not (logs.directory / "copy.csv").exists()


async def test_cancelling_the_asker_ends_the_query(logs: Database) -> None:
    started, ended = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def endless(rows: Rows, loaded: Loaded) -> None:
        loop.call_soon_threadsafe(started.set)
        try:
            rows.run(ENDLESS)
        finally:
            loop.call_soon_threadsafe(ended.set)

    asker = asyncio.create_task(logs.ask("UTC", endless))
    waiting = asyncio.create_task(started.wait())
    await asyncio.wait([asker, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert not asker.done()
    asker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asker
    await ended.wait()
    assert await logs.ask("UTC", lambda rows, _: rows.all("SELECT count(*) FROM logs")) == [(1,)]


async def test_cancelling_during_the_load_leaves_the_source_readable(logs: Database) -> None:
    asker = asyncio.create_task(logs.ask("UTC", lambda rows, _: rows.run(ENDLESS)))
    await asyncio.sleep(0)
    asker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asker
    assert await logs.ask("UTC", lambda rows, _: rows.all("SELECT count(*) FROM logs")) == [(1,)]


async def test_a_failing_query_is_a_coded_failure_without_the_text_of_another(logs: Database) -> None:
    with pytest.raises(SourceFailure) as failure:
        await logs.ask("UTC", lambda rows, _: rows.run("SELECT secret FROM nowhere"))
    assert failure.value.code is SourceError.SOURCE_UNREADABLE
    assert failure.value.__context__ is None
    assert failure.value.__cause__ is None


@pytest.mark.parametrize(
    ("file", "content", "tool"),
    [
        ("metrics.csv", "a,b\n1,2\n", "query_metrics"),
        ("metrics.ndjson", [{"service": "shop", "metric": "m", "value": 1}], "query_metrics"),
        ("logs.csv", "a,b\n1,2\n", "search_logs"),
        ("logs.ndjson", [{"msg": "no time"}], "find_log_signatures"),
        ("traces.json", [{"trace_id": "a"}], "query_traces"),
        ("traces.json", "nothing of the kind", "query_traces"),
        ("context/commits.json", "[[[[", "list_changes"),
        ("context/deploys.json", [{"service": "shop"}], "list_changes"),
    ],
)
async def test_a_source_whose_records_are_all_broken_proves_no_absence(
    write: Writer, ask: Asker, file: str, content: str, tool: str
) -> None:
    with pytest.raises(SourceFailure) as failure:
        await ask(write({file: content}), tool)
    assert failure.value.code is SourceError.SOURCE_UNREADABLE


@pytest.mark.parametrize("name", ["alert.json", "logs.ndjson", "metrics.csv", "context/commits.json", "runbooks"])
def test_a_link_out_of_the_incident_is_refused(write: Writer, tmp_path: Path, name: str) -> None:
    (tmp_path / "private").write_text("{}")
    directory = write({"context/flags.json": "[]"})
    (directory / name).symlink_to(tmp_path if name == "runbooks" else tmp_path / "private")
    with pytest.raises(IncidentDirectoryError, match="link out of the incident directory"):
        frozen_tools(directory)
    with pytest.raises(IncidentDirectoryError):
        read_alert(directory)


async def test_a_link_that_came_later_is_not_followed(logs: Database, tmp_path: Path) -> None:
    path = logs.directory / "logs.ndjson"
    path.rename(tmp_path / "private")
    path.symlink_to(tmp_path / "private")
    with pytest.raises(SourceFailure) as failure:
        await logs.ask("UTC", lambda rows, _: rows.all("SELECT * FROM logs"))
    assert failure.value.code is SourceError.SOURCE_MISSING


async def test_many_askers_share_one_load(logs: Database) -> None:
    answers = await asyncio.gather(
        *(logs.ask("UTC", lambda rows, _: rows.all("SELECT count(*) FROM logs")) for _ in range(12))
    )
    assert answers == [[(1,)]] * 12


async def test_the_scratch_directory_goes_with_the_database(logs: Database, tmp_path: Path) -> None:
    def scratch(rows: Rows, loaded: Loaded) -> Path:
        return Path(rows.all("SELECT current_setting('temp_directory')")[0][0])

    path = await logs.ask("UTC", scratch)
    assert path.is_dir()
    (logs.directory / "logs.ndjson").write_text(json.dumps(LINE) + "\n" + json.dumps(LINE) + "\n")
    assert await logs.ask("UTC", scratch) != path
    assert not path.exists()


async def test_large_files_are_never_loaded_into_python(write: Writer, ask: Asker) -> None:
    def line(index: int) -> str:
        at = f"2026-03-04T{10 + index // 120_000:02}:{index // 2_000 % 60:02}:{index % 60:02}Z"
        severity, text = ("ERROR", "库存服务 pool exhausted") if index > 180_000 else ("INFO", "handled request")
        return f'{{"timestamp":"{at}","service":"svc-{index % 7}","severity_text":"{severity}","msg":"{text} {index}"}}'

    text = "\n".join(line(index) for index in range(200_000))
    directory = write({"logs.ndjson": text.encode("gb18030")})
    size = (directory / "logs.ndjson").stat().st_size
    del text
    tracemalloc.start()
    try:
        evidence = await ask(directory, "find_log_signatures")
        searched = await ask(directory, "search_logs", contains="exhausted 199999")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "status=NEW" in evidence.content[0]
    assert len(searched.content) == 1
    assert evidence.notes == ("ENCODING:GB18030",)
    assert peak < size / 3
