import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from app.live import HANGING, Live, TraceFile, progress_line
from app.terminal import PIPE_COLUMNS
from app.words import words_for

ASKED = {"kind": "ASKED", "call_id": "r1c1", "tool_name": "query_metrics", "scope": {"service": "pay", "metric": None}}
EVENTS: list[tuple[dict[str, Any], str]] = [
    (ASKED, "→ r1c1 query_metrics service=pay"),
    (
        {
            "kind": "ANSWERED",
            "call_id": "r1c1",
            "tool_name": "query_metrics",
            "evidence_status": "EVIDENCE",
            "summary": "[red]p99 4 s\x1b[0m",
            "truncated": True,
        },
        "← r1c1 query_metrics evidence (result cut short): [red]p99 4 s[0m",
    ),
    (
        {
            "kind": "FAILED",
            "call_id": "r1c2",
            "tool_name": "search_logs",
            "code": "UNKNOWN_SELECTOR",
            "near_names": ["pay", "payout"],
        },
        "← r1c2 search_logs no answer: the source has never seen a name that was asked for; it may be misspelt; "
        "near names: pay, payout",
    ),
    (
        {"kind": "SETTLED", "call_id": "r1c1", "information_gain": "NO_GAIN", "by": "RULE"},
        "  r1c1 gain: no gain (by rule)",
    ),
    (
        {"kind": "SETTLED", "call_id": "r1c1", "information_gain": "GAINED", "by": "MODEL"},
        "  r1c1 gain: gained (by the model)",
    ),
    (
        {
            "kind": "REJECTED",
            "call_id": "r1c3",
            "tool_name": "list_changes",
            "code": "INVALID_PROGRESS_PROTOCOL",
            "violation_type": "MISSING_PREVIOUS_OBSERVATION",
        },
        "✗ r1c3 list_changes refused: the previous observation was not evaluated as agreed: "
        "previous_observation is missing",
    ),
    (
        {"kind": "REJECTED", "call_id": "r1c3", "tool_name": "x", "code": "DUPLICATE_SCOPE", "violation_type": None},
        "✗ r1c3 x refused: the same scope was asked before",
    ),
    (
        {"kind": "STOP", "reason": "INFORMATION_SATURATED"},
        "■ further queries brought nothing new, so collection stopped",
    ),
    ({"kind": "HANDED_OVER"}, "■ the model's service can't be reached; the embedded offline model goes on"),
]


@pytest.mark.parametrize(("event", "line"), EVENTS, ids=lambda value: value["kind"] if isinstance(value, dict) else "")
def test_each_event_has_its_line(event: dict[str, Any], line: str) -> None:
    shown = progress_line(event, words_for("en"))
    assert shown is not None
    assert shown.plain == line


def test_progress_goes_to_standard_error_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with Live(words_for("en")) as live:
        live({"stream": "progress", **ASKED})
        live({"stream": "trace", "event": {"type": "RUN_OPENED"}})
        live({"stream": "progress", "kind": "OF_A_LATER_VERSION"})
        live.note("a [b] note")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "→ r1c1 query_metrics service=pay\nzhizhi: a [b] note\n"


def test_a_reader_of_standard_error_that_has_gone_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with open(write_end, "w", buffering=1) as gone:
        monkeypatch.setattr(sys, "stderr", gone)
        with Live(words_for("en")) as live:
            for _ in range(3):
                live({"stream": "progress", **ASKED})
        monkeypatch.undo()


def test_long_lines_are_set_in_below_their_first(capsys: pytest.CaptureFixture[str]) -> None:
    answer = {**EVENTS[1][0], "stream": "progress", "summary": "word " * 50}
    with Live(words_for("en")) as live:
        live(answer)
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.startswith("← r1c1")
    assert len(rest) == 3
    assert all(line.startswith(" " * HANGING + "word") and len(line) <= PIPE_COLUMNS for line in rest)


def test_trace_file_holds_the_trace_events_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "trace.ndjson"
    trace = TraceFile(path)
    trace({"stream": "progress", **ASKED})
    trace({"stream": "trace", "event": {"seq": 0, "type": "RUN_OPENED"}})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"seq": 0, "type": "RUN_OPENED"}]
    trace({"stream": "trace", "event": {"seq": 1, "type": "RELEASE"}})
    assert trace.close() is None
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_trace_file_on_a_full_disk_says_so_once_and_stops_nobody() -> None:
    trace = TraceFile(Path("/dev/full"))
    for number in range(2):
        trace({"stream": "trace", "event": {"seq": number}})
    assert trace.close() == "No space left on device"


def test_trace_file_that_cannot_be_opened_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        TraceFile(tmp_path / "missing" / "trace.ndjson")
