"""What Argo CD deployed: each application's history of syncs.

Source: argo-cd.readthedocs.io/en/stable/developer-guide/api-docs (`GET /api/v1/applications`); `status.history` holds
the last syncs that succeeded, ten by default (`spec.revisionHistoryLimit`).
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from tools.live.changes.diffs import WHOLE_LINES, items_diff, unified
from tools.live.changes.flattening import flat
from tools.live.changes.images import versions_of
from tools.live.changes.ownership import Ownership
from tools.live.changes.records import Deploy, Recorded, is_sha
from tools.live.changes.source import ListedSource
from tools.live.changes.times import utc
from tools.live.reading import inside, mapping, some, text
from tools.live.source import Probe
from tools.live.transport import Transport
from tools.vocabulary import ChangeKind, Scope

_PATH = "/api/v1/applications"
_FIELDS = ",".join(
    f"items.{field}" for field in ("metadata.name", "metadata.namespace", "status.history", "status.summary.images")
)


class ArgoCdSource(ListedSource):
    """Applications of one Argo CD. A sync of a Git revision is a deploy of that commit; one of a chart, or of other
    parameters at the same revision, is a release that carries what of its source changed."""

    tells: ClassVar[frozenset[ChangeKind]] = frozenset({ChangeKind.DEPLOY})

    def __init__(
        self, name: str, transport: Transport, *, projects: Sequence[str], selector: str | None, owners: Ownership
    ) -> None:
        self.name = name
        self._transport = transport
        self._projects = projects
        self._selector = selector
        self._owners = owners

    @override
    async def probe(self) -> Probe:
        answer = await self._transport.answer("GET", _PATH, params=self._params())
        return Probe(answer.date, f"{len(some(mapping(answer.json()).get('items')))} applications")

    @override
    async def close(self) -> None:
        await self._transport.close()

    @override
    async def listed(self) -> Recorded:
        answer = mapping(await self._transport.json("GET", _PATH, params=self._params()))
        applications = some(answer.get("items"))
        deploys = [deploy for one in applications for deploy in self._history(one)]
        names = frozenset(self._service(text(inside(one, "metadata", "name"))) for one in applications)
        return Recorded(deploys=tuple(deploys), services=names)

    @override
    def paste(self, scope: Scope) -> str:
        if "service" in scope:
            return f"argocd app history {shlex.quote(str(scope['service']))}"
        return "argocd app list -o name | xargs -n 1 argocd app history"

    def _params(self) -> list[tuple[str, str | int | float | bool | None]]:
        chosen: list[tuple[str, str | int | float | bool | None]] = [("projects", one) for one in self._projects]
        return [*chosen, *([("selector", self._selector)] if self._selector else []), ("fields", _FIELDS)]

    def _service(self, application: str) -> str:
        return self._owners.of(application) or application

    def _history(self, application: Mapping[str, Any]) -> list[Deploy]:
        name = text(inside(application, "metadata", "name"))
        history = sorted(some(inside(application, "status", "history")), key=lambda one: text(one.get("deployedAt")))
        deploys: list[Deploy] = []
        for index, entry in enumerate(history):
            before = history[index - 1] if index else None
            newest = index == len(history) - 1
            images = inside(application, "status", "summary", "images") if newest else None
            tags = versions_of(text(one) for one in images) if isinstance(images, list) else None
            deploys += self._deploys(name, entry, before, tags)
        return deploys

    def _deploys(
        self, application: str, entry: Mapping[str, Any], before: Mapping[str, Any] | None, tags: str | None
    ) -> list[Deploy]:
        at = utc(entry.get("deployedAt"))
        if at is None:
            return []
        service = self._service(application)
        version = tags or text(inside(entry, "source", "targetRevision")) or None
        now, then = _revisions(entry), _revisions(before or {})
        fresh = [(one, old) for one, old in zip(now, [*then, *[""] * len(now)], strict=False) if one != old]
        commits = [
            Deploy(revision, service, at, version, previous=old or None) for revision, old in fresh if is_sha(revision)
        ]
        if commits and len(commits) == len(fresh):
            return commits
        changed = items_diff(f"application/{application}.yaml", _sources(before), _sources(entry)) if before else None
        release = f"{self.name}:{text(entry.get('id'))}:{application}"
        files = (changed.path,) if changed else ()
        diff = unified([changed], limit=WHOLE_LINES) if changed else ""
        message = f"Argo CD synced {application} to {', '.join(now) or '-'}"
        return [*commits, Deploy(release, service, at, version, message=message, files=files, diff=diff)]


def _revisions(entry: Mapping[str, Any]) -> list[str]:
    several = entry.get("revisions")
    said = several if isinstance(several, list) and several else [entry.get("revision")]
    return [text(one) for one in said if text(one)]


def _sources(entry: Mapping[str, Any] | None) -> dict[str, str]:
    said = mapping(entry)
    return flat(some(said.get("sources")) or mapping(said.get("source")))
