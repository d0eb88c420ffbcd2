"""Commits and deployments of GitLab projects.

Source: docs.gitlab.com/api/deployments, /api/commits, /api/repositories (REST v4, 15.8 and later).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from typing_extensions import override

from tools.base import SourceFailure
from tools.canonical import iso_utc
from tools.live.changes.diffs import FileDiff, patch_lines
from tools.live.changes.forge import MAX_PAGES, PAGE, Forge, Listed, Project, in_order
from tools.live.changes.records import Deploy
from tools.live.changes.source import window_of
from tools.live.changes.times import utc
from tools.live.reading import inside, mapping, objects, some, text
from tools.live.transport import Answer, Params
from tools.vocabulary import Scope, SourceError

_BEFORE = timedelta(days=30)
"""How far back what was live before the window is looked for."""


class GitLabSource(Forge):
    """Projects (`group/name` or number). A deployment went live when its job finished, successfully."""

    @override
    async def deployed(self, project: Project, start: datetime, end: datetime) -> tuple[list[Deploy], bool]:
        rows, cut = await self._paged(project, "/deployments", self._finished(start, end))
        # The newest of before tells what the first one of the window replaced.
        older = await self._ask(project, "/deployments", {**self._finished(start - _BEFORE, start), "per_page": 5})
        found = [self._deploy(project, row) for row in (*rows, *objects(older.json()))]
        live = in_order([one for one in found if one])
        return [one for one in live if one.at >= start], cut

    @override
    async def deployed_of(self, project: Project, sha: str) -> list[Deploy]:
        params: dict[str, Any] = {"status": "success", "order_by": "id", "sort": "desc", "per_page": PAGE}
        rows = objects((await self._ask(project, "/deployments", params)).json())
        return [deploy for row in rows if row.get("sha") == sha and (deploy := self._deploy(project, row))]

    @override
    async def committed(self, project: Project, start: datetime, end: datetime) -> tuple[list[Listed], bool]:
        params = {"since": iso_utc(start), "until": iso_utc(end), "first_parent": "true"}
        if self._branch:
            params["ref_name"] = self._branch
        rows, cut = await self._paged(project, "/repository/commits", params)
        return [one for row in rows if (one := _commit(row))], cut

    @override
    async def between(self, project: Project, previous: str, sha: str) -> list[Listed]:
        params = {"from": previous, "to": sha}
        answer = await self._ask(project, "/repository/compare", params, frozenset({404}))
        rows = [] if answer.status == 404 else some(mapping(answer.json()).get("commits"))
        return [one for row in reversed(rows) if (one := _commit(row))]

    @override
    async def detail(self, project: Project, sha: str) -> tuple[Listed, list[FileDiff]] | None:
        path = f"/repository/commits/{quote(sha, safe='')}"
        answer = await self._ask(project, path, {}, frozenset({404}))
        if answer.status == 404:
            if "project" in text(mapping(answer.json()).get("message")).casefold():
                raise SourceFailure(SourceError.QUERY_REJECTED)
            return None
        listed = _commit(mapping(answer.json()))
        if listed is None:
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        rows, _ = await self._paged(project, f"{path}/diff", {})
        return listed, [_file(row) for row in rows]

    @override
    async def newest(self, project: Project) -> Answer:
        return await self._ask(project, "/repository/commits", {"per_page": 1})

    @override
    def paste(self, scope: Scope) -> str:
        lines = []
        for project in self._projects:
            at = f"glab api 'projects/{quote(project.name, safe='')}"
            if "change_id" in scope:
                lines.append(f"{at}/repository/commits/{quote(str(scope['change_id']), safe='')}/diff'")
                continue
            start, end = (iso_utc(one) for one in window_of(scope))
            finished = f"status=success&order_by=finished_at&finished_after={start}&finished_before={end}"
            lines.append(f"{at}/deployments?{finished}'")
            lines.append(f"{at}/repository/commits?since={start}&until={end}'")
        return "\n".join(lines)

    def _finished(self, start: datetime, end: datetime) -> dict[str, Any]:
        params: dict[str, Any] = {
            "status": "success",
            "order_by": "finished_at",
            "sort": "desc",
            "finished_after": iso_utc(start),
            "finished_before": iso_utc(end),
        }
        return params | ({"environment": self._environment} if self._environment else {})

    def _deploy(self, project: Project, row: Mapping[str, Any]) -> Deploy | None:
        at = utc(inside(row, "deployable", "finished_at")) or utc(row.get("finished_at")) or utc(row.get("updated_at"))
        sha, ref = text(row.get("sha")), text(row.get("ref"))
        environment = text(inside(row, "environment", "name"))
        if not sha or at is None:
            return None
        told = None if self._environment else environment or None
        return Deploy(sha, project.service, at, ref or None, environment=told)

    async def _paged(self, project: Project, path: str, params: dict[str, Any]) -> tuple[list[Mapping[str, Any]], bool]:
        rows: list[Mapping[str, Any]] = []
        for page in range(1, MAX_PAGES + 1):
            answer = await self._ask(project, path, {**params, "per_page": PAGE, "page": page})
            rows += objects(answer.json())
            if not answer.headers.get("x-next-page"):
                return rows, False
        return rows, True

    async def _ask(self, project: Project, path: str, params: Params, accept: frozenset[int] = frozenset()) -> Answer:
        below = f"/api/v4/projects/{quote(project.name, safe='')}{path}"
        return await self._transport.answer("GET", below, params=params, accept_status=accept)


def _commit(row: Mapping[str, Any]) -> Listed | None:
    at = utc(row.get("committed_date")) or utc(row.get("created_at"))
    sha = text(row.get("id"))
    return Listed(sha, at, text(row.get("message")) or text(row.get("title"))) if sha and at else None


def _file(row: Mapping[str, Any]) -> FileDiff:
    path = text(row.get("old_path" if row.get("deleted_file") else "new_path"))
    return FileDiff(path, patch_lines(text(row.get("diff"))))
