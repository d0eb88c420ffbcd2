"""What every HTTP backend of changes keeps: the faulty servers of the suite, and a server of ours for each API."""

from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from tests.live.servers.apollo import ApolloStore, start_apollo
from tests.live.servers.argocd import ArgoCdStore, start_argocd
from tests.live.servers.github import GitHubRepository, GitHubStore, start_github
from tests.live.servers.gitlab import GitLabProject, GitLabStore, start_gitlab
from tests.live.servers.nacos import NacosStore, start_nacos
from tests.tools.live.changes.asking import tool
from tests.tools.live.changes.conftest import INCIDENT
from tests.tools.live.changes.kubernetes_server import KubernetesStore, start_kubernetes
from tests.tools.live.conformance import LIMIT, TOKEN, HttpConformance, ask
from tools.base import EvidenceTool
from tools.live.changes.settings import (
    ApolloSettings,
    ArgoCdSettings,
    FlagsSettings,
    GitHubSettings,
    GitLabSettings,
    NacosSettings,
    RolloutsSettings,
)
from tools.live.changes.source import ChangeSource
from tools.live.source import Source
from tools.vocabulary import Evidence

SHA = "a1" * 20
_ANY: dict[str, Any] = {"service": None, "change_kind": None, "start": None, "end": None}


class _ChangesConformance(HttpConformance):
    """A server that knows the service `stock`, which changed at 10:30, and asks of it and others."""

    incident = INCIDENT

    @abstractmethod
    def serving(self) -> AbstractContextManager[str]:
        """Serve the server that knows `stock`."""

    def arguments(self) -> dict[str, Any]:
        return _ANY

    def tool_over(self, source: Any) -> EvidenceTool:
        assert isinstance(source, ChangeSource)
        return tool({source.name: source}, "list_changes")

    async def _told(self, *beside: ChangeSource, **said: str) -> Evidence:
        with self.serving() as url:
            source = self.source_at(url)
            assert isinstance(source, ChangeSource)
            try:
                asked = tool({source.name: source} | {one.name: one for one in beside}, "list_changes")
                return await ask(asked, _ANY | said, INCIDENT)
            finally:
                await source.close()

    async def found(self) -> Evidence:
        evidence = await self._told()
        assert "service=stock" in evidence.content[0]
        assert "at=2026-03-04T10:30:00Z" in evidence.content[0]
        return evidence

    async def empty(self) -> Evidence:
        return await self._told(service="stock", start="2026-03-04T11:00:00Z")

    async def unknown(self) -> Evidence:
        return await self._told(service="stok")

    async def partial(self) -> Evidence:
        gone = FlagsSettings(path="/nowhere/flags.ndjson").open("flags")
        assert isinstance(gone, ChangeSource)
        evidence = await self._told(gone)
        assert "SOURCE_FAILED:flags" in evidence.notes
        return evidence


class TestGitHub(_ChangesConformance):
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        return GitHubSettings(
            url=url, token=TOKEN, projects="team/stock", max_bytes=LIMIT, timeout_seconds=timeout_seconds
        ).open("github")

    def serving(self) -> AbstractContextManager[str]:
        repository = GitHubRepository(commits=[(SHA, "2026-03-04T10:00:00Z", "x", {"a": "@@ -1 +1 @@\n-1\n+2"})])
        repository.deploy(7, SHA, "2026-03-04T10:20:00Z", {"success": "2026-03-04T10:30:00Z"})
        return start_github(GitHubStore(TOKEN, {"team/stock": repository}))


class TestGitLab(_ChangesConformance):
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        return GitLabSettings(
            url=url, token=TOKEN, projects="team/stock", max_bytes=LIMIT, timeout_seconds=timeout_seconds
        ).open("gitlab")

    def serving(self) -> AbstractContextManager[str]:
        project = GitLabProject(commits=[(SHA, "2026-03-04T10:00:00Z", "x", {"a": "@@ -1 +1 @@\n-1\n+2"})])
        project.deploy(7, SHA, "2026-03-04T10:30:00Z")
        return start_gitlab(GitLabStore(TOKEN, {"team/stock": project}))


class TestArgoCd(_ChangesConformance):
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        return ArgoCdSettings(url=url, token=TOKEN, max_bytes=LIMIT, timeout_seconds=timeout_seconds).open("argocd")

    def serving(self) -> AbstractContextManager[str]:
        store = ArgoCdStore(TOKEN)
        store.add("stock", {"revision": SHA, "deployedAt": "2026-03-04T10:30:00Z"})
        return start_argocd(store)


class TestRollouts(_ChangesConformance):
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        return RolloutsSettings(
            url=url, token=TOKEN, namespaces="prod", max_bytes=LIMIT, timeout_seconds=timeout_seconds
        ).open("rollouts")

    def serving(self) -> AbstractContextManager[str]:
        store = KubernetesStore(TOKEN)
        store.deployment("stock")
        store.revision("stock", 1, "2026-03-04T10:30:00Z", {"image": "stock:v1"})
        return start_kubernetes(store)


class TestNacos(_ChangesConformance):
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        return NacosSettings(
            url=url, username="nacos", password=TOKEN, max_bytes=LIMIT, timeout_seconds=timeout_seconds
        ).open("nacos")

    def serving(self) -> AbstractContextManager[str]:
        store = NacosStore(TOKEN)
        store.publish("2026-03-04T10:30:00", "stock.yaml", "max: 10")
        return start_nacos(store)


class TestApollo(_ChangesConformance):
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        return ApolloSettings(
            url=url, token=TOKEN, apps="stock", max_bytes=LIMIT, timeout_seconds=timeout_seconds
        ).open("apollo")

    def serving(self) -> AbstractContextManager[str]:
        store = ApolloStore(TOKEN)
        store.release("2026-03-04T18:30:00.000+0800", "stock", {"max": "10"})
        return start_apollo(store)
