"""What a server may never do in its event loop: wait for a file. Shown on the sources that read files."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from blockbuster import blockbuster_ctx

from tools.base import IncidentContext
from tools.frozen.logs import load_logs
from tools.live.registry import open_evidence, settings_of
from tools.live.source import HttpAccess
from tools.live.spool import spooled
from tools.live.transport import Transport
from tools.vocabulary import EvidenceStatus

AT = IncidentContext(as_of=datetime(2026, 9, 8, 7, 0, tzinfo=UTC), zone="UTC")
LIVE = {"timestamp": "2026-09-08T06:00:00Z", "service": "payment"}


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Any]:
    clone = tmp_path / "clone"
    git = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "init", "-q", str(clone)], check=True)
    (clone / "payment.yml").write_text("pool: 5\n", encoding="utf-8")
    subprocess.run([*git, "add", "."], check=True)
    date = {"GIT_AUTHOR_DATE": "2026-09-08T05:00:00Z", "GIT_COMMITTER_DATE": "2026-09-08T05:00:00Z"}
    subprocess.run([*git, "commit", "-qm", "pool"], check=True, env={"PATH": "/usr/bin:/bin", **date})
    (tmp_path / "deploys.ndjson").write_text(json.dumps({**LIVE, "commit_sha": "abc1234567"}) + "\n", encoding="utf-8")
    (tmp_path / "flags.ndjson").write_text(
        json.dumps({**LIVE, "flag": "x", "change": "off->on"}) + "\n", encoding="utf-8"
    )
    return {
        "git": settings_of("git", {"path": str(clone)}),
        "deploys": settings_of("deploys", {"path": str(tmp_path / "deploys.ndjson")}),
        "flags": settings_of("flags", {"path": str(tmp_path / "flags.ndjson")}),
    }


@pytest.mark.parametrize("name", ["list_changes", "get_change"])
async def test_changes_of_a_clone_and_of_files_are_read_beside_the_loop(sources: dict[str, Any], name: str) -> None:
    (tool,) = (tool for tool in open_evidence(sources).tools if tool.name == name)
    said = dict.fromkeys(tool.arguments.model_fields) | ({"change_id": "abc1234567"} if name == "get_change" else {})
    arguments = tool.arguments.model_validate(said)
    scope = tool.normalize(arguments, AT)
    with blockbuster_ctx():
        evidence = await tool.collect(scope, arguments, AT)
    assert evidence.status is EvidenceStatus.EVIDENCE


async def test_records_are_spooled_beside_the_loop() -> None:
    record = {"timestamp": "2026-09-08T06:59:00Z", "service": "payment", "severity_text": "ERROR", "msg": "x"}
    with blockbuster_ctx():
        told = await spooled(
            {"logs": [record]}, {"logs": load_logs}, lambda rows, _: rows.all("SELECT service FROM logs")
        )
    assert told == [("payment",)]


async def test_a_credential_in_a_file_is_read_beside_the_loop(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret", encoding="utf-8")
    wire = httpx.MockTransport(lambda request: httpx.Response(200, json=[request.headers["authorization"]]))
    access = HttpAccess("http://plain.example", lambda: {"Authorization": file.read_text(encoding="utf-8")})
    transport = Transport(access, wire=wire)
    with blockbuster_ctx():
        assert await transport.json("GET", "/ask") == ["secret"]
