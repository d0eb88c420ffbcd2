"""Reading the API's objects, and where each kind of them lies.

Source: https://kubernetes.io/docs/reference/kubernetes-api/ (the paths and fields of the resources).
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

Object: TypeAlias = Mapping[str, Any]

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "/api/v1": (
        *("pods", "services", "endpoints", "events", "configmaps", "secrets", "serviceaccounts", "nodes", "namespaces"),
        *("persistentvolumeclaims", "persistentvolumes", "resourcequotas"),
    ),
    "/apis/apps/v1": ("deployments", "statefulsets", "daemonsets", "replicasets", "controllerrevisions"),
    "/apis/batch/v1": ("jobs", "cronjobs"),
    "/apis/autoscaling/v2": ("horizontalpodautoscalers",),
    "/apis/discovery.k8s.io/v1": ("endpointslices",),
    "/apis/networking.k8s.io/v1": ("ingresses", "networkpolicies"),
    "/apis/rbac.authorization.k8s.io/v1": ("rolebindings",),
    "/apis/storage.k8s.io/v1": ("storageclasses",),
}
_GROUP_OF = {kind: group for group, kinds in _GROUPS.items() for kind in kinds}
SERVED = frozenset(_GROUP_OF)
"""The kinds that can be asked for."""
SINGULAR = {
    "pods": "Pod",
    "services": "Service",
    "endpoints": "Endpoints",
    "configmaps": "ConfigMap",
    "secrets": "Secret",
    "serviceaccounts": "ServiceAccount",
    "nodes": "Node",
    "namespaces": "Namespace",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "persistentvolumes": "PersistentVolume",
    "resourcequotas": "ResourceQuota",
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "daemonsets": "DaemonSet",
    "replicasets": "ReplicaSet",
    "controllerrevisions": "ControllerRevision",
    "jobs": "Job",
    "cronjobs": "CronJob",
    "horizontalpodautoscalers": "HorizontalPodAutoscaler",
    "endpointslices": "EndpointSlice",
    "ingresses": "Ingress",
    "networkpolicies": "NetworkPolicy",
    "rolebindings": "RoleBinding",
    "storageclasses": "StorageClass",
}
"""The name of one object's kind, as events speak of it."""
WORKLOADS = ("deployments", "statefulsets", "daemonsets")
_BLANKS = re.compile(r"\s+")


def path_of(kind: str, namespace: str | None, name: str = "", part: str = "") -> str:
    """Return the path of a kind's list, of one object, or of a part of it (`log`)."""
    place = f"/namespaces/{namespace}" if namespace else ""
    return "/".join(filter(None, (f"{_GROUP_OF[kind]}{place}/{kind}", name, part)))


def at(value: Any, *path: str) -> Any:
    """Return what stands at a path of keys, None where there is nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def each(value: Any, *path: str) -> Iterator[Object]:
    """Yield the objects of a list at a path of keys."""
    items = at(value, *path)
    yield from (one for one in items if isinstance(one, Mapping)) if isinstance(items, list) else ()


def name_of(value: Any) -> str:
    """Return an object's name."""
    return str(at(value, "metadata", "name") or "")


def one(value: object, limit: int = 600) -> str:
    """Return a value on one line, bounded: nothing of an object's making can begin a line of its own."""
    return _BLANKS.sub(" ", str(value)).strip()[:limit] if value is not None else ""


def pairs(value: Any) -> list[str]:
    """Return labels, selectors and the like as `key=value`."""
    return [f"{one(key)}={one(said)}" for key, said in value.items()] if isinstance(value, Mapping) else []


def age(since: datetime | None, now: datetime) -> str:
    """Return how long ago something was, as kubectl writes it: `47s`, `2m9s`, `3d13h`; `<unknown>` for no time."""
    if since is None:
        return "<unknown>"
    seconds = max(0, int((now - since).total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3_600, seconds // 86_400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    return f"{days}d" if days < 730 else f"{days // 365}y"


def selects(selector: Any, labels: Any) -> bool:
    """Return whether a selector of equalities takes an object's labels; an empty one takes none."""
    return (
        isinstance(selector, Mapping)
        and bool(selector)
        and isinstance(labels, Mapping)
        and (selector.items() <= labels.items())
    )


def selector_text(selector: Any) -> str:
    """Return a selector of equalities for a request."""
    return ",".join(sorted(pairs(selector)))
