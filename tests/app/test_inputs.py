import json
from pathlib import Path

import pytest

from app.inputs import MAX_ALERT_BYTES, MAX_QUERY_CHARS, BadInput, read_question


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


def test_a_directory_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name, line in (("missing", "No such file"), ("file", "Not a directory"), ("empty", "is empty")):
        with pytest.raises(BadInput, match=line):
            read_question("q", tmp_path / name, "zh")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
def test_alert_is_read_in_the_encodings_of_the_field(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "alert.json").write_text(json.dumps({"summary": "支付超时"}, ensure_ascii=False), encoding=encoding)
    assert read_question("q", tmp_path, "zh").alert(pytest.fail) == {"summary": "支付超时"}


@pytest.mark.parametrize("content", ["{", "[1]", "[" * 100_000, '{"a": "' + "x" * MAX_ALERT_BYTES + '"}'])
def test_alert_that_cannot_be_read_is_told_and_stops_nobody(tmp_path: Path, content: str) -> None:
    (tmp_path / "alert.json").write_text(content)
    told: list[str] = []
    assert read_question("q", tmp_path, "zh").alert(told.append) is None
    assert len(told) == 1


def test_incident_without_an_alert_has_none(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").touch()
    assert read_question("q", tmp_path, "zh").alert(pytest.fail) is None
