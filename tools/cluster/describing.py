"""A description of one object as evidence: state, events, conditions, containers and probes as lines of fields."""

import re
from collections.abc import Iterator

from tools.cluster.evidence import MAX_BYTES, below, bounded, found, line, named
from tools.cluster.kinds import workload_of
from tools.cluster.tables import read_event_table, read_sections
from tools.vocabulary import Evidence

Section = tuple[str, list[str]]

_PROBE = re.compile(
    r"(?P<handler>\S+) (?P<target>.+?)\s+delay=(?P<delay>\S+) timeout=(?P<timeout>\S+) period=(?P<period>\S+)"
    r" #success=(?P<success>\d+) #failure=(?P<failure>\d+)"
)
_PORT = re.compile(r":(?P<port>[A-Za-z0-9-]+)(?:/|$)")
_HEAD = {
    "Status": "status",
    "Node": "node",
    "Service Account": "service_account",
    "Controlled By": "controlled_by",
    "Node-Selectors": "node_selectors",
    "Selector": "selector",
    "Replicas": "replicas",
    "Pods Status": "pods_status",
    "Type": "type",
    "IP": "ip",
    "Port": "port",
    "TargetPort": "target_port",
    "Endpoints": "endpoints",
    "StorageClass": "storage_class",
    "Volume": "volume",
    "Claim": "claim",
    "Capacity": "capacity",
    "Access Modes": "access_modes",
    "Used By": "used_by",
    "Taints": "taints",
    "Unschedulable": "unschedulable",
    "NewReplicaSet": "new_replica_set",
}
_REST_SKIPPED = frozenset(
    (
        "Name",
        "Namespace",
        "Events",
        "Conditions",
        "Containers",
        "Init Containers",
        "Annotations",
        "Labels",
        "Volumes",
        "Rollouts",
    )
)
_SEVERAL = frozenset(("taints", "node_selectors", "selector"))
"""Fields whose further values stand on lines of their own."""
_SIDECARS = frozenset(("istio-proxy", "istio-validation", "istio-init", "linkerd-proxy", "linkerd-init"))
_TIMES = re.compile(r"\(x(\d+) over (\S+)\)")


def describe_object(kind: str, namespace: str | None, name: str, text: str) -> Evidence:
    """Return a description as lines: the object, its events (warnings first), conditions, containers, the rest."""
    sections = read_sections(text)
    app = app_of(kind, name, sections)
    lines = [
        _head(kind, namespace, name, app, sections),
        *_events(f"{kind}/{name}", app, sections),
        *_conditions(kind, name, app, sections),
        *_rollouts(kind, name, app, sections),
        *_containers(name, app, sections),
        *_volumes(name, app, sections),
        *_quota(name, namespace, sections),
    ]
    kept, cut = bounded(lines)
    room = MAX_BYTES - sum(len(one.encode()) + 1 for one in kept)
    rest, _ = bounded(_rest(kind, name, sections), limit=0 if cut else room)
    node = dict(sections).get("Node", [""])[0].partition("/")[0]
    evidence = found([*kept, *rest], _summary(kind, name, namespace, lines), [app, name, node, namespace or ""])
    return evidence.model_copy(update={"truncated": cut})


def app_of(kind: str, name: str, sections: list[Section]) -> str:
    """Return the application that an object belongs to: its label, else the workload that its name speaks of."""
    labels = " ".join(dict(sections).get("Labels", []))
    found_label = re.search(r"(?:^|\s)(?:app|app\.kubernetes\.io/name|k8s-app)=(\S+)", labels)
    return found_label[1] if found_label else workload_of(name, kind)


def _head(kind: str, namespace: str | None, name: str, app: str, sections: list[Section]) -> str:
    values: dict[str, object] = {"kind": kind, "namespace": namespace, "name": name, "app": app}
    for title, rows in sections:
        key = _HEAD.get(title)
        if key is None or key in values:
            continue
        more = [row.strip() for row in rows[1:] if row.strip()] if key in _SEVERAL else []
        value = ",".join([rows[0], *more])
        values[key] = value.partition("/")[0] if key == "node" else value
    return line("object", values)


def _section(sections: list[Section], *titles: str) -> list[str]:
    return next((rows for title, rows in sections if title in titles), [])


def _events(subject: str, app: str, sections: list[Section]) -> list[str]:
    section = _section(sections, "Events")
    rows = read_event_table(section[1:])
    if section and not rows:
        return [line("events", {"object": subject, "app": app, "count": 0})]
    merged: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        message = re.sub(r'"[\w.-]+-[a-z0-9]{5}"', '"*"', row.get("message", ""))
        merged[row.get("reason", ""), message] = row
    ordered = sorted(merged.values(), key=lambda row: row.get("type") != "Warning")
    return [_event(subject, app, row) for row in ordered]


def _event(subject: str, app: str, row: dict[str, str]) -> str:
    age = row.get("age", "")
    times = _TIMES.search(age)
    values = {
        "type": row.get("type"),
        "reason": row.get("reason"),
        "object": subject,
        "app": app,
        "age": age.split(" ", 1)[0],
        "times": times[1] if times else 1,
        "over": times[2] if times else None,
        "from": row.get("from"),
    }
    return line("event", values, row.get("message", ""))


def _conditions(kind: str, name: str, app: str, sections: list[Section]) -> Iterator[str]:
    for row in read_event_table(_section(sections, "Conditions")[1:]):
        if not row.get("type"):
            continue
        values = {
            "object": f"{kind}/{name}",
            "app": app,
            "type": row["type"],
            "status": row.get("status"),
            "reason": row.get("reason"),
        }
        yield line("condition", values, row.get("message", ""))


def _rollouts(kind: str, name: str, app: str, sections: list[Section]) -> Iterator[str]:
    """Yield what was rolled out, the newest first: the table `Rollouts` of a description that has one."""
    for row in read_event_table(_section(sections, "Rollouts")[1:]):
        images = row.pop("images", "")
        yield line("rollout", {"object": f"{kind}/{name}", "app": app, **row}, images)


def _blocks(rows: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the named blocks of a section: `  server:` and what is indented deeper."""
    indent = next((len(row) - len(row.lstrip()) for row in rows if row.strip()), 0)
    name, block = "", list[str]()
    for row in rows:
        if row.strip() and len(row) - len(row.lstrip()) == indent and row.rstrip().endswith(":"):
            if name:
                yield name, block
            name, block = row.strip().removesuffix(":"), []
        elif name:
            block.append(row)
    if name:
        yield name, block


def _containers(name: str, app: str, sections: list[Section]) -> Iterator[str]:
    """Yield container, probe, environment and mount lines; of injected sidecars what isn't well only."""
    template = _section(sections, "Pod Template")
    inner = read_sections("\n".join(row[2:] for row in template[1:])) if template else []
    for title in ("Containers", "Init Containers"):
        for container, block in _blocks(_section([*sections, *inner], title)[1:]):
            details = _details(block)
            if container not in _SIDECARS or details.get("State") not in (None, "Running"):
                yield line("container", _container(name, app, container, details))
            if container not in _SIDECARS:
                yield from _probes(name, app, container, details)
                yield from _inner(name, app, container, block)


def _details(block: list[str]) -> dict[str, str]:
    """Return the `Key: value` pairs of a block; those below `State`, `Last State`, `Limits`, … as `State.Reason`."""
    details: dict[str, str] = {}
    outer, indent = "", None
    for row in block:
        key, colon, value = row.strip().partition(":")
        if not colon:
            continue
        depth = len(row) - len(row.lstrip())
        indent = depth if indent is None else indent
        if depth <= indent:
            outer = key
            details.setdefault(key, value.strip())
        else:
            details.setdefault(f"{outer}.{key}", value.strip())
    return details


def _container(name: str, app: str, container: str, details: dict[str, str]) -> dict[str, object]:
    return {
        "object": name,
        "app": app,
        "container": container,
        "state": details.get("State"),
        "reason": details.get("State.Reason"),
        "ready": details.get("Ready"),
        "restarts": details.get("Restart Count"),
        "last_state": details.get("Last State"),
        "last_reason": details.get("Last State.Reason"),
        "exit_code": details.get("Last State.Exit Code") or details.get("State.Exit Code"),
        "image": details.get("Image"),
        "ports": details.get("Port") or details.get("Ports"),
        "limit_cpu": details.get("Limits.cpu"),
        "limit_memory": details.get("Limits.memory"),
        "request_cpu": details.get("Requests.cpu"),
        "request_memory": details.get("Requests.memory"),
    }


def _probes(name: str, app: str, container: str, details: dict[str, str]) -> Iterator[str]:
    for kind in ("Liveness", "Readiness", "Startup"):
        probe = _PROBE.fullmatch(details.get(kind, ""))
        if probe is None:
            continue
        target = probe["target"].strip()
        port = _PORT.search(target.removeprefix("http://").removeprefix("https://"))
        values: dict[str, object] = {
            "object": name,
            "app": app,
            "container": container,
            "kind": kind.casefold(),
            "handler": probe["handler"],
            "port": port["port"] if port else None,
            "delay": probe["delay"],
            "timeout": probe["timeout"],
            "period": probe["period"],
            "failures": probe["failure"],
            "target": target,
        }
        yield line("probe", values)


def _inner(name: str, app: str, container: str, block: list[str]) -> Iterator[str]:
    section = ""
    for row in block:
        key, colon, value = row.strip().partition(":")
        if colon and not value.strip():
            section = key
        elif section == "Environment" and colon:
            yield line("env", {"object": name, "app": app, "container": container, "name": key}, value)
        elif section == "Mounts" and " from " in row and "kube-api-access" not in row:
            yield line("mount", {"object": name, "app": app, "container": container}, row)


def _volumes(name: str, app: str, sections: list[Section]) -> Iterator[str]:
    for volume, block in _blocks(_section(sections, "Volumes")[1:]):
        details = _details(block)
        sort = details.get("Type", "").partition(" ")[0]
        if sort in ("PersistentVolumeClaim", "HostPath", "Secret", "ConfigMap", "NFS") and "istio" not in volume:
            source = details.get("ClaimName") or details.get("Path") or details.get("SecretName") or details.get("Name")
            yield line("volume", {"object": name, "app": app, "name": volume, "type": sort, "source": source})


def _quota(name: str, namespace: str | None, sections: list[Section]) -> Iterator[str]:
    for row in _section(sections, "Resource")[1:]:
        parts = row.split()
        if len(parts) == 3 and not set(parts[0]) <= {"-"}:
            values = {"namespace": namespace, "name": name, "resource": parts[0], "used": parts[1], "hard": parts[2]}
            yield line("quota", values)


def _rest(kind: str, name: str, sections: list[Section]) -> Iterator[str]:
    rest = [(title, rows) for title, rows in sections if title not in _REST_SKIPPED and title not in _HEAD]
    if rest:
        yield line("description", {"kind": kind, "name": name})
    for title, rows in rest:
        yield below(f"{title}: {rows[0]}")
        yield from (below(row) for row in rows[1:] if row.strip())


def _summary(kind: str, name: str, namespace: str | None, lines: list[str]) -> str:
    place = f" in {namespace}" if namespace else ""
    warned = list(
        dict.fromkeys(found_[1] for one in lines if (found_ := re.match(r"event type=Warning reason=(\S+)", one)))
    )
    state = re.search(r" status=(\S+)", lines[0])
    told = f", status {state[1]}" if state else ""
    return f"{kind} {name}{place}{told}; warnings: {named(warned) if warned else 'none'}"
