"""The evidence tools over a live cluster: the ten of a frozen one."""

from collections.abc import Mapping

from tools.base import EvidenceTool
from tools.cluster import cluster_tools
from tools.live.kubernetes.source import KubernetesSource


def tools_of(sources: Mapping[str, KubernetesSource]) -> tuple[EvidenceTool, ...]:
    """Return the ten tools over the cluster that is configured; none where there is none.

    Raises ValueError, one line, where there are several: the questions don't say which cluster they mean.
    """
    if len(sources) > 1:
        raise ValueError(f"one Kubernetes cluster can be asked at a time; configured are {', '.join(sorted(sources))}")
    return tuple(tool for source in sources.values() for tool in cluster_tools(source.state))
