"""Rollouts that Kubernetes still remembers: each Deployment's ReplicaSets by revision, and what of the pod template
changed between two of them.

Source: kubernetes.io/docs/concepts/workloads/controllers/deployment (revisions, rolling back) and the apps/v1 API. The
revisions kept are `spec.revisionHistoryLimit`, ten by default.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from typing_extensions import override

from tools.live.changes.diffs import WHOLE_LINES, items_diff, unified
from tools.live.changes.flattening import flat
from tools.live.changes.images import versions_of
from tools.live.changes.ownership import Ownership
from tools.live.changes.records import Deploy, Recorded, joined
from tools.live.changes.source import ListedSource
from tools.live.changes.times import utc
from tools.live.concurrency import in_turns
from tools.live.reading import inside, mapping, objects, some, text
from tools.live.source import Probe
from tools.live.transport import Transport
from tools.vocabulary import ChangeKind, Scope

PAGE = 500
MAX_PAGES = 4
_REVISION = "deployment.kubernetes.io/revision"
_HASH = "pod-template-hash"


@dataclass(frozen=True)
class Revision:
    """One revision of a Deployment: `at` is when it was rolled out (aware, UTC), `template` its pods' template."""

    number: int
    replica_set: str
    at: datetime
    template: Mapping[str, Any]


class RolloutsSource(ListedSource):
    """Deployments of the namespaces that may be read. A rollout is a release that carries its template's difference."""

    tells: ClassVar[frozenset[ChangeKind]] = frozenset({ChangeKind.DEPLOY})

    def __init__(self, name: str, transport: Transport, *, namespaces: Sequence[str], owners: Ownership) -> None:
        self.name = name
        self._transport = transport
        self._namespaces = namespaces
        self._owners = owners

    @override
    async def probe(self) -> Probe:
        path = f"/apis/apps/v1/namespaces/{self._namespaces[0]}/replicasets"
        answer = await self._transport.answer("GET", path, params={"limit": 1})
        return Probe(answer.date, f"{len(some(mapping(answer.json()).get('items')))} ReplicaSet read")

    @override
    async def close(self) -> None:
        await self._transport.close()

    @override
    async def listed(self) -> Recorded:
        return joined(await in_turns(self._namespace, self._namespaces))

    @override
    def paste(self, scope: Scope) -> str:
        of = f" deployment/{shlex.quote(str(scope['service']))}" if "service" in scope else " deployment"
        return "\n".join(f"kubectl -n {one} rollout history{of}" for one in self._namespaces)

    async def _namespace(self, namespace: str) -> Recorded:
        deployments, cut = await self._objects(namespace, "deployments")
        sets, more = await self._objects(namespace, "replicasets")
        deploys: list[Deploy] = []
        for deployment in deployments:
            name = text(inside(deployment, "metadata", "name"))
            deploys += self._rollouts(namespace, name, revisions_of(deployment, sets))
        names = frozenset(self._service(text(inside(one, "metadata", "name"))) for one in deployments)
        return Recorded(deploys=tuple(deploys), services=names, truncated=cut or more)

    def _rollouts(self, namespace: str, deployment: str, revisions: Sequence[Revision]) -> list[Deploy]:
        deploys = []
        before: Revision | None = None
        for revision in revisions:
            path = f"{namespace}/deployment/{deployment}.yaml"
            changed = items_diff(path, flat(before.template), flat(revision.template)) if before else None
            images = [text(one.get("image")) for one in some(inside(revision.template, "spec", "containers"))]
            deploys.append(
                Deploy(
                    f"{self.name}:{revision.number}:{namespace}/{revision.replica_set}",
                    self._service(deployment),
                    revision.at,
                    version=versions_of(images),
                    message=f"rollout of {deployment}, revision {revision.number}",
                    files=(path,) if changed else (),
                    diff=unified([changed], limit=WHOLE_LINES) if changed else "",
                )
            )
            before = revision
        return deploys

    def _service(self, deployment: str) -> str:
        return self._owners.of(deployment) or deployment

    async def _objects(self, namespace: str, plural: str) -> tuple[list[Mapping[str, Any]], bool]:
        found: list[Mapping[str, Any]] = []
        onward = ""
        for _ in range(MAX_PAGES):
            params: dict[str, str | int] = {"limit": PAGE} | ({"continue": onward} if onward else {})
            path = f"/apis/apps/v1/namespaces/{namespace}/{plural}"
            answer = mapping(await self._transport.json("GET", path, params=params))
            found += objects(answer.get("items"))
            onward = text(inside(answer, "metadata", "continue"))
            if not onward:
                return found, False
        return found, True


def revisions_of(deployment: Mapping[str, Any], sets: Sequence[Mapping[str, Any]]) -> list[Revision]:
    """Return a Deployment's revisions, oldest first.

    A revision began when its ReplicaSet was made; but one that was rolled back to keeps its old ReplicaSet under a new
    number, so the newest one's time is then when the Deployment last made progress.
    """
    uid = text(inside(deployment, "metadata", "uid"))
    found = []
    for one in sets:
        number = text(mapping(inside(one, "metadata", "annotations")).get(_REVISION))
        at = utc(inside(one, "metadata", "creationTimestamp"))
        owned = any(text(owner.get("uid")) == uid for owner in some(inside(one, "metadata", "ownerReferences")))
        if owned and number.isdigit() and at is not None:
            found.append(Revision(int(number), text(inside(one, "metadata", "name")), at, _template(one)))
    found.sort(key=lambda one: one.number)
    if len(found) > 1 and found[-1].at < found[-2].at:
        newest = found.pop()
        progressed = _progressed(deployment)
        if progressed is not None:
            found.append(Revision(newest.number, newest.replica_set, progressed, newest.template))
    return found


def _template(replica_set: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a template without what the controller adds to it: it differs in every revision."""
    template = mapping(inside(replica_set, "spec", "template"))
    metadata = mapping(template.get("metadata"))
    labels = {key: value for key, value in mapping(metadata.get("labels")).items() if key != _HASH}
    kept = {"labels": labels, "annotations": mapping(metadata.get("annotations"))}
    return {"metadata": kept, "spec": mapping(template.get("spec"))}


def _progressed(deployment: Mapping[str, Any]) -> datetime | None:
    conditions = some(inside(deployment, "status", "conditions"))
    return next((utc(one.get("lastUpdateTime")) for one in conditions if one.get("type") == "Progressing"), None)
