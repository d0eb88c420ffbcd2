"""A small server of our own that keeps to GitHub's documented REST API, over what a test tells.

Documentation: https://docs.github.com/en/rest/deployments/deployments, /rest/deployments/statuses and
/rest/commits/commits (API version 2022-11-28); https://docs.github.com/en/rest/using-the-rest-api for pages, bearer
tokens, and a primary rate limit, whose end is a 403 with `x-ratelimit-remaining: 0`. Kept are: newest first, `per_page`
and `page`, `since` and `until`, `sha` and `environment`, 404 for a repository that isn't there and 422 for a SHA.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.live.servers.answering import Request, Response, answering


@dataclass
class GitHubRepository:
    """What the server knows of one repository. `commits`: newest first, as (sha, time, message, files with patches)."""

    commits: list[tuple[str, str, str, dict[str, str | None]]] = field(default_factory=list)
    deployments: list[dict[str, Any]] = field(default_factory=list)
    statuses: dict[int, list[tuple[str, str]]] = field(default_factory=dict)

    def deploy(self, number: int, sha: str, created: str, statuses: dict[str, str], **fields: Any) -> None:
        """Add a deployment; `statuses` are times by state, in order."""
        one = {"id": number, "sha": sha, "ref": "main", "task": "deploy", "payload": {}, "environment": "production",
               "created_at": created, "updated_at": created, "description": None}  # fmt: skip
        self.deployments.insert(0, one | fields)
        self.statuses[number] = list(statuses.items())


@dataclass
class GitHubStore:
    """The repositories by name, who is let in, and whether the rate limit is spent. `asked`: the paths asked for."""

    token: str
    repositories: dict[str, GitHubRepository] = field(default_factory=dict)
    limited: bool = False
    asked: list[str] = field(default_factory=list)


@contextmanager
def start_github(store: GitHubStore) -> Iterator[str]:
    """Serve the store on loopback while the block runs; gives the address of the API."""
    with answering(lambda request: _answer(store, request)) as url:
        yield url


def _answer(store: GitHubStore, request: Request) -> Response:
    store.asked.append(request.raw_path)
    if request.headers.get("authorization") != f"Bearer {store.token}":
        return Response({"message": "Bad credentials"}, 401)
    if store.limited:
        spent = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772625600"}
        return Response({"message": "API rate limit exceeded for user ID 1."}, 403, spent)
    parts = request.path.split("/")[1:]
    repository = store.repositories.get("/".join(parts[1:3])) if parts[0] == "repos" else None
    if repository is None or request.method != "GET":
        return Response({"message": "Not Found"}, 404)
    return _of_repository(repository, parts[3:], request)


def _of_repository(repository: GitHubRepository, parts: list[str], request: Request) -> Response:
    if parts == ["deployments"]:
        wanted = {key: value for key in ("sha", "environment") if (value := request.param(key))}
        rows = [one for one in repository.deployments if all(one[key] == value for key, value in wanted.items())]
        return Response(_page(rows, request))
    if parts[0] == "deployments" and parts[2] == "statuses":
        states = repository.statuses.get(int(parts[1]), [])
        rows = [{"id": index, "state": state, "created_at": at} for index, (state, at) in enumerate(states)]
        return Response(_page(rows[::-1], request))
    if parts == ["commits"]:
        since, until = request.param("since") or "", request.param("until") or "9"
        listed = [_commit(one) for one in repository.commits if since <= one[1] <= until]
        return Response(_page(listed, request))
    if parts[0] == "commits":
        found = [one for one in repository.commits if one[0].startswith(parts[1])]
        if len(found) != 1:
            return Response({"message": f"No commit found for SHA: {parts[1]}"}, 422)
        return Response(_commit(found[0]) | {"files": [_file(*one) for one in found[0][3].items()]})
    if parts[0] == "compare":
        return _compared(repository, *parts[1].split("..."))
    return Response({"message": "Not Found"}, 404)


def _compared(repository: GitHubRepository, base: str, head: str) -> Response:
    shas = [one[0] for one in repository.commits]
    if base not in shas or head not in shas:
        return Response({"message": "Not Found"}, 404)
    between = repository.commits[shas.index(head) : shas.index(base)]
    return Response({"status": "ahead", "commits": [_commit(one) for one in reversed(between)], "files": []})


def _commit(one: tuple[str, str, str, dict[str, str | None]]) -> dict[str, Any]:
    person = {"name": "someone", "email": "someone@example.com", "date": one[1]}
    return {"sha": one[0], "commit": {"message": one[2], "author": person, "committer": person}, "parents": []}


def _file(name: str, patch: str | None) -> dict[str, Any]:
    """A binary file, or one whose changes are too many, has no patch."""
    one = {"filename": name, "status": "modified", "additions": 1, "deletions": 1}
    return one if patch is None else one | {"patch": patch}


def _page(rows: list[Any], request: Request) -> list[Any]:
    size, page = int(request.param("per_page") or 30), int(request.param("page") or 1)
    return rows[(page - 1) * size : page * size]
