"""A Kubernetes cluster keeps what every backend of live evidence has to keep."""

from typing import Any

from typing_extensions import override

from tests.support.clusters import Cluster
from tests.tools.live.conformance import LIMIT, TOKEN, HttpConformance
from tests.tools.live.kubernetes.asking import asking
from tests.tools.live.kubernetes.states import store_of
from tools.base import EvidenceTool
from tools.live.kubernetes.settings import KubernetesSettings
from tools.live.kubernetes.source import KubernetesSource
from tools.live.kubernetes.tools import tools_of
from tools.vocabulary import Evidence


class TestKubernetes(HttpConformance):
    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> KubernetesSource:
        settings = KubernetesSettings.model_validate(
            {
                "url": url,
                "token": TOKEN,
                "namespaces": ("shop",),
                "timeout_seconds": timeout_seconds,
                "max_bytes": LIMIT,
            }
        )
        return settings.open("kubernetes")

    @override
    def tool_over(self, source: Any) -> EvidenceTool:
        return next(tool for tool in tools_of({"kubernetes": source}) if tool.name == "GetResources")

    @override
    def arguments(self) -> dict[str, Any]:
        nothing = dict.fromkeys(("namespace", "name", "label_selector", "show_labels", "output_wide"))
        return {"resource_type": "pods", **nothing}

    @override
    async def found(self) -> Evidence:
        async with asking(store_of(Cluster(), token=TOKEN), token=TOKEN) as asked:
            return await asked("GetResources", resource_type="pods")

    @override
    async def empty(self) -> Evidence:
        async with asking(store_of(Cluster())) as asked:
            return await asked("GetResources", resource_type="pvc")

    @override
    async def unknown(self) -> Evidence:
        async with asking(store_of(Cluster())) as asked:
            return await asked("GetErrorLogs", service_name="orderz")

    @override
    async def partial(self) -> Evidence:
        cluster = Cluster()
        cluster.apps["web"].status = "CrashLoopBackOff"
        store = store_of(cluster, denied={("nodes", "")})
        async with asking(store) as asked:
            return await asked("GetAlerts")
