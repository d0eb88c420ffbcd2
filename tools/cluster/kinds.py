"""The kinds of Kubernetes objects under all their names, as `kubectl` takes them."""

_NAMES: dict[str, tuple[str, ...]] = {
    "pods": ("pod", "po"),
    "services": ("service", "svc"),
    "deployments": ("deployment", "deploy"),
    "statefulsets": ("statefulset", "sts"),
    "daemonsets": ("daemonset", "ds"),
    "replicasets": ("replicaset", "rs"),
    "controllerrevisions": ("controllerrevision",),
    "jobs": ("job",),
    "cronjobs": ("cronjob", "cj"),
    "horizontalpodautoscalers": ("horizontalpodautoscaler", "hpa"),
    "configmaps": ("configmap", "cm"),
    "secrets": ("secret",),
    "serviceaccounts": ("serviceaccount", "sa"),
    "rolebindings": ("rolebinding",),
    "endpoints": ("endpoint", "ep"),
    "endpointslices": ("endpointslice",),
    "ingresses": ("ingress", "ing"),
    "networkpolicies": ("networkpolicy", "netpol"),
    "persistentvolumeclaims": ("persistentvolumeclaim", "pvc", "pvcs"),
    "persistentvolumes": ("persistentvolume", "pv", "pvs"),
    "storageclasses": ("storageclass", "sc"),
    "resourcequotas": ("resourcequota", "quota", "quotas"),
    "events": ("event", "ev"),
    "nodes": ("node", "no"),
    "namespaces": ("namespace", "ns"),
}
_CANONICAL = {name: kind for kind, names in _NAMES.items() for name in (kind, *names)}

KINDS = frozenset(_NAMES)
"""The canonical names, plural."""
CLUSTER_SCOPED = frozenset(("nodes", "namespaces", "persistentvolumes", "storageclasses"))
"""Kinds whose objects lie in no namespace: a namespace in a question about them changes nothing."""
GENERATED = frozenset(("pods", "replicasets"))
"""Kinds whose objects a controller names: the workload's name and a hash."""


def canonical_kind(spoken: str) -> str:
    """Return the canonical plural of a kind, an API group in it (`deployments.apps`) left out.

    A kind that isn't known comes back folded, as it was spoken.
    """
    low = spoken.strip().casefold()
    return _CANONICAL.get(low) or _CANONICAL.get(low.partition(".")[0]) or low


def workload_of(name: str, kind: str) -> str:
    """Return the workload that a generated name speaks of: `cart-7c5f46fc47-zgdc7` is of `cart`.

    A pod is named after its ReplicaSet (two generated parts), its StatefulSet (an ordinal) or its DaemonSet or Job
    (one part); `name` comes back where nothing of it was generated.
    """
    parts = name.split("-")
    if kind == "pods" and len(parts) > 2 and _is_hash(parts[-1], 5) and _is_hash(parts[-2], 6, 10):
        return "-".join(parts[:-2])
    if kind == "replicasets" and len(parts) > 1 and _is_hash(parts[-1], 6, 10):
        return "-".join(parts[:-1])
    if kind == "pods" and len(parts) > 1 and (parts[-1].isdigit() or _is_hash(parts[-1], 5)):
        return "-".join(parts[:-1])
    return name


_ALPHABET = frozenset("bcdfghjklmnpqrstvwxz2456789")
"""The letters and digits that Kubernetes draws from for what it appends to names."""


def _is_hash(part: str, shortest: int, longest: int | None = None) -> bool:
    return shortest <= len(part) <= (longest or shortest) and set(part) <= _ALPHABET
