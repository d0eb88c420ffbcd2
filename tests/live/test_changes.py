"""A team's changes from everywhere at once: a real clone, a file of flags, and servers of our own that keep to the
documented APIs of GitHub, Argo CD, Nacos and Apollo. Needs the `git` program."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.live.servers.apollo import ApolloStore, start_apollo
from tests.live.servers.argocd import ArgoCdStore, start_argocd
from tests.live.servers.github import GitHubRepository, GitHubStore, start_github
from tests.live.servers.nacos import NacosStore, start_nacos
from tools.base import EvidenceTool, IncidentContext
from tools.hygiene import clean_evidence
from tools.live.changes.tools import tools_of
from tools.live.changes.settings import (
    ApolloSettings,
    ArgoCdSettings,
    FlagsSettings,
    GitHubSettings,
    GitSettings,
    NacosSettings,
)
from tools.live.changes.source import ChangeSource
from tools.live.doctor import examine
from tools.live.source import SourceSettings
from tools.vocabulary import ChangeKind, Evidence, EvidenceStatus

TOKEN = "the-team-token"
INCIDENT = IncidentContext(as_of=datetime(2026, 3, 4, 12, 0, tzinfo=UTC), zone="UTC")

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here; Debian's package `git` brings it")


def git(path: Path, *arguments: str, at: str) -> str:
    dated = {"NAME": "x", "EMAIL": "x@example.com", "DATE": f"2026-03-04T{at}+00:00"}
    people = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in dated.items()}
    environment = {"PATH": os.environ["PATH"], "HOME": str(path), "GIT_CONFIG_NOSYSTEM": "1"} | people
    done = subprocess.run(["git", "-C", path, *arguments], env=environment, check=True, capture_output=True)
    return done.stdout.decode().strip()


def commit(path: Path, at: str, message: str, content: str) -> str:
    (path / "stock").mkdir(exist_ok=True)
    (path / "stock" / "pool.yaml").write_text(content)
    git(path, "add", "-A", at=at)
    git(path, "commit", "-q", "-m", message, at=at)
    return git(path, "rev-parse", "HEAD", at=at)


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, str, str]:
    """A clone with the service stock's last two commits, long before the window."""
    path = tmp_path / "clone"
    path.mkdir()
    git(path, "init", "-q", "-b", "main", at="01:00:00")
    return path, commit(path, "01:00:00", "begin", "max: 50\n"), commit(path, "02:00:00", "smaller pool", "max: 10\n")


@pytest.fixture
def sources(tmp_path: Path, clone: tuple[Path, str, str]) -> Iterator[dict[str, ChangeSource]]:
    """Everything that the team has, opened: each source has recorded one change of the window."""
    path, old, new = clone
    github = GitHubRepository(commits=[(new, "2026-03-04T02:00:00Z", "smaller pool", {})])
    github.deploy(1, old, "2026-03-03T09:00:00Z", {"success": "2026-03-03T09:05:00Z"})
    github.deploy(2, new, "2026-03-04T10:00:00Z", {"success": "2026-03-04T10:05:00Z"}, ref="v2")
    argocd = ArgoCdStore(TOKEN)
    argocd.add("shop", {"revision": "d4" * 20, "deployedAt": "2026-03-04T10:10:00Z"})
    nacos = NacosStore(TOKEN)
    nacos.publish("2026-03-01T10:00:00", "stock.yaml", "timeout: 500\npassword: one\n")
    nacos.publish("2026-03-04T10:20:00", "stock.yaml", "timeout: 50\npassword: two\n")
    apollo = ApolloStore(TOKEN)
    apollo.release("2026-03-01T10:00:00.000+0800", "shop", {"retries": "3"})
    apollo.release("2026-03-04T18:30:00.000+0800", "shop", {"retries": "0"})
    flags = tmp_path / "flags.ndjson"
    flags.write_text(
        json.dumps({"at": "2026-03-04T10:40:00Z", "flag": "new_cart", "service": "shop", "from": 0, "to": 1})
    )
    with ExitStack() as stack:
        settings: dict[str, SourceSettings] = {
            "git": GitSettings(path=path),
            "github": GitHubSettings(
                url=stack.enter_context(start_github(GitHubStore(TOKEN, {"team/stock": github}))),
                token=TOKEN,
                projects=("team/stock",),
            ),
            "argocd": ArgoCdSettings(url=stack.enter_context(start_argocd(argocd)), token=TOKEN),
            "nacos": NacosSettings(url=stack.enter_context(start_nacos(nacos)), username="nacos", password=TOKEN),
            "apollo": ApolloSettings(url=stack.enter_context(start_apollo(apollo)), token=TOKEN, apps=("shop",)),
            "flags": FlagsSettings(path=flags),
        }
        opened = {name: one.open(name) for name, one in settings.items()}
        yield {name: one for name, one in opened.items() if isinstance(one, ChangeSource)}


async def ask(sources: dict[str, ChangeSource], name: str, **said: str) -> Evidence:
    tool: EvidenceTool = next(one for one in tools_of(sources) if one.name == name)
    arguments = tool.arguments.model_validate(dict.fromkeys(tool.arguments.model_fields) | said)
    try:
        return await tool.collect(tool.normalize(arguments, INCIDENT), arguments, INCIDENT)
    finally:
        for source in sources.values():
            await source.close()


async def test_what_every_source_records_is_told_as_one(
    sources: dict[str, ChangeSource], clone: tuple[Path, str, str]
) -> None:
    evidence = await ask(sources, "list_changes")
    told = [(one.kind, one.service, one.at.isoformat()[11:16]) for one in evidence.changes]
    assert told == [
        (ChangeKind.FLAG, "shop", "10:40"),
        (ChangeKind.DEPLOY, "shop", "10:30"),
        (ChangeKind.DEPLOY, "stock", "10:20"),
        (ChangeKind.DEPLOY, "shop", "10:10"),
        (ChangeKind.DEPLOY, "stock", "10:05"),
    ]
    for lines in (("  - retries: 3", "  + retries: 0"), ("  - timeout: 500",), ("  - max: 50", "  + max: 10")):
        assert set(lines) <= set(evidence.content)
    assert not evidence.truncated
    assert evidence.notes == ()
    assert "one" not in clean_evidence(evidence, max_bytes=64_000).content
    assert clone[2] in "".join(evidence.content)


async def test_a_github_deployment_is_told_with_the_clones_diff(
    sources: dict[str, ChangeSource], clone: tuple[Path, str, str]
) -> None:
    evidence = await ask(sources, "get_change", change_id=clone[2][:9])
    assert evidence.content == (
        f"change kind=DEPLOY id={clone[2]} service=stock at=2026-03-04T10:05:00Z version=v2@production "
        "files=stock/pool.yaml | smaller pool",
        "  @ stock/pool.yaml",
        "  - max: 50",
        "  + max: 10",
        f"change kind=COMMIT id={clone[2]} service=stock at=2026-03-04T02:00:00Z version=v2@production "
        "files=stock/pool.yaml | smaller pool",
    )


async def test_one_service_of_all_sources_is_told_alone(sources: dict[str, ChangeSource]) -> None:
    evidence = await ask(sources, "list_changes", service="shop")
    assert evidence.components == ("shop",)
    quiet = await ask(sources, "list_changes", service="shop", start="2026-03-04T11:00:00Z")
    assert (quiet.status, quiet.truncated) == (EvidenceStatus.NO_EVIDENCE, False)


async def test_the_doctor_finds_every_source_well(sources: dict[str, ChangeSource]) -> None:
    findings = await examine(sources)
    for source in sources.values():
        await source.close()
    assert all(one.reachable and one.authorized and one.sample for one in findings)
