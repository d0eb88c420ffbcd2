"""Commits and deployments of GitHub repositories.

Source: docs.github.com/en/rest/deployments/deployments, /deployments/statuses, /commits/commits (API 2022-11-28).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from typing_extensions import override

from tools.base import SourceFailure
from tools.canonical import iso_utc
from tools.live.changes.diffs import FileDiff, patch_lines
from tools.live.changes.forge import LONGEST_DEPLOY, MAX_PAGES, PAGE, Forge, Listed, Project, in_order
from tools.live.changes.records import Deploy
from tools.live.changes.source import window_of
from tools.live.changes.times import utc
from tools.live.concurrency import in_turns
from tools.live.reading import inside, mapping, objects, some, text
from tools.live.transport import Answer, Params
from tools.vocabulary import Scope, SourceError

_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_LIMITED = frozenset({403, 429})
_NO_COMMIT = frozenset({404, 409, 422})
_MAX_CHECKED = 60
_OLDER_CHECKED = 3


class GitHubSource(Forge):
    """Repositories (`owner/name`). A deployment went live when a status of it said `success` for the first time."""

    @override
    async def deployed(self, project: Project, start: datetime, end: datetime) -> tuple[list[Deploy], bool]:
        earliest = start - LONGEST_DEPLOY
        found: list[Mapping[str, Any]] = []
        cut = True
        for page in range(1, MAX_PAGES + 1):
            rows = await self._listed(project, "/deployments", self._of_environment({"per_page": PAGE, "page": page}))
            found += rows
            oldest = utc(rows[-1].get("created_at")) if rows else None
            if len(rows) < PAGE or (oldest is not None and oldest < earliest):
                cut = False
                break
        created = [(row, at) for row in found if (at := utc(row.get("created_at"))) and at < end]
        wanted = [row for row, at in created if at >= earliest]
        # Older ones tell what was live before the first one of the window.
        older = [row for row, at in created if at < earliest]
        live = in_order(await self._live(project, wanted[:_MAX_CHECKED] + older[:_OLDER_CHECKED]))
        return [one for one in live if one.at >= start], cut or len(wanted) > _MAX_CHECKED

    @override
    async def deployed_of(self, project: Project, sha: str) -> list[Deploy]:
        rows = await self._listed(project, "/deployments", self._of_environment({"per_page": PAGE, "sha": sha}))
        return await self._live(project, rows[:_MAX_CHECKED])

    @override
    async def committed(self, project: Project, start: datetime, end: datetime) -> tuple[list[Listed], bool]:
        commits: list[Listed] = []
        for page in range(1, MAX_PAGES + 1):
            params: dict[str, Any] = {"since": iso_utc(start), "until": iso_utc(end), "per_page": PAGE, "page": page}
            rows = await self._listed(project, "/commits", params | ({"sha": self._branch} if self._branch else {}))
            commits += [one for row in rows if (one := _commit(row))]
            if len(rows) < PAGE:
                return commits, False
        return commits, True

    @override
    async def between(self, project: Project, previous: str, sha: str) -> list[Listed]:
        path = f"/compare/{quote(previous, safe='')}...{quote(sha, safe='')}"
        answer = await self._ask(project, path, {"per_page": PAGE}, frozenset({404}))
        rows = [] if answer.status == 404 else some(mapping(answer.json()).get("commits"))
        return [one for row in reversed(rows) if (one := _commit(row))]

    @override
    async def detail(self, project: Project, sha: str) -> tuple[Listed, list[FileDiff]] | None:
        answer = await self._ask(project, f"/commits/{quote(sha, safe='')}", {"per_page": PAGE}, _NO_COMMIT)
        if answer.status in _NO_COMMIT:
            return None
        row = mapping(answer.json())
        listed = _commit(row)
        if listed is None:
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        files = [
            FileDiff(text(one.get("filename")), patch_lines(text(one.get("patch")))) for one in some(row.get("files"))
        ]
        return listed, files

    @override
    async def newest(self, project: Project) -> Answer:
        return await self._ask(project, "/commits", {"per_page": 1})

    @override
    def paste(self, scope: Scope) -> str:
        lines = []
        for project in self._projects:
            at = f"gh api -X GET repos/{project.name}"
            if "change_id" in scope:
                lines.append(f"{at}/commits/{quote(str(scope['change_id']), safe='')}")
                continue
            start, end = (iso_utc(one) for one in window_of(scope))
            environment = f" -f environment={quote(self._environment)}" if self._environment else ""
            lines.append(f"{at}/deployments{environment} -f per_page=100")
            lines.append(f"{at}/commits -f since={start} -f until={end}")
        return "\n".join(lines)

    async def _live(self, project: Project, rows: list[Mapping[str, Any]]) -> list[Deploy]:
        async def of(row: Mapping[str, Any]) -> Deploy | None:
            statuses = await self._listed(project, f"/deployments/{text(row.get('id'))}/statuses", {"per_page": PAGE})
            times = [utc(one.get("created_at")) for one in statuses if one.get("state") == "success"]
            went_live = min((at for at in times if at is not None), default=None)
            return self._deploy(project, row, went_live) if went_live else None

        return [one for one in await in_turns(of, rows) if one]

    def _deploy(self, project: Project, row: Mapping[str, Any], at: datetime) -> Deploy | None:
        sha, ref, environment = (text(row.get(key)) for key in ("sha", "ref", "environment"))
        if not sha:
            return None
        service = text(inside(row, "payload", "service")) or project.service
        told = None if self._environment else environment or None
        return Deploy(sha, service, at, ref or None, environment=told)

    def _of_environment(self, params: dict[str, Any]) -> dict[str, Any]:
        return params | ({"environment": self._environment} if self._environment else {})

    async def _listed(self, project: Project, path: str, params: Params) -> list[Mapping[str, Any]]:
        return objects((await self._ask(project, path, params)).json())

    async def _ask(self, project: Project, path: str, params: Params, accept: frozenset[int] = frozenset()) -> Answer:
        """Ask below a repository. An exhausted rate limit, which GitHub answers with 403, is no lack of rights."""
        answer = await self._transport.answer(
            "GET", f"/repos/{project.name}{path}", params=params, headers=_HEADERS, accept_status=accept | _LIMITED
        )
        if answer.status in _LIMITED:
            spent = answer.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in answer.headers
            limited = spent or answer.status == 429
            raise SourceFailure(SourceError.BACKEND_UNAVAILABLE if limited else SourceError.ACCESS_DENIED)
        return answer


def _commit(row: Mapping[str, Any]) -> Listed | None:
    at = utc(inside(row, "commit", "committer", "date")) or utc(inside(row, "commit", "author", "date"))
    sha = text(row.get("sha"))
    return Listed(sha, at, text(inside(row, "commit", "message"))) if sha and at else None


def _file(row: Mapping[str, Any]) -> FileDiff:
    return FileDiff(text(row.get("filename")), patch_lines(text(row.get("patch"))))
