"""A small server of our own that keeps to GitLab's documented REST API, over what a test tells.

Documentation: https://docs.gitlab.com/api/deployments/, https://docs.gitlab.com/api/commits/,
https://docs.gitlab.com/api/repositories/ and https://docs.gitlab.com/api/rest/ (pages: `x-next-page`; projects by
URL-encoded path; bearer tokens). Kept are: `finished_after` and `finished_before`, which need `status=success` and
`order_by=finished_at`, and the messages of 404 for a project and for a commit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tests.live.servers.answering import Request, Response, answering


@dataclass
class GitLabProject:
    """What the server knows of one project. `commits`: newest first, as (sha, time, message, diffs by path)."""

    commits: list[tuple[str, str, str, dict[str, str]]] = field(default_factory=list)
    deployments: list[dict[str, Any]] = field(default_factory=list)

    def deploy(self, number: int, sha: str, finished: str, status: str = "success", **fields: Any) -> None:
        """Add a deployment of a job that finished at a time."""
        job = {"id": number, "status": status, "finished_at": finished, "tag": False}
        one = {"id": number, "iid": number, "ref": "main", "sha": sha, "status": status, "created_at": finished,
               "updated_at": finished, "environment": {"name": "production"}, "deployable": job}  # fmt: skip
        self.deployments.append(one | fields)


@dataclass
class GitLabStore:
    """The projects by path, and who is let in. `page_size` is how many rows a page has at most."""

    token: str
    projects: dict[str, GitLabProject] = field(default_factory=dict)
    page_size: int = 100


@contextmanager
def start_gitlab(store: GitLabStore) -> Iterator[str]:
    """Serve the store on loopback while the block runs; gives the address."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _answer(store: GitLabStore, request: Request) -> Response:
    if request.headers.get("authorization") != f"Bearer {store.token}":
        return Response({"message": "401 Unauthorized"}, 401)
    parts = request.raw_path.partition("?")[0].split("/")[1:]
    project = store.projects.get(unquote(parts[3])) if parts[:3] == ["api", "v4", "projects"] else None
    if project is None or request.method != "GET":
        return Response({"message": "404 Project Not Found"}, 404)
    return _of_project(store, project, parts[4:], request)


def _of_project(store: GitLabStore, project: GitLabProject, parts: list[str], request: Request) -> Response:
    if parts == ["deployments"]:
        return _deployments(store, project, request)
    if parts == ["repository", "commits"]:
        since, until = request.param("since") or "", request.param("until") or "9"
        return _page(store, [_commit(one) for one in project.commits if since <= one[1] <= until], request)
    if parts == ["repository", "compare"]:
        shas = [one[0] for one in project.commits]
        base, head = request.param("from"), request.param("to")
        if base not in shas or head not in shas:
            return Response({"message": "404 Ref Not Found"}, 404)
        between = project.commits[shas.index(head) : shas.index(base)]
        return Response({"commits": [_commit(one) for one in reversed(between)], "diffs": []})
    found = [one for one in project.commits if one[0].startswith(parts[2])]
    if parts[:2] != ["repository", "commits"] or len(found) != 1:
        return Response({"message": "404 Commit Not Found"}, 404)
    if parts[3:] == ["diff"]:
        return _page(store, [_diff(*one) for one in found[0][3].items()], request)
    return Response(_commit(found[0]))


def _deployments(store: GitLabStore, project: GitLabProject, request: Request) -> Response:
    after, before = request.param("finished_after"), request.param("finished_before")
    if (after or before) and (request.param("order_by"), request.param("status")) != ("finished_at", "success"):
        return Response({"message": "`finished_at` filter requires `finished_at` sort and `success` status."}, 400)
    rows = [
        one
        for one in project.deployments
        if (request.param("status") or one["status"]) == one["status"]
        and (request.param("environment") or one["environment"]["name"]) == one["environment"]["name"]
        and (after or "") <= one["deployable"]["finished_at"] <= (before or "9")
    ]
    rows.sort(key=lambda one: str(one["deployable"]["finished_at"]), reverse=request.param("sort") == "desc")
    return _page(store, rows, request)


def _page(store: GitLabStore, rows: list[Any], request: Request) -> Response:
    size = min(int(request.param("per_page") or 20), store.page_size)
    page = int(request.param("page") or 1)
    onward = str(page + 1) if page * size < len(rows) else ""
    return Response(rows[(page - 1) * size : page * size], headers={"X-Next-Page": onward, "X-Page": str(page)})


def _commit(one: tuple[str, str, str, dict[str, str]]) -> dict[str, Any]:
    return {"id": one[0], "short_id": one[0][:8], "committed_date": one[1], "created_at": one[1],
            "title": one[2].split("\n")[0], "message": one[2], "parent_ids": []}  # fmt: skip


def _diff(path: str, diff: str) -> dict[str, Any]:
    return {"old_path": path, "new_path": path, "a_mode": "100644", "b_mode": "100644", "diff": diff,
            "new_file": False, "renamed_file": False, "deleted_file": False}  # fmt: skip
