"""Files that machines append to: the end that the window needs, odd lines, and what a deploy's file joins."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.tools.live.changes.asking import get_change, heads, list_changes, opened
from tests.tools.live.changes.conftest import AS_OF, INCIDENT, Repository
from tests.tools.live.conformance import Conformance
from tools.base import SourceFailure
from tools.live.changes.ndjson import FileAccess, tail
from tools.live.changes.settings import DeploysSettings, FlagsSettings, GitSettings
from tools.vocabulary import Evidence, EvidenceStatus, SourceError


def written(path: Path, *records: dict[str, Any] | str) -> Path:
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records))
    return path


def flag(time: str, **fields: Any) -> dict[str, Any]:
    return {"at": f"2026-03-04T{time}Z", "flag": "new_cart", "service": "shop", "from": "off", "to": "on", **fields}


async def test_a_flag_that_was_switched_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "flags.ndjson", flag("11:20:00", actor="someone"))
    evidence = await list_changes(opened(flags=FlagsSettings(path=path)))
    assert evidence.content == ("change kind=FLAG id=new_cart service=shop at=2026-03-04T11:20:00Z change=off->on",)


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({"change": "10%->50%"}, "10%->50%"),
        ({"from": False, "to": True}, "false->true"),
        ({"from": None, "to": None, "old": 1, "new": 2}, "1->2"),
        ({"from": None, "to": {"percent": 5}}, '{"percent":_5}'),
        ({"from": None, "to": None}, "-"),
    ],
)
async def test_what_a_flag_was_switched_to_is_told_in_any_form(
    tmp_path: Path, fields: dict[str, Any], change: str
) -> None:
    path = written(tmp_path / "flags.ndjson", flag("11:20:00", **fields))
    evidence = await list_changes(opened(flags=FlagsSettings(path=path)))
    assert evidence.content[0].endswith(f" change={change}")


@pytest.mark.parametrize("said", ["2026-03-04 19:20:00", "2026-03-04T11:20:00.123456789Z", 1772623200, "1772623200000"])
async def test_times_are_read_in_any_form(tmp_path: Path, said: Any) -> None:
    path = written(tmp_path / "flags.ndjson", flag("11:20:00", at=said))
    evidence = await list_changes(opened(flags=FlagsSettings(path=path)))
    assert "at=2026-03-04T11:20:00" in evidence.content[0]
    assert evidence.notes == (("ZONE_ASSUMED:Asia/Shanghai",) if " " in str(said) else ())


async def test_broken_lines_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    odd = ['{"at": "2026-03-', "[1]", '{"flag": "no time"}', '{"at": "yesterday"}', ""]
    path = written(tmp_path / "flags.ndjson", *odd, flag("11:20:00"))
    evidence = await list_changes(opened(flags=FlagsSettings(path=path)))
    assert len(heads(evidence)) == 1
    assert evidence.notes == ("BROKEN_LINES:4",)


async def test_a_file_without_a_record_is_no_absence(tmp_path: Path) -> None:
    cases = [("broken", "not json\n", SourceError.SOURCE_UNREADABLE), ("gone", None, SourceError.SOURCE_MISSING)]
    for name, text, code in cases:
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(SourceFailure) as failure:
            await list_changes(opened(flags=FlagsSettings(path=tmp_path / name)))
        assert failure.value.code is code
        assert failure.value.__context__ is None


async def test_a_pipe_is_no_file_of_records(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "flags.ndjson")
    with pytest.raises(SourceFailure) as caught:
        await list_changes(opened(flags=FlagsSettings(path=tmp_path / "flags.ndjson", timeout_seconds=5)))
    assert caught.value.code is SourceError.SOURCE_UNREADABLE


async def test_an_empty_file_is_an_absence(tmp_path: Path) -> None:
    path = written(tmp_path / "flags.ndjson")
    evidence = await list_changes(opened(flags=FlagsSettings(path=path)))
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert not evidence.truncated


async def test_a_kind_that_no_source_tells_is_missing_and_no_absence(tmp_path: Path) -> None:
    path = written(tmp_path / "flags.ndjson")
    with pytest.raises(SourceFailure) as failure:
        await list_changes(opened(flags=FlagsSettings(path=path)), change_kind="DEPLOY")
    assert failure.value.code is SourceError.SOURCE_MISSING


def access(path: Path, **bounds: int) -> FileAccess:
    return FileAccess(path, "UTC", None, 10.0, bounds.get("max_bytes", 64 << 20))


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path) -> None:
    first = AS_OF - timedelta(days=100)
    path = tmp_path / "flags.ndjson"
    with path.open("w") as file:
        for number in range(100_000):
            at = (first + timedelta(minutes=number)).isoformat()
            file.write(json.dumps({"at": at, "flag": f"f{number}", "actor": "x" * 60}) + "\n")
    newest = first + timedelta(minutes=99_999)
    found = tail(access(path), newest - timedelta(minutes=10))
    assert [document["flag"] for _, document in found.records[:2]] == ["f99999", "f99998"]
    assert 11 <= len(found.records) <= 1_100
    assert not found.cut


def test_the_bound_on_what_is_read_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "f", *(flag("11:20:00", actor="x" * 900) for _ in range(2_500)))
    found = tail(access(path, max_bytes=1 << 20), datetime(2026, 3, 4, tzinfo=UTC))
    assert found.cut
    assert 0 < len(found.records) < 2_500


def test_a_line_without_end_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * (20 << 20) + b"\n" + json.dumps(flag("11:20:00")).encode() + b"\n")
    found = tail(access(path), datetime(2026, 3, 4, tzinfo=UTC))
    assert (len(found.records), found.cut) == (1, True)


async def test_a_flag_is_found_by_its_name_in_any_case(tmp_path: Path) -> None:
    path = written(tmp_path / "flags.ndjson", flag("01:00:00", flag="NewCart"), flag("11:00:00"))
    sources = opened(flags=FlagsSettings(path=path))
    assert "id=NewCart" in (await get_change(sources, "newcart")).content[0]
    with pytest.raises(SourceFailure) as failure:
        await get_change(sources, "new_crat")
    assert failure.value.near_names == ("NewCart", "new_cart")


def deploy(at: str, sha: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-03-04T{at}Z", "service": "stock", "commit_sha": sha, "version": "v2", **fields}


async def test_a_deploy_in_a_file_is_joined_with_the_clones_commits(tmp_path: Path, repository: Repository) -> None:
    first = repository.commit("05:00:00", "begin", stock__pool="max: 50\n")
    pool = repository.commit("06:00:00", "smaller pool", stock__pool="max: 10\n")
    last = repository.commit("06:30:00", "comment", stock__b="# x\n")
    path = written(tmp_path / "deploys", deploy("05:10:00", first), deploy("11:00:00", last[:10]))
    sources = opened(pipeline=DeploysSettings(path=path), git=GitSettings(path=repository.path))
    evidence = await list_changes(sources)
    assert [line.split()[1:3] for line in heads(evidence)] == [
        ["kind=DEPLOY", f"id={sha}"] for sha in sorted((pool, last))
    ]
    assert "  - max: 50" in evidence.content
    assert "  + max: 10" in evidence.content
    whole = await get_change(sources, last[:8])
    assert [line.split()[1] for line in heads(whole)] == ["kind=DEPLOY", "kind=COMMIT"]


async def test_a_deploy_without_its_commit_is_told_all_the_same(tmp_path: Path, repository: Repository) -> None:
    repository.commit("05:00:00", "begin", stock__pool="max: 50\n")
    path = written(tmp_path / "deploys", deploy("11:00:00", "2024.10.1"), deploy("11:05:00", "ab" * 20))
    sources = opened(pipeline=DeploysSettings(path=path), git=GitSettings(path=repository.path))
    evidence = await list_changes(sources, service="STOCK")
    assert [line.split()[2] for line in heads(evidence)] == [f"id={'ab' * 20}", "id=2024.10.1"]


async def test_what_did_not_go_live_is_no_deploy(tmp_path: Path) -> None:
    path = written(tmp_path / "d", deploy("11:00:00", "ab" * 20, status="failed"), deploy("11:05:00", "cd" * 20))
    evidence = await list_changes(opened(pipeline=DeploysSettings(path=path)))
    assert [line.split()[2] for line in heads(evidence)] == [f"id={'cd' * 20}"]


class TestConformance(Conformance):
    """What every backend keeps."""

    incident = INCIDENT

    @pytest.fixture(autouse=True)
    def _given(self, tmp_path: Path) -> None:
        self.path = written(tmp_path / "flags.ndjson", flag("10:00:00"))

    def arguments(self) -> dict[str, Any]:
        return {"service": None, "change_kind": None, "start": None, "end": None}

    async def found(self) -> Evidence:
        return await list_changes(opened(flags=FlagsSettings(path=self.path)))

    async def empty(self) -> Evidence:
        return await list_changes(opened(flags=FlagsSettings(path=self.path)), service="shop", start="11:00")

    async def unknown(self) -> Evidence:
        return await list_changes(opened(flags=FlagsSettings(path=self.path)), service="shpo")

    async def partial(self) -> Evidence:
        gone = FlagsSettings(path=self.path.parent / "gone")
        return await list_changes(opened(flags=FlagsSettings(path=self.path), other=gone))


async def test_a_release_that_no_commit_made_tells_its_own_change(tmp_path: Path) -> None:
    release = {
        "timestamp": "2026-03-04T11:20:00Z", "service": "shop", "revision": "config:7", "message": "shorter wait",
        "files": ["web.yaml"], "diff": "-wait: 9\n+wait: 1",
    }  # fmt: skip
    path = written(tmp_path / "deploys.ndjson", release)
    for evidence in (
        await list_changes(opened(ci=DeploysSettings(path=path))),
        await get_change(opened(ci=DeploysSettings(path=path)), "config:7"),
    ):
        assert evidence.content[0].endswith("files=web.yaml | shorter wait")
        assert evidence.content[1:] == ("  @ web.yaml", "  - wait: 9", "  + wait: 1")
