"""`list_changes` and `get_change` over live sources: the frozen tools' names, scopes and lines."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from typing_extensions import override

from tools.base import EvidenceTool, IncidentContext, SourceFailure
from tools.canonical import fold
from tools.frozen.change_records import CHANGE_LOADERS
from tools.frozen.changes import GetArguments, GetChangeTool, ListArguments, ListChangesTool
from tools.frozen.database import Database, Loaded, Rows
from tools.live.changes.joining import with_carried
from tools.live.changes.records import Recorded, as_documents, joined
from tools.live.changes.source import ChangeSource, window_of
from tools.live.fanout import Gathered, ask_all
from tools.live.pasting import lines
from tools.live.spool import spooled
from tools.live.vouching import ServiceCheck, require_vouched
from tools.names import near
from tools.vocabulary import ChangeKind, Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope, SourceError

Answer = TypeVar("Answer")
LONGEST_ANSWER_SECONDS = 45.0
"""How long one source may take in all; each of its requests is bounded by its own settings."""
_NEEDED = {
    ChangeKind.COMMIT: frozenset({ChangeKind.COMMIT, ChangeKind.DEPLOY}),
    ChangeKind.DEPLOY: frozenset({ChangeKind.DEPLOY, ChangeKind.COMMIT}),
    ChangeKind.FLAG: frozenset({ChangeKind.FLAG}),
}
"""Who is asked for a kind: a commit's services are those that deployed it, a deploy's diff is its commit's."""


class LiveListChangesTool(EvidenceTool):
    """Lists the changes in a window, as every configured source of changes records them. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |
    | change_kind | yes, unless null | COMMIT, DEPLOY or FLAG; synonyms in any case |
    | start, end | yes | resolved to UTC, aligned outward to the minute; default [as_of - 3 h, as_of + 15 min] |

    Told as by the frozen tool. A deploy is joined with its commit wherever that is known, and brings the commits since
    the deploy before it. Nothing in the window is an absence only where every source asked has answered; a service that
    neither they nor the sources of metrics and logs know is UNKNOWN_SELECTOR; a kind that no configured source tells is
    SOURCE_MISSING.
    """

    name = ListChangesTool.name
    description = ListChangesTool.description
    kind = EvidenceKind.CHANGES
    arguments = ListArguments

    def __init__(self, sources: Mapping[str, ChangeSource], known_elsewhere: ServiceCheck | None = None) -> None:
        self._sources = sources
        self._known_elsewhere = known_elsewhere
        self._frozen = ListChangesTool(_Spool(Recorded()), ())

    @override
    def normalize(self, arguments: ListArguments, incident: IncidentContext) -> Scope:
        return self._frozen.normalize(arguments, incident)

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        start, end = window_of(scope)
        asked = _tellers(self._sources, scope)
        gathered = await ask_all(asked, lambda source: _in_time(source.recorded(start, end)))
        found = joined(gathered.answers.values())
        if "service" in scope:
            await self._check_service(scope, found, gathered, incident)
        wanted = _of_scope(found.within(start, end), scope)
        brought = await with_carried(wanted, asked)
        records = _of_scope(brought.records, scope)
        failed = {*gathered.failures, *brought.failed}
        notes = (*records.notes, *(f"SOURCE_FAILED:{name}" for name in asked if name in failed))
        truncated = records.truncated or bool(failed)
        if _nothing(records, scope):
            gathered.absence()
            return _absence(scope, notes, truncated=truncated)
        telling = await asyncio.to_thread(ListChangesTool, _Spool(records), ())
        evidence = await telling.collect(scope, arguments, incident)
        return _noted(evidence, notes, truncated=truncated)

    async def _check_service(
        self, scope: Scope, found: Recorded, gathered: Gathered[Recorded], incident: IncidentContext
    ) -> None:
        """Raise UNKNOWN_SELECTOR where nobody, asked or not, knows the service, and every source has answered."""
        folded = scope["service"]
        start, end = window_of(scope)
        names = found.names()
        rest = {name: source for name, source in self._sources.items() if name not in gathered.answers}
        if _knows(names, folded):
            return
        gathered.absence()
        if rest:
            others = await ask_all(rest, lambda source: _in_time(source.recorded(start, end)))
            names = names.union(*(answer.names() for answer in others.answers.values()))
            if _knows(names, folded):
                return
            others.absence()
        await require_vouched(self._known_elsewhere, folded, incident, known=names)

    @override
    def suggest(self, incident: IncidentContext) -> Scope | None:
        return self._frozen.suggest(incident)

    @override
    def paste(self, scope: Scope) -> str:
        try:
            return _pasted(_tellers(self._sources, scope), scope)
        except SourceFailure:
            return ""


class LiveGetChangeTool(EvidenceTool):
    """Tells one change with its complete diff (400 changed lines at most). MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | change_id | yes | `fold` |

    An abbreviated SHA or id of at least seven characters names its change; one that names several, or none that any
    source knows, is UNKNOWN_SELECTOR.
    """

    name = GetChangeTool.name
    description = GetChangeTool.description
    kind = EvidenceKind.CHANGES
    arguments = GetArguments

    def __init__(self, sources: Mapping[str, ChangeSource]) -> None:
        self._sources = sources
        self._frozen = GetChangeTool(_Spool(Recorded()))

    @override
    def normalize(self, arguments: GetArguments, incident: IncidentContext) -> Scope:
        return self._frozen.normalize(arguments, incident)

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        asked = scope["change_id"]
        gathered = await ask_all(self._sources, lambda source: _in_time(source.change(asked)))
        found = joined(gathered.answers.values())
        ids = _ids(found)
        exact = [one for one in ids if fold(one) == asked] or ids
        if len({fold(one) for one in exact}) != 1:
            gathered.absence()
            names = tuple(sorted(exact)) or near(asked, found.known)
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=names, field="change_id")
        brought = await with_carried(found, self._sources, whole=True)
        failed = {*gathered.failures, *brought.failed}
        notes = (*found.notes, *(f"SOURCE_FAILED:{name}" for name in self._sources if name in failed))
        whole = {**scope, "change_id": fold(exact[0])}
        telling = await asyncio.to_thread(GetChangeTool, _Spool(brought.records))
        evidence = await telling.collect(whole, arguments, incident)
        return _noted(evidence, notes, truncated=found.truncated or bool(failed))

    @override
    def paste(self, scope: Scope) -> str:
        return _pasted(self._sources, scope)


def _pasted(sources: Mapping[str, ChangeSource], scope: Scope) -> str:
    return lines(query for source in sources.values() for query in source.paste(scope).splitlines())


class _Spool(Database):
    """The frozen tools' view of records that were fetched for one question."""

    def __init__(self, records: Recorded) -> None:
        super().__init__(Path(), CHANGE_LOADERS)
        self._records = records

    @override
    async def ask(self, zone: str, work: Callable[[Rows, Loaded], Answer]) -> Answer:
        return await spooled(as_documents(self._records), CHANGE_LOADERS, work, zone=zone)


async def _in_time(answer: Awaitable[Recorded]) -> Recorded:
    """Return a source's answer, which may take several requests; raises SourceFailure(BACKEND_TIMEOUT) too late."""
    try:
        async with asyncio.timeout(LONGEST_ANSWER_SECONDS):
            return await answer
    except TimeoutError:
        pass
    raise SourceFailure(SourceError.BACKEND_TIMEOUT)


def _tellers(sources: Mapping[str, ChangeSource], scope: Scope) -> dict[str, ChangeSource]:
    """Return the sources to ask; raises SourceFailure(SOURCE_MISSING) where none tells the kind asked for."""
    if "change_kind" not in scope:
        return dict(sources)
    kind = ChangeKind(scope["change_kind"])
    if not any(kind in source.tells for source in sources.values()):
        raise SourceFailure(SourceError.SOURCE_MISSING)
    return {name: source for name, source in sources.items() if source.tells & _NEEDED[kind]}


def _knows(names: Iterable[str], folded: str) -> bool:
    return any(fold(name) == folded for name in names)


def _of_scope(records: Recorded, scope: Scope) -> Recorded:
    return records.of_service(scope["service"]) if "service" in scope else records


def _nothing(records: Recorded, scope: Scope) -> bool:
    of_kind = {
        ChangeKind.COMMIT: records.commits,
        ChangeKind.DEPLOY: records.deploys,
        ChangeKind.FLAG: records.flags,
    }
    return not of_kind[ChangeKind(scope["change_kind"])] if "change_kind" in scope else records.empty


def _absence(scope: Scope, notes: tuple[str, ...], *, truncated: bool) -> Evidence:
    whose = str(scope.get("service", "any service"))
    kind = str(scope.get("change_kind", "change"))
    return Evidence(
        status=EvidenceStatus.NO_EVIDENCE,
        provenance=Provenance.MEASURED,
        summary=f"no {kind} of {whose} recorded from {scope['start']} to {scope['end']}",
        truncated=truncated,
        notes=notes,
    )


def _noted(evidence: Evidence, notes: tuple[str, ...], *, truncated: bool) -> Evidence:
    told = tuple(dict.fromkeys((*evidence.notes, *notes)))
    return evidence.model_copy(update={"notes": told, "truncated": evidence.truncated or truncated})


def _ids(found: Recorded) -> list[str]:
    """Return the ids that were found; an abbreviated SHA of a deploy is its commit's."""
    shas = [one.sha for one in found.commits]
    deploys = [one.change_id for one in found.deploys if not any(sha.startswith(one.change_id) for sha in shas)]
    return list(dict.fromkeys([*shas, *deploys, *(one.flag for one in found.flags)]))


def tools_of(
    sources: Mapping[str, ChangeSource], known_elsewhere: ServiceCheck | None = None
) -> tuple[EvidenceTool, ...]:
    """Return `list_changes` and `get_change` over the opened sources, by the names that their user gave them; nothing
    where there are none.

    `known_elsewhere` asks the other kinds of sources about a service: where they know it, its quiet is an absence.
    """
    return (LiveListChangesTool(sources, known_elsewhere), LiveGetChangeTool(sources)) if sources else ()
