# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""Changes of a frozen incident: commits, deploys and feature flags."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from tools.base import Arguments, EvidenceTool, IncidentContext, SourceFailure
from tools.canonical import fold
from tools.frozen.change_records import PART_OF, Change, by_id, in_window, known
from tools.frozen.database import Database, Loaded, Rows
from tools.frozen.layout import expected
from tools.frozen.lines import Page, field, moment
from tools.frozen.scopes import WindowedArguments, bounds, named, windowed
from tools.frozen.selectors import resolve
from tools.frozen.services import known_services
from tools.frozen.sql import literal
from tools.names import near
from tools.vocabulary import ChangeKind, Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope, SourceError

MAX_CHANGES = 60
DIFF_LINES = 24
BRIEF_LINES = 8
WHOLE_DIFF_LINES = 400
_LEAST_PREFIX = 7
_CHARACTERS = 14_000
_WHOLE_CHARACTERS = 24_000

_KINDS = {
    "commit": ChangeKind.COMMIT, "commits": ChangeKind.COMMIT, "提交": ChangeKind.COMMIT,
    "deploy": ChangeKind.DEPLOY, "deploys": ChangeKind.DEPLOY, "deployment": ChangeKind.DEPLOY,
    "release": ChangeKind.DEPLOY, "发布": ChangeKind.DEPLOY, "部署": ChangeKind.DEPLOY,
    "flag": ChangeKind.FLAG, "flags": ChangeKind.FLAG, "feature flag": ChangeKind.FLAG, "开关": ChangeKind.FLAG,
}  # fmt: skip


class ListArguments(WindowedArguments):
    """What may be asked for; null leaves a field open."""

    change_kind: str | None = Field(description="COMMIT、DEPLOY 或 FLAG；不限时填 null")


class ListChangesTool(EvidenceTool):
    """Lists the changes in a window. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |
    | change_kind | yes, unless null | COMMIT, DEPLOY or FLAG; synonyms in any case |
    | start, end | yes | resolved to UTC, aligned outward to the minute; default [as_of - 3 h, as_of + 15 min] |

    Deploys and flag changes come first, newest first, each deploy with its commit's files and changed lines (24); then
    commits, deployed ones before others. Commits that nothing deployed are told in brief (8 changed lines, as far as
    there is room), which doesn't count as truncated. A commit belongs to the services that deployed it. A service that
    some source of the incident knows and that changed nothing is an absence; one that none knows is UNKNOWN_SELECTOR.
    """

    name = "list_changes"
    description = "列出时间窗内的变更：提交、发布（含改动行）与开关。"
    kind = EvidenceKind.CHANGES
    arguments = ListArguments

    def __init__(self, database: Database, others: Sequence[tuple[str, Database]]) -> None:
        self._database = database
        self._others = others
        self._paths = {part: expected(database.directory, part) for part in PART_OF.values()}

    def normalize(self, arguments: ListArguments, incident: IncidentContext) -> Scope:
        kind = fold(arguments.change_kind or "")
        if kind and kind not in _KINDS:
            raise ValueError("change_kind")
        scope = windowed(incident, arguments.start, arguments.end, service=arguments.service)
        return {"change_kind": _KINDS[kind].value, **scope} if kind else scope

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        own = await self._database.ask(incident.zone, lambda rows, loaded: known(rows, loaded.parts, "service"))
        asked = scope.get("service")
        names = own
        if asked is not None and not any(fold(name) == asked for name in own):
            names = own | await known_services(self._others, incident.zone)
        services = resolve(asked, names, field="service")
        return await self._database.ask(incident.zone, lambda rows, loaded: _listed(rows, loaded, scope, services))

    def suggest(self, incident: IncidentContext) -> Scope | None:
        return windowed(incident, None, None)

    def paste(self, scope: Scope) -> str:
        return paste_changes(self._paths, scope)


class GetArguments(Arguments):
    """Which change is wanted."""

    change_id: str = Field(description="变更标识：提交 SHA（至少 7 位）或开关名")


class GetChangeTool(EvidenceTool):
    """Tells one change with its complete diff (400 changed lines at most). MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | change_id | yes | `fold` |

    An abbreviated SHA of at least seven characters names its commit.
    """

    name = "get_change"
    description = "查看一个变更的完整改动：提交 SHA 或开关名。"
    kind = EvidenceKind.CHANGES
    arguments = GetArguments

    def __init__(self, database: Database) -> None:
        self._database = database
        self._paths = {part: expected(database.directory, part) for part in PART_OF.values()}

    def normalize(self, arguments: GetArguments, incident: IncidentContext) -> Scope:
        scope = named(change_id=arguments.change_id)
        if not scope:
            raise ValueError("change_id")
        return scope

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        return await self._database.ask(incident.zone, lambda rows, loaded: _one(rows, loaded, scope))

    def paste(self, scope: Scope) -> str:
        path = literal(str(self._paths["commits"]))
        return f"SELECT * FROM {path} WHERE starts_with(lower(sha), {literal(scope['change_id'])});"


def paste_changes(paths: dict[str, Path], scope: Scope) -> str:
    """Return one DuckDB query a kind over the change files for a scope's service and window."""
    start, end = bounds(scope)
    kinds = [ChangeKind(scope["change_kind"])] if "change_kind" in scope else list(ChangeKind)
    queries = []
    for kind in kinds:
        where = [f"timestamp >= {literal(moment(start))}", f"timestamp < {literal(moment(end))}"]
        if "service" in scope and kind is not ChangeKind.COMMIT:
            where.append(f"lower(service) = {literal(scope['service'])}")
        path = literal(str(paths[PART_OF[kind]]))
        queries.append(f"SELECT * FROM {path} WHERE {' AND '.join(where)} ORDER BY timestamp;")
    return "\n".join(queries)


def _listed(rows: Rows, loaded: Loaded, scope: Scope, services: Sequence[str] | None) -> Evidence:
    start, end = bounds(scope)
    kinds = [ChangeKind(scope["change_kind"])] if "change_kind" in scope else list(ChangeKind)
    missing = sorted(PART_OF[kind] for kind in kinds if PART_OF[kind] not in loaded.parts)
    notes = (*loaded.notes, *(f"{_why(part, loaded)}:{part}" for part in missing))
    found = {kind: in_window(rows, loaded.parts, kind, start, end, services) for kind in kinds}
    changes = sorted(
        [*found.get(ChangeKind.DEPLOY, []), *found.get(ChangeKind.FLAG, [])], key=lambda one: one.at, reverse=True
    ) + found.get(ChangeKind.COMMIT, [])
    if not changes and missing:
        raise SourceFailure(_why(missing[0], loaded))
    if not changes:
        whose = str(scope.get("service", "any service"))
        kind_asked = str(scope.get("change_kind", "change"))
        return Evidence(
            status=EvidenceStatus.NO_EVIDENCE,
            provenance=Provenance.MEASURED,
            summary=f"no {kind_asked} of {whose} recorded from {scope['start']} to {scope['end']}",
            notes=notes,
        )
    return _told(changes, notes, Page(characters=_CHARACTERS), DIFF_LINES, BRIEF_LINES)


def _why(part: str, loaded: Loaded) -> SourceError:
    return SourceError.SOURCE_UNREADABLE if part in loaded.unreadable else SourceError.SOURCE_MISSING


def _one(rows: Rows, loaded: Loaded, scope: Scope) -> Evidence:
    ids = known(rows, loaded.parts, "id")
    asked = scope["change_id"]
    matching = [one for one in ids if fold(one) == asked]
    if not matching and len(asked) >= _LEAST_PREFIX:
        matching = [one for one in ids if fold(one).startswith(asked)]
    if len({fold(one) for one in matching}) != 1:
        raise SourceFailure(
            SourceError.UNKNOWN_SELECTOR, near_names=tuple(matching) or near(asked, ids), field="change_id"
        )
    changes = [
        change
        for kind in (ChangeKind.DEPLOY, ChangeKind.FLAG, ChangeKind.COMMIT)
        for change in by_id(rows, loaded.parts, kind, matching)
    ]
    page = Page(lines=WHOLE_DIFF_LINES + 60, characters=_WHOLE_CHARACTERS)
    return _told(changes, loaded.notes, page, WHOLE_DIFF_LINES, WHOLE_DIFF_LINES)


def _told(changes: Sequence[Change], notes: tuple[str, ...], page: Page, limit: int, brief: int) -> Evidence:
    """Write changes down, `limit` changed lines each, `brief` where nothing deployed them; a diff is told once."""
    told: set[str] = set()
    cut = len(changes) > MAX_CHANGES
    shown: list[Change] = []
    for change in changes[:MAX_CHANGES]:
        loose = change.kind is ChangeKind.COMMIT and change.service is None
        room = 0 if fold(change.change_id) in told else brief if loose else limit
        block, shortened = change.block(room)
        in_brief = loose and brief < limit
        if not page.add(block, optional=in_brief) and not page.add(change.block(0)[0]):
            continue
        shown.append(change)
        if room:
            told.add(fold(change.change_id))
            cut = cut or (shortened and not in_brief)
    return Evidence(
        status=EvidenceStatus.EVIDENCE,
        provenance=Provenance.MEASURED,
        content=tuple(page.lines),
        summary=_summary(shown),
        truncated=page.truncated or cut,
        components=tuple(dict.fromkeys(name for change in shown for name in (change.service or "").split(",") if name)),
        changes=tuple(change.ref() for change in shown),
        notes=notes,
    )


def _summary(changes: Sequence[Change]) -> str:
    told = [
        f"{change.kind} {field(change.change_id)} of {field(change.service)} at {moment(change.at)}"
        for change in changes[:5]
    ]
    more = len(changes) - len(told)
    return "; ".join(told) + (f"; {more} more" if more > 0 else "")
