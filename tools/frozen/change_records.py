# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""The change tables of a frozen incident and the records read from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tools.frozen.database import Loader, Quality, Rows, Source
from tools.frozen.diffs import changed_lines
from tools.frozen.lines import fields, moment, with_text
from tools.frozen.records import judged, load_documents
from tools.frozen.sql import Document
from tools.vocabulary import ChangeKind, ChangeRef

MAX_RECORDS = 300
MAX_DIFF_CHARACTERS = 200_000

_TIMES = ("timestamp", "time", "date", "at", "deployed_at", "created_at")
_IDS = ("sha", "commit_sha", "commit", "hash", "revision", "flag", "id", "name", "key")
_SERVICES = ("service", "service_name")
_TEXTS = ("message", "subject", "title", "diff", "patch")
_VERSIONS = ("version", "tag", "image", "release")
_VALUES = ("change", "from", "old", "to", "new", "value")
_DOC = Document(*_TIMES, *_IDS, *_SERVICES, *_TEXTS, *_VERSIONS, *_VALUES)
_TIMED = _DOC.said(*_TIMES)
_TAKEN = f"(SELECT doc, {_DOC.taken} AS taken FROM documents)"

_CONTENT = f"""
        {_DOC.said("message", "subject", "title")} AS message,
        coalesce(TRY_CAST(coalesce(doc -> '$.files_changed', doc -> '$.files') AS VARCHAR[]), []) AS files,
        left({_DOC.said("diff", "patch")}, {MAX_DIFF_CHARACTERS}) AS diff"""
_COMMITS = f"""
    SELECT {_DOC.said("sha", "commit_sha", "id", "commit", "hash")} AS id, {_DOC.said(*_SERVICES)} AS service,
        instant({_TIMED}, $zone) AS moment, {_TIMED} AS timed, {_CONTENT}
    FROM {_TAKEN}
    """
_DEPLOYS = f"""
    SELECT {_DOC.said("commit_sha", "sha", "commit", "revision", "version")} AS id, {_DOC.said(*_SERVICES)} AS service,
        instant({_TIMED}, $zone) AS moment, {_TIMED} AS timed, {_DOC.said(*_VERSIONS)} AS version, {_CONTENT}
    FROM {_TAKEN}
    """
_FLAGS = f"""
    SELECT {_DOC.said("flag", "name", "key", "id")} AS id, {_DOC.said(*_SERVICES)} AS service,
        instant({_TIMED}, $zone) AS moment, {_TIMED} AS timed,
        coalesce({_DOC.said("change")}, {_DOC.said("from", "old")} || '->' || {_DOC.said("to", "new")},
            {_DOC.said("value")}) AS change
    FROM {_TAKEN}
    """

_MATCH = "starts_with(lower(commits.id), lower(deploys.id)) AND length(deploys.id) >= 7"
_NO_COMMITS = "(SELECT NULL AS id, NULL AS message, NULL AS files, NULL AS diff WHERE false) AS commits"
_DEPLOYED = """
    SELECT deploys.id, deploys.service, deploys.moment, deploys.version,
        coalesce(nullif(commits.files, []), deploys.files), coalesce(commits.message, deploys.message),
        coalesce(commits.diff, deploys.diff), NULL
    FROM deploys LEFT JOIN {commits} ON {match}
    WHERE {where} ORDER BY deploys.moment DESC, deploys.id LIMIT $limit
    """
_COMMITTED = """
    SELECT commits.id, coalesce(commits.service, carried.services), commits.moment, carried.version, commits.files,
        commits.message, commits.diff, NULL
    FROM commits LEFT JOIN (
        SELECT commits.id, array_to_string(list_sort(list(DISTINCT deploys.service)), ',') AS services,
            list_sort(list(DISTINCT deploys.service)) AS carriers, min(deploys.version) AS version
        FROM commits JOIN {deploys} ON {match} GROUP BY commits.id) AS carried ON carried.id = commits.id
    WHERE {where} ORDER BY carried.id IS NULL, commits.moment DESC, commits.id LIMIT $limit
    """
_FLIPPED = """
    SELECT id, service, moment, NULL, NULL, NULL, NULL, change FROM flags
    WHERE {where} ORDER BY moment DESC, id LIMIT $limit
    """
_NO_DEPLOYS = "(SELECT NULL AS id, NULL AS service, NULL AS version WHERE false) AS deploys"


def _loader(table: str, select: str) -> Loader:
    def load(rows: Rows, source: Source, zone: str) -> Quality:
        broken = load_documents(rows, source)
        rows.run(f"CREATE TABLE {table} AS {select}", zone=zone)
        rows.run("DROP TABLE documents")
        unusable, zoneless = rows.all(
            "SELECT count(*) FILTER (id IS NULL OR moment IS NULL),"
            f" count(*) FILTER (id IS NOT NULL AND moment IS NOT NULL AND NOT zoned(timed)) FROM {table}"
        )[0]
        rows.run(f"DELETE FROM {table} WHERE id IS NULL OR moment IS NULL")
        return judged(rows, table, broken + int(unusable), int(zoneless))

    return load


CHANGE_LOADERS: dict[str, Loader] = {
    "commits": _loader("commits", _COMMITS),
    "deploys": _loader("deploys", _DEPLOYS),
    "flags": _loader("flags", _FLAGS),
}
"""Tables `commits`, `deploys`, `flags`, times in UTC; a record without an id or a time is broken."""

PART_OF = {ChangeKind.COMMIT: "commits", ChangeKind.DEPLOY: "deploys", ChangeKind.FLAG: "flags"}
"""The part of the incident that records each kind."""


@dataclass(frozen=True)
class Change:
    """A recorded change. A deploy carries its commit's message, files and diff; what the commit doesn't tell, or where
    it isn't recorded, its own."""

    kind: ChangeKind
    change_id: str
    service: str | None
    at: datetime
    version: str | None
    files: Sequence[str]
    message: str | None
    diff: str | None
    flipped: str | None

    def block(self, limit: int) -> tuple[list[str], bool]:
        """Return the `change` line with at most `limit` changed lines behind it, and whether any were left out."""
        changed = changed_lines(self.diff, self.files)
        values: dict[str, object] = {
            "kind": self.kind,
            "id": self.change_id,
            "service": self.service,
            "at": moment(self.at),
        }
        if self.kind is ChangeKind.FLAG:
            return [fields("change", values | {"change": self.flipped})], False
        values |= {"version": self.version, "files": ",".join(self.files) or None}
        head = with_text(fields("change", values), self.message, limit=2)
        return [*head, *(f"  {line}" for line in changed[:limit])], len(changed) > limit

    def ref(self) -> ChangeRef:
        """Return the record in the shared vocabulary."""
        return ChangeRef(kind=self.kind, change_id=self.change_id, service=self.service, at=self.at)


def in_window(
    rows: Rows, parts: frozenset[str], kind: ChangeKind, start: datetime, end: datetime, services: Sequence[str] | None
) -> list[Change]:
    """Return the changes of one kind in [start, end), newest first (deployed commits before others), at most 300.

    `services` restricts to changes of those services; a commit belongs to the services that deployed it.
    """
    table = PART_OF[kind]
    where = f"{table}.moment >= $start AND {table}.moment < $end AND ($services IS NULL OR {_of_services(kind)})"
    return _read(rows, parts, kind, where, start=start, end=end, services=services)


def by_id(rows: Rows, parts: frozenset[str], kind: ChangeKind, ids: Sequence[str]) -> list[Change]:
    """Return the changes of one kind that carry one of `ids`."""
    return _read(rows, parts, kind, f"list_contains($ids, {PART_OF[kind]}.id)", ids=list(ids))


def known(rows: Rows, parts: frozenset[str], column: str) -> set[str]:
    """Return every value of `column` (`id` or `service`) that the loaded change tables hold."""
    tables = sorted(parts & set(PART_OF.values()))
    return {
        value
        for table in tables
        for (value,) in rows.all(f"SELECT DISTINCT {column} FROM {table}")
        if value is not None
    }


def _of_services(kind: ChangeKind) -> str:
    if kind is ChangeKind.COMMIT:
        return "list_contains($services, commits.service) OR list_has_any(carried.carriers, $services)"
    return f"list_contains($services, {PART_OF[kind]}.service)"


def _read(rows: Rows, parts: frozenset[str], kind: ChangeKind, where: str, **values: object) -> list[Change]:
    if PART_OF[kind] not in parts:
        return []
    whole = {"commits", "deploys"} <= parts
    sql = {ChangeKind.DEPLOY: _DEPLOYED, ChangeKind.COMMIT: _COMMITTED, ChangeKind.FLAG: _FLIPPED}[kind].format(
        commits="commits" if whole else _NO_COMMITS,
        deploys="deploys" if whole else _NO_DEPLOYS,
        match=_MATCH if whole else "false",
        where=where,
    )
    return [
        Change(kind, change_id, service, at.replace(tzinfo=UTC), version, tuple(files or ()), message, diff, flipped)
        for change_id, service, at, version, files, message, diff, flipped in rows.all(sql, limit=MAX_RECORDS, **values)
    ]
