"""One fault for each cause of the vocabulary, as the cluster of `tests.support.clusters` shows it: how to break it, and
whose fault it is (a role, a node, or the namespace)."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.clusters import App, Cluster

NAMESPACE = "namespace"


@dataclass(frozen=True)
class Fault:
    """`seat`: the role of the application, a node's name, or `namespace`."""

    cause: str
    seat: str
    breaks: Callable[[Cluster], None]
    query: str = "Partial Service Unreachability."


FAULTS: list[Fault] = []


def fault(cause: str, seat: str, query: str = "服务部分不可用。") -> Callable[[Callable[[Cluster], None]], None]:
    """Register what breaks a cluster so that `cause` at `seat` is to be found."""

    def register(breaks: Callable[[Cluster], None]) -> None:
        FAULTS.append(Fault(cause, seat, breaks, query))

    return register


def _on_orders(breaks: Callable[..., None], *arguments: object) -> Callable[[Cluster], None]:
    def of_cluster(cluster: Cluster) -> None:
        breaks(cluster.apps["orders"], *arguments)

    return of_cluster


def _pending(app: App, message: str) -> None:
    app.status, app.ready, app.replicas, app.node, app.endpoints = "Pending", "0/1", "0/1", "", "<none>"
    app.events = [("Warning", "FailedScheduling", f"0/3 nodes are available: {message}. preemption: 0/3 nodes")]


def _stuck(app: App, status: str, *events: tuple[str, str, str]) -> None:
    app.status, app.ready, app.replicas, app.endpoints = status, "0/1", "0/1", "<none>"
    app.events = list(events)


def _refused(app: App, message: str) -> None:
    app.pods, app.replicas, app.endpoints = False, "0/1", "<none>"
    app.events = [("Warning", "FailedCreate", f'Error creating: pods "{app.name}-" is forbidden: {message}')]


SCHEDULING = {
    "cpu_capacity_mismatch": "1 node(s) were unschedulable, 2 Insufficient cpu",
    "memory_capacity_mismatch": "1 node(s) were unschedulable, 2 Insufficient memory",
    "pod_anti_affinity_conflict": "1 node(s) were unschedulable, 2 node(s) didn't match pod anti-affinity rules",
    "taint_toleration_mismatch": "1 node(s) were unschedulable, 2 node(s) had untolerated taint {team: db}",
    "node_cordon_mismatch": "3 node(s) were unschedulable",
    "node_affinity_mismatch": "1 node(s) were unschedulable, 2 node(s) didn't match Pod's node affinity/selector",
}
for _cause, _message in SCHEDULING.items():
    fault(_cause, "orders")(_on_orders(_pending, _message))


@fault("node_selector_mismatch", "web")
def break_node_selector_mismatch(cluster: Cluster) -> None:
    _pending(cluster.apps["web"], SCHEDULING["node_affinity_mismatch"])
    cluster.apps["web"].node_selectors = ("disk=nvme", "zone=east")
    cluster.labels = {"node-b": {"disk": "nvme"}, "node-c": {"zone": "east"}}


QUOTAS = {"cpu": "requests.cpu", "memory": "limits.memory", "pod": "pods"}
for _what, _resource in QUOTAS.items():
    _message = f"exceeded quota: q, requested: {_resource}=1, used: {_resource}=4, limited: {_resource}=4"
    fault(f"namespace_{_what}_quota_exceeded", NAMESPACE)(_on_orders(_refused, _message))


@fault("namespace_service_quota_exceeded", NAMESPACE)
def break_namespace_service_quota_exceeded(cluster: Cluster) -> None:
    cluster.apps["orders"].service = False
    cluster.quotas = [("services-q", "services: 2/2")]
    cluster.apps["web"].patterns = [f"dial tcp: lookup {cluster.apps['orders'].name} on 10.9.0.10:53: no such host"]


@fault("namespace_storage_quota_exceeded", NAMESPACE)
def break_namespace_storage_quota_exceeded(cluster: Cluster) -> None:
    _pending(cluster.apps["store"], 'persistentvolumeclaim "data-claim" not found')
    _claim(cluster.apps["store"], storage="9Gi")
    cluster.quotas = [("storage-q", "requests.storage: 0/2Gi")]


@fault("missing_service_account", "orders")
def break_missing_service_account(cluster: Cluster) -> None:
    _refused(cluster.apps["orders"], 'error looking up service account shop/robot: serviceaccount "robot" not found')


@fault("deployment_zero_replicas", "orders")
def break_deployment_zero_replicas(cluster: Cluster) -> None:
    cluster.apps["orders"].pods, cluster.apps["orders"].replicas = False, "0/0"
    cluster.apps["orders"].endpoints = "<none>"


def _claim(
    app: App, *, storage: str = "1Gi", mode: str = "ReadWriteOnce", storage_class: str = "", more: str = ""
) -> None:
    app.manifest["claim"] = (
        "kind: PersistentVolumeClaim\nmetadata:\n  name: data-claim\nspec:\n"
        f'  accessModes: [{mode}]\n  storageClassName: "{storage_class}"\n{more}'
        f"  resources:\n    requests:\n      storage: {storage}\n"
    )


def _unbound(
    cluster: Cluster, *, volume: tuple[str, str, str] = ("Available", "", "RWO"), labels: str = "<none>"
) -> None:
    _pending(cluster.apps["store"], "pod has unbound immediate PersistentVolumeClaims")
    status, claim, mode = volume
    cluster.claims = [("data-claim", "Pending", "", "", "", "")]
    cluster.volumes = [("pv-1", "1Gi", mode, status, claim, "", labels)]


@fault("pvc_capacity_mismatch", "store")
def break_pvc_capacity_mismatch(cluster: Cluster) -> None:
    _unbound(cluster)
    _claim(cluster.apps["store"], storage="5Gi")


@fault("pvc_access_mode_mismatch", "store")
def break_pvc_access_mode_mismatch(cluster: Cluster) -> None:
    _unbound(cluster)
    _claim(cluster.apps["store"], mode="ReadWriteMany")


@fault("pvc_storage_class_mismatch", "store")
def break_pvc_storage_class_mismatch(cluster: Cluster) -> None:
    _unbound(cluster)
    _claim(cluster.apps["store"], storage_class="fast")


@fault("pvc_selector_mismatch", "store")
def break_pvc_selector_mismatch(cluster: Cluster) -> None:
    _unbound(cluster, labels="tier=cold")
    _claim(cluster.apps["store"], more="  selector:\n    matchLabels:\n      tier: hot\n")


@fault("pv_binding_occupied", "store")
def break_pv_binding_occupied(cluster: Cluster) -> None:
    _unbound(cluster, volume=("Bound", "shop/another", "RWO"))
    _claim(cluster.apps["store"])


PULL = 'Failed to pull image "r.example.com/x:v1": failed to resolve reference "r.example.com/x:v1": '
PULLS = {
    "image_registry_dns_failure": "dial tcp: lookup r.example.com on 10.9.0.10:53: no such host",
    "incorrect_image_reference": "r.example.com/x:v1: not found",
    "missing_image_pull_secret": "unexpected status from HEAD request: 401 Unauthorized",
}
for _cause, _message in PULLS.items():
    fault(_cause, "orders")(_on_orders(_stuck, "ImagePullBackOff", ("Warning", "Failed", PULL + _message)))


@fault("missing_secret_binding", "orders")
def break_missing_secret_binding(cluster: Cluster) -> None:
    _stuck(
        cluster.apps["orders"],
        "CreateContainerConfigError",
        ("Warning", "Failed", 'Error: secret "db-login" not found'),
    )


@fault("volume_mount_permission_denied", "store")
def break_volume_mount_permission_denied(cluster: Cluster) -> None:
    _stuck(
        cluster.apps["store"], "CrashLoopBackOff", ("Warning", "BackOff", "Back-off restarting failed container main")
    )
    cluster.apps["store"].patterns = ["fatal: open /data/ibdata1: permission denied"]


@fault("oom_killed", "orders")
def break_oom_killed(cluster: Cluster) -> None:
    app = cluster.apps["orders"]
    _stuck(app, "CrashLoopBackOff", ("Warning", "BackOff", "Back-off restarting failed container main"))
    app.container = (
        "    State:          Waiting\n      Reason:       CrashLoopBackOff\n    Last State:     Terminated\n"
        "      Reason:       OOMKilled\n      Exit Code:    137\n    Restart Count:  4\n"
    )


def _probe(app: App, title: str, probe: str, other: str, message: str) -> None:
    if title == "Liveness":
        app.restarts, app.liveness, app.readiness = "3 (20s ago)", probe, other
        killing = [("Normal", "Killing", "Container main failed liveness probe, will be restarted")]
    else:
        app.ready, app.replicas, app.endpoints, app.liveness, app.readiness = "0/1", "0/1", "", other, probe
        killing = []
    app.events = [("Warning", "Unhealthy", f"{title} probe failed: {message}"), *killing]


USUAL = "delay=5s timeout=1s period=10s #success=1 #failure=3"
REFUSED = 'timeout: failed to connect service "10.0.0.12" within 1s: context deadline exceeded'
GARBLED = 'Get "http://10.0.0.12:5050/health": malformed HTTP response'
GRPC = f"grpc <pod>:5050  {USUAL}"
for _title in ("Liveness", "Readiness"):
    _port = _on_orders(_probe, _title, f"grpc <pod>:5999  {USUAL}", GRPC, REFUSED)
    fault(f"{_title.lower()}_probe_incorrect_port", "orders", "Service abnormal restart.")(_port)
    _http = _on_orders(_probe, _title, f"http-get http://:5050/health {USUAL}", GRPC, GARBLED)
    fault(f"{_title.lower()}_probe_incorrect_protocol", "orders", "Service abnormal restart.")(_http)


@fault("liveness_probe_incorrect_timing", "orders", "Service abnormal restart.")
def break_liveness_probe_incorrect_timing(cluster: Cluster) -> None:
    hasty = "grpc <pod>:5050  delay=1s timeout=1s period=1s #success=1 #failure=1"
    _probe(cluster.apps["orders"], "Liveness", hasty, f"grpc <pod>:5050  {USUAL}", REFUSED)


@fault("service_sidecar_port_conflict", "orders")
def break_service_sidecar_port_conflict(cluster: Cluster) -> None:
    app = cluster.apps["orders"]
    _stuck(app, "CrashLoopBackOff", ("Warning", "BackOff", "Back-off restarting failed container main"))
    app.more_containers = "  exporter:\n    Port:           5050/TCP\n    State:          Running\n"


@fault("service_selector_mismatch", "orders")
def break_service_selector_mismatch(cluster: Cluster) -> None:
    cluster.apps["orders"].manifest["selector"] = "order"
    cluster.apps["orders"].endpoints = "<none>"


@fault("service_port_mapping_mismatch", "orders")
def break_service_port_mapping_mismatch(cluster: Cluster) -> None:
    app = cluster.apps["orders"]
    app.manifest["target_port"] = 5999
    app.endpoints = f"{app.ip}:5999"
    cluster.apps["web"].patterns = [f"rpc error: dial tcp 10.9.0.{5050 % 250}:5050: connect: connection refused"]


@fault("service_protocol_mismatch", "orders")
def break_service_protocol_mismatch(cluster: Cluster) -> None:
    cluster.apps["orders"].protocol = "UDP"
    more = {
        f"calm-{letter}": App(f"calm-{letter}", 9000, "6bb75d8c98", ip=f"10.0.1.{at}")
        for at, letter in enumerate("bcdf")
    }
    cluster.apps |= more


@fault("service_env_var_address_mismatch", "web")
def break_service_env_var_address_mismatch(cluster: Cluster) -> None:
    app = cluster.apps["web"]
    app.env["ORDERS_ADDR"] = f"{cluster.apps['orders'].name}-old:5050"
    app.patterns = [f"dial tcp: lookup {cluster.apps['orders'].name}-old on 10.9.0.10:53: no such host"]


@fault("service_dns_resolution_failure", "web")
def break_service_dns_resolution_failure(cluster: Cluster) -> None:
    cluster.apps["web"].manifest["dns_policy"] = "Default"
    cluster.apps["web"].patterns = [f"dial tcp: lookup {cluster.apps['orders'].name} on 8.8.8.8:53: no such host"]


@fault("gateway_misroute", "web")
def break_gateway_misroute(cluster: Cluster) -> None:
    orders, store = cluster.apps["orders"].name, cluster.apps["store"].name
    cluster.apps["web"].manifest["config"] = (
        "kind: ConfigMap\nmetadata:\n  name: routes\ndata:\n  routes.yml: |\n"
        f"    - id: one\n      uri: http://{store}\n      predicates:\n      - Path=/api/{orders}/**\n"
    )
    cluster.apps["web"].patterns = [f"404 on /api/{orders}/1"]


def _complains(cluster: Cluster, message: str) -> None:
    """The application crashes and says why."""
    app = cluster.apps["orders"]
    _stuck(app, "CrashLoopBackOff", ("Warning", "BackOff", "Back-off restarting failed container main"))
    app.patterns = [message]


@fault("mysql_invalid_credentials", "orders")
def break_mysql_invalid_credentials(cluster: Cluster) -> None:
    _complains(cluster, "ERROR 1045 (28000): Access denied for user 'app'@'10.0.0.12' (using password: YES)")


@fault("mysql_invalid_port", "orders")
def break_mysql_invalid_port(cluster: Cluster) -> None:
    _complains(cluster, "Communications link failure")
    cluster.apps["orders"].env["DB_ADDR"] = f"{cluster.apps['store'].name}:3399"


@fault("db_connection_exhaustion", "store")
def break_db_connection_exhaustion(cluster: Cluster) -> None:
    _complains(cluster, "SQLSTATE[HY000] [1040] Too many connections")


@fault("db_read_only", "store")
def break_db_read_only(cluster: Cluster) -> None:
    _complains(cluster, "The MySQL server is running with the --read-only option so it cannot execute this statement")


@fault("kubelet_unavailable", "node-c")
def break_kubelet_unavailable(cluster: Cluster) -> None:
    cluster.nodes["node-c"] = "NotReady"
    cluster.dead.add(("node-c", "kubelet"))
    for app in (cluster.apps["orders"], cluster.apps["store"]):
        app.replicas, app.endpoints = "0/1", ""


@fault("containerd_unavailable", "node-c")
def break_containerd_unavailable(cluster: Cluster) -> None:
    message = "Failed to create pod sandbox: dial unix /run/containerd/containerd.sock: no such file or directory"
    _stuck(cluster.apps["orders"], "ContainerCreating", ("Warning", "FailedCreatePodSandBox", message))
    cluster.nodes["node-c"] = "NotReady"
    cluster.dead.add(("node-c", "containerd"))


@fault("kube_proxy_unavailable", "node-b")
def break_kube_proxy_unavailable(cluster: Cluster) -> None:
    cluster.unreachable_from = "node-b"
    cluster.dead.add(("node-b", "kube-proxy"))


@fault("kube_scheduler_unavailable", "cp-1")
def break_kube_scheduler_unavailable(cluster: Cluster) -> None:
    app = cluster.apps["orders"]
    app.status, app.ready, app.replicas, app.node, app.endpoints = "Pending", "0/1", "0/1", "", "<none>"
    cluster.dead.add(("cp-1", "kube-scheduler"))


SLOW = "Service latency increased significantly."


def _alert(name: str, *evidence: str, kind: str = "Service") -> dict[str, object]:
    return {
        "type": kind,
        "name": name,
        "time_range": "2026-01-01 00:00:00 ~ 2026-01-01 00:02:00",
        "evidence": [*evidence],
    }


def slow_alert(name: str, milliseconds: int, *more: str) -> dict[str, object]:
    """Return the alert of a service that answers slowly, with `more` evidence."""
    slow = f"{name}-p90latency: Normal=9.00ms -> Current={milliseconds}.00ms (+9%)"
    return _alert(name, f"LATENCY_DEGRADATION [Slow Response] | {slow}", *more)


@fault("pod_cpu_overload", "orders", SLOW)
def break_pod_cpu_overload(cluster: Cluster) -> None:
    web, orders = cluster.apps["web"].name, cluster.apps["orders"].name
    saturated = _alert(orders, "RESOURCE_SATURATION [cpu_cfs] | Val: 1.081s (Throttled)")
    cluster.alerts = [slow_alert(web, 900), slow_alert(orders, 700), saturated]


@fault("pod_network_delay", "store", SLOW)
def break_pod_network_delay(cluster: Cluster) -> None:
    cluster.alerts = [
        slow_alert(cluster.apps[role].name, ms) for role, ms in (("web", 900), ("orders", 700), ("store", 500))
    ]


@fault("node_network_packet_loss", "node-c", SLOW)
def break_node_network_packet_loss(cluster: Cluster) -> None:
    told = "NETWORK_QUALITY_DEGRADED [TCP Retransmission] | Normal=0.00retrans -> Current={}retrans (New Spike)"
    cluster.alerts = [
        slow_alert(cluster.apps["web"].name, 900),
        _alert("node-b", told.format("0.61"), kind="Node"),
        _alert("node-c", told.format("6.67"), kind="Node"),
    ]


@fault("node_network_delay", "node-c", SLOW)
def break_node_network_delay(cluster: Cluster) -> None:
    """Two services of one node are slow of themselves: neither calls the other."""
    calm = App("calm-b", 9000, "6bb75d8c98", ip="10.0.1.9", node="node-c")
    cluster.apps["calm"] = calm
    cluster.alerts = [
        slow_alert(cluster.apps["web"].name, 900),
        slow_alert(calm.name, 700),
        slow_alert(cluster.apps["store"].name, 500),
    ]
