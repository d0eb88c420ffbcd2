"""A small server of our own that keeps to the open API of Apollo's portal, over releases that a test makes.

Documentation: https://www.apolloconfig.com/#/zh/portal/apollo-open-api-platform: the token stands in `Authorization` as
it is; `…/namespaces`, `…/releases/latest`; and, in newer portals alone, `…/releases/active` with `page` and `size`,
newest first. Times as Apollo writes them (`2026-03-04T19:30:00.000+0800`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.live.servers.answering import Request, Response, answering


@dataclass
class ApolloStore:
    """What the portal knows of environment PRO and cluster default, by app and namespace. `older`: it lists no
    releases."""

    token: str
    releases: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    older: bool = False
    count: int = 0

    def release(
        self, at: str, app: str, items: dict[str, str], *, namespace: str = "application", comment: str = ""
    ) -> int:
        """Release a namespace's items; returns the release's number."""
        self.count += 1
        number = 100 + self.count
        one = {"id": number, "appId": app, "clusterName": "default", "namespaceName": namespace,
               "name": f"release-{number}", "configurations": items, "comment": comment,
               "dataChangeCreatedBy": "apollo", "dataChangeCreatedTime": at}  # fmt: skip
        self.releases.setdefault((app, namespace), []).insert(0, one)
        return number


@contextmanager
def start_apollo(store: ApolloStore) -> Iterator[str]:
    """Serve the store on loopback while the block runs; gives the address."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _answer(store: ApolloStore, request: Request) -> Response:
    if request.headers.get("authorization") != store.token:
        return Response({"status": 401, "message": "Unauthorized"}, 401)
    parts = request.path.removeprefix("/openapi/v1/envs/").split("/")
    if request.method != "GET" or parts[:2] + parts[3:6] != ["PRO", "apps", "clusters", "default", "namespaces"]:
        return Response({"status": 404, "message": "not found"}, 404)
    app = parts[2]
    if len(parts) == 6:
        names = [name for owner, name in store.releases if owner == app]
        return Response(
            [{"appId": app, "clusterName": "default", "namespaceName": name, "items": []} for name in names]
        )
    releases = store.releases.get((app, parts[6]), [])
    if parts[7:] == ["releases", "latest"]:
        return Response(releases[0]) if releases else Response("")
    if parts[7:] == ["releases", "active"] and not store.older:
        size, page = int(request.param("size") or 5), int(request.param("page") or 0)
        return Response(releases[page * size : (page + 1) * size])
    return Response({"status": 404, "message": "not found"}, 404)
