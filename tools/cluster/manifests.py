"""What was applied for an application, as evidence: workload, containers, probes, environment, services, claims."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tools.cluster.evidence import MAX_BYTES, below, bounded, found, line
from tools.vocabulary import Evidence

_POD_KINDS = frozenset(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Pod"))
_HANDLERS = {"httpGet": "http-get", "tcpSocket": "tcp-socket", "grpc": "grpc", "exec": "exec"}


def show_manifest(app: str, text: str, namespace: str) -> Evidence:
    """Return a YAML stream as lines of fields, what can't be read as such below them as it stands."""
    try:
        documents = [one for one in yaml.safe_load_all(text) if isinstance(one, Mapping)]
    except yaml.YAMLError:
        documents = []
    lines = [row for document in documents for row in _document(app, document)]
    kept, cut = bounded(lines)
    room = 0 if cut or documents else MAX_BYTES - sum(len(one.encode()) + 1 for one in kept)
    rest, short = bounded([line("manifest_text", {"app": app}), *map(below, text.splitlines())], limit=room)
    kinds = ", ".join(f"{one.get('kind')} {_at(one, 'metadata', 'name')}" for one in documents) or "unreadable YAML"
    evidence = found([*kept, *rest], f"manifest of {app} in {namespace}: {kinds}", [app, namespace])
    return evidence.model_copy(update={"truncated": cut or (short and not documents)})


def _at(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _each(value: Any, *path: str) -> Iterator[Mapping[str, Any]]:
    items = _at(value, *path)
    yield from (one for one in items if isinstance(one, Mapping)) if isinstance(items, list) else ()


def _pairs(value: Any) -> str | None:
    return ",".join(f"{key}={one}" for key, one in value.items()) if isinstance(value, Mapping) and value else None


def _document(app: str, document: Mapping[str, Any]) -> Iterator[str]:
    kind = document.get("kind")
    if kind in _POD_KINDS:
        yield from _workload(app, document)
    elif kind == "Service":
        yield from _service(app, document)
    elif kind == "PersistentVolumeClaim":
        yield line("claim", _claim(app, document))
    elif kind == "PersistentVolume":
        yield line("persistent_volume", _volume(app, document))
    elif kind == "ConfigMap":
        yield from _config(app, document)
    else:
        yield line("manifest", {"app": app, "kind": kind, "name": _at(document, "metadata", "name")})


def _workload(app: str, document: Mapping[str, Any]) -> Iterator[str]:
    pod = document if document.get("kind") == "Pod" else _at(document, "spec", "template") or {}
    spec = _at(pod, "spec") or {}
    pull_secrets = [str(one.get("name")) for one in _each(spec, "imagePullSecrets")]
    values = {
        "app": app,
        "kind": document.get("kind"),
        "name": _at(document, "metadata", "name"),
        "replicas": _at(document, "spec", "replicas"),
        "labels": _pairs(_at(pod, "metadata", "labels")),
        "service_account": _at(spec, "serviceAccountName"),
        "node_selector": _pairs(_at(spec, "nodeSelector")),
        "image_pull_secrets": ",".join(pull_secrets),
        "dns_policy": _at(spec, "dnsPolicy"),
        "nameservers": ",".join(map(str, _at(spec, "dnsConfig", "nameservers") or [])),
        "host_network": _at(spec, "hostNetwork"),
    }
    yield line("workload", values)
    yield from _affinities(app, spec)
    for name in ("containers", "initContainers"):
        for container in _each(spec, name):
            yield from _container(app, container)
    for volume in _each(spec, "volumes"):
        yield line("volume", _volume_source(app, volume))
    for one in _each(document, "spec", "volumeClaimTemplates"):
        yield line("claim", _claim(app, one))


def _affinities(app: str, spec: Mapping[str, Any]) -> Iterator[str]:
    for kind in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
        rules = _at(spec, "affinity", kind)
        if not isinstance(rules, Mapping):
            continue
        required = any(str(name).startswith("required") and rule for name, rule in rules.items())
        terms = yaml.safe_dump(dict(rules), default_flow_style=True, width=10_000).strip()
        yield line("affinity", {"app": app, "kind": kind, "required": required}, terms)
    for one in _each(spec, "tolerations"):
        values = {"app": app, **{key: one.get(key) for key in ("key", "operator", "value", "effect")}}
        yield line("toleration", values)


def _container(app: str, container: Mapping[str, Any]) -> Iterator[str]:
    name = container.get("name")
    ports = [f"{one.get('name', '')}:{one.get('containerPort')}".lstrip(":") for one in _each(container, "ports")]
    values: dict[str, object] = {
        "app": app,
        "container": name,
        "image": container.get("image"),
        "ports": ",".join(ports),
        "limit_cpu": _at(container, "resources", "limits", "cpu"),
        "limit_memory": _at(container, "resources", "limits", "memory"),
        "request_cpu": _at(container, "resources", "requests", "cpu"),
        "request_memory": _at(container, "resources", "requests", "memory"),
    }
    yield line("container", values)
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = _at(container, kind)
        if isinstance(probe, Mapping):
            yield line("probe", _probe(app, name, kind, probe))
    for one in _each(container, "env"):
        source = _at(one, "valueFrom")
        reference = _at(source, "secretKeyRef", "name") or _at(source, "configMapKeyRef", "name")
        value = f"from {reference}" if reference else str(one.get("value", ""))
        yield line("env", {"app": app, "container": name, "name": one.get("name")}, value)
    for one in _each(container, "envFrom"):
        reference = _at(one, "secretRef", "name") or _at(one, "configMapRef", "name")
        yield line("env", {"app": app, "container": name, "name": "*"}, f"from {reference}")
    for one in _each(container, "volumeMounts"):
        values = {"app": app, "container": name, "path": one.get("mountPath"), "volume": one.get("name")}
        yield line("mount", {**values, "read_only": one.get("readOnly")})


def _probe(app: str, container: object, kind: str, probe: Mapping[str, Any]) -> dict[str, object]:
    handler = next((name for name in _HANDLERS if name in probe), None)
    target = probe.get(handler) if handler else None
    return {
        "app": app,
        "container": container,
        "kind": kind.removesuffix("Probe"),
        "handler": _HANDLERS.get(handler or ""),
        "port": _at(target, "port"),
        "delay": f"{probe.get('initialDelaySeconds', 0)}s",
        "timeout": f"{probe.get('timeoutSeconds', 1)}s",
        "period": f"{probe.get('periodSeconds', 10)}s",
        "failures": probe.get("failureThreshold", 3),
        "path": _at(target, "path"),
    }


def _volume_source(app: str, volume: Mapping[str, Any]) -> dict[str, object]:
    sort = next((key for key in volume if key != "name"), None)
    details = volume.get(sort) if sort else None
    named = ("claimName", "path", "secretName", "name")
    source = next((_at(details, key) for key in named if _at(details, key)), None)
    return {"app": app, "name": volume.get("name"), "type": sort, "source": source}


def _service(app: str, document: Mapping[str, Any]) -> Iterator[str]:
    name = _at(document, "metadata", "name")
    selector = _pairs(_at(document, "spec", "selector"))
    yield line("service", {"app": app, "name": name, "type": _at(document, "spec", "type"), "selector": selector})
    for one in _each(document, "spec", "ports"):
        values = {
            "app": app,
            "service": name,
            "name": one.get("name"),
            "port": one.get("port"),
            "target_port": one.get("targetPort", one.get("port")),
            "protocol": one.get("protocol", "TCP"),
        }
        yield line("service_port", values)


def _claim(app: str, document: Mapping[str, Any]) -> dict[str, object]:
    spec = _at(document, "spec") or {}
    return {
        "app": app,
        "name": _at(document, "metadata", "name"),
        "storage": _at(spec, "resources", "requests", "storage"),
        "access_modes": ",".join(map(str, _at(spec, "accessModes") or [])),
        "storage_class": _at(spec, "storageClassName"),
        "match_labels": _pairs(_at(spec, "selector", "matchLabels")),
        "volume": _at(spec, "volumeName"),
    }


def _volume(app: str, document: Mapping[str, Any]) -> dict[str, object]:
    spec = _at(document, "spec") or {}
    return {
        "app": app,
        "name": _at(document, "metadata", "name"),
        "storage": _at(spec, "capacity", "storage"),
        "access_modes": ",".join(map(str, _at(spec, "accessModes") or [])),
        "storage_class": _at(spec, "storageClassName"),
        "labels": _pairs(_at(document, "metadata", "labels")),
    }


def _config(app: str, document: Mapping[str, Any]) -> Iterator[str]:
    data = _at(document, "data")
    for key, value in data.items() if isinstance(data, Mapping) else ():
        yield line("config", {"app": app, "name": _at(document, "metadata", "name"), "key": key})
        yield from (below(row) for row in str(value).splitlines() if row.strip())
