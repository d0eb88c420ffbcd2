"""Deployments and ReplicaSets behind the lists of Kubernetes' apps/v1 API, as a test makes them.

Documentation: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/ and, for `limit` and `continue`,
https://kubernetes.io/docs/reference/using-api/api-concepts/.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.live.servers.answering import Request, Response, answering

_KINDS = {"deployments": "DeploymentList", "replicasets": "ReplicaSetList"}


@dataclass
class KubernetesStore:
    """The objects by namespace and plural name, who is let in, and how many objects one answer has at most."""

    token: str
    objects: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    page: int = 500

    def deployment(self, name: str, *, progressed: str = "2026-03-04T06:00:00Z", namespace: str = "prod") -> None:
        condition = {"type": "Progressing", "status": "True", "lastUpdateTime": progressed}
        one = {"metadata": {"name": name, "uid": f"uid-{name}"}, "status": {"conditions": [condition]}}
        self.objects.setdefault((namespace, "deployments"), []).append(one)

    def revision(
        self, name: str, number: int, created: str, container: dict[str, Any], *, namespace: str = "prod"
    ) -> None:
        """Add a Deployment's ReplicaSet; `container` is its only container."""
        hashed = f"{number:x}" * 10
        template = {
            "metadata": {"labels": {"app": name, "pod-template-hash": hashed}},
            "spec": {"containers": [{"name": name} | container]},
        }
        one = {
            "metadata": {
                "name": f"{name}-{hashed}",
                "creationTimestamp": created,
                "annotations": {"deployment.kubernetes.io/revision": str(number)},
                "ownerReferences": [{"kind": "Deployment", "name": name, "uid": f"uid-{name}", "controller": True}],
            },
            "spec": {"template": template},
        }
        self.objects.setdefault((namespace, "replicasets"), []).append(one)


@contextmanager
def start_kubernetes(store: KubernetesStore) -> Iterator[str]:
    """Serve the store on loopback while the block runs; gives the address."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _answer(store: KubernetesStore, request: Request) -> Response:
    if request.headers.get("authorization") != f"Bearer {store.token}":
        return Response({"kind": "Status", "status": "Failure", "reason": "Unauthorized", "code": 401}, 401)
    parts = request.path.split("/")[1:]
    if request.method != "GET" or parts[:4] != ["apis", "apps", "v1", "namespaces"] or parts[5] not in _KINDS:
        return Response({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}, 403)
    items = store.objects.get((parts[4], parts[5]), [])
    begin = int(request.param("continue") or 0)
    end = begin + min(int(request.param("limit") or 500), store.page)
    onward = {"continue": str(end)} if end < len(items) else {}
    return Response({"kind": _KINDS[parts[5]], "metadata": onward, "items": items[begin:end]})
