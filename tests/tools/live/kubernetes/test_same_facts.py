"""A live cluster tells what a frozen one tells of the same state: the frozen facts stand in the live evidence."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.clusters import Cluster
from tests.tools.live.conformance import INCIDENT
from tests.tools.live.kubernetes.asking import asking
from tests.tools.live.kubernetes.facts import comparable, untold
from tests.tools.live.kubernetes.states import store_of
from tools.cluster import FrozenCluster, cluster_tools


def usual(cluster: Cluster) -> None:
    """Nothing is broken."""


def crashing(cluster: Cluster) -> None:
    app = cluster.apps["orders"]
    app.status, app.ready, app.restarts, app.replicas = "CrashLoopBackOff", "0/1", "4 (47s ago)", "0/1"
    app.endpoints = "<none>"
    app.liveness = "grpc <pod>:5999  delay=1s timeout=2s period=3s #success=1 #failure=4"
    app.readiness = "http-get http://:5050/ready delay=0s timeout=1s period=10s #success=1 #failure=3"
    app.container = (
        f"    Image:  {app.image}\n    Port:  5050/TCP\n    State:  Waiting\n      Reason:  CrashLoopBackOff\n"
        "    Last State:  Terminated\n      Reason:  Error\n      Exit Code:  1\n    Ready:  False\n"
        "    Restart Count:  4\n"
    )
    app.events = [("Normal", "Pulled", "pulled"), ("Warning", "Unhealthy", "Liveness probe failed: timeout")]
    app.patterns = ["ERROR cannot connect to database"]
    cluster.events = [("Warning", "BackOff", f"pod/{app.pod}", "Back-off restarting failed container")]


def pending(cluster: Cluster) -> None:
    app = cluster.apps["web"]
    app.status, app.ready, app.node, app.ip, app.replicas = "Pending", "0/1", "", "<none>", "0/1"
    app.container = f"    Image:  {app.image}\n    Port:  8080/TCP\n"
    app.endpoints = "<none>"
    app.node_selectors = ("disk=ssd", "zone=a")
    app.events = [("Warning", "FailedScheduling", "0/3 nodes are available: 3 node(s) didn't match node selector.")]
    cluster.taints["node-c"] = ["dedicated=batch:NoSchedule"]
    cluster.nodes["node-b"] = "Ready,SchedulingDisabled"


def misrouted(cluster: Cluster) -> None:
    cluster.apps["orders"].manifest = {"selector": "ordres", "target_port": 5051, "dns_policy": "None"}
    cluster.apps["orders"].endpoints = "<none>"


def claims(cluster: Cluster) -> None:
    cluster.claims = [("data", "Pending", "", "", "", "fast")]
    cluster.quotas = [("compute", "pods: 3/3")]
    cluster.apps["store"].manifest["config"] = (
        "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: store-config\n"
        "data:\n  my.cnf: |\n    [mysqld]\n    port=1\n"
    )


BREAKS: list[Callable[[Cluster], None]] = [usual, crashing, pending, misrouted, claims]


def questions(cluster: Cluster) -> list[tuple[str, dict[str, Any]]]:
    kinds = ["pods", "deployments", "replicasets", "services", "endpoints", "nodes", "pvc", "quota", "secrets"]
    kinds += ["events"] if cluster.events else []
    asked: list[tuple[str, dict[str, Any]]] = [("GetResources", {"resource_type": kind}) for kind in kinds]
    for app in cluster.apps.values():
        asked += [
            ("DescribeResource", {"resource_type": "pod", "name": app.pod}),
            ("GetAppYAML", {"app_name": app.name}),
        ]
        asked += [("GetServiceDependencies", {"service_name": app.name}), ("GetErrorLogs", {"service_name": app.name})]
    return [*asked, ("GetClusterConfiguration", {})]


@pytest.mark.parametrize("broken", BREAKS, ids=lambda one: one.__name__)
async def test_a_live_cluster_tells_the_facts_of_a_frozen_one(broken: Callable[[Cluster], None]) -> None:
    cluster = Cluster()
    for app in cluster.apps.values():
        app.image = f"registry.example.com/{app.name}:v1"
    broken(cluster)
    frozen = {tool.name: tool for tool in cluster_tools(FrozenCluster(cluster.cache(), namespace="shop"))}
    async with asking(store_of(cluster)) as asked:
        for tool, given in questions(cluster):
            arguments = asked.arguments(tool, given)
            told = await frozen[tool].collect(frozen[tool].normalize(arguments, INCIDENT), arguments, INCIDENT)
            live = await asked(tool, **given)
            assert live.status is told.status, (tool, given)
            assert live.provenance is told.provenance
            assert untold(comparable(tool, given, told), comparable(tool, given, live)) == [], (
                tool,
                given,
                live.content,
            )
