import io
import json
from pathlib import Path

import pytest

from app.inputs import MAX_QUERY_CHARS, BadInput, read_question


@pytest.fixture
def incident(tmp_path: Path) -> Path:
    (tmp_path / "alert.json").write_text('{"service": "pay"}')
    return tmp_path


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("", "QUERY is empty"),
        (" \n\t", "QUERY is empty"),
        ("x" * (MAX_QUERY_CHARS + 1), "at most 8,000"),
        ("a\udcff", "use UTF-8"),
    ],
)
def test_a_query_that_says_nothing_or_cannot_be_sent_is_refused(incident: Path, query: str, line: str) -> None:
    with pytest.raises(BadInput, match=line):
        read_question(query, incident, "zh")


def test_a_path_that_holds_no_incident_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name, line in (("missing", "no such"), ("file", "not a directory"), ("empty", "none of its files is there")):
        with pytest.raises(BadInput, match=line):
            read_question("q", tmp_path / name, "zh")


@pytest.mark.parametrize("content", ["{", "1", "[" * 100_000])
def test_an_alert_that_cannot_be_read_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "alert.json").write_text(content)
    with pytest.raises(BadInput, match="unreadable alert"):
        read_question("q", tmp_path, "zh")


def test_a_question_brings_its_alert(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").touch()
    assert read_question("q", tmp_path, "zh").alert is None
    (tmp_path / "alert.json").write_text('{"summary": "支付超时"}', encoding="gb18030")
    assert read_question("q", tmp_path, "zh").alert == {"summary": "支付超时"}


WEBHOOK = {
    "version": "4",
    "status": "firing",
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "PaymentErrors", "service": "payment", "severity": "critical"},
            "annotations": {"summary": "payments fail"},
            "startsAt": "2026-09-08T07:02:00Z",
        }
    ],
}


def test_an_alert_is_taken_as_alertmanager_sends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "webhook.json"
    file.write_text(json.dumps(WEBHOOK), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    for named in (file, Path("-")):
        alert = read_question("q", None, "zh", alert=named).alert
        assert alert is not None
        assert (alert["service"], alert["fired_at"]) == ("payment", "2026-09-08T07:02:00+00:00")


def test_an_alert_given_beside_an_incident_counts(incident: Path) -> None:
    file = incident / "given.json"
    file.write_text('{"service": "order", "summary": "slow"}', encoding="utf-8")
    question = read_question("q", incident, "zh", alert=file)
    assert question.alert == {"service": "order", "summary": "slow"}


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "1", "[" * 100_000, '{"alerts": []}'])
def test_a_file_that_holds_no_alert_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "alert.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match="holds no alert: expected JSON as Alertmanager"):
        read_question("q", None, "zh", alert=file)


def test_a_file_that_is_too_large_for_an_alert_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "alert.json"
    file.write_text('"' + "x" * (1 << 20), encoding="utf-8")
    with pytest.raises(BadInput, match="is larger than 1 MiB"):
        read_question("q", None, "zh", alert=file)


def test_an_alert_file_that_is_not_there_is_told_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"alert file .*missing\.json can't be read: No such file"):
        read_question("q", None, "zh", alert=tmp_path / "missing.json")
