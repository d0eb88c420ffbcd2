"""Nodes: their configuration, and what their conditions and system pods say of the components that run on them.

A service manager can't be asked through the API server. What the API knows is told with its source (`checked=`); what
it doesn't know is SOURCE_MISSING, never a guess.
"""

from typing import Any

from tools.base import SourceFailure
from tools.cluster.state import Told
from tools.live.kubernetes.api import LIST_CUT
from tools.live.kubernetes.details import taints_of
from tools.live.kubernetes.events import event_rows
from tools.live.kubernetes.objects import Object, at, each, name_of, one
from tools.live.kubernetes.reading import Reading
from tools.names import near
from tools.vocabulary import SourceError

NODE_EVENTS = "default"
"""The namespace that holds the events of nodes."""
SYSTEM = "kube-system"
EVENTS_NOT_ALLOWED = f"EVENTS_NOT_ALLOWED:{NODE_EVENTS}"
_SHOWN_EVENTS = 8
_RUNTIMES = frozenset(("containerd", "docker", "crio", "cri-o"))
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_ROLE = "node-role.kubernetes.io/"


async def configuration_of(reading: Reading) -> Told:
    """Return all nodes with status, role, taints, labels, conditions and allocatable resources."""
    listed = await reading.objects("nodes", None)
    return Told(
        {"node_count": len(listed.items), "nodes": [_node(node) for node in listed.items]},
        notes=(LIST_CUT,) if listed.cut else (),
        cut=listed.cut,
    )


def _node(node: Object) -> dict[str, Any]:
    labels = at(node, "metadata", "labels") or {}
    roles = [key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)]
    allocatable = at(node, "status", "allocatable") or {}
    pressures = {key: status for key in _PRESSURES if (status := at(condition(node, key), "status"))}
    return {
        "name": name_of(node),
        "role": ",".join(filter(None, roles)) or labels.get("kubernetes.io/role"),
        "status": "Unknown" if at(condition(node, "Ready"), "status") == "Unknown" else status_of(node),
        "conditions": pressures,
        "taints": taints_of(node),
        "labels": dict(labels),
        "allocatable_resources": {key: allocatable.get(key) for key in ("cpu", "memory")},
    }


def status_of(node: Object) -> str:
    """Return a node's status as kubectl lists it: `Ready`, `NotReady`, `Ready,SchedulingDisabled`."""
    ready = "Ready" if at(condition(node, "Ready"), "status") == "True" else "NotReady"
    return f"{ready},SchedulingDisabled" if at(node, "spec", "unschedulable") else ready


def condition(node: Object, sort: str) -> Object:
    """Return a condition of an object, an empty one where it has none of that sort."""
    return next((found for found in each(node, "status", "conditions") if found.get("type") == sort), {})


async def node_service_of(reading: Reading, node: str, component: str) -> Told:
    """Return what the API knows of a component on a node.

    Raises SourceFailure: UNKNOWN_SELECTOR with near names for a node that isn't there, SOURCE_MISSING for a component
    that neither the node's conditions nor a system pod tells of.
    """
    found = await reading.object("nodes", None, node)
    if found is None:
        listed = await reading.objects("nodes", None)
        names = near(node, [name_of(item) for item in listed.items])
        raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=names, field="node_name")
    if component == "kubelet":
        return await _kubelet(reading, found)
    if component in _RUNTIMES:
        return await _runtime(reading, found, component)
    return await _system_pod(reading, node, component)


async def _kubelet(reading: Reading, node: Object) -> Told:
    """The kubelet posts its node's conditions itself: while it does, it runs; Unknown means that nobody heard of it."""
    ready = condition(node, "Ready")
    active = {"True": "reporting", "False": "reporting", "Unknown": "silent"}.get(str(ready.get("status")))
    if active is None:
        raise SourceFailure(SourceError.SOURCE_MISSING, field="service_name")
    return await _by_conditions(reading, node, active)


async def _runtime(reading: Reading, node: Object, component: str) -> Told:
    """Of the container runtime the kubelet speaks where it isn't well; its version says which one it is."""
    version = str(at(node, "status", "nodeInfo", "containerRuntimeVersion") or "")
    ready = condition(node, "Ready")
    named = version.partition(":")[0].replace("cri-o", "crio") == component.replace("cri-o", "crio")
    if not named or ready.get("status") not in ("True", "False"):
        raise SourceFailure(SourceError.SOURCE_MISSING, field="service_name")
    told = f"{ready.get('message')} {ready.get('reason')}".casefold()
    blamed = ready.get("status") == "False" and any(word in told for word in ("container runtime", "pleg", component))
    if ready.get("status") == "False" and not blamed:
        raise SourceFailure(SourceError.SOURCE_MISSING, field="service_name")
    return await _by_conditions(reading, node, "blamed_by_kubelet" if blamed else "in_use_by_kubelet")


async def _by_conditions(reading: Reading, node: Object, active: str) -> Told:
    ready = condition(node, "Ready")
    detail = [_condition(found) for found in each(node, "status", "conditions")]
    notes: tuple[str, ...] = (EVENTS_NOT_ALLOWED,)
    if NODE_EVENTS in reading.namespaces:
        rows, notes = await _events(reading, name_of(node))
        detail += rows
    since = ready.get("lastTransitionTime")
    return Told({"active": active, "since": since, "checked": "node_conditions", "detail": detail}, notes=notes)


def _condition(found: Object) -> str:
    told = {"status": "status", "reason": "reason", "since": "lastTransitionTime", "heard": "lastHeartbeatTime"}
    fields = " ".join(f"{word}={one(found.get(key)).replace(' ', '_') or '-'}" for word, key in told.items())
    return f"{one(found.get('type'))} {fields} | {one(found.get('message'), 300)}"


async def _events(reading: Reading, node: str) -> tuple[list[str], tuple[str, ...]]:
    try:
        listed = await reading.events(NODE_EVENTS, fields=f"involvedObject.kind=Node,involvedObject.name={node}")
    except SourceFailure:
        return [], ("SOURCE_FAILED:events",)
    rows = event_rows(listed.items, reading.api.now)[-_SHOWN_EVENTS:]
    return [f"event {row['type']} {row['reason']} {row['last_seen']} ago | {row['message']}" for row in rows], ()


async def _system_pod(reading: Reading, node: str, component: str) -> Told:
    """kube-proxy, kube-scheduler and the like run as pods where they aren't services: look at the one on the node."""
    if SYSTEM not in reading.namespaces:
        raise SourceFailure(SourceError.SOURCE_MISSING, field="service_name")
    listed = await reading.objects("pods", SYSTEM, fields=f"spec.nodeName={node}")
    pods = [pod for pod in listed.items if name_of(pod).startswith(f"{component}-")]
    if not pods:
        raise SourceFailure(SourceError.SOURCE_MISSING, field="service_name")
    states = [_state(status) for pod in pods for status in each(pod, "status", "containerStatuses")]
    active = next((state for state in states if state != "running"), "running") if states else "not_begun"
    detail = [f"pod {name_of(pod)} phase={one(at(pod, 'status', 'phase'))}" for pod in pods]
    return Told({"active": active, "checked": "system_pods", "since": _since(pods), "detail": detail})


def _state(status: Object) -> str:
    kind = next((key for key in ("waiting", "terminated") if at(status, "state", key) is not None), "running")
    reason = one(at(status, "state", kind, "reason")).replace(" ", "_")
    ready = "" if kind != "running" or status.get("ready") else "_not_ready"
    return f"{kind}{ready}{f':{reason}' if reason else ''}"


def _since(pods: list[Object]) -> Any:
    return next(
        (at(status, "state", "running", "startedAt") for status in each(pods[0], "status", "containerStatuses")), None
    )
