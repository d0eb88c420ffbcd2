"""A small server of our own that keeps to Argo CD's documented API, over applications that a test tells.

Documentation: https://argo-cd.readthedocs.io/en/stable/developer-guide/api-docs/ and the server's own OpenAPI document
(`/swagger.json`): `GET /api/v1/applications` with `projects`, `selector` and `fields`; bearer tokens; errors as
`{"error", "code", "message"}`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.live.servers.answering import Request, Response, answering


@dataclass
class ArgoCdStore:
    """The applications, as their resources are, and who is let in."""

    token: str
    applications: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, *history: dict[str, Any], images: tuple[str, ...] = (), project: str = "default") -> None:
        """Add an application with its history, oldest entry first."""
        numbered = [{"id": index, "deployStartedAt": one["deployedAt"]} | one for index, one in enumerate(history)]
        self.applications.append(
            {
                "metadata": {"name": name, "namespace": "argocd"},
                "spec": {"project": project, "source": {"repoURL": "https://git.example/team/shop.git"}},
                "status": {"history": numbered, "summary": {"images": list(images)}, "sync": {"status": "Synced"}},
            }
        )


@contextmanager
def start_argocd(store: ArgoCdStore) -> Iterator[str]:
    """Serve the store on loopback while the block runs; gives the address."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _answer(store: ArgoCdStore, request: Request) -> Response:
    if request.headers.get("authorization") != f"Bearer {store.token}":
        return Response({"error": "no session information", "code": 16, "message": "no session information"}, 401)
    if (request.method, request.path) != ("GET", "/api/v1/applications"):
        return Response({"error": "Not Found", "code": 5, "message": "Not Found"}, 404)
    projects = [value for key, value in request.query if key == "projects"]
    items = [one for one in store.applications if not projects or one["spec"]["project"] in projects]
    fields = [name.removeprefix("items.").split(".") for name in (request.param("fields") or "").split(",") if name]
    shown = [_chosen(one, fields) for one in items] if fields else items
    return Response({"metadata": {"resourceVersion": "1"}, "items": shown or None})


def _chosen(document: dict[str, Any], fields: list[list[str]]) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for path in fields:
        source: Any = document
        target = chosen
        for key in path[:-1]:
            source = source.get(key, {})
            target = target.setdefault(key, {})
        if path[-1] in source:
            target[path[-1]] = source[path[-1]]
    return chosen
