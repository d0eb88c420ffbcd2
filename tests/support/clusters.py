"""A small shop on Kubernetes, frozen as the cluster tools read it, to break in one place.

Three applications call each other (`web` the `orders`, both the `store`), on two workers and a control plane. Names are
parameters: nothing that judges a cluster may depend on them.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

PORTS = {"web": 8080, "orders": 5050, "store": 3306}


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as kubectl prints it: columns three blanks apart, a line break at the end."""
    lines = [list(headings), *([str(cell) for cell in row] for row in rows)]
    if len(lines) == 1:
        return ""
    widths = [max(len(line[at]) for line in lines) + 3 for at in range(len(headings))]
    return (
        "\n".join("".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines) + "\n"
    )


@dataclass
class App:
    """An application with one pod. `events`: (type, reason, message); `patterns`: samples of error lines."""

    name: str
    port: int
    hash: str
    node: str = "node-b"
    ip: str = "10.0.0.1"
    status: str = "Running"
    ready: str = "1/1"
    restarts: str = "0"
    pods: bool = True
    replicas: str = "1/1"
    events: list[tuple[str, str, str]] = field(default_factory=list)
    container: str = ""
    """Lines of the container's description in place of the usual ones."""
    liveness: str = ""
    readiness: str = ""
    image: str = ""
    env: dict[str, str] = field(default_factory=dict)
    node_selectors: tuple[str, ...] = ("<none>",)
    more_containers: str = ""
    endpoints: str | None = None
    service: bool = True
    protocol: str = "TCP"
    manifest: dict[str, Any] = field(default_factory=dict)
    """Overrides: `selector`, `target_port`, `dns_policy`, `claim`, `config` (text)."""
    patterns: list[str] = field(default_factory=list)

    @property
    def pod(self) -> str:
        """The pod's generated name."""
        return f"{self.name}-{self.hash}-x7k2p"


@dataclass
class Cluster:
    """The whole of it; `cache()` freezes it."""

    namespace: str = "shop"
    names: dict[str, str] = field(default_factory=dict)
    apps: dict[str, App] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=lambda: {"cp-1": "Ready", "node-b": "Ready", "node-c": "Ready"})
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    taints: dict[str, list[str]] = field(default_factory=dict)
    dead: set[tuple[str, str]] = field(default_factory=set)
    unreachable_from: str = ""
    claims: list[tuple[str, str, str, str, str, str]] = field(default_factory=list)
    volumes: list[tuple[str, str, str, str, str, str, str]] = field(default_factory=list)
    quotas: list[tuple[str, str]] = field(default_factory=list)
    alerts: list[dict[str, Any]] = field(default_factory=list)
    events: list[tuple[str, str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        usual = {"web": "web", "orders": "orders", "store": "stock-mysql"}
        web, orders, store = (self.names.get(role, name) for role, name in usual.items())
        env = {"ORDERS_ADDR": f"{orders}:5050", "DB_HOST": store}
        self.apps = {
            "web": App(web, 8080, "6d9c7f8b4c", ip="10.0.0.11", env=dict(env)),
            "orders": App(orders, 5050, "7c5f46fc47", ip="10.0.0.12", node="node-c", env={"DB_ADDR": f"{store}:3306"}),
            "store": App(store, 3306, "58649b5469", ip="10.0.0.13", node="node-c"),
        }

    def cache(self) -> dict[str, Any]:
        """Return `tool_cache.json` of this cluster."""
        answers: dict[str, Any] = {"collection_timestamp": "2026-01-01T00:00:00"}
        for kind, text in self._tables().items():
            answers[_key("GetResources", resource_type=kind, name="", namespace=self.namespace)] = text
        for app in self.apps.values():
            self._of_app(answers, app)
        for node in self.nodes:
            for component in ("kubelet", "containerd", "kube-proxy", *(["kube-scheduler"] if node == "cp-1" else [])):
                key = _key("CheckNodeServiceStatus", node_name=node, service_name=component)
                answers[key] = self._component(node, component)
        answers["GetClusterConfiguration:{}"] = {"nodes": [self._node(name) for name in self.nodes]}
        answers["GetAlerts:{}"] = {"alerts": self.alerts} if self.alerts else {}
        return answers

    def _of_app(self, answers: dict[str, Any], app: App) -> None:
        place = {"namespace": self.namespace}
        if app.pods:
            answers[_key("DescribeResource", resource_type="pods", name=app.pod, **place)] = self.describe(app)
        replica_set = f"{app.name}-{app.hash}"
        refused = [event for event in app.events if event[1] == "FailedCreate"]
        text = f"Name: {replica_set}\nLabels: app={app.name}\n" + _events(refused)
        answers[_key("DescribeResource", resource_type="replicasets", name=replica_set, **place)] = text
        answers[_key("GetAppYAML", app_name=app.name)] = self.manifest(app)
        answers[_key("GetErrorLogs", service_name=app.name, **place)] = {
            "total_log_count": 50,
            "total_errors": len(app.patterns),
            "patterns": [{"count": 9, "ratio": 0.2, "sample": sample} for sample in app.patterns],
        }
        answers[_key("GetServiceDependencies", service_name=app.name)] = self._calls(app.name)
        probe = _key("CheckServiceConnectivity", service_name=app.name, port=app.port, **place)
        answers[probe] = self._probed(app)

    def _tables(self) -> dict[str, str]:
        apps = list(self.apps.values())
        running = [app for app in apps if app.pods]
        pods = [(a.pod, a.ready, a.status, a.restarts, "5m", a.ip, a.node, "<none>") for a in running]
        served = [app for app in apps if app.service]
        ends = [(a.name, a.endpoints if a.endpoints is not None else f"{a.ip}:{a.port}", "5m") for a in served]
        services = [(a.name, "ClusterIP", f"10.9.0.{a.port % 250}", "<none>", f"{a.port}/{a.protocol}") for a in served]
        workloads = [(a.name, a.replicas, "1" if a.pods else "0", a.replicas[0], "5m") for a in apps]
        sets = [(f"{a.name}-{a.hash}", "1", "1" if a.pods else "0", a.replicas[0], "5m") for a in apps]
        events = [("9s", kind, reason, of, message) for kind, reason, of, message in self.events]
        claim_heads = ("NAME", "STATUS", "VOLUME", "CAPACITY", "ACCESS MODES", "STORAGECLASS")
        volume_heads = ("NAME", "CAPACITY", "ACCESS MODES", "STATUS", "CLAIM", "STORAGECLASS", "LABELS")
        return {
            "pods": table(("NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE"), pods),
            "deployments": table(("NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"), workloads),
            "replicasets": table(("NAME", "DESIRED", "CURRENT", "READY", "AGE"), sets),
            "services": table(("NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)"), services),
            "endpoints": table(("NAME", "ENDPOINTS", "AGE"), ends),
            "nodes": table(("NAME", "STATUS", "ROLES"), [(n, s, _role(n)) for n, s in self.nodes.items()]),
            "persistentvolumeclaims": table(claim_heads, self.claims),
            "persistentvolumes": table(volume_heads, self.volumes),
            "resourcequota": table(("NAME", "AGE", "REQUEST", "LIMIT"), [(n, "5m", r, "") for n, r in self.quotas]),
            "events": table(("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"), events),
            "secrets": "",
        }

    def describe(self, app: App) -> str:
        """Return the description of an application's pod."""
        node = f"{app.node}/192.168.0.9" if app.node else "<none>"
        container = app.container or (
            f"    Image:          {app.image or f'registry.example.com/{app.name}:v1'}\n"
            f"    Port:           {app.port}/TCP\n    State:          Running\n    Ready:          True\n"
            f"    Restart Count:  {app.restarts.split()[0]}\n"
        )
        probes = "".join(
            f"    {title}:   {probe}\n"
            for title, probe in (("Liveness", app.liveness), ("Readiness", app.readiness))
            if probe
        )
        env = "    Environment:\n" + "".join(f"      {name}:  {value}\n" for name, value in app.env.items())
        first, *others = app.node_selectors
        return (
            f"Name:             {app.pod}\nNamespace:        {self.namespace}\nNode:             {node}\n"
            f"Labels:           app={app.name}\nStatus:           {app.status}\n"
            f"Containers:\n  main:\n{container}{probes}{env}{app.more_containers}"
            f"Node-Selectors:              {first}\n"
            + "".join(f"                             {other}\n" for other in others)
            + _events(app.events)
        )

    def manifest(self, app: App) -> str:
        """Return what was applied for an application."""
        own = app.manifest
        env = "".join(f'        - name: {name}\n          value: "{value}"\n' for name, value in app.env.items())
        dns = f"      dnsPolicy: {own['dns_policy']}\n" if "dns_policy" in own else ""
        claim = f"---\n{own['claim']}\n" if "claim" in own else ""
        config = f"---\n{own['config']}\n" if "config" in own else ""
        return (
            f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {app.name}\nspec:\n  template:\n    metadata:\n"
            f"      labels:\n        app: {app.name}\n    spec:\n{dns}      containers:\n      - name: main\n"
            f"        image: {app.image or app.name}\n        ports:\n        - containerPort: {app.port}\n"
            f"        env:\n{env or '          []'}\n"
            f"---\nkind: Service\nmetadata:\n  name: {app.name}\nspec:\n  selector:\n"
            f"    app: {own.get('selector', app.name)}\n  ports:\n  - name: tcp-main\n    port: {app.port}\n"
            f"    targetPort: {own.get('target_port', app.port)}\n    protocol: {app.protocol}\n{claim}{config}"
        )

    def _calls(self, name: str) -> str:
        web, orders, store = (self.apps[role].name for role in ("web", "orders", "store"))
        callers = {web: "(User Traffic)", orders: web, store: f"{web}, {orders}"}
        tree = {
            web: f"├── {orders}\n│   └── {store}\n└── {store}",
            orders: f"└── {store}",
            store: "(None - Leaf Service)",
        }
        upstream, downstream = callers.get(name, web), tree.get(name, "(None - Leaf Service)")
        return f"[Service]: {name}\n[Upstream (Called By)]: {upstream}\n[Downstream (Calls)]:\n{name}\n{downstream}\n"

    def _probed(self, app: App) -> str:
        results = [
            f"Debug Pod test results deployed on {node}: "
            + ("Connection Failed" if node == self.unreachable_from else f"{app.name} open\nConnection Succeeded")
            for node in self.nodes
            if node != "cp-1"
        ]
        return "\n".join([f"=== Service {app.name}:{app.port} ===", *results])

    def _component(self, node: str, component: str) -> str:
        dead = (node, component) in self.dead
        active = "inactive (dead) since Fri 2026-01-02" if dead else "active (running) since Fri 2026-01-02"
        state = f"     Loaded: loaded (x; enabled)\n     Active: {active} CST; 2min ago\n"
        return f"Service: {component}\nNode: {node}\n{state}"

    def _node(self, name: str) -> dict[str, Any]:
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/role": _role(name), **self.labels.get(name, {})}
        cordoned = ["node.kubernetes.io/unschedulable:NoSchedule"] if name == "cp-1" else []
        taints = [*cordoned, *self.taints.get(name, [])]
        return {"name": name, "status": self.nodes[name], "taints": taints, "labels": labels}


def _role(node: str) -> str:
    return "master" if node == "cp-1" else "node"


def _key(tool: str, **arguments: object) -> str:
    return f"{tool}:{json.dumps(arguments, separators=(',', ':'))}"


def _events(events: Sequence[tuple[str, str, str]]) -> str:
    if not events:
        return "Events:                      <none>\n"
    rows = [(kind, reason, "9s (x4 over 2m)", "kubelet", message) for kind, reason, message in events]
    body = table(("Type", "Reason", "Age", "From", "Message"), rows)
    return "Events:\n" + "".join(f"  {line}\n" for line in body.splitlines())
