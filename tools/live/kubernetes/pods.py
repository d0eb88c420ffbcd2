"""Pods and their templates as `kubectl describe` tells them: containers, states, probes, environment, volumes."""

from collections.abc import Iterator, Mapping
from typing import Any

from tools.live.kubernetes.objects import Object, at, each, one, pairs
from tools.masking import mask_field

_PROBES = {"Liveness": "livenessProbe", "Readiness": "readinessProbe", "Startup": "startupProbe"}
_VOLUMES: Mapping[str, tuple[str, str, str]] = {
    "persistentVolumeClaim": ("PersistentVolumeClaim", "ClaimName", "claimName"),
    "hostPath": ("HostPath", "Path", "path"),
    "secret": ("Secret", "SecretName", "secretName"),
    "configMap": ("ConfigMap", "Name", "name"),
    "nfs": ("NFS", "Path", "path"),
    "emptyDir": ("EmptyDir", "Medium", "medium"),
}


def pod_lines(pod: Object) -> Iterator[str]:
    """Yield a pod's description without its events."""
    spec, status = at(pod, "spec"), at(pod, "status")
    yield f"Service Account:  {one(at(spec, 'serviceAccountName'))}"
    node = at(spec, "nodeName")
    yield f"Node:             {one(node)}/{one(at(status, 'hostIP'))}" if node else "Node:             <none>"
    yield f"Start Time:       {one(at(status, 'startTime'))}"
    leaving = at(pod, "metadata", "deletionTimestamp")
    yield f"Status:           {'Terminating' if leaving else one(at(status, 'phase'))}"
    for title, key in (("Reason", "reason"), ("Message", "message")):
        if at(status, key):
            yield f"{title}:           {one(at(status, key))}"
    yield f"IP:               {one(at(status, 'podIP'))}"
    for owner in each(pod, "metadata", "ownerReferences"):
        yield f"Controlled By:  {one(owner.get('kind'))}/{one(owner.get('name'))}"
    yield from containers(spec, status)
    yield from conditions(each(status, "conditions"))
    yield from volumes(spec)
    yield f"QoS Class:                   {one(at(status, 'qosClass'))}"
    yield from several("Node-Selectors", pairs(at(spec, "nodeSelector")))
    yield from several("Tolerations", [_toleration(entry) for entry in each(spec, "tolerations")])


def template_lines(template: Any) -> Iterator[str]:
    """Yield a workload's pod template, indented below its heading."""
    spec = at(template, "spec")
    rows = [
        *several("Labels", pairs(at(template, "metadata", "labels"))),
        f"Service Account:  {one(at(spec, 'serviceAccountName'))}",
        *containers(spec, None),
        *volumes(spec),
        *several("Node-Selectors", pairs(at(spec, "nodeSelector"))),
    ]
    yield "Pod Template:"
    yield from (f"  {row}" for row in rows)


def several(title: str, values: list[str]) -> Iterator[str]:
    """Yield a field whose further values stand on lines of their own."""
    first, *rest = values or ["<none>"]
    yield f"{title}:  {first}"
    yield from (f"{' ' * (len(title) + 3)}{value}" for value in rest)


def conditions(found: Iterator[Object]) -> Iterator[str]:
    """Yield an object's conditions as a table, with reason and message."""
    rows = [
        [*(one(entry.get(key)) or "-" for key in ("type", "status", "reason")), one(entry.get("message"), 400)]
        for entry in found
    ]
    if rows:
        yield "Conditions:"
        yield from aligned([["Type", "Status", "Reason", "Message"], *rows])


def aligned(rows: list[list[str]]) -> Iterator[str]:
    """Yield a table's rows, indented, their columns three blanks apart."""
    widths = [max(len(row[column]) for row in rows) + 3 for column in range(len(rows[0]))]
    for row in rows:
        yield "  " + "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def containers(spec: Any, status: Any) -> Iterator[str]:
    """Yield the containers of a pod, or of a template where there is no status."""
    for title, key, states in (
        ("Init Containers", "initContainers", "initContainerStatuses"),
        ("Containers", "containers", "containerStatuses"),
    ):
        found = list(each(spec, key))
        told = {entry.get("name"): entry for entry in each(status, states)}
        if found:
            yield f"{title}:"
        for container in found:
            yield f"  {one(container.get('name'))}:"
            yield from (f"    {row}" for row in _container(container, told.get(container.get("name"))))


def _container(container: Object, status: Object | None) -> Iterator[str]:
    yield f"Image:          {one(container.get('image'))}"
    ports = [
        f"{one(port.get('containerPort'))}/{one(port.get('protocol') or 'TCP')}" for port in each(container, "ports")
    ]
    yield f"{'Ports' if len(ports) > 1 else 'Port'}:           {', '.join(ports) or '<none>'}"
    if status is not None:
        yield from _state("State", at(status, "state"))
        yield from _state("Last State", at(status, "lastState"))
        yield f"Ready:          {bool(status.get('ready'))}"
        yield f"Restart Count:  {one(status.get('restartCount') or 0)}"
    for title, key in (("Limits", "limits"), ("Requests", "requests")):
        said = at(container, "resources", key)
        if isinstance(said, Mapping) and said:
            yield f"{title}:"
            yield from (f"  {one(name)}:  {one(amount)}" for name, amount in said.items())
    for title, key in _PROBES.items():
        if isinstance(container.get(key), Mapping):
            yield f"{title}:  {_probe(container[key])}"
    yield from _environment(container)
    yield "Mounts:"
    for mount in each(container, "volumeMounts"):
        mode = "ro" if mount.get("readOnly") else "rw"
        yield f"  {one(mount.get('mountPath'))} from {one(mount.get('name'))} ({mode})"


def _state(title: str, state: Any) -> Iterator[str]:
    """Yield a container's state with its reason, message, exit code and times."""
    kind = next((key for key in ("waiting", "running", "terminated") if isinstance(at(state, key), Mapping)), None)
    if kind is None:
        return
    yield f"{title}:          {kind.capitalize()}"
    details = state[kind]
    named = {"Reason": "reason", "Message": "message", "Exit Code": "exitCode", "Signal": "signal"}
    for heading, key in {**named, "Started": "startedAt", "Finished": "finishedAt"}.items():
        if details.get(key) is not None:
            yield f"  {heading}:       {one(details[key], 300)}"


def _probe(probe: Object) -> str:
    """Return a probe as kubectl writes it."""
    delay, wait = probe.get("initialDelaySeconds", 0), probe.get("timeoutSeconds", 1)
    tail = (
        f"delay={delay}s timeout={wait}s period={probe.get('periodSeconds', 10)}s"
        f" #success={probe.get('successThreshold', 1)} #failure={probe.get('failureThreshold', 3)}"
    )
    if isinstance(probe.get("httpGet"), Mapping):
        get = probe["httpGet"]
        address = f"{one(get.get('scheme') or 'HTTP').lower()}://{one(get.get('host'))}:{one(get.get('port'))}"
        return f"http-get {address}{one(get.get('path') or '/')} {tail}"
    if isinstance(probe.get("tcpSocket"), Mapping):
        socket = probe["tcpSocket"]
        return f"tcp-socket {one(socket.get('host'))}:{one(socket.get('port'))} {tail}"
    if isinstance(probe.get("grpc"), Mapping):
        return f"grpc <pod>:{one(probe['grpc'].get('port'))} {one(probe['grpc'].get('service'))} {tail}"
    command = at(probe, "exec", "command")
    words = " ".join(map(str, command)) if isinstance(command, list) else ""
    return f"exec [{one(words, 200)}] {tail}"


def _environment(container: Object) -> Iterator[str]:
    """Yield the environment; a value under a name that speaks of a secret, and one from a secret, is never shown."""
    sources = [at(entry, key, "name") for entry in each(container, "envFrom") for key in ("configMapRef", "secretRef")]
    if any(sources):
        yield "Environment Variables from:"
        yield from (f"  {one(name)}" for name in sources if name)
    yield "Environment:"
    for entry in each(container, "env"):
        yield f"  {one(entry.get('name'))}:  {env_value(entry)}"


def env_value(entry: Object) -> str:
    """Return a variable's value, masked, or where it comes from."""
    source = entry.get("valueFrom")
    for key, words in (("secretKeyRef", "in secret"), ("configMapKeyRef", "of config map")):
        reference = at(source, key)
        if isinstance(reference, Mapping):
            return f"<set to the key '{one(reference.get('key'))}' {words} '{one(reference.get('name'))}'>"
    if isinstance(source, Mapping):
        return f"({one(at(source, 'fieldRef', 'fieldPath') or at(source, 'resourceFieldRef', 'resource'))})"
    return one(mask_field(str(entry.get("name") or ""), str(entry.get("value") or "")))


def masked(value: Any, key: str = "") -> Any:
    """Return a part of an object with the variables' values in it masked by their names, wherever they stand."""
    if isinstance(value, Mapping):
        return {str(name): masked(item, str(name)) for name, item in value.items()}
    if isinstance(value, list) and key == "env":
        return [_variable(item) for item in value if isinstance(item, Mapping)]
    return [masked(item) for item in value] if isinstance(value, list) else value


def _variable(entry: Object) -> dict[str, Any]:
    if entry.get("valueFrom") is not None:
        return {"name": entry.get("name"), "valueFrom": entry["valueFrom"]}
    return {"name": entry.get("name"), "value": env_value(entry)}


def volumes(spec: Any) -> Iterator[str]:
    """Yield the volumes with what they are of; those that hold an account's token are left out."""
    found = [entry for entry in each(spec, "volumes") if "projected" not in entry]
    if found:
        yield "Volumes:"
    for volume in found:
        yield f"  {one(volume.get('name'))}:"
        sort = next((key for key in volume if key != "name"), "")
        title, heading, key = _VOLUMES.get(sort, (one(sort), "Source", "name"))
        yield f"    Type:       {title}"
        yield f"    {heading}:  {one(at(volume, sort, key))}"


def _toleration(entry: Object) -> str:
    value = f"={one(entry['value'])}" if entry.get("value") else ""
    effect = f":{one(entry['effect'])}" if entry.get("effect") else ""
    exists = " op=Exists" if entry.get("operator") == "Exists" else ""
    seconds = entry.get("tolerationSeconds")
    return f"{one(entry.get('key'))}{value}{effect}{exists}{f' for {seconds}s' if seconds is not None else ''}"
