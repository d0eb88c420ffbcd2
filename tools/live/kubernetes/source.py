"""A Kubernetes cluster as a configured source of evidence."""

from typing import TYPE_CHECKING

from typing_extensions import override

from tools.base import SourceFailure
from tools.live.kubernetes.access import access_of
from tools.live.kubernetes.api import ApiServer, Limits
from tools.live.kubernetes.cluster import LiveCluster
from tools.live.kubernetes.reading import Reading, gathered
from tools.live.source import Probe, Source

if TYPE_CHECKING:
    from tools.live.kubernetes.settings import KubernetesSettings


class KubernetesSource(Source):
    """One cluster, opened. `state` answers the cluster's tools."""

    def __init__(self, name: str, api: ApiServer, namespaces: tuple[str, ...]) -> None:
        self.name = name
        self._api = api
        self._reading = Reading(api, namespaces)
        self.state = LiveCluster(self._reading)

    @classmethod
    def of(cls, name: str, settings: "KubernetesSettings") -> "KubernetesSource":
        """Return the cluster of settings; raises ValueError where they leave no safe way in (`access_of`)."""
        access = access_of(settings)
        limits = Limits(settings.timeout_seconds, settings.max_bytes)
        return cls(name, ApiServer(access, limits), access.namespaces)

    @override
    async def probe(self) -> Probe:
        """Ask the version, and one pod of each allowed namespace; raises SourceFailure where one can't be read.

        What may be asked isn't reviewed through the API: a review of access is a POST.
        """
        version = await self._api.object("/version")
        places = self._reading.namespaces
        found = await gathered({place: self._reading.objects("pods", place, most=1) for place in places})
        if found.missing is not None:
            raise SourceFailure(found.missing)
        seen = sum(bool(listed.items) for listed in found.found)
        told = str(version.get("gitVersion", "-"))[:40] if isinstance(version, dict) else "-"
        sample = f"{told}, pods in {seen} of {len(places)} namespaces"
        return Probe(self._api.now if self._api.told_time else None, sample)

    @override
    async def close(self) -> None:
        await self._api.close()
