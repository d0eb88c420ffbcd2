"""Whole runs of the command line on the bundled incidents, with the embedded model."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import CANCELLED
from app.cli import EXIT_CODES, main
from app.demo import INCIDENTS
from app.words import Locale, words_for
from graph.contract.release import Release
from graph.contract.trace import TraceEvent
from graph.contract.vocabulary import ReleaseOutcome

ROOT = Path(__file__).resolve().parents[2]
WHOLE = INCIDENTS / "payment-timeout"
QUERY = "支付大量超时，是什么原因？"

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run reads or writes this machine's settings, keys or state."""
    for name in [name for name in os.environ if name.startswith(("HARNESS_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def leave(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["zhizhi", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    assert isinstance(left.value.code, int)
    return left.value.code


def test_every_outcome_has_its_exit_code() -> None:
    assert EXIT_CODES == {"SUCCESS": 0, "FALLBACK": 0, "FAILED": 1, "CANCELLED": 130}
    assert set(EXIT_CODES) == {outcome.value for outcome in ReleaseOutcome}


def test_json_is_the_release_alone(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert leave(monkeypatch, "diagnose", QUERY, "--incident", WHOLE, "--json") == 0
    shown = capsys.readouterr()
    assert shown.out.count("\n") == 1
    assert Release.model_validate_json(shown.out).outcome is ReleaseOutcome.SUCCESS
    assert "r1c1" in shown.err


def test_report_is_in_the_language_that_was_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert leave(monkeypatch, "diagnose", QUERY, "--incident", WHOLE, "--locale", "en") == 0
    shown = capsys.readouterr()
    assert "Root cause established" in shown.out
    assert "gained (by the model)" in shown.err


def test_trace_file_holds_typed_events_from_opening_to_release(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    path = tmp_path / "trace.ndjson"
    assert leave(monkeypatch, "diagnose", QUERY, "--incident", WHOLE, "--json", "--trace", path) == 0
    release = Release.model_validate_json(capsys.readouterr().out)
    events = [TraceEvent.model_validate_json(line) for line in path.read_text().splitlines()]
    assert [event.seq for event in events] == list(range(len(events)))
    assert (events[0].type, events[-1].type) == ("RUN_OPENED", "RELEASE")
    assert {event.run_id for event in events} == {release.run_id}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_trace_that_cannot_be_written_is_told_and_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    assert leave(monkeypatch, "diagnose", QUERY, "--incident", WHOLE, "--json", "--trace", "/dev/full") == 0
    assert "zhizhi: the trace in /dev/full is incomplete: No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize(("locale", "readme"), [("zh", "README.zh.md"), ("en", "README.md")])
def test_demo_proves_one_incident_and_not_the_other_as_the_readme_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, locale: Locale, readme: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-the-demo-must-not-use")
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(ROOT)
    assert leave(monkeypatch, "demo", "--locale", locale) == 0
    told = capsys.readouterr().out
    whole, without = told.split("2/2")
    words = words_for(locale)
    assert all(word in whole for word in (words.outcome["SUCCESS"], words.label["ruled_out"]))
    assert all(word in without for word in (words.fallback_type["INSUFFICIENT_EVIDENCE"], words.label["gaps"]))
    shown = re.findall(r"<!-- demo: \w+ -->\n```text\n(.*?)```", (ROOT / readme).read_text(encoding="utf-8"), re.DOTALL)
    assert len(shown) == 2
    stale = {line for block in shown for line in block.splitlines() if line.strip() != "…"} - set(told.splitlines())
    assert stale == set()


def test_graph_is_drawn(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert leave(monkeypatch, "graph") == 0
    drawn = capsys.readouterr().out
    assert all(node in drawn for node in ("diagnose", "tool_gate", "evaluate_gain", "release"))


def test_tools_are_listed_with_their_scope_tables(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert leave(monkeypatch, "tools") == 0
    listed = capsys.readouterr().out
    sections = listed.split("\n## ")
    assert len(sections) >= 8
    assert all("| " in section for section in sections)


@pytest.fixture
def closed_endpoint() -> str:
    """The address of an endpoint that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


@pytest.mark.parametrize(("fallback", "code", "outcome"), [("none", 1, "FAILED"), ("offline", 0, "SUCCESS")])
def test_an_endpoint_that_is_away_fails_the_run_or_hands_it_over(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, closed_endpoint: str, fallback: str, code: int, outcome: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", closed_endpoint)
    monkeypatch.setenv("HARNESS_MODEL_FALLBACK", fallback)
    assert leave(monkeypatch, "diagnose", QUERY, "--incident", WHOLE, "--json") == code
    assert Release.model_validate_json(capsys.readouterr().out).outcome == outcome


def test_state_that_cannot_be_kept_is_told_and_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "below"))
    assert leave(monkeypatch, "diagnose", QUERY, "--incident", WHOLE, "--json") == 0
    shown = capsys.readouterr()
    assert Release.model_validate_json(shown.out).outcome is ReleaseOutcome.SUCCESS
    assert "zhizhi: this run's state can't be kept (Not a directory); it stays in memory\n" in shown.err


@pytest.fixture
def silent_endpoint() -> Iterator[str]:
    """The address of an endpoint that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_as_cancelled_in_good_order(
    number: signal.Signals, silent_endpoint: str, tmp_path: Path
) -> None:
    """The run waits for a model that never answers; the trace tells when it has opened."""
    trace = tmp_path / "trace.ndjson"
    os.mkfifo(trace)
    command = [sys.executable, "-P", "-m", "app", "diagnose", QUERY, "--incident"]
    command += [str(WHOLE), "--json", "--trace", str(trace)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": silent_endpoint}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        with trace.open() as events:
            assert json.loads(events.readline())["type"] == "RUN_OPENED"
            process.send_signal(number)
            rest = events.read()
        out, err = process.communicate()
    assert process.returncode == CANCELLED
    assert Release.model_validate_json(out).outcome is ReleaseOutcome.CANCELLED
    assert "Traceback" not in err
    assert "SUCCESS" not in rest
