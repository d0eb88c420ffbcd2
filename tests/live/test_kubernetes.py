"""Live Kubernetes from an API server to the release: recorded states of others are told as the frozen tools tell them,
and each fault that an API server can show is found alive."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from graph.models.offline import offline_models
from graph.running import diagnose
from graph.settings import DiagnosisContext, HarnessSettings
from graph.wiring import build_graph
from tests.graph.models.offline.cluster.faults import FAULTS, Fault
from tests.graph.models.offline.cluster.faults import NAMESPACE as NAMESPACE_ITSELF
from tests.live.servers.kubernetes_recorded import recorded_store
from tests.support.clusters import Cluster
from tests.tools.live.conformance import INCIDENT
from tests.tools.live.kubernetes.asking import asking
from tests.tools.live.kubernetes.facts import comparable, facts, untold
from tests.tools.live.kubernetes.states import store_of
from tools.base import EvidenceTool, SourceFailure
from tools.cluster import FrozenCluster, cluster_tools
from tools.vocabulary import Evidence

CASES = Path(__file__).resolve().parents[3] / "shared" / "benchmarks" / "cloud-opsbench"
NAMESPACE = "boutique"
STATES = sorted(CASES.glob("*/*/*/tool_cache.json"))[::9]
LISTED = ("pods", "services", "deployments", "replicasets", "endpoints", "pvc", "pv")
NOT_TOLD = ("manifest ", "persistent_volume ")
"""Sorts of manifest lines that a live cluster doesn't tell: accounts and roles, volumes that no claim of it names."""


def excused(line: str, state: FrozenCluster) -> bool:
    """Whether a frozen line tells what an API server can't know: sorts that aren't told, and services and claims that
    were applied and never admitted, which a recording of what was applied has and the cluster hasn't."""
    sort, fields, _ = facts(line)
    kind = {"service": "services", "service_port": "services", "claim": "persistentvolumeclaims"}.get(sort)
    admitted = kind is None or (fields.get("service") or fields.get("name")) in state.names(kind, NAMESPACE)
    return line.startswith(NOT_TOLD) or not admitted


def questions(state: FrozenCluster) -> list[tuple[str, dict[str, Any]]]:
    asked: list[tuple[str, dict[str, Any]]] = [("GetResources", {"resource_type": kind}) for kind in LISTED]
    pods = state.names("pods", NAMESPACE)
    asked += [("GetResources", {"resource_type": "pods", "name": name}) for name in pods[:2]]
    asked += [("GetResources", {"resource_type": "deployments", "label_selector": "app=frontend"})]
    apps = [app for app in state.apps() if app in state.names("deployments", NAMESPACE)]
    asked += [("GetAppYAML", {"app_name": app}) for app in apps]
    return [*asked, ("GetClusterConfiguration", {})]


def recorded(path: Path) -> dict[str, Any]:
    """Read a recording, without the role of a node, which its recorder made up where no label says one."""
    answers: dict[str, Any] = json.loads(path.read_text("utf-8"))
    for node in answers["GetClusterConfiguration:{}"]["nodes"]:
        node["role"] = None
    return answers


async def frozen_answer(state: FrozenCluster, tool: str, given: Mapping[str, Any]) -> Evidence | None:
    """Return what the frozen tool tells, None where the recording holds no answer."""
    frozen = next(one for one in cluster_tools(state) if one.name == tool)
    arguments = frozen.arguments.model_validate({**dict.fromkeys(frozen.arguments.model_fields), **given})
    try:
        return await frozen.collect(frozen.normalize(arguments, INCIDENT), arguments, INCIDENT)
    except SourceFailure:
        return None


@pytest.mark.skipif(not STATES, reason="the cluster states of ../shared/benchmarks/cloud-opsbench are not here")
@pytest.mark.parametrize("path", STATES, ids=lambda path: "/".join(path.parts[-3:-1]))
async def test_a_recorded_state_is_told_alive_as_it_is_told_frozen(path: Path) -> None:
    answers = recorded(path)
    state = FrozenCluster(answers, namespace=NAMESPACE)
    async with asking(recorded_store(answers, NAMESPACE), namespaces=(NAMESPACE,)) as asked:
        for tool, given in questions(state):
            told = await frozen_answer(state, tool, given)
            if told is None:
                continue
            live = await asked(tool, **given)
            assert (live.status, live.provenance) == (told.status, told.provenance), (tool, given)
            missing = untold(comparable(tool, given, told), comparable(tool, given, live))
            assert [line for line in missing if not excused(line, state)] == [], (tool, given)


NOT_SHOWN = frozenset(
    (
        *("kubelet_unavailable", "containerd_unavailable", "kube_proxy_unavailable", "kube_scheduler_unavailable"),
        *("pod_cpu_overload", "pod_network_delay", "node_network_packet_loss", "node_network_delay"),
    )
)
"""Causes that only a node's service manager, a probe from inside or a detector of metrics shows."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.cause)
async def test_each_fault_that_an_api_server_shows_is_found_and_no_other_is_made_up(fault: Fault) -> None:
    cluster = Cluster()
    fault.breaks(cluster)
    seat = cluster.apps[fault.seat].name if fault.seat in cluster.apps else fault.seat
    store = store_of(cluster)
    async with asking(store) as asked:
        release = await released(tuple(asked.tools.values()), fault.query)
    assert {request.method for request in store.requests} == {"GET"}
    if fault.cause in NOT_SHOWN:
        assert (release["outcome"], release["draft"]) == ("FALLBACK", None)
        return
    assert release["outcome"] == "SUCCESS", release
    conclusion = release["draft"]["conclusion"]
    assert conclusion["cause"] == fault.cause
    assert conclusion["component"] == (cluster.namespace if fault.seat == NAMESPACE_ITSELF else seat)


async def released(tools: tuple[EvidenceTool, ...], query: str) -> dict[str, Any]:
    """Return the Release of a run of the offline diagnostician over tools."""
    graph = build_graph(
        models={part.value: model for part, model in offline_models().items()},
        tools=tools,
        settings=HarnessSettings(),
        checkpointer=InMemorySaver(),
    )
    inputs = {"messages": [{"role": "user", "content": query}], "incident": {"namespace": "shop"}}
    return await diagnose(graph, inputs, thread_id="t", context=DiagnosisContext(), on_event=list[Any]().append)
