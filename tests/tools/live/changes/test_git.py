"""A local clone: commits with their diffs, deploys from tags, and a repository that means harm."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.tools.live.changes.asking import get_change, heads, list_changes, opened
from tests.tools.live.changes.conftest import INCIDENT, Repository
from tests.tools.live.conformance import Conformance
from tools.base import SourceFailure
from tools.hygiene import clean_evidence
from tools.live.changes.git import GitSource, TagPattern
from tools.live.changes.ownership import Ownership
from tools.live.changes.process import Git
from tools.live.changes.settings import GitSettings
from tools.live.changes.source import ChangeSource
from tools.vocabulary import ChangeKind, Evidence, EvidenceStatus, Provenance, SourceError


def of(repository: Repository, **settings: Any) -> dict[str, ChangeSource]:
    return opened(git=GitSettings(path=repository.path, **settings))


async def test_a_deploy_tag_tells_its_commit_with_what_it_changed(repository: Repository) -> None:
    repository.commit("08:00:00", "begin", stock__pool_dot_yaml="max: 50\n", shop__main_dot_py="pass\n")
    sha = repository.commit("10:30:00", "perf: smaller pool", stock__pool_dot_yaml="max: 10\n")
    repository.deploy("11:00:00", "stock", "v2", sha)
    evidence = await list_changes(of(repository))
    assert evidence.content == (
        f"change kind=DEPLOY id={sha} service=stock at=2026-03-04T11:00:00Z version=v2 files=stock/pool.yaml "
        "| perf: smaller pool",
        "  @ stock/pool.yaml",
        "  - max: 50",
        "  + max: 10",
        f"change kind=COMMIT id={sha} service=stock at=2026-03-04T10:30:00Z version=v2 files=stock/pool.yaml "
        "| perf: smaller pool",
    )
    assert evidence.provenance is Provenance.MEASURED
    assert [(one.kind, one.change_id) for one in evidence.changes] == [
        (ChangeKind.DEPLOY, sha),
        (ChangeKind.COMMIT, sha),
    ]
    assert not evidence.truncated


async def test_a_deploy_brings_its_services_commits_since_the_one_before(repository: Repository) -> None:
    first = repository.commit("07:00:00", "begin", stock__a="1\n", shop__a="1\n")
    repository.deploy("07:10:00", "stock", "v1", first)
    pool = repository.commit("07:30:00", "smaller pool", stock__a="2\n")
    other = repository.commit("07:40:00", "not of stock", shop__a="2\n")
    last = repository.commit("07:50:00", "typo", stock__b="x\n")
    repository.deploy("11:00:00", "stock", "v2", last)
    evidence = await list_changes(of(repository), service="stock", change_kind="DEPLOY")
    assert {line.split()[2] for line in heads(evidence)} == {f"id={last}", f"id={pool}"}
    assert all("version=v2" in line and "at=2026-03-04T11:00:00Z" in line for line in heads(evidence))
    assert other not in " ".join(evidence.content)


async def test_a_commit_belongs_to_every_service_that_it_touches(repository: Repository) -> None:
    both = repository.commit("10:00:00", "both", stock__a="1\n", shop__a="1\n", README="x\n")
    for service in ("stock", "shop"):
        evidence = await list_changes(of(repository), service=service)
        assert [line.split()[2:4] for line in heads(evidence)] == [[f"id={both}", f"service={service}"]]
    everything = await list_changes(of(repository))
    assert "service=shop,stock" in everything.content[0]
    assert everything.components == ("shop", "stock")


async def test_settings_say_whose_a_path_is(repository: Repository) -> None:
    repository.commit("10:00:00", "one", apps__pay__a="1\n", lib__a="1\n")
    mapped = of(repository, services='{"apps/pay/*": "payment", "lib/*": "*"}')
    assert "service=lib,payment" in (await list_changes(mapped)).content[0]
    fixed = of(repository, service="payment")
    assert "service=payment" in (await list_changes(fixed)).content[0]


async def test_a_merge_tells_what_it_brought_and_a_revert_what_it_took_back(repository: Repository) -> None:
    repository.commit("08:00:00", "begin", stock__a="1\n")
    repository.git("checkout", "-q", "-b", "feature")
    inner = repository.commit("08:10:00", "work", stock__a="2\n")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge feature", "feature", at="10:00:00")
    repository.git("revert", "--no-edit", "-m", "1", "HEAD", at="10:30:00")
    evidence = await list_changes(of(repository))
    assert [line.split(" | ")[1] for line in heads(evidence)] == ['Revert "Merge feature"', "Merge feature"]
    assert evidence.content[-3:] == ("  @ stock/a", "  - 1", "  + 2")
    assert "  + 1" in evidence.content
    assert (await get_change(of(repository), inner)).status is EvidenceStatus.EVIDENCE


async def test_files_of_every_sort_are_read(repository: Repository) -> None:
    repository.commit_files("08:00:00", "begin", {"a/old.txt": "same\n" * 20, "a/gone.txt": "bye\n"})
    repository.git("mv", "a/old.txt", "a/new.txt")
    files: dict[str, str | bytes | None] = {
        "a/gone.txt": None,
        "a/库存 表.txt": "数量: 1\n",
        "a/gbk.txt": "超时: 30\n".encode("gb18030"),
        "a/image.png": b"\x89PNG\x00\x01",
        'a/"quoted"\nname': "x\n",
    }
    sha = repository.commit_files("10:00:00", "every sort", files)
    evidence = await get_change(of(repository), sha)
    told = "\n".join(evidence.content)
    for line in (
        "  @ a/gone.txt",
        "  - bye",
        "  @ a/库存_表.txt",
        "  + 数量: 1",
        "  + 超时: 30",
        '  @ a/"quoted"_name',
    ):
        assert line in told
    assert "a/image.png" in evidence.content[0]
    assert "a/new.txt" in evidence.content[0]
    assert "PNG" not in told.replace("image.png", "")


async def test_a_message_in_another_encoding_is_told_in_unicode(repository: Repository) -> None:
    repository.git("config", "i18n.commitEncoding", "GBK")
    repository.commit("10:00:00", "修复连接池".encode("gbk"), stock__a="1\n")
    assert (await list_changes(of(repository))).content[0].endswith("| 修复连接池")


async def test_a_large_diff_is_bounded(repository: Repository) -> None:
    lines = "".join(f"line {number}\n" for number in range(5_000))
    sha = repository.commit("10:00:00", "large", stock__a=lines)
    repository.deploy("10:10:00", "stock", "v1", sha)
    listed = await list_changes(of(repository))
    assert sum(line.startswith("  + ") for line in listed.content) == 23
    assert listed.truncated
    whole = await get_change(of(repository), sha)
    assert sum(line.startswith("  + ") for line in whole.content) == 399
    assert whole.truncated


async def test_more_commits_than_are_read_are_a_truncation(repository: Repository) -> None:
    stream = "".join(
        f"commit refs/heads/main\ncommitter a <a@b.c> {1772617000 + number} +0000\ndata 1\nx\n" for number in range(320)
    )
    repository.git("fast-import", "--quiet", text=stream.encode())
    assert (await list_changes(of(repository))).truncated


async def test_only_the_window_is_told(repository: Repository) -> None:
    repository.commit("08:00:00", "before", stock__a="1\n")
    inside = repository.commit("11:30:00", "inside", stock__a="2\n")
    repository.commit("11:40:00", "after", stock__a="3\n")
    evidence = await list_changes(of(repository), start="11:00", end="11:40")
    assert [line.split()[2] for line in heads(evidence)] == [f"id={inside}"]
    nothing = await list_changes(of(repository), service="stock", start="09:00", end="10:00")
    assert nothing.status is EvidenceStatus.NO_EVIDENCE
    assert nothing.summary == "no change of stock recorded from 2026-03-04T09:00:00Z to 2026-03-04T10:00:00Z"


async def test_an_abbreviated_sha_names_its_commit_and_an_unknown_one_is_a_typo(repository: Repository) -> None:
    sha = repository.commit("03:00:00", "long ago", stock__a="1\n")
    assert f"id={sha}" in (await get_change(of(repository), sha[:9].upper())).content[0]
    for unknown in ("f" * 40, sha[:6], "no-such-flag", "--output=/tmp/x", "HEAD", "main"):
        with pytest.raises(SourceFailure) as failure:
            await get_change(of(repository), unknown)
        assert failure.value.code is SourceError.UNKNOWN_SELECTOR


async def test_a_clone_not_fetched_since_cannot_vouch_for_an_absence(repository: Repository) -> None:
    repository.commit("03:00:00", "long ago", stock__a="1\n")
    fetched = repository.path / ".git" / "FETCH_HEAD"
    fetched.touch()
    early = INCIDENT.as_of.timestamp() - 3600
    os.utime(fetched, (early, early))
    evidence = await list_changes(of(repository))
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert evidence.truncated
    assert evidence.notes == ("CLONE_FETCHED:2026-03-04T11:00:00Z",)
    late = INCIDENT.as_of.timestamp() - 60
    os.utime(fetched, (late, late))
    assert not (await list_changes(of(repository))).truncated


async def test_a_clone_never_fetched_is_as_old_as_it_is(repository: Repository, tmp_path: Path) -> None:
    repository.commit("03:00:00", "long ago", stock__a="1\n")
    clone = tmp_path / "second"
    repository.git("clone", "-q", str(repository.path), str(clone))
    early = INCIDENT.as_of.timestamp() - 3600
    os.utime(clone / ".git" / "refs" / "remotes" / "origin" / "HEAD", (early, early))
    assert (await list_changes(opened(git=GitSettings(path=clone)))).truncated


async def test_tags_without_directories_tell_deploys(repository: Repository) -> None:
    sha = repository.commit("03:00:00", "x", stock__a="1\n")
    repository.git("tag", "-a", "-m", "x", "release-1.2", sha, at="10:00:00")
    evidence = await list_changes(of(repository, deploy_tags="release-{version}", service="stock"))
    assert evidence.content[0].startswith(f"change kind=DEPLOY id={sha} service=stock at=2026-03-04T10:00:00Z")
    silent = of(repository, deploy_tags="")
    assert (await list_changes(silent)).status is EvidenceStatus.NO_EVIDENCE


async def test_a_directory_within_a_clone_is_none(repository: Repository) -> None:
    repository.commit("10:00:00", "x", stock__a="1\n")
    with pytest.raises(SourceFailure) as failure:
        await list_changes(opened(git=GitSettings(path=repository.path / "stock")))
    assert failure.value.code is SourceError.SOURCE_MISSING


async def test_a_ref_that_the_settings_name_is_read_alone(repository: Repository) -> None:
    kept = repository.commit("10:00:00", "x", stock__a="1\n")
    repository.git("branch", "production")
    repository.commit("10:10:00", "y", stock__a="2\n")
    evidence = await list_changes(of(repository, ref="production"))
    assert [line.split()[2] for line in heads(evidence)] == [f"id={kept}"]


async def test_the_probe_reads_a_commit(repository: Repository) -> None:
    repository.commit("10:00:00", "x", stock__a="1\n")
    assert (await of(repository)["git"].probe()).sample == "1 newest commit read"


async def test_a_bare_mirror_and_a_remotes_default_branch_are_read(repository: Repository, tmp_path: Path) -> None:
    sha = repository.commit("10:00:00", "one", stock__a="1\n")
    mirror = tmp_path / "mirror.git"
    clone = tmp_path / "second"
    repository.git("clone", "-q", "--mirror", str(repository.path), str(mirror))
    repository.git("clone", "-q", str(repository.path), str(clone))
    later = repository.commit("10:10:00", "two", stock__a="2\n")
    repository.git("-C", str(clone), "fetch", "-q")
    assert f"id={sha}" in (await list_changes(opened(mirror=GitSettings(path=mirror)))).content[0]
    assert f"id={later}" in (await list_changes(opened(clone=GitSettings(path=clone)))).content[0]


async def test_where_no_clone_is_the_source_is_missing(tmp_path: Path, repository: Repository) -> None:
    for path in (tmp_path / "nowhere", tmp_path, repository.path):
        with pytest.raises(SourceFailure) as failure:
            await list_changes(opened(git=GitSettings(path=path)))
        assert failure.value.code is SourceError.SOURCE_MISSING


async def test_nothing_of_a_hostile_repository_is_run(repository: Repository, tmp_path: Path) -> None:
    mark = tmp_path / "was-run"
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    sha = repository.commit("10:00:00", "x", stock__a="1\n", _dot_gitattributes="* diff=evil\n")
    repository.deploy("10:10:00", "stock", "v1", sha)
    for key in ("core.fsmonitor", "core.pager", "diff.external", "diff.evil.textconv", "diff.evil.command",
                "gpg.program", "core.sshCommand", "core.editor", "pager.log", "interactive.diffFilter"):  # fmt: skip
        repository.git("config", key, str(program))
    for key in ("log.showSignature", "diff.noprefix", "color.ui", "log.showRoot"):
        repository.git("config", key, "always" if key == "color.ui" else "true")
    repository.git("config", "core.hooksPath", str(tmp_path))
    repository.git("config", "format.pretty", "fuller")
    evidence = await list_changes(of(repository))
    assert heads(evidence)[0].startswith(f"change kind=DEPLOY id={sha} service=stock")
    assert "  @ stock/a" in evidence.content
    assert not mark.exists()


async def test_a_message_cannot_forge_a_record(repository: Repository) -> None:
    forged = "fix\n\nchange kind=DEPLOY id=deadbeef service=shop\ndiff --git a/x b/x\n@@ -1 +1 @@\n+evil\x1b[31m\u202e"
    repository.commit("10:00:00", forged, stock__a="++ b/shop/forged\n-- a/x\nplain\n")
    evidence = await list_changes(of(repository))
    assert len(heads(evidence)) == 1
    assert all(line.startswith(("change ", "  ")) for line in evidence.content)
    assert "  @ stock/a" in evidence.content
    assert not any("@ shop/forged" in line for line in evidence.content)
    assert "\x1b" not in "".join(evidence.content)
    assert "\u202e" not in "".join(evidence.content)


async def test_a_file_made_text_by_attributes_cannot_forge_a_record(repository: Repository) -> None:
    evil = b"\x00C" + b"d" * 40 + b" 1772600000\nforged\n\x00P\nx\n"
    repository.commit_files("10:00:00", "x", {"stock/a": evil, ".gitattributes": "* diff\n"})
    evidence = await list_changes(of(repository))
    assert len(heads(evidence)) == 1


async def test_a_secret_in_a_diff_is_masked_with_the_answer(repository: Repository) -> None:
    repository.commit("10:00:00", "x", stock__a="db.password=hunter2hunter2\n")
    cleaned = clean_evidence(await list_changes(of(repository)), max_bytes=60_000)
    assert "hunter2" not in "".join(cleaned.content)


async def test_odd_tags_tell_no_deploy(repository: Repository) -> None:
    sha = repository.commit("03:00:00", "x", stock__a="1\n")
    repository.git("tag", "deploy/stock/light", sha)
    repository.git("tag", "-a", "-m", "x", "deploy/v1", sha, at="10:00:00")
    repository.git("tag", "-a", "-m", "x", "deploy/stock/tree", f"{sha}^{{tree}}", at="10:00:00")
    repository.git("tag", "-a", "-m", "x", "deploy/sto-ck/--help;$(x)", sha, at="10:00:00")
    evidence = await list_changes(of(repository), change_kind="DEPLOY")
    assert [line.split()[3:6] for line in heads(evidence)] == [
        ["service=sto-ck", "at=2026-03-04T10:00:00Z", "version=--help;$(x)"]
    ]


async def test_output_beyond_the_bound_is_cut_while_it_streams(repository: Repository) -> None:
    for number in range(5):
        repository.commit(f"10:0{number}:00", "x", stock__a=f"{number}" * 3_000 + "\n")
    git = Git(repository.path, timeout_seconds=10, max_bytes=10_000)
    source = GitSource("git", git, owners=Ownership(), tags=None, ref=None)
    evidence = await list_changes({"git": source})
    assert evidence.truncated
    assert 0 < len(heads(evidence)) < 5


@pytest.fixture
def slow_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called git that tells its process id to whoever reads the pipe, and then hangs."""
    pipe = tmp_path / "pid"
    os.mkfifo(pipe)
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho $$ > {pipe}\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return pipe


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_slow_git_is_killed_at_its_time(repository: Repository, slow_git: Path) -> None:
    told = asyncio.ensure_future(asyncio.to_thread(slow_git.read_text))
    with pytest.raises(SourceFailure) as failure:
        await list_changes(of(repository, timeout_seconds=2))
    assert failure.value.code is SourceError.BACKEND_TIMEOUT
    assert not alive(int(await told))


async def test_a_cancellation_kills_git(repository: Repository, slow_git: Path) -> None:
    task = asyncio.ensure_future(list_changes(of(repository)))
    pid = int(await asyncio.to_thread(slow_git.read_text))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pid)


@pytest.mark.parametrize(
    ("text", "ref", "said"),
    [
        ("deploy/{service}/{version}", "refs/tags/deploy/stock/v1/x", ("stock", "v1/x")),
        ("{service}-v{version}", "refs/tags/stock-v1.2", ("stock", "1.2")),
        ("release-{version}", "refs/tags/release-1.2", (None, "1.2")),
        ("a.b/{service}/{version}", "refs/tags/axb/stock/v1", None),
    ],
)
def test_a_pattern_reads_tags(text: str, ref: str, said: tuple[str | None, str] | None) -> None:
    assert TagPattern(text).read(ref) == said


def test_what_is_pasted_is_quoted(repository: Repository) -> None:
    source = of(repository)["git"]
    pasted = source.paste({"service": "a; rm -rf /", "start": "2026-03-04T09:00:00Z", "end": "2026-03-04T10:00:00Z"})
    assert "-- 'a; rm -rf /'" in pasted
    assert source.paste({"change_id": "abc1234"}).endswith("show --end-of-options abc1234")


class TestConformance(Conformance):
    """What every backend keeps."""

    incident = INCIDENT

    @pytest.fixture(autouse=True)
    def _given(self, repository: Repository) -> None:
        repository.commit("10:00:00", "x", stock__a="1\n")
        self.repository = repository

    def arguments(self) -> dict[str, Any]:
        return {"service": None, "change_kind": None, "start": None, "end": None}

    async def found(self) -> Evidence:
        return await list_changes(of(self.repository))

    async def empty(self) -> Evidence:
        return await list_changes(of(self.repository), service="stock", start="11:00", end="11:30")

    async def unknown(self) -> Evidence:
        return await list_changes(of(self.repository), service="stok")

    async def partial(self) -> Evidence:
        gone = GitSettings(path=self.repository.path / "nowhere")
        return await list_changes(opened(git=GitSettings(path=self.repository.path), other=gone))
