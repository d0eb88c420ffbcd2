"""Small cluster states as an API server's objects: the shop that the frozen tools are tested with, and its parts."""

import re
from datetime import timedelta
from typing import Any

import yaml

from tests.live.servers.kubernetes import ClusterStore
from tests.live.servers.kubernetes_tables import NOW
from tests.support.clusters import App, Cluster


def before(seconds: int) -> str:
    """Return the time that lies so many seconds before the server's clock."""
    return (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


MADE = before(300)
"""When everything was made."""
_PROBE = re.compile(
    r"(?P<handler>\S+) \S*?:(?P<port>\d+)(?P<path>/\S*)?\s+delay=(?P<delay>\d+)s timeout=(?P<timeout>\d+)s"
    r" period=(?P<period>\d+)s #success=\d+ #failure=(?P<failure>\d+)"
)
Object = dict[str, Any]


def metadata(name: str, namespace: str | None = "shop", **more: Any) -> Object:
    """Return an object's metadata; `more`: labels, annotations, ownerReferences."""
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "uid": f"uid-{name}", "creationTimestamp": MADE, **more}


def store_of(cluster: Cluster, **more: Any) -> ClusterStore:
    """Return what an API server holds of a cluster. Nodes, volumes and the namespaces lie in none."""
    store = ClusterStore(**more)
    space = cluster.namespace
    store.add("namespaces", {"kind": "Namespace", "metadata": metadata(space, None), "status": {"phase": "Active"}})
    for app in cluster.apps.values():
        _add_app(store, app, space)
    for name, status in cluster.nodes.items():
        store.add("nodes", node_of(cluster, name, status))
    for kind, reason, about, message in cluster.events:
        store.add("events", event_of(kind, reason, about, message, space))
    for row in cluster.claims:
        _add_claim(store, row, space)
    store.add("persistentvolumes", *(_volume(*row) for row in cluster.volumes))
    for name, told in cluster.quotas:
        resource, _, amounts = told.partition(": ")
        used, _, hard = amounts.partition("/")
        status_ = {"used": {resource: used}, "hard": {resource: hard}}
        store.add("resourcequotas", {"kind": "ResourceQuota", "metadata": metadata(name, space), "status": status_})
    return store


def _add_app(store: ClusterStore, app: App, space: str) -> None:
    template = template_of(app)
    labels = {"app": app.name}
    ready, wanted = (int(part) for part in app.replicas.split("/"))
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(app.name, space, labels=labels, generation=1),
        "spec": {"replicas": wanted, "selector": {"matchLabels": labels}, "template": template},
        "status": {
            "observedGeneration": 1,
            "replicas": ready,
            "readyReplicas": ready,
            "updatedReplicas": 1 if app.pods else 0,
            "availableReplicas": ready,
        },
    }
    store.add("deployments", deployment)
    store.add("replicasets", replica_set_of(app, template, space, ready, revision=1))
    if app.pods:
        store.add("pods", pod_of(app, template, space))
    if app.service:
        _add_service(store, app, space)
    for kind, reason, message in app.events:
        about = f"replicaset/{app.name}-{app.hash}" if reason == "FailedCreate" else f"pod/{app.pod}"
        store.add("events", event_of(kind, reason, about, message, space, count=4))
    if "claim" in app.manifest:
        claim = yaml.safe_load(app.manifest["claim"])
        store.add("persistentvolumeclaims", {**claim, "metadata": metadata(claim["metadata"]["name"], space)})
    if "config" in app.manifest:
        config = yaml.safe_load(app.manifest["config"])
        store.add("configmaps", {**config, "metadata": metadata(config["metadata"]["name"], space)})
    store.logs[app.pod, "main", False] = [f"{before(60 - at)} {told}" for at, told in enumerate(app.patterns)]


def template_of(app: App) -> Object:
    """Return an application's pod template, as it was applied."""
    container: Object = {
        "name": "main",
        "image": app.image or app.name,
        "ports": [{"containerPort": app.port, "protocol": "TCP"}],
        "env": [{"name": name, "value": value} for name, value in app.env.items()],
    }
    for key, told in (("livenessProbe", app.liveness), ("readinessProbe", app.readiness)):
        if told:
            container[key] = _probe(told)
    spec: Object = {"containers": [container]}
    if "dns_policy" in app.manifest:
        spec["dnsPolicy"] = app.manifest["dns_policy"]
    selectors = dict(pair.split("=") for pair in app.node_selectors if "=" in pair)
    spec |= {"nodeSelector": selectors} if selectors else {}
    for key, source, name in (("claim", "persistentVolumeClaim", "claimName"), ("config", "configMap", "name")):
        if key in app.manifest:
            document = yaml.safe_load(app.manifest[key])
            spec.setdefault("volumes", []).append({"name": key, source: {name: document["metadata"]["name"]}})
    return {"metadata": {"labels": {"app": app.name}}, "spec": spec}


def _probe(told: str) -> Object:
    found = _PROBE.fullmatch(told)
    assert found is not None, told
    port = int(found["port"])
    handlers: dict[str, Object] = {
        "grpc": {"grpc": {"port": port}},
        "tcp-socket": {"tcpSocket": {"port": port}},
        "http-get": {"httpGet": {"port": port, "path": found["path"], "scheme": "HTTP"}},
    }
    return {
        **handlers[found["handler"]],
        "initialDelaySeconds": int(found["delay"]),
        "timeoutSeconds": int(found["timeout"]),
        "periodSeconds": int(found["period"]),
        "successThreshold": 1,
        "failureThreshold": int(found["failure"]),
    }


def replica_set_of(app: App, template: Object, space: str, ready: int, *, revision: int) -> Object:
    """Return the ReplicaSet of an application's revision."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": app.name, "uid": f"uid-{app.name}"}
    annotations = {"deployment.kubernetes.io/revision": str(revision)}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata(
            f"{app.name}-{app.hash}",
            space,
            labels={"app": app.name, "pod-template-hash": app.hash},
            annotations=annotations,
            ownerReferences=[owner],
        ),
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": app.name}}, "template": template},
        "status": {"replicas": 1 if app.pods else 0, "readyReplicas": ready},
    }


def pod_of(app: App, template: Object, space: str) -> Object:
    """Return an application's pod, in the state that its row tells."""
    ready = app.ready.partition("/")[0] == "1"
    restarts = int(app.restarts.split()[0])
    waiting = app.status not in ("Running", "Pending")
    told = _states(app.container)
    state: Object = {"waiting": {"reason": app.status}} if waiting else {"running": {"startedAt": MADE}}
    status: Object = {"name": "main", "ready": ready, "restartCount": restarts, "state": state, "image": app.image}
    if "Last State" in told:
        status["lastState"] = told["Last State"]
        status["restartCount"] = restarts or 4
    elif restarts:
        ended = {"exitCode": 1, "reason": "Error", "startedAt": MADE, "finishedAt": before(47)}
        status["lastState"] = {"terminated": ended}
    owner = {"kind": "ReplicaSet", "name": f"{app.name}-{app.hash}", "uid": f"uid-{app.name}-{app.hash}"}
    labels = {"app": app.name, "pod-template-hash": app.hash}
    place = {"nodeName": app.node} if app.node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(app.pod, space, labels=labels, ownerReferences=[owner]),
        "spec": {**_with_sidecars(app, template["spec"]), **place, "serviceAccountName": "default"},
        "status": {
            "phase": "Pending" if app.status == "Pending" else "Running",
            "podIP": app.ip,
            "hostIP": "192.168.0.9",
            "containerStatuses": [] if app.status == "Pending" else [status],
            "qosClass": "BestEffort",
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    }


def _add_service(store: ClusterStore, app: App, space: str) -> None:
    target = app.manifest.get("target_port", app.port)
    port = {"name": "tcp-main", "port": app.port, "targetPort": target, "protocol": app.protocol}
    selector = {"app": app.manifest.get("selector", app.name)}
    spec = {"clusterIP": f"10.9.0.{app.port % 250}", "type": "ClusterIP", "selector": selector, "ports": [port]}
    store.add("services", {"apiVersion": "v1", "kind": "Service", "metadata": metadata(app.name, space), "spec": spec})
    ready = app.pods and app.ready == "1/1" and app.endpoints is None and selector["app"] == app.name
    subset = {"addresses": [{"ip": app.ip}], "ports": [{"name": "tcp-main", "port": target}]}
    store.add(
        "endpoints",
        {"kind": "Endpoints", "metadata": metadata(app.name, space), "subsets": [subset] if ready else []},
    )
    endpoint = {
        "addresses": [app.ip],
        "conditions": {"ready": app.ready == "1/1"},
        "nodeName": app.node,
        "targetRef": {"kind": "Pod", "name": app.pod},
    }
    slice_labels = {"kubernetes.io/service-name": app.name}
    store.add(
        "endpointslices",
        {
            "kind": "EndpointSlice",
            "metadata": metadata(f"{app.name}-abc12", space, labels=slice_labels),
            "ports": [{"name": "tcp-main", "port": target, "protocol": "TCP"}],
            "endpoints": [endpoint] if app.pods and selector["app"] == app.name else [],
        },
    )


def node_of(cluster: Cluster, name: str, status: str) -> Object:
    """Return a node; `status` as kubectl lists it."""
    role = "master" if name == "cp-1" else "node"
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/role": role, **cluster.labels.get(name, {})}
    cordoned = ["node.kubernetes.io/unschedulable:NoSchedule"] if name == "cp-1" else []
    taints: list[Object] = []
    for told in [*cordoned, *cluster.taints.get(name, [])]:
        pair, _, effect = told.rpartition(":")
        key, _, value = pair.partition("=")
        taints.append({"key": key, **({"value": value} if value else {}), "effect": effect})
    ready = "True" if status.startswith("Ready") else "Unknown"
    reason = "KubeletReady" if ready == "True" else "NodeStatusUnknown"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(name, None, labels=labels),
        "spec": {"taints": taints, **({"unschedulable": True} if "Disabled" in status else {})},
        "status": {
            "conditions": [
                {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
                {"type": "Ready", "status": ready, "reason": reason, "lastTransitionTime": MADE},
            ],
            "nodeInfo": {"kubeletVersion": "v1.33.1", "containerRuntimeVersion": "containerd://2.1.0"},
            "allocatable": {"cpu": "8", "memory": "16Gi"},
        },
    }


def event_of(
    kind: str, reason: str, about: str, message: str, space: str, *, count: int = 1, seconds: int = 9
) -> Object:
    """Return an event about `sort/name`."""
    sort, _, name = about.partition("/")
    spoken = {"pod": "Pod", "replicaset": "ReplicaSet", "node": "Node", "deployment": "Deployment"}.get(sort, sort)
    return {
        "kind": "Event",
        "metadata": metadata(f"{name}.{abs(hash((reason, message))) % 10**8:08x}", space),
        "involvedObject": {"kind": spoken, "name": name, "namespace": space},
        "type": kind,
        "reason": reason,
        "message": message,
        "count": count,
        "firstTimestamp": before(120),
        "lastTimestamp": before(seconds),
        "source": {"component": "kubelet"},
    }


def _states(described: str) -> dict[str, Object]:
    """Return the states that a container's description tells: the last one with its reason and exit code."""
    found = re.search(r"Last State:\s+Terminated\n\s+Reason:\s+(\w+)\n\s+Exit Code:\s+(\d+)", described)
    if found is None:
        return {}
    ended = {"reason": found[1], "exitCode": int(found[2]), "startedAt": MADE, "finishedAt": before(47)}
    return {"Last State": {"terminated": ended}}


def _with_sidecars(app: App, spec: Object) -> Object:
    """Return a pod's spec with the further containers that its description tells."""
    told = re.findall(r"  (\w+):\n    Port:\s+(\d+)/TCP", app.more_containers)
    more = [{"name": name, "image": name, "ports": [{"containerPort": int(port)}]} for name, port in told]
    return {**spec, "containers": [*spec["containers"], *more]}


_LONG = {"RWO": "ReadWriteOnce", "RWX": "ReadWriteMany", "ROX": "ReadOnlyMany"}


def _add_claim(store: ClusterStore, row: tuple[str, str, str, str, str, str], space: str) -> None:
    """Add a claim's row to what was applied of it, where that is known."""
    name, status, volume, capacity, modes, sort = row
    held = {"phase": status, **({"capacity": {"storage": capacity}} if capacity else {})}
    applied = [one for one in store.objects.get("persistentvolumeclaims", []) if one["metadata"]["name"] == name]
    if applied:
        applied[0]["status"] = held
        return
    spec: Object = {"accessModes": [_LONG[mode] for mode in modes.split(",") if mode], "storageClassName": sort}
    spec |= {"volumeName": volume} if volume else {}
    claim = {"kind": "PersistentVolumeClaim", "metadata": metadata(name, space), "spec": spec, "status": held}
    store.add("persistentvolumeclaims", claim)


def _volume(name: str, capacity: str, modes: str, status: str, claim: str, sort: str, labels: str) -> Object:
    spec: Object = {"capacity": {"storage": capacity}, "accessModes": [_LONG[mode] for mode in modes.split(",")]}
    place, _, of = claim.partition("/")
    spec |= {"claimRef": {"namespace": place, "name": of}} if claim else {}
    pairs = dict(pair.split("=") for pair in labels.split(",") if "=" in pair)
    return {
        "kind": "PersistentVolume",
        "metadata": metadata(name, None, labels=pairs),
        "spec": {**spec, "storageClassName": sort},
        "status": {"phase": status},
    }
