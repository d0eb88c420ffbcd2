"""The four kinds of answers of a live cluster, its bounds, and what only a live one tells."""

from typing import Any

import pytest

from tests.live.servers.kubernetes import ClusterStore
from tests.support.clusters import Cluster
from tests.tools.live.kubernetes.asking import asking
from tests.tools.live.kubernetes.states import (
    before,
    event_of,
    metadata,
    pod_of,
    replica_set_of,
    store_of,
    template_of,
)
from tools.live.kubernetes.tools import tools_of
from tools.live.reading import moment
from tools.vocabulary import EvidenceStatus, SourceError

POD = "web-6d9c7f8b4c-x7k2p"


@pytest.mark.parametrize("name", [POD, "web", f"pod/{POD}", "WEB"])
async def test_a_workloads_name_stands_for_its_one_pod(name: str) -> None:
    async with asking(store_of(Cluster())) as asked:
        row = await asked("GetResources", resource_type="pod", name=name)
        described = await asked("DescribeResource", resource_type="pod", name=name)
    assert f" name={POD} " in row.content[1]
    assert described.content[0].startswith(f"object kind=pods namespace=shop name={POD} app=web ")


async def test_a_workload_with_several_pods_is_absent_as_a_pod_and_its_pods_are_named() -> None:
    cluster = Cluster()
    store = store_of(cluster)
    other = pod_of(cluster.apps["web"], template_of(cluster.apps["web"]), "shop")
    other["metadata"]["name"] = "web-6d9c7f8b4c-zzzzz"
    store.add("pods", other)
    async with asking(store) as asked:
        described = await asked("DescribeResource", resource_type="pod", name="web")
        listed = await asked("GetResources", resource_type="pod", name="web")
    assert described.content == (f"absent kind=pods namespace=shop name=web near={POD},web-6d9c7f8b4c-zzzzz",)
    assert len(listed.content) == 3


async def test_a_questions_scope_does_not_depend_on_what_was_asked_before() -> None:
    async with asking(store_of(Cluster())) as asked:
        scope = asked.scope("GetErrorLogs", service_name=POD)
        await asked("GetResources", resource_type="pods")
        assert asked.scope("GetErrorLogs", service_name=POD) == scope == {"service_name": "web", "namespace": "shop"}


@pytest.mark.parametrize("tool", ["GetResources", "DescribeResource"])
async def test_an_object_that_is_asked_for_by_name_and_not_there_is_evidence(tool: str) -> None:
    async with asking(store_of(Cluster())) as asked:
        found = await asked(tool, resource_type="svc", name="orderz")
    assert found.status is EvidenceStatus.EVIDENCE
    assert found.content == ("absent kind=services namespace=shop name=orderz near=orders",)


UNKNOWN: list[tuple[str, dict[str, Any], tuple[str, ...] | None]] = [
    ("GetResources", {"resource_type": "podz"}, ("pods",)),
    ("GetResources", {"resource_type": "horizontalpodautoscaler"}, None),
    ("GetAppYAML", {"app_name": "webb"}, ("web",)),
    ("GetServiceDependencies", {"service_name": "webb"}, ("web",)),
    ("GetErrorLogs", {"service_name": "orderz"}, ("orders",)),
    ("GetRecentLogs", {"service_name": "orderz"}, ("orders",)),
    ("CheckServiceConnectivity", {"service_name": "orderz", "port": 1}, ("orders",)),
    ("CheckNodeServiceStatus", {"node_name": "node-bb", "service_name": "kubelet"}, None),
]


@pytest.mark.parametrize(("tool", "question", "near"), UNKNOWN)
async def test_a_name_that_the_cluster_does_not_know_is_an_error(
    tool: str, question: dict[str, Any], near: tuple[str, ...] | None
) -> None:
    async with asking(store_of(Cluster())) as asked:
        failure = await asked.refused(tool, **question)
    assert failure.code is SourceError.UNKNOWN_SELECTOR
    assert near is None or failure.near_names == near


async def test_an_allowed_namespace_that_is_not_there_is_an_error_and_no_absence() -> None:
    async with asking(store_of(Cluster()), namespaces=("shopp",)) as asked:
        for tool, question in (("GetResources", {"resource_type": "pods"}), ("GetResources", {"resource_type": "ev"})):
            failure = await asked.refused(tool, **question)
            assert (failure.code, failure.field) == (SourceError.UNKNOWN_SELECTOR, "namespace")


async def test_who_may_not_look_at_the_namespace_still_gets_its_empty_lists() -> None:
    async with asking(store_of(Cluster(), denied={("namespaces", "")})) as asked:
        assert (await asked("GetResources", resource_type="pvc")).status is EvidenceStatus.NO_EVIDENCE


@pytest.mark.parametrize(
    ("status", "code"), [(429, "BACKEND_UNAVAILABLE"), (503, "BACKEND_UNAVAILABLE"), (504, "BACKEND_TIMEOUT")]
)
async def test_a_server_in_trouble_is_an_error(status: int, code: str) -> None:
    async with asking(store_of(Cluster(), failing={"deployments": status})) as asked:
        assert (await asked.refused("GetResources", resource_type="deploy")).code == code


def two_places(**more: Any) -> ClusterStore:
    cluster = Cluster()
    cluster.apps["web"].status = "CrashLoopBackOff"
    store = store_of(cluster, **more)
    for kind, objects in store_of(Cluster(namespace="pay")).objects.items():
        store.add(kind, *objects) if kind != "nodes" else None
    return store


def denied(*namespaces: str) -> set[tuple[str, str]]:
    kinds = ("pods", "events", "deployments", "statefulsets", "daemonsets", "services", "jobs")
    return {(kind, place) for kind in kinds for place in namespaces}


async def test_one_of_several_namespaces_that_is_denied_makes_an_answer_partial() -> None:
    async with asking(two_places(denied=denied("pay")), namespaces=("shop", "pay")) as asked:
        alerts = await asked("GetAlerts")
        assert (await asked.refused("GetResources", resource_type="po", namespace="pay")).code == "ACCESS_DENIED"
        assert (await asked("GetResources", resource_type="po")).status is EvidenceStatus.EVIDENCE
    assert alerts.truncated
    assert "SOURCE_FAILED:pay/pods" in alerts.notes
    assert any("component=web" in line for line in alerts.content)


async def test_no_alert_in_what_could_be_read_proves_no_absence() -> None:
    async with asking(store_of(Cluster(), denied={("nodes", "")})) as asked:
        assert (await asked.refused("GetAlerts")).code is SourceError.ACCESS_DENIED
    async with asking(store_of(Cluster())) as asked:
        assert (await asked("GetAlerts")).status is EvidenceStatus.NO_EVIDENCE


async def test_an_application_is_found_in_whichever_allowed_namespace_has_it() -> None:
    store = store_of(Cluster(namespace="pay"))
    store.add("namespaces", {"metadata": metadata("shop", None)})
    async with asking(store, namespaces=("shop", "pay")) as asked:
        manifest = await asked("GetAppYAML", app_name="web")
        calls = await asked("GetServiceDependencies", service_name="orders")
    assert manifest.summary == "manifest of web in pay: Deployment web, Service web"
    assert "calls caller=orders callee=stock-mysql" in calls.content


async def test_a_denied_namespace_may_hold_what_was_not_found() -> None:
    async with asking(two_places(denied=denied("pay")), namespaces=("shop", "pay")) as asked:
        for tool in ("GetAppYAML", "GetServiceDependencies"):
            field = "app_name" if tool == "GetAppYAML" else "service_name"
            assert (await asked.refused(tool, **{field: "billing"})).code is SourceError.ACCESS_DENIED


async def test_events_that_are_denied_leave_a_description_that_says_so() -> None:
    async with asking(store_of(Cluster(), denied={("events", "shop")})) as asked:
        found = await asked("DescribeResource", resource_type="pod", name="web")
    assert found.truncated
    assert found.notes == ("SOURCE_FAILED:events",)
    assert not any(line.startswith("events ") for line in found.content)


def many(count: int, **more: Any) -> ClusterStore:
    cluster = Cluster()
    store = store_of(cluster, **more)
    app = cluster.apps["web"]
    for at in range(count):
        pod = pod_of(app, template_of(app), "shop")
        pod["metadata"]["name"] = f"web-6d9c7f8b4c-{at:05}"
        store.add("pods", pod)
    return store


async def test_a_long_list_is_read_in_pages() -> None:
    store = many(60, page=25)
    async with asking(store) as asked:
        found = await asked("GetResources", resource_type="pods")
    assert "rows=63" in found.content[0]
    assert len(store.requests) == 3


async def test_a_list_whose_snapshot_expires_is_told_as_far_as_it_was_read() -> None:
    async with asking(many(60, page=25, expiring=True)) as asked:
        found = await asked("GetResources", resource_type="pods")
    assert "rows=25" in found.content[0]
    assert found.truncated
    assert found.notes == ("LIST_CUT",)


async def test_a_list_is_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.live.kubernetes.reading.MAX_ROWS", 50)
    store = many(60, page=25)
    async with asking(store) as asked:
        found = await asked("GetResources", resource_type="pods")
    assert "rows=50" in found.content[0]
    assert found.truncated
    assert found.notes == ("LIST_CUT",)
    assert len(store.requests) == 2


async def test_rollouts_tell_revisions_images_and_ages() -> None:
    cluster = Cluster()
    store = store_of(cluster)
    app = cluster.apps["web"]
    app.hash, app.image = "aaaabbbbcc", "web:v2"
    newer = replica_set_of(app, template_of(app), "shop", 0, revision=2)
    newer["metadata"]["creationTimestamp"] = before(60)
    store.add("replicasets", newer)
    async with asking(store) as asked:
        found = await asked("DescribeResource", resource_type="deploy", name="web")
        listed = await asked("GetResources", resource_type="rs", label_selector="app=web")
    rollouts = [line for line in found.content if line.startswith("rollout ")]
    assert [line.rpartition(" | ")[2] for line in rollouts] == ["web:v2", "web"]
    assert "revision=2 name=web-aaaabbbbcc age=" in rollouts[0]
    assert f" at={before(60)} desired=1 ready=0 " in rollouts[0]
    assert "new_replica_set=web-aaaabbbbcc" in found.content[0]
    assert any("revision=2" in line and "images=web:v2" in line for line in listed.content)


async def test_the_rollouts_of_a_stateful_set_are_its_controller_revisions() -> None:
    store = store_of(Cluster())
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": "db:v2"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "db"}}, "template": template}
    store.add("statefulsets", {"kind": "StatefulSet", "metadata": metadata("db"), "spec": spec, "status": {}})
    owner = {"kind": "StatefulSet", "name": "db", "uid": "uid-db"}
    revision = {
        "metadata": metadata("db-1", ownerReferences=[owner]),
        "revision": 7,
        "data": {"spec": {"template": template}},
    }
    store.add("controllerrevisions", revision)
    async with asking(store) as asked:
        found = await asked("DescribeResource", resource_type="sts", name="db")
    assert any(line.startswith("rollout ") and "revision=7" in line and "db:v2" in line for line in found.content)


async def test_connectivity_says_what_was_checked_and_claims_no_connection() -> None:
    cluster = Cluster()
    cluster.apps["orders"].ready = "0/1"
    cluster.apps["store"].manifest = {"selector": "nobody"}
    async with asking(store_of(cluster)) as asked:
        answers = {
            name: await asked("CheckServiceConnectivity", service_name=name, port=port)
            for name, port in (("web", 8080), ("orders", 5050), ("stock-mysql", 3306))
        }
        elsewhere = await asked("CheckServiceConnectivity", service_name="web", port=81)
    results = {name: answer.content[0].split("result=")[1].split()[0] for name, answer in answers.items()}
    assert results == {"web": "READY", "orders": "NOT_READY", "stock-mysql": "NO_ENDPOINTS"}
    assert "result=NO_PORT checked=endpoints | the service has 8080->8080/TCP" in elsewhere.content[0]
    for answer in (*answers.values(), elsewhere):
        assert "checked=endpoints" in answer.content[0]
        assert "OPEN" not in answer.content[0]
        assert "no connection tried" in answer.summary


async def test_dependencies_come_from_configuration_and_say_so() -> None:
    cluster = Cluster()
    cluster.apps["web"].env = {"TIER": "orders", "UPSTREAM": "http://orders.shop.svc.cluster.local:5050/x"}
    cluster.apps["orders"].env = {"PEER": "store.pay:3306"}
    async with asking(store_of(cluster)) as asked:
        found = await asked("GetServiceDependencies", service_name="orders")
    assert found.content[1:] == ("calls caller=web callee=orders",)
    assert "FROM_CONFIGURATION" in found.notes


@pytest.mark.parametrize(
    ("status", "component", "active"),
    [
        ("Ready", "kubelet", "reporting"),
        ("NotReady", "kubelet", "silent"),
        ("Ready", "containerd", "in_use_by_kubelet"),
    ],
)
async def test_a_nodes_component_is_told_by_what_the_api_knows(status: str, component: str, active: str) -> None:
    cluster = Cluster()
    cluster.nodes["node-b"] = status
    async with asking(store_of(cluster)) as asked:
        found = await asked("CheckNodeServiceStatus", node_name="node-b", service_name=component)
    assert f"active={active} " in found.content[0]
    assert "checked=node_conditions" in found.content[0]


@pytest.mark.parametrize(
    ("status", "component"),
    [("NotReady", "containerd"), ("Ready", "docker"), ("Ready", "kube-proxy"), ("Ready", "sshd")],
)
async def test_what_the_api_does_not_know_of_a_node_is_missing(status: str, component: str) -> None:
    cluster = Cluster()
    cluster.nodes["node-b"] = status
    async with asking(store_of(cluster)) as asked:
        failure = await asked.refused("CheckNodeServiceStatus", node_name="node-b", service_name=component)
    assert failure.code is SourceError.SOURCE_MISSING


async def test_a_component_that_is_a_pod_is_told_where_its_namespace_is_allowed() -> None:
    store = store_of(Cluster())
    status = {"name": "kube-proxy", "ready": False, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    pod = {"metadata": metadata("kube-proxy-x7k2p", "kube-system"), "spec": {"nodeName": "node-b", "containers": []}}
    store.add("pods", {**pod, "status": {"phase": "Running", "containerStatuses": [status]}})
    async with asking(store, namespaces=("shop", "kube-system")) as asked:
        found = await asked("CheckNodeServiceStatus", node_name="node-b", service_name="proxy")
    assert "active=waiting:CrashLoopBackOff" in found.content[0]
    assert "checked=system_pods" in found.content[0]


@pytest.mark.parametrize("places", [("shop",), ("shop", "default")])
async def test_events_of_nodes_are_read_where_their_namespace_is_allowed(places: tuple[str, ...]) -> None:
    store = store_of(Cluster())
    event = event_of("Warning", "NodeNotReady", "node/node-b", "Node is not ready", "default")
    store.add("events", event)
    async with asking(store, namespaces=places) as asked:
        found = await asked("DescribeResource", resource_type="node", name="node-b")
    told = any(line.startswith("event ") and "NodeNotReady" in line for line in found.content)
    assert told == ("default" in places)
    assert ("EVENTS_NOT_ALLOWED:default" in found.notes) == (not told)


async def test_events_count_how_often_they_were_seen() -> None:
    store = store_of(Cluster())
    store.add("events", event_of("Warning", "BackOff", f"pod/{POD}", "Back-off", "shop", count=12))
    newer = event_of("Normal", "Pulled", f"pod/{POD}", "pulled", "shop")
    store.add("events", {**newer, "count": None, "series": {"count": 3, "lastObservedTime": before(5)}})
    async with asking(store) as asked:
        found = await asked("GetResources", resource_type="events")
    assert "reason=BackOff" in found.content[0]
    assert "times=12 " in found.content[0]
    assert " times=3 " in found.content[1]


async def test_the_probe_tells_version_and_clock_and_fails_where_one_namespace_is_denied() -> None:
    async with asking(store_of(Cluster())) as asked:
        probe = await asked.source.probe()
    assert probe.sample == "v1.33.1, pods in 1 of 1 namespaces"
    assert probe.server_time is not None
    async with asking(two_places(denied=denied("pay")), namespaces=("shop", "pay")) as asked:
        with pytest.raises(Exception, match="ACCESS_DENIED"):
            await asked.source.probe()


async def test_one_cluster_is_asked_at_a_time() -> None:
    async with asking(store_of(Cluster())) as asked:
        with pytest.raises(ValueError, match="one Kubernetes cluster can be asked at a time; configured are a, b"):
            tools_of({"a": asked.source, "b": asked.source})
    assert tools_of({}) == ()


def test_a_time_beyond_the_calendar_is_none() -> None:
    assert moment("9999-12-31T23:59:59-14:00") is None
