"""What `kubectl describe` tells of objects that are no pods: workloads, services, nodes, claims, quotas, others."""

from collections.abc import Callable, Iterator, Mapping

import yaml

from tools.live.kubernetes.objects import Object, at, each, name_of, one, pairs
from tools.live.kubernetes.pods import aligned, conditions, masked, pod_lines, several, template_lines
from tools.masking import mask_field

MAX_CONFIG_LINES = 40
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def describe(kind: str, found: Object) -> Iterator[str]:
    """Yield an object's description without its events, line by line."""
    yield f"Name:             {name_of(found)}"
    namespace = at(found, "metadata", "namespace")
    if namespace:
        yield f"Namespace:        {one(namespace)}"
    yield from several("Labels", pairs(at(found, "metadata", "labels")))
    yield from _BY_KIND.get(kind, _anything)(found)


def _workload(found: Object) -> Iterator[str]:
    spec, status = at(found, "spec"), at(found, "status")
    yield f"CreationTimestamp:      {one(at(found, 'metadata', 'creationTimestamp'))}"
    yield f"Selector:               {','.join(pairs(at(spec, 'selector', 'matchLabels'))) or '<none>'}"
    for owner in each(found, "metadata", "ownerReferences"):
        yield f"Controlled By:  {one(owner.get('kind'))}/{one(owner.get('name'))}"
    yield f"Replicas:               {_replicas(found)}"
    strategy = at(spec, "strategy", "type") or at(spec, "updateStrategy", "type")
    if strategy:
        yield f"StrategyType:           {one(strategy)}"
    if at(spec, "paused"):
        yield "Paused:                 True"
    observed, wanted = at(status, "observedGeneration"), at(found, "metadata", "generation")
    if observed and wanted and observed != wanted:
        yield f"Observed:               generation {one(observed)} of {one(wanted)}"
    yield from template_lines(at(spec, "template"))
    yield from conditions(each(status, "conditions"))


def _replicas(found: Object) -> str:
    status = at(found, "status")
    if at(found, "kind") == "DaemonSet" or at(status, "desiredNumberScheduled") is not None:
        keys = {"desired": "desiredNumberScheduled", "updated": "updatedNumberScheduled", "ready": "numberReady"}
        return " | ".join(f"{at(status, key) or 0} {word}" for word, key in keys.items())
    wanted = at(found, "spec", "replicas")
    keys = {"updated": "updatedReplicas", "total": "replicas", "available": "availableReplicas"}
    told = [
        f"{1 if wanted is None else wanted} desired",
        *(f"{at(status, key) or 0} {word}" for word, key in keys.items()),
    ]
    return " | ".join([*told, f"{at(status, 'unavailableReplicas') or 0} unavailable"])


def _job(found: Object) -> Iterator[str]:
    status = at(found, "status")
    for word, key in (("Active", "active"), ("Succeeded", "succeeded"), ("Failed", "failed")):
        yield f"{word}:  {one(at(status, key) or 0)}"
    yield from template_lines(at(found, "spec", "template"))
    yield from conditions(each(status, "conditions"))


def _service(found: Object) -> Iterator[str]:
    spec = at(found, "spec")
    yield f"Selector:                 {','.join(pairs(at(spec, 'selector'))) or '<none>'}"
    yield f"Type:                     {one(at(spec, 'type') or 'ClusterIP')}"
    yield f"IP:                       {one(at(spec, 'clusterIP'))}"
    for port in each(spec, "ports"):
        protocol = one(port.get("protocol") or "TCP")
        yield f"Port:                     {one(port.get('name') or '<unset>')}  {one(port.get('port'))}/{protocol}"
        yield f"TargetPort:               {one(port.get('targetPort') or port.get('port'))}/{protocol}"


def _node(found: Object) -> Iterator[str]:
    spec, status = at(found, "spec"), at(found, "status")
    yield from several("Taints", taints_of(found))
    yield f"Unschedulable:      {'true' if at(spec, 'unschedulable') else 'false'}"
    yield from conditions(each(status, "conditions"))
    yield "Allocatable:"
    yield from (f"  {row}" for row in pairs(at(status, "allocatable")))
    info = at(status, "nodeInfo")
    yield "System Info:"
    for key in ("kubeletVersion", "containerRuntimeVersion", "kernelVersion", "osImage"):
        yield f"  {key}: {one(at(info, key))}"


def taints_of(node: Object) -> list[str]:
    """Return a node's taints, as kubectl writes them: `key=value:Effect`."""
    return [
        f"{one(taint.get('key'))}{f'={one(value)}' if (value := taint.get('value')) else ''}:{one(taint.get('effect'))}"
        for taint in each(node, "spec", "taints")
    ]


def _claim(found: Object) -> Iterator[str]:
    spec, status = at(found, "spec"), at(found, "status")
    yield f"StorageClass:  {one(at(spec, 'storageClassName'))}"
    yield f"Status:        {one(at(status, 'phase'))}"
    yield f"Volume:        {one(at(spec, 'volumeName'))}"
    yield f"Capacity:      {one(at(status, 'capacity', 'storage'))}"
    yield f"Requested:     {one(at(spec, 'resources', 'requests', 'storage'))}"
    yield f"Access Modes:  {_modes(at(spec, 'accessModes'))}"
    if at(spec, "selector", "matchLabels"):
        yield f"Selector:      {','.join(pairs(at(spec, 'selector', 'matchLabels')))}"
    yield from conditions(each(status, "conditions"))


def _volume(found: Object) -> Iterator[str]:
    spec = at(found, "spec")
    yield f"StorageClass:    {one(at(spec, 'storageClassName'))}"
    yield f"Status:          {one(at(found, 'status', 'phase'))}"
    yield f"Claim:           {one(at(spec, 'claimRef', 'namespace'))}/{one(at(spec, 'claimRef', 'name'))}"
    yield f"Reclaim Policy:  {one(at(spec, 'persistentVolumeReclaimPolicy'))}"
    yield f"Access Modes:    {_modes(at(spec, 'accessModes'))}"
    yield f"Capacity:        {one(at(spec, 'capacity', 'storage'))}"


def _modes(modes: object) -> str:
    return ",".join(_MODES.get(str(mode), one(mode)) for mode in modes) if isinstance(modes, list) else ""


def _quota(found: Object) -> Iterator[str]:
    used, hard = at(found, "status", "used"), at(found, "status", "hard")
    yield "Resource:  Used  Hard"
    rows = [[one(key), one(at(used, key) or 0), one(limit)] for key, limit in (hard or {}).items()]
    yield from aligned(rows) if rows else ()


def _config_map(found: Object) -> Iterator[str]:
    """Its keys, with the values as far as they are short texts under names that speak of no secret."""
    data = at(found, "data")
    yield "Data:"
    for key, value in data.items() if isinstance(data, Mapping) else ():
        rows = mask_field(str(key), str(value)).splitlines()
        yield f"  {one(key)}: {one(rows[0], 200) if len(rows) == 1 else ''}"
        for row in rows[:MAX_CONFIG_LINES] if len(rows) > 1 else ():
            yield f"    {row.rstrip()[:200]}"


def _anything(found: Object) -> Iterator[str]:
    """The rest of an object as it was applied, and its status."""
    for key, value in found.items():
        if key in ("apiVersion", "kind", "metadata", "data", "binaryData", "stringData"):
            continue
        text = yaml.safe_dump(masked(value), default_flow_style=False, width=10_000, allow_unicode=True)
        yield f"{one(key).capitalize()}:"
        yield from (f"  {row}" for row in text.splitlines())


_BY_KIND: Mapping[str, Callable[[Object], Iterator[str]]] = {
    "pods": pod_lines,
    "deployments": _workload,
    "statefulsets": _workload,
    "daemonsets": _workload,
    "replicasets": _workload,
    "jobs": _job,
    "services": _service,
    "nodes": _node,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "resourcequotas": _quota,
    "configmaps": _config_map,
}
