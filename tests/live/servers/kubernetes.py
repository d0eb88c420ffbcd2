"""A small API server of our own over the frozen state of a cluster; it keeps to the documented Kubernetes API.

Documentation: https://kubernetes.io/docs/reference/kubernetes-api/ (paths, objects, selectors, the log of a pod) and
https://kubernetes.io/docs/reference/using-api/api-concepts/ (lists in pages, tables, `Status` of refusals, 410 of an
expired page). Kept are: bearer tokens, RBAC per kind and namespace, `limit` and `continue`, label and field selectors
(those that the kind has, 400 for others), tables with `includeObject`, an empty list of a namespace that isn't there,
404 with the object's name in `details` and without where the path is unknown, `tailLines` before `limitBytes`.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.live.servers.answering import Request, Response, answering
from tests.live.servers.kubernetes_tables import table_of

_KINDS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("pods", "services", "endpoints", "events", "configmaps", "secrets", "serviceaccounts"), ("/api/v1", "ns")
    ),
    **dict.fromkeys(("persistentvolumeclaims", "resourcequotas"), ("/api/v1", "ns")),
    **dict.fromkeys(("nodes", "namespaces", "persistentvolumes"), ("/api/v1", "")),
    **dict.fromkeys(("deployments", "statefulsets", "daemonsets", "replicasets"), ("/apis/apps/v1", "ns")),
    "controllerrevisions": ("/apis/apps/v1", "ns"),
    **dict.fromkeys(("jobs", "cronjobs"), ("/apis/batch/v1", "ns")),
    "endpointslices": ("/apis/discovery.k8s.io/v1", "ns"),
    "storageclasses": ("/apis/storage.k8s.io/v1", ""),
}
_FIELDS = {
    "pods": {"spec.nodeName", "status.phase"},
    "events": {"involvedObject.kind", "involvedObject.name", "involvedObject.namespace", "type", "reason"},
}
_PATH = re.compile(
    r"(?P<group>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<ns>[^/]+)(?=/[^/]))?/(?P<kind>[a-z]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<part>log))?"
)

Object = dict[str, Any]


@dataclass
class ClusterStore:
    """The state of a cluster, and how the server is to misbehave.

    `objects` by kind (plural); those of namespaces have `metadata.namespace`. `logs` by pod, container and whether the
    container before the restart is meant: lines with their times. `denied`: (kind, namespace or ""). `failing`: the
    status by kind. `expiring`: every page after the first is 410.
    """

    objects: dict[str, list[Object]] = field(default_factory=dict)
    logs: dict[tuple[str, str, bool], list[str]] = field(default_factory=dict)
    token: str | None = None
    denied: set[tuple[str, str]] = field(default_factory=set)
    failing: dict[str, int] = field(default_factory=dict)
    expiring: bool = False
    page: int = 500
    requests: list[Request] = field(default_factory=list)

    def add(self, kind: str, *objects: Object) -> None:
        """Add objects of a kind."""
        self.objects.setdefault(kind, []).extend(objects)


@contextmanager
def serving_kubernetes(store: ClusterStore) -> Iterator[str]:
    """Serve a cluster's state while the block runs; gives the API server's address."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _status(code: int, reason: str, message: str, details: Object | None = None) -> Response:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
    return Response({**body, "reason": reason, "message": message, "details": details or {}}, code)


def _answer(store: ClusterStore, request: Request) -> Response:
    store.requests.append(request)
    if request.method != "GET" or request.param("watch"):
        return _status(405, "MethodNotAllowed", "the state is frozen")
    if store.token and request.headers.get("authorization") != f"Bearer {store.token}":
        return _status(401, "Unauthorized", "Unauthorized")
    if request.path == "/version":
        return Response({"major": "1", "minor": "33", "gitVersion": "v1.33.1", "platform": "linux/amd64"})
    found = _PATH.fullmatch(request.path)
    kind = found["kind"] if found else ""
    if found is None or _KINDS.get(kind, ("", ""))[0] != found["group"]:
        return _status(404, "NotFound", "the server could not find the requested resource")
    if kind in store.failing:
        return _status(store.failing[kind], "InternalError", "in trouble")
    if (kind, found["ns"] or "") in store.denied:
        return _status(403, "Forbidden", f"{kind} is forbidden", {"kind": kind})
    return _object(store, request, found) if found["name"] else _list(store, request, kind, found["ns"])


def _held(store: ClusterStore, kind: str, namespace: str | None) -> list[Object]:
    held = store.objects.get(kind, [])
    return [one for one in held if namespace is None or one["metadata"].get("namespace") == namespace]


def _object(store: ClusterStore, request: Request, found: re.Match[str]) -> Response:
    kind, name = found["kind"], found["name"]
    held = [one for one in _held(store, kind, found["ns"]) if one["metadata"]["name"] == name]
    if not held:
        return _status(404, "NotFound", f'{kind} "{name}" not found', {"name": name, "kind": kind})
    if found["part"]:
        return _log(store, request, held[0])
    if "as=Table" in request.headers.get("accept", ""):
        return Response(table_of(kind, held, request.param("includeObject") or "Metadata"))
    return Response(held[0])


def _list(store: ClusterStore, request: Request, kind: str, namespace: str | None) -> Response:
    held = _held(store, kind, namespace)
    for term in filter(None, (request.param("fieldSelector") or "").split(",")):
        name, _, value = term.partition("=")
        if name not in {"metadata.name", "metadata.namespace", *_FIELDS.get(kind, ())}:
            return _status(400, "BadRequest", f"field label not supported: {name}")
        held = [one for one in held if _at(one, name) == value]
    held = [one for one in held if _selected(one, request.param("labelSelector") or "")]
    start = 0
    if token := request.param("continue"):
        if store.expiring:
            return _status(410, "Expired", "The provided continue parameter is too old")
        start = int(base64.b64decode(token))
    limit = min(int(request.param("limit") or 0) or len(held), store.page)
    onward: Object = {"resourceVersion": "1"}
    if start + limit < len(held):
        token = base64.b64encode(str(start + limit).encode()).decode()
        onward |= {"continue": token, "remainingItemCount": len(held) - start - limit}
    items = held[start : start + limit]
    if "as=Table" in request.headers.get("accept", ""):
        table = table_of(kind, items, request.param("includeObject") or "Metadata")
        return Response({**table, "metadata": onward})
    return Response({"kind": "List", "apiVersion": "v1", "metadata": onward, "items": items})


def _at(found: Object, path: str) -> Any:
    value: Any = found
    for key in path.split("."):
        value = value.get(key, "") if isinstance(value, dict) else ""
    return value


def _selected(found: Object, selector: str) -> bool:
    labels = found["metadata"].get("labels") or {}
    for term in re.findall(r"[^,(]+(?:\([^)]*\))?", selector):
        among = re.fullmatch(r"\s*([\w./-]+) (in|notin) \(([^)]*)\)", term)
        if among:
            if (labels.get(among[1]) in among[3].split(",")) != (among[2] == "in"):
                return False
        elif "=" in term:
            key, _, value = term.partition("=")
            if labels.get(key) != value:
                return False
        elif (term.strip("!") in labels) == term.startswith("!"):
            return False
    return True


def _log(store: ClusterStore, request: Request, pod: Object) -> Response:
    name = pod["metadata"]["name"]
    container = request.param("container") or pod["spec"]["containers"][0]["name"]
    before = request.param("previous") == "true"
    lines = store.logs.get((name, container, before))
    if lines is None and before:
        return _status(400, "BadRequest", f'previous terminated container "{container}" in pod "{name}" not found')
    statuses = pod.get("status", {}).get("containerStatuses") or []
    waiting = any(one["name"] == container and "waiting" in one.get("state", {}) for one in statuses)
    if lines is None and waiting:
        return _status(400, "BadRequest", f'container "{container}" in pod "{name}" is waiting to start')
    if request.param("timestamps") != "true":
        lines = [line.partition(" ")[2] for line in lines or []]
    tail = int(request.param("tailLines") or 10**9)
    text = "".join(f"{line}\n" for line in (lines or [])[-tail:])
    limit = int(request.param("limitBytes") or 10**9)
    return Response(text.encode()[:limit].decode("utf-8", "ignore"))
