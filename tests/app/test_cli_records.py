"""`diagnose --record` and `verify` on the bundled incidents, with the embedded model."""

import json
import socket
import sys
from pathlib import Path

import pytest

from app.cli import main
from app.demo import INCIDENTS
from tests.app.test_cli_runs import own_home as own_home

Captured = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def leave(monkeypatch: Patch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["zhizhi", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    assert isinstance(left.value.code, int)
    return left.value.code


def diagnose(monkeypatch: Patch, incident: str, record: Path) -> int:
    directory = INCIDENTS / incident
    return leave(monkeypatch, "diagnose", "支付超时", "--incident", directory, "--json", "--record", record)


@pytest.mark.parametrize("incident", sorted(place.name for place in INCIDENTS.iterdir() if place.is_dir()))
def test_the_record_of_a_bundled_incident_verifies_without_a_network(
    incident: str, tmp_path: Path, monkeypatch: Patch, capsys: Captured
) -> None:
    record = tmp_path / "run.json"
    assert diagnose(monkeypatch, incident, record) == 0
    released = json.loads(capsys.readouterr().out)
    assert json.loads(record.read_text())["outputs"]["release"] == released
    monkeypatch.delattr(socket, "create_connection")
    assert leave(monkeypatch, "verify", record) == 0
    assert capsys.readouterr().out == f"{record}: verified\n"


def test_a_changed_record_is_told_by_its_path(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    whole, changed = tmp_path / "whole.json", tmp_path / "changed.json"
    assert diagnose(monkeypatch, "payment-timeout", whole) == 0
    record = json.loads(whole.read_text())
    tokens = record["outputs"]["budget"]["tokens"]
    record["outputs"]["budget"]["tokens"] = tokens + 1
    changed.write_text(json.dumps(record))
    capsys.readouterr()
    assert leave(monkeypatch, "verify", whole, changed) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{whole}: verified",
        f"{changed}: DIFFERS at outputs.budget.tokens: expected {tokens}, found {tokens + 1}",
    ]


def test_a_key_signs_and_is_asked_for(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    record, key = tmp_path / "run.json", tmp_path / "key"
    key.write_text("a key of the file\n")
    monkeypatch.setenv("HARNESS_RECORD_KEY_FILE", str(key))
    assert diagnose(monkeypatch, "payment-timeout-no-changes", record) == 0
    capsys.readouterr()
    assert leave(monkeypatch, "verify", record) == 0
    assert capsys.readouterr().out == f"{record}: verified, signature included\n"
    monkeypatch.setenv("HARNESS_RECORD_KEY", "another")
    assert leave(monkeypatch, "verify", record) == 1
    assert capsys.readouterr().out.startswith(f"{record}: DIFFERS at signature: ")
    monkeypatch.delenv("HARNESS_RECORD_KEY")
    monkeypatch.delenv("HARNESS_RECORD_KEY_FILE")
    assert leave(monkeypatch, "verify", record) == 0
    assert "no key is configured" in capsys.readouterr().out


def test_bad_input_is_one_line(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    (tmp_path / "text").write_text("no record")
    for arguments in (
        ("verify", tmp_path / "text"),
        ("verify", tmp_path / "nothing"),
        ("diagnose", "why", "--incident", INCIDENTS / "payment-timeout", "--record", tmp_path / "no" / "run.json"),
        ("diagnose", "why", "--incident", INCIDENTS / "payment-timeout", "--record", tmp_path),
    ):
        assert leave(monkeypatch, *arguments) == 2
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1)
    monkeypatch.setenv("HARNESS_RECORD_KEY_FILE", str(tmp_path / "nothing"))
    assert leave(monkeypatch, "verify", tmp_path / "text") == 2
    assert "HARNESS_RECORD_KEY_FILE" in capsys.readouterr().err
