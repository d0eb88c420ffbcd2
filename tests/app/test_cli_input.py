"""Bad input: exit code 2, one clear line on standard error, nothing on standard output, never a traceback."""

import sys
from pathlib import Path

import pytest

from app import __version__
from app.cli import main

Captured = pytest.CaptureFixture[str]


def leave(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line on `arguments`; return the exit code that it leaves with."""
    monkeypatch.setattr(sys, "argv", ["zhizhi", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.fixture
def incident(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("HARNESS_INCIDENT_DIR", raising=False)
    (tmp_path / "alert.json").write_text('{"service": "pay"}')
    return str(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["diagnose"], "zhizhi: Missing argument 'query'."),
        (["diagnose", "q"], "zhizhi: no live source is configured: set HARNESS_SOURCE_PROMETHEUS_URL="),
        (["doctor"], "zhizhi: no live source is configured: set HARNESS_SOURCE_PROMETHEUS_URL="),
        (["diagnose", "q", "--alert", "{dir}/missing"], "zhizhi: alert file {dir}/missing can't be read: No such file"),
        (["declare", "{dir}/missing"], "zhizhi: the MCP server can't be asked: BACKEND_UNAVAILABLE"),
        (["declare", "http://u:p@host/mcp"], "zhizhi: expected an address without credentials"),
        (["diagnose", "", "--incident", "{dir}"], "zhizhi: QUERY is empty"),
        (["diagnose", "q", "--incident", "{dir}/missing"], "zhizhi: no such incident directory: {dir}/missing"),
        (["diagnose", "q", "--incident", "{dir}/alert.json"], "zhizhi: not a directory: {dir}/alert.json"),
        (["diagnose", "q", "--incident", "{dir}", "--locale", "fr"], "zhizhi: Invalid value for '--locale'"),
        (["diagnose", "q", "--incident", "{dir}", "--trace", "{dir}/no/t"], "zhizhi: trace file {dir}/no/t can't be"),
        (["diagnose", "q", "--incident", "{dir}", "--trace", "{dir}"], "zhizhi: trace file {dir} can't be written"),
        (["diagnose", "q", "--incident", "{dir}", "--nonsense"], "zhizhi: No such option: --nonsense"),
        (["tools", "--incident", "{dir}/missing"], "zhizhi: no such incident directory: {dir}/missing"),
        (["nonsense"], "zhizhi: No such command 'nonsense'."),
    ],
)
def test_bad_input_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, incident: str, arguments: list[str], line: str
) -> None:
    code = leave(monkeypatch, *(argument.format(dir=incident) for argument in arguments))
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert shown.err.startswith(line.format(dir=incident))
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("command", [["diagnose", "q", "--incident", "{dir}"], ["demo"], ["graph"], ["tools"]])
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HARNESS_CHAT_STOP_AFTER_CONSECUTIVE_NO_GAIN", "0"),
        ("HARNESS_BUDGET_MAX_TOKENS", "many"),
        ("HARNESS_BUDGET", "{"),
        ("HARNESS_INCIDENT_DIR", "/nowhere"),
        ("HARNESS_CONFIG_FILE", "/nowhere/zhizhi.toml"),
    ],
)
def test_invalid_settings_stop_every_command_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, incident: str, command: list[str], variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    code = leave(monkeypatch, *(argument.format(dir=incident) for argument in command))
    shown = capsys.readouterr()
    assert code == 2
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("zhizhi: invalid setting")


def test_help_and_version_are_no_errors(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert leave(monkeypatch, "--help") == 0
    told = capsys.readouterr().out
    assert leave(monkeypatch) == 0
    assert capsys.readouterr() == (told, "")
    assert told.lstrip().startswith("Usage: zhizhi ")
    assert all(name in told for name in ("diagnose", "demo", "graph", "tools", "./zhizhi test"))
    assert leave(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"zhizhi {__version__}\n"
