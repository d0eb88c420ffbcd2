"""`zhizhi eval`, `eval diff` and `eval add` from the command line: exit codes, what is printed, bad input."""

import sys
from pathlib import Path

import pytest

from app.cli import main
from evals.results import write_results
from tests.evals import toy
from tests.evals.conftest import toys
from tests.evals.rows import abstained, results, row, wrong

__all__ = ["toys"]

Captured = pytest.CaptureFixture[str]


def leave(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line on `arguments`; return the exit code that it leaves with."""
    monkeypatch.setattr(sys, "argv", ["zhizhi", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("LANGSMITH_API_KEY", raising=False)
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "false")  # so that what the command sets ends with the test


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["eval"], "zhizhi: name a suite: rootcausebench, "),
        (["eval", "nonsense"], "zhizhi: no suite is called 'nonsense'; there are rootcausebench, "),
        (["eval", "rootcausebench", "--baseline", "nonsense"], "zhizhi: no baseline is called 'nonsense'"),
        (["eval", "rootcausebench", "--model", "gpt-x"], "zhizhi: --model gpt-x needs an endpoint"),
        (["eval", "rootcausebench", "--prompts", "{dir}"], "zhizhi: --prompts {dir} lacks diagnosis.zh.md"),
        (["eval", "rootcausebench", "--repeat", "0"], "zhizhi: Invalid value for '--repeat'"),
        (["eval", "rootcausebench", "--limit", "x"], "zhizhi: Invalid value for '--limit'"),
        (["eval", "rootcausebench", "--upload"], "zhizhi: --upload needs LANGSMITH_API_KEY"),
        (["eval", "rootcausebench", "--out", "{dir}/file"], "zhizhi: {dir}/file can't be used for output"),
        (["eval", "diff", "{dir}"], "zhizhi: Missing argument 'B'"),
        (["eval", "diff", "{dir}", "{dir}"], "zhizhi: {dir}/results.json can't be read"),
        (["eval", "add", "{dir}/none.json", "--expect", "change=none"], "zhizhi: {dir}/none.json can't be read"),
        (["eval", "add", "{dir}/file", "--expect", "cause=x"], "zhizhi: --expect 'cause=x' isn't understood"),
    ],
)
def test_bad_input_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path, arguments: list[str], line: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    code = leave(monkeypatch, *(argument.format(dir=tmp_path) for argument in arguments))
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert shown.err.startswith(line.format(dir=tmp_path))
    assert shown.err.count("\n") == 1


def test_a_suite_that_was_named_and_has_no_data_is_said_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    nowhere = tmp_path / "nowhere"
    code = leave(monkeypatch, "eval", "rootcausebench", "--data", str(nowhere), "--out", str(tmp_path / "out"))
    shown = capsys.readouterr()
    assert code == 1
    assert "no data for rootcausebench" in shown.err


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize(("broken", "code"), [((), 0), (("target:c2",), 1), (("scorer:c2",), 1)])
def test_a_target_or_scorer_that_fails_is_counted_and_makes_the_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path, broken: tuple[str, ...], code: int
) -> None:
    toy.BROKEN.update(broken)
    monkeypatch.setattr("evals.runner.asks_no_endpoint", lambda *_: False)  # worker processes know no toys
    out = tmp_path / "out"
    assert leave(monkeypatch, "eval", "toy", "--baseline", "abstain", "--limit", "3", "--out", str(out)) == code
    shown = capsys.readouterr()
    assert shown.out == f"{out}/report.md\n"
    assert (out / "report.md").is_file()
    assert (out / "results.json").is_file()
    assert shown.err == ("" if code == 0 else f"zhizhi: 2 of 6 runs failed; {out}/report.md names them\n")


def test_diff_prints_markdown_writes_junit_and_fails_where_a_pair_got_worse(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    for name, rows in (("a", [row("x"), abstained("y")]), ("b", [row("x"), row("y")]), ("c", [row("x"), wrong("y")])):
        (tmp_path / name).mkdir()
        write_results(results(rows), tmp_path / name)
    a, b, c = (str(tmp_path / name) for name in "abc")
    junit = tmp_path / "junit.xml"
    assert leave(monkeypatch, "eval", "diff", a, b, "--junit", str(junit)) == 0
    assert "| y | 0 | right now |" in capsys.readouterr().out
    assert 'failures="0"' in junit.read_text()
    assert leave(monkeypatch, "eval", "diff", a, c, "--junit", str(junit)) == 1
    assert "| y | 0 | published a wrong conclusion |" in capsys.readouterr().out
    assert 'failures="1"' in junit.read_text()
