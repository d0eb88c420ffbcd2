"""What is asked of an API server, within the allowed namespaces: lists, objects, tables, events."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tools.base import SourceFailure
from tools.cluster.kinds import CLUSTER_SCOPED
from tools.cluster.tables import column_name
from tools.live.fanout import outcome
from tools.live.kubernetes.api import MAX_ROWS, TABLE, ApiServer, Listed, Params, fit_for_path
from tools.live.kubernetes.objects import SERVED, Object, at, each, one, pairs, path_of
from tools.names import near
from tools.vocabulary import SourceError

Row = dict[str, str]
Asked = TypeVar("Asked")
_ELSEWHERE = "<another_namespace>"


@dataclass(frozen=True)
class Gathered:
    """What several questions found, in order, and the code of each that failed, by what it was about."""

    found: Sequence[Any]
    failed: Mapping[str, SourceError]

    @property
    def notes(self) -> tuple[str, ...]:
        """Return one remark for each part that couldn't be had."""
        return tuple(f"SOURCE_FAILED:{about}" for about in self.failed)

    @property
    def missing(self) -> SourceError | None:
        """Return why a part couldn't be had, None where all could."""
        return next(iter(self.failed.values()), None)


async def gathered(questions: Mapping[str, Awaitable[Asked]], *, needed: bool = True) -> Gathered:
    """Ask all at once; raises the SourceFailure of the first where every one fails, and one is needed."""
    outcomes = dict(zip(questions, await asyncio.gather(*map(outcome, questions.values())), strict=True))
    failed = {about: one for about, one in outcomes.items() if isinstance(one, SourceFailure)}
    if needed and failed and len(failed) == len(outcomes):
        first = next(iter(failed.values()))
        raise SourceFailure(first.code, near_names=first.near_names, field=first.field)
    found = [one[0] for one in outcomes.values() if not isinstance(one, SourceFailure)]
    return Gathered(found, {about: failure.code for about, failure in failed.items()})


class Reading:
    """Reads objects. What lies outside of the allowed namespaces is refused before anything is sent.

    Of secrets only the API server's own table is asked (names, types, the number of keys), without their metadata:
    annotations may repeat what is in them.
    """

    def __init__(self, api: ApiServer, namespaces: tuple[str, ...]) -> None:
        self.api = api
        self.namespaces = namespaces
        self._known: set[str] = set()

    def place(self, kind: str, namespace: str | None) -> str | None:
        """Return the namespace that a kind's objects are asked in, None for kinds that lie in none.

        Raises SourceFailure(UNKNOWN_SELECTOR) for a kind that isn't served and for a namespace that isn't allowed,
        whether it exists or not.
        """
        if kind not in SERVED:
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(kind, SERVED), field="resource_type")
        if kind in CLUSTER_SCOPED:
            return None
        return self.allowed(namespace or self.namespaces[0], "namespace")

    def allowed(self, namespace: str, field: str) -> str:
        """Return an allowed namespace; raises SourceFailure(UNKNOWN_SELECTOR) with the allowed ones for any other."""
        if namespace not in self.namespaces:
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=self.namespaces, field=field)
        return namespace

    async def object(self, kind: str, namespace: str | None, name: str) -> Object | None:
        """Return one object, None where it isn't there. Not for secrets: see `rows`."""
        place = self.place(kind, namespace)
        if kind == "namespaces":
            self.allowed(name, "name")
        if kind == "secrets" or not fit_for_path(name):
            return None
        return _mapping(await self.api.object(path_of(kind, place, name)))

    async def objects(
        self, kind: str, namespace: str | None, *, labels: str | None = None, fields: str | None = None, most: int = 500
    ) -> Listed:
        """Return the objects of a kind. Not for secrets and namespaces: see `rows`.

        Raises SourceFailure(UNKNOWN_SELECTOR) where there are none since the namespace isn't there.
        """
        place = self.place(kind, namespace)
        if kind in ("secrets", "namespaces"):
            raise SourceFailure(SourceError.QUERY_REJECTED, field="resource_type")
        listed = await self.api.listed(path_of(kind, place), _selectors(labels, fields), most=most)
        listed.items = [one for one in listed.items if isinstance(one, Mapping)]
        if not listed.items and place:
            await self._exists(place)
        return listed

    async def rows(
        self, kind: str, namespace: str | None, *, name: str | None = None, labels: str | None = None
    ) -> tuple[list[Row], bool]:
        """Return the rows of a kind's table as the API server prints it, wide, with labels, and whether it is cut."""
        place = self.place(kind, namespace)
        if kind == "namespaces":
            names = [self.allowed(name, "name")] if name else list(self.namespaces)
            pages = await asyncio.gather(*(self._namespace_rows(one) for one in names))
            return [row for page in pages for row in page], False
        if name and not fit_for_path(name):
            return [], False
        fields = f"metadata.name={name}" if name else None
        params = {**_selectors(labels, fields), "includeObject": "None" if kind == "secrets" else "Metadata"}
        listed = await self.api.listed(path_of(kind, place), params, accept=TABLE, most=MAX_ROWS)
        if not listed.items and place:
            await self._exists(place)
        return [self._row(kind, listed.columns, row) for row in listed.items if isinstance(row, Mapping)], listed.cut

    async def _namespace_rows(self, name: str) -> list[Row]:
        page = await self.api.object(path_of("namespaces", None, name), accept=TABLE)
        columns = list(each(page, "columnDefinitions"))
        return [self._row("namespaces", columns, row) for row in each(page, "rows")]

    def _row(self, kind: str, columns: Sequence[Mapping[str, Any]], row: Object) -> Row:
        names = [column_name(str(column.get("name") or "")) for column in columns]
        cells = [one(cell) if cell is not None else "<none>" for cell in row.get("cells") or ()]
        told = dict(zip(names, cells, strict=False))
        metadata = at(row, "object", "metadata")
        if kind == "persistentvolumes" and told.get("claim", "").partition("/")[0] not in ("", *self.namespaces):
            told["claim"] = _ELSEWHERE
        revision = at(metadata, "annotations", "deployment.kubernetes.io/revision")
        if kind == "replicasets" and revision:
            told["revision"] = one(revision)
        if metadata is not None:
            told["labels"] = ",".join(pairs(at(metadata, "labels"))) or "<none>"
        return told

    async def events(self, namespace: str, *, fields: str | None = None) -> Listed:
        """Return the events of an allowed namespace."""
        return await self.objects("events", namespace, fields=fields, most=1_000)

    async def _exists(self, namespace: str) -> None:
        """Tell an empty namespace from one that isn't there, which lists, too; who may not look takes it as there."""
        if namespace in self._known:
            return
        try:
            found = await self.api.object(path_of("namespaces", None, namespace))
        except SourceFailure as failure:
            if failure.code is not SourceError.ACCESS_DENIED:
                raise
            found = True
        if found is None:
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=self.namespaces, field="namespace")
        self._known.add(namespace)


def _selectors(labels: str | None, fields: str | None) -> Params:
    given = {"labelSelector": labels, "fieldSelector": fields}
    return {key: value for key, value in given.items() if value}


def _mapping(found: Any) -> Object | None:
    if found is None or isinstance(found, Mapping):
        return found
    raise SourceFailure(SourceError.SOURCE_UNREADABLE)
