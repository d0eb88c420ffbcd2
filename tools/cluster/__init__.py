"""Evidence tools over a Kubernetes cluster: ten questions, one state behind them."""

from tools.cluster.frozen import ClusterUnreadable, FrozenCluster
from tools.cluster.state import ClusterState
from tools.cluster.tools import cluster_tools

__all__ = ["ClusterState", "ClusterUnreadable", "FrozenCluster", "cluster_tools"]
