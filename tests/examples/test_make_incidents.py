"""The bundled incidents are what their script writes, and hold what they are there to show."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from examples.make_incidents import ONSET, WITHHELD, incident_files, write

INCIDENTS = Path(__file__).parents[2] / "examples" / "incidents"
WHOLE = INCIDENTS / "payment-timeout"
BARE = INCIDENTS / "payment-timeout-no-changes"


def contents(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def read(name: str) -> Any:
    return json.loads((WHOLE / name).read_text(encoding="utf-8"))


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_writing_them_again_gives_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path)
    assert contents(tmp_path) == contents(INCIDENTS) == incident_files()


def test_the_guilty_deploy_comes_minutes_before_the_onset_and_innocent_changes_stand_around_it() -> None:
    deploys = [
        (deploy["service"], datetime.fromisoformat(deploy["timestamp"])) for deploy in read("context/deploys.json")
    ]
    guilty = dict(deploys)["payment-service"]
    alert = read("alert.json")
    assert 0 < (ONSET - guilty).total_seconds() < 600
    assert guilty < dict(deploys)[alert["service"]] < datetime.fromisoformat(alert["fired_at"])
    assert any(flag["service"] == alert["service"] for flag in read("context/flags.json"))
    assert {deploy["commit_sha"] for deploy in read("context/deploys.json")} < {
        commit["sha"] for commit in read("context/commits.json")
    }


def test_callees_outlast_the_wait_that_the_guilty_change_left_them() -> None:
    spans = {span["span_id"]: span for span in read("traces.json")}
    served = [span for span in spans.values() if span["name"] == "Adapter.charge"]
    given_up = [span for span in served if spans[span["parent_id"]]["status"] == "ERROR"]
    assert given_up
    assert min(span["duration_ms"] for span in served) > 500
    assert {span["status"] for span in served} == {"OK"}
    assert all(300 <= spans[span["parent_id"]]["duration_ms"] < 310 for span in given_up)


def test_logs_are_bilingual_with_stack_traces_and_the_error_is_new() -> None:
    logs = lines(WHOLE / "logs.ndjson")
    timeouts = [log for log in logs if "\nCaused by: java.net.SocketTimeoutException" in log["msg"]]
    assert 600 <= len(logs) <= 1_500
    assert timeouts
    assert all(datetime.fromisoformat(log["timestamp"]) >= ONSET for log in timeouts)
    assert all("支付渠道调用失败" in log["msg"] for log in timeouts)


def test_without_changes_only_victims_are_left() -> None:
    assert not (BARE / "context").exists()
    assert not (BARE / "traces.json").exists()
    assert not WITHHELD & {log["service"] for log in lines(BARE / "logs.ndjson")}
    assert not [name for name in WITHHELD if f",{name}," in (BARE / "metrics.csv").read_text(encoding="utf-8")]
    assert (BARE / "alert.json").read_bytes() == (WHOLE / "alert.json").read_bytes()
