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
