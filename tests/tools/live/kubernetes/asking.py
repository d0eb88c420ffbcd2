"""One way to ask the tools over an API server of ours in these tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.live.servers.kubernetes import ClusterStore, serving_kubernetes
from tests.tools.live.conformance import INCIDENT
from tools.base import EvidenceTool, SourceFailure
from tools.live.kubernetes.settings import KubernetesSettings
from tools.live.kubernetes.source import KubernetesSource
from tools.live.kubernetes.tools import tools_of
from tools.vocabulary import Evidence, Scope


class Asked:
    """The tools, asked with what is given; other arguments are null."""

    def __init__(self, source: KubernetesSource) -> None:
        self.source = source
        self.tools: dict[str, EvidenceTool] = {tool.name: tool for tool in tools_of({"kubernetes": source})}

    def arguments(self, name: str, given: dict[str, Any]) -> Any:
        model = self.tools[name].arguments
        return model.model_validate({**dict.fromkeys(model.model_fields), **given})

    def scope(self, name: str, /, **given: Any) -> Scope:
        return self.tools[name].normalize(self.arguments(name, given), INCIDENT)

    async def __call__(self, name: str, /, **given: Any) -> Evidence:
        return await self.tools[name].collect(self.scope(name, **given), self.arguments(name, given), INCIDENT)

    async def refused(self, name: str, /, **given: Any) -> SourceFailure:
        with pytest.raises(SourceFailure) as caught:
            await self(name, **given)
        assert caught.value.__context__ is None
        return caught.value


@asynccontextmanager
async def asking(store: ClusterStore, **settings: Any) -> AsyncIterator[Asked]:
    """Serve a cluster's state and give the tools over it; by default the namespace `shop` alone is allowed."""
    with serving_kubernetes(store) as url:
        source = KubernetesSettings(**{"url": url, "namespaces": ("shop",), **settings}).open("kubernetes")
        try:
            yield Asked(source)
        finally:
            await source.close()
