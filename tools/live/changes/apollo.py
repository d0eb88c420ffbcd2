"""Configuration releases of Apollo, through the portal's open API.

Source: apolloconfig.com, open API platform. `releases/active` (paged, newest first) is there in newer portals alone;
older ones tell `releases/latest`, and what was released before it stays unknown. A release that was rolled back is no
longer active: neither tells it, nor when it was taken back.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import quote

from typing_extensions import override

from tools.base import SourceFailure
from tools.live.changes.diffs import WHOLE_LINES, items_diff, unified
from tools.live.changes.ownership import Ownership
from tools.live.changes.records import Deploy, Recorded, joined
from tools.live.changes.source import ChangeSource
from tools.live.changes.times import utc
from tools.live.concurrency import in_turns
from tools.live.reading import mapping, objects, text
from tools.live.source import Probe
from tools.live.transport import Transport
from tools.vocabulary import ChangeKind, Scope, SourceError

PAGE = 20
MAX_PAGES = 5
LATEST_ONLY = "RELEASES_LATEST_ONLY"
_ABSENT = frozenset({404})
_ENDINGS = frozenset({"properties", "xml", "json", "yml", "yaml", "txt"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Release:
    """A release of a namespace: `at` aware, UTC."""

    number: str
    at: datetime
    name: str
    comment: str
    items: Mapping[str, str]


@dataclass(frozen=True)
class Namespace:
    """A namespace of an application."""

    app: str
    name: str

    @property
    def path(self) -> str:
        """The name of its file: one without an ending holds properties, as it is for Apollo's clients."""
        ended = self.name.rpartition(".")[2].casefold() in _ENDINGS
        return f"{self.app}/{self.name}" + ("" if ended else ".properties")


class ApolloSource(ChangeSource):
    """Namespaces of applications in one environment and cluster. Each release carries the items it changed."""

    tells: ClassVar[frozenset[ChangeKind]] = frozenset({ChangeKind.DEPLOY})

    def __init__(
        self,
        name: str,
        transport: Transport,
        *,
        env: str,
        cluster: str,
        apps: Sequence[str],
        namespaces: Sequence[str],
        owners: Ownership,
    ) -> None:
        self.name = name
        self._transport = transport
        self._env = env
        self._cluster = cluster
        self._apps = apps
        self._namespaces = namespaces
        self._owners = owners

    @override
    async def probe(self) -> Probe:
        answer = await self._transport.answer("GET", self._path(self._apps[0]))
        return Probe(answer.date, f"{len(objects(answer.json()))} namespaces")

    @override
    async def close(self) -> None:
        await self._transport.close()

    @override
    async def recorded(self, start: datetime, end: datetime) -> Recorded:
        found = await self._since(start)
        return joined([found.within(start, end), Recorded(services=frozenset(map(self._service, self._apps)))])

    @override
    async def change(self, folded: str) -> Recorded:
        if not re.match(rf"{re.escape(self.name)}:\d+:", folded):
            return Recorded()
        return (await self._since(_EPOCH)).of_id(folded)

    @override
    def paste(self, scope: Scope) -> str:
        names = self._namespaces or ("application",)
        return "\n".join(
            f'curl -H "Authorization: $APOLLO_TOKEN" '
            f'"$APOLLO_URL{self._path(app)}/{quote(name, safe="")}/releases/active?page=0&size={PAGE}"'
            for app in self._apps
            for name in names
        )

    def _service(self, app: str) -> str:
        return self._owners.of(app) or app

    def _path(self, app: str) -> str:
        parts = (quote(part, safe="") for part in (self._env, app, self._cluster))
        return "/openapi/v1/envs/{}/apps/{}/clusters/{}/namespaces".format(*parts)

    async def _since(self, start: datetime) -> Recorded:
        known = [one for app in await in_turns(self._of_app, self._apps) for one in app]

        async def of(namespace: Namespace) -> Recorded:
            return await self._released(namespace, start)

        return joined(await in_turns(of, known))

    async def _of_app(self, app: str) -> list[Namespace]:
        if self._namespaces:
            return [Namespace(app, name) for name in self._namespaces]
        rows = objects(await self._transport.json("GET", self._path(app)))
        return [Namespace(app, name) for row in rows if (name := text(row.get("namespaceName")))]

    async def _released(self, namespace: Namespace, start: datetime) -> Recorded:
        releases: list[Release] = []
        cut = True
        for page in range(MAX_PAGES):
            params = {"page": page, "size": PAGE}
            answer = await self._transport.answer(
                "GET", f"{self._below(namespace)}/active", params=params, accept_status=_ABSENT
            )
            if answer.status == 404:
                return await self._latest(namespace, start)
            rows = objects(answer.json())
            releases += [release for row in rows if (release := _release(row))]
            if len(rows) < PAGE or (releases and releases[-1].at < start):
                cut = False
                break
        pairs = zip(releases, [*releases[1:], None], strict=False)
        deploys = [self._deploy(namespace, one, before) for one, before in pairs]
        return Recorded(deploys=tuple(deploys), truncated=cut and start > _EPOCH)

    async def _latest(self, namespace: Namespace, start: datetime) -> Recorded:
        """The newest release alone: nothing was released since it, what was before it isn't known."""
        answer = await self._transport.answer("GET", f"{self._below(namespace)}/latest")
        release = _release(mapping(answer.json())) if answer.body.strip() else None
        if release is None:
            return Recorded()
        reaches_in = release.at >= start
        notes = (LATEST_ONLY,) if reaches_in else ()
        return Recorded(deploys=(self._deploy(namespace, release, None),), truncated=reaches_in, notes=notes)

    def _below(self, namespace: Namespace) -> str:
        return f"{self._path(namespace.app)}/{quote(namespace.name, safe='')}/releases"

    def _deploy(self, namespace: Namespace, release: Release, before: Release | None) -> Deploy:
        path = namespace.path
        changed = items_diff(path, dict(before.items), dict(release.items)) if before else None
        told = f"configuration release of {namespace.app}/{namespace.name}"
        return Deploy(
            f"{self.name}:{release.number}:{namespace.app}/{namespace.name}",
            self._service(namespace.app),
            release.at,
            version=release.name or None,
            message=f"{told}: {release.comment}" if release.comment else told,
            files=(path,),
            diff=unified([changed], limit=WHOLE_LINES) if changed else "",
        )


def _release(row: Mapping[str, Any]) -> Release | None:
    at = utc(row.get("dataChangeCreatedTime")) or utc(row.get("dataChangeLastModifiedTime"))
    items = row.get("configurations")
    if at is None:
        return None
    if not isinstance(items, dict):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    number = text(row.get("id"))
    return Release(
        # Portals before 1.5 tell no id; two releases of a namespace never share a second.
        number if number not in {"", "0"} else str(int(at.timestamp())),
        at,
        text(row.get("name")),
        text(row.get("comment")),
        {str(key): text(value) for key, value in items.items()},
    )
