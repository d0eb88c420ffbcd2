"""A clone that means harm: protocols that run commands, fetches behind one's back, dates of no calendar."""

import pytest

from tests.tools.live.changes.asking import get_change, heads, list_changes, opened
from tests.tools.live.changes.conftest import Repository
from tools.base import SourceFailure
from tools.live.changes.process import Git
from tools.live.changes.settings import GitSettings
from tools.live.changes.source import ChangeSource
from tools.vocabulary import EvidenceStatus


def of(repository: Repository) -> dict[str, ChangeSource]:
    return opened(git=GitSettings(path=repository.path))


async def test_a_clone_cannot_allow_itself_a_protocol_that_runs_a_command(repository: Repository) -> None:
    repository.commit("09:30:00", "begin", stock__a="1\n")
    repository.git("config", "protocol.ext.allow", "always")
    ran = repository.path / "ran"
    await Git(repository.path, timeout_seconds=10).text("ls-remote", [f"ext::touch {ran}"], accept=True)
    assert not ran.exists()


async def test_a_partial_clone_fetches_nothing(repository: Repository) -> None:
    sha = repository.commit("09:30:00", "begin", stock__a="1\n")
    blob = repository.git("rev-parse", "HEAD:stock/a")
    ran = repository.path / "ran"
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"ext::touch {ran}"),
        ("protocol.ext.allow", "always"),
    ):
        repository.git("config", key, value)
    (repository.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(SourceFailure):
        await get_change(of(repository), sha)
    assert not ran.exists()


async def test_a_tag_and_a_commit_of_an_impossible_date_hide_no_other(repository: Repository) -> None:
    sha = repository.commit("09:30:00", "begin", stock__a="1\n")
    repository.deploy("10:00:00", "stock", "v1", sha)
    tagger = "tagger x <x@example.com> 99999999999999 +0000"
    tag = f"object {sha}\ntype commit\ntag deploy/stock/v2\n{tagger}\n\nx\n"
    made = repository.git("hash-object", "-t", "tag", "-w", "--stdin", text=tag.encode())
    repository.git("update-ref", "refs/tags/deploy/stock/v2", made)
    evidence = await list_changes(of(repository), change_kind="DEPLOY")
    assert [line.split()[2] for line in heads(evidence)] == [f"id={sha}"]
    tree = repository.git("rev-parse", "HEAD^{tree}")
    who = "x <x@example.com> 99999999999999 +0000"
    commit = f"tree {tree}\nparent {sha}\nauthor {who}\ncommitter {who}\n\nfar away\n"
    far = repository.git("hash-object", "-t", "commit", "-w", "--stdin", text=commit.encode())
    repository.git("update-ref", "HEAD", far)
    assert (await get_change(of(repository), far)).status is EvidenceStatus.EVIDENCE
