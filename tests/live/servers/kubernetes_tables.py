"""The tables that an API server prints of its objects, as `kubectl get` shows them.

Documentation: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables and the
columns that https://kubernetes.io/docs/reference/kubectl/ shows for each kind. What `-o wide` adds has priority 1.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

NOW = datetime.now(UTC).replace(microsecond=0)
"""The server's clock, as its tables count ages; what a test tells happened before it."""
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX"}

Row = list[tuple[str, Any, int]]
"""Cells in order: heading, value, priority."""


def _nothing_more(found: dict[str, Any]) -> Row:
    return []


def table_of(kind: str, objects: list[dict[str, Any]], include: str) -> dict[str, Any]:
    """Return the Table of objects; `include` is `includeObject`: None, Metadata or Object. An object that has its `row`
    recorded is printed as that."""
    printer = _PRINTERS.get(kind, _nothing_more)
    rows = [
        (found, [("Name", found["metadata"]["name"], 0), *(found.get("row") or printer(found))]) for found in objects
    ]
    heads = rows[0][1] if rows else [("Name", "", 0)]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": [
            {"name": name, "type": "string", "format": "", "description": "", "priority": priority}
            for name, _, priority in heads
        ],
        "rows": [{"cells": [value for _, value, _ in row], "object": _included(found, include)} for found, row in rows],
    }


def _included(found: dict[str, Any], include: str) -> dict[str, Any] | None:
    if include == "None":
        return None
    if include == "Object":
        return found
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": found["metadata"]}


def ago(text: str | None) -> str:
    """Return the age of a time, in seconds below two minutes, else in minutes."""
    if text is None:
        return "<unknown>"
    seconds = int((NOW - datetime.fromisoformat(text)).total_seconds())
    return f"{seconds}s" if seconds < 120 else f"{seconds // 60}m"


def _age(found: dict[str, Any]) -> str:
    return ago(found["metadata"].get("creationTimestamp"))


def pod_status(pod: dict[str, Any]) -> str:
    """Return the STATUS of a pod: what its containers wait for or ended with, before its phase."""
    status = pod.get("status", {})
    told = str(status.get("reason") or status.get("phase") or "Unknown")
    for container in reversed(status.get("containerStatuses") or []):
        state = container.get("state") or {}
        if state.get("waiting", {}).get("reason"):
            told = state["waiting"]["reason"]
        elif state.get("terminated", {}).get("reason"):
            told = state["terminated"]["reason"]
    return "Terminating" if pod["metadata"].get("deletionTimestamp") else told


def _pod(pod: dict[str, Any]) -> Row:
    containers = pod.get("status", {}).get("containerStatuses") or []
    ready = sum(bool(one.get("ready")) for one in containers)
    restarts = sum(one.get("restartCount", 0) for one in containers)
    ended = [one["lastState"]["terminated"]["finishedAt"] for one in containers if one.get("lastState")]
    return [
        ("Ready", f"{ready}/{len(pod['spec']['containers'])}", 0),
        ("Status", pod_status(pod), 0),
        ("Restarts", f"{restarts} ({ago(ended[0])} ago)" if restarts and ended else str(restarts), 0),
        ("Age", _age(pod), 0),
        ("IP", pod.get("status", {}).get("podIP") or "<none>", 1),
        ("Node", pod["spec"].get("nodeName") or "<none>", 1),
        ("Nominated Node", "<none>", 1),
        ("Readiness Gates", "<none>", 1),
    ]


def _wide(found: dict[str, Any]) -> Row:
    containers = found["spec"]["template"]["spec"]["containers"]
    labels = found["spec"]["selector"]["matchLabels"]
    return [
        ("Containers", ",".join(one["name"] for one in containers), 1),
        ("Images", ",".join(one["image"] for one in containers), 1),
        ("Selector", ",".join(f"{key}={value}" for key, value in labels.items()), 1),
    ]


def _deployment(found: dict[str, Any]) -> Row:
    status = found.get("status", {})
    return [
        ("Ready", f"{status.get('readyReplicas', 0)}/{found['spec']['replicas']}", 0),
        ("Up-to-date", status.get("updatedReplicas", 0), 0),
        ("Available", status.get("availableReplicas", 0), 0),
        ("Age", _age(found), 0),
        *_wide(found),
    ]


def _replica_set(found: dict[str, Any]) -> Row:
    status = found.get("status", {})
    told = {"Desired": found["spec"]["replicas"], "Current": status.get("replicas", 0)}
    return [
        *((heading, amount, 0) for heading, amount in told.items()),
        ("Ready", status.get("readyReplicas", 0), 0),
        ("Age", _age(found), 0),
        *_wide(found),
    ]


def _service(found: dict[str, Any]) -> Row:
    spec = found["spec"]
    ports = ",".join(f"{one['port']}/{one.get('protocol', 'TCP')}" for one in spec.get("ports", []))
    selector = ",".join(f"{key}={value}" for key, value in (spec.get("selector") or {}).items())
    return [
        ("Type", spec.get("type", "ClusterIP"), 0),
        ("Cluster-IP", spec.get("clusterIP", "None"), 0),
        ("External-IP", "<none>", 0),
        ("Port(s)", ports, 0),
        ("Age", _age(found), 0),
        ("Selector", selector or "<none>", 1),
    ]


def _endpoints(found: dict[str, Any]) -> Row:
    told = [
        f"{address['ip']}:{port['port']}"
        for subset in found.get("subsets") or []
        for port in subset.get("ports", [])
        for address in subset.get("addresses", [])
    ]
    return [("Endpoints", ",".join(told) or "<none>", 0), ("Age", _age(found), 0)]


def _node(found: dict[str, Any]) -> Row:
    ready = next((one["status"] for one in found["status"]["conditions"] if one["type"] == "Ready"), "Unknown")
    status = "Ready" if ready == "True" else "NotReady"
    roles = [key.rpartition("/")[2] for key in found["metadata"]["labels"] if key.startswith("node-role.")]
    roles += [value for key, value in found["metadata"]["labels"].items() if key == "kubernetes.io/role"]
    return [
        ("Status", f"{status},SchedulingDisabled" if found["spec"].get("unschedulable") else status, 0),
        ("Roles", ",".join(roles) or "<none>", 0),
        ("Age", _age(found), 0),
        ("Version", found["status"]["nodeInfo"]["kubeletVersion"], 0),
        ("Container-Runtime", found["status"]["nodeInfo"]["containerRuntimeVersion"], 1),
    ]


def _modes(spec: dict[str, Any]) -> str:
    return ",".join(_MODES[mode] for mode in spec.get("accessModes", []))


def _claim(found: dict[str, Any]) -> Row:
    spec, status = found["spec"], found.get("status", {})
    bound = status.get("phase") == "Bound"
    return [
        ("Status", status.get("phase", ""), 0),
        ("Volume", spec.get("volumeName", ""), 0),
        ("Capacity", status.get("capacity", {}).get("storage", ""), 0),
        ("Access Modes", _modes(spec) if bound else "", 0),
        ("StorageClass", spec.get("storageClassName", ""), 0),
        ("Age", _age(found), 0),
    ]


def _volume(found: dict[str, Any]) -> Row:
    spec = found["spec"]
    claim = spec.get("claimRef")
    return [
        ("Capacity", spec["capacity"]["storage"], 0),
        ("Access Modes", _modes(spec), 0),
        ("Reclaim Policy", spec.get("persistentVolumeReclaimPolicy", "Retain"), 0),
        ("Status", found["status"]["phase"], 0),
        ("Claim", f"{claim['namespace']}/{claim['name']}" if claim else "", 0),
        ("StorageClass", spec.get("storageClassName", ""), 0),
        ("Age", _age(found), 0),
    ]


def _quota(found: dict[str, Any]) -> Row:
    used, hard = found["status"]["used"], found["status"]["hard"]
    limits = [f"{key}: {used[key]}/{value}" for key, value in hard.items() if key.startswith("limits")]
    requests = [f"{key}: {used[key]}/{value}" for key, value in hard.items() if not key.startswith("limits")]
    return [("Request", ", ".join(requests), 0), ("Limit", ", ".join(limits), 0), ("Age", _age(found), 0)]


def _secret(found: dict[str, Any]) -> Row:
    return [
        ("Type", found.get("type", "Opaque"), 0),
        ("Data", len(found.get("data") or {}), 0),
        ("Age", _age(found), 0),
    ]


_PRINTERS: Mapping[str, Callable[[dict[str, Any]], Row]] = {
    "pods": _pod,
    "deployments": _deployment,
    "replicasets": _replica_set,
    "services": _service,
    "endpoints": _endpoints,
    "nodes": _node,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "resourcequotas": _quota,
    "secrets": _secret,
    "configmaps": lambda found: [("Data", len(found.get("data") or {}), 0), ("Age", _age(found), 0)],
    "namespaces": lambda found: [
        ("Status", found.get("status", {}).get("phase", "Active"), 0),
        ("Age", _age(found), 0),
    ],
}
