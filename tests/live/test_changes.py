"""A team's changes from everywhere at once: a real clone, a file of flags, and servers of our own that keep to the
documented APIs of GitHub, Argo CD, Nacos and Apollo. Needs the `git` program."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from graph.contract import ReleaseOutcome
from graph.settings import DiagnosisContext, HarnessSettings
from graph.wiring import build_graph
from tests.live.servers.apollo import ApolloStore, start_apollo
from tests.live.servers.argocd import ArgoCdStore, start_argocd
from tests.live.servers.github import GitHubRepository, GitHubStore, start_github
from tests.live.servers.nacos import NacosStore, start_nacos
from tests.tools.live.changes.kubernetes_server import KubernetesStore, start_kubernetes
from tools.base import EvidenceTool, IncidentContext
from tools.frozen import frozen_tools, read_alert
from tools.hygiene import clean_evidence
from tools.live.changes.settings import (
    ApolloSettings,
    ArgoCdSettings,
    FlagsSettings,
    GitHubSettings,
    GitSettings,
    NacosSettings,
    RolloutsSettings,
)
from tools.live.changes.source import ChangeSource
from tools.live.changes.tools import tools_of
from tools.live.doctor import examine
from tools.live.source import SourceSettings
from tools.vocabulary import ChangeKind, Evidence, EvidenceStatus

TOKEN = "the-team-token"
INCIDENT = IncidentContext(as_of=datetime(2026, 3, 4, 12, 0, tzinfo=UTC), zone="UTC")

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here; Debian's package `git` brings it")


def git(path: Path, *arguments: str, at: str) -> str:
    date = at if "T" in at else f"2026-03-04T{at}"
    dated = {"NAME": "x", "EMAIL": "x@example.com", "DATE": f"{date}+00:00"}
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


INCIDENT_DIRECTORY = Path(__file__).parents[2] / "examples" / "incidents" / "payment-timeout"
BEFORE, WHEN = "2026-09-01T06:00:00", "2026-09-08T06:49:40"


@contextmanager
def in_nacos(_: Path) -> Iterator[SourceSettings]:
    store = NacosStore(TOKEN)
    store.publish(BEFORE, "payment-service.yaml", "channel:\n  read-timeout: 3000ms\n  max-attempts: 3\n")
    store.publish(WHEN, "payment-service.yaml", "channel:\n  read-timeout: 300ms\n  max-attempts: 3\n")
    with start_nacos(store) as url:
        yield NacosSettings(url=url, username="nacos", password=TOKEN)


@contextmanager
def in_apollo(_: Path) -> Iterator[SourceSettings]:
    store = ApolloStore(TOKEN)
    store.release(f"{BEFORE}.000+0000", "payment-service", {"channel.read-timeout-ms": "3000"})
    store.release(f"{WHEN}.000+0000", "payment-service", {"channel.read-timeout-ms": "300"})
    with start_apollo(store) as url:
        yield ApolloSettings(url=url, token=TOKEN, apps=("payment-service",))


@contextmanager
def in_kubernetes(_: Path) -> Iterator[SourceSettings]:
    store = KubernetesStore(TOKEN)
    store.deployment("payment-service")
    for number, at, timeout in ((1, BEFORE, "3000"), (2, WHEN, "300")):
        variables = [{"name": "CHANNEL_READ_TIMEOUT_MS", "value": timeout}]
        store.revision("payment-service", number, f"{at}Z", {"image": "payment:v7", "env": variables})
    with start_kubernetes(store) as url:
        yield RolloutsSettings(url=url, token=TOKEN, namespaces=("prod",))


@contextmanager
def in_git(directory: Path) -> Iterator[SourceSettings]:
    path = directory / "payments"
    (path / "payment-service").mkdir(parents=True)
    git(path, "init", "-q", "-b", "main", at=BEFORE)
    for at, timeout in ((BEFORE, 3000), ("2026-09-08T06:38:16", 300)):
        (path / "payment-service" / "client.yml").write_text(f"bank:\n  read-timeout: {timeout}ms\n  attempts: 3\n")
        git(path, "add", "-A", at=at)
        git(path, "commit", "-q", "-m", "one place for time-outs", at=at)
    git(path, "tag", "-a", "-m", "x", "deploy/payment-service/v7", at=WHEN)
    yield GitSettings(path=path)


@pytest.mark.parametrize("kept", [in_git, in_nacos, in_apollo, in_kubernetes])
async def test_a_change_convicts_wherever_it_is_recorded(kept: Any, tmp_path: Path) -> None:
    with kept(tmp_path) as settings:
        source = settings.open("place")
        others = [one for one in frozen_tools(INCIDENT_DIRECTORY) if one.name not in {"list_changes", "get_change"}]
        graph: Any = build_graph(
            tools=[*others, *tools_of({"place": source})], settings=HarnessSettings(openai_api_key=None)
        )
        inputs = {"messages": [{"role": "user", "content": "?"}], "incident": read_alert(INCIDENT_DIRECTORY)}
        release = (await graph.ainvoke(inputs, context=DiagnosisContext()))["release"]
        recorded = await source.recorded(datetime(2026, 9, 8, 6, tzinfo=UTC), datetime(2026, 9, 8, 7, tzinfo=UTC))
        await source.close()
    assert release["outcome"] == ReleaseOutcome.SUCCESS
    conclusion = release["draft"]["conclusion"]
    assert (conclusion["component"], conclusion["change_id"]) == ("payment-service", recorded.deploys[0].change_id)
