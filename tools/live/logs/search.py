"""Single records of live logs."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from typing_extensions import override

from tools.base import IncidentContext
from tools.frozen.database import Loaded, Rows
from tools.frozen.lines import field, moment
from tools.frozen.logs import load_logs
from tools.frozen.scopes import bounds
from tools.frozen.search import DEFAULT_LIMIT, MAX_LIMIT, SearchTool, answer_search
from tools.live.logs.everywhere import Everywhere, asked_of
from tools.live.logs.records import SEVERITIES, UNLEVELLED, LogRecord
from tools.live.logs.source import Bound, Count, Counts, LogQuestion, LogSource
from tools.live.pasting import lines
from tools.live.spool import spooled
from tools.vocabulary import Evidence, EvidenceStatus, Provenance, Scope

_GRAVITY = (frozenset({"FATAL"}), frozenset({"ERROR"}), frozenset({"WARN"}))
_REST = frozenset({*SEVERITIES, UNLEVELLED}).difference(*_GRAVITY)
_SENTENCES = 4


class LiveSearchTool(SearchTool):
    """Finds records of live logs. TEXT, DIRECT.

    Scope, lines and order are those of `SearchTool`; the summary's counts are the backend's, over all that matches.
    """

    def __init__(self, sources: Mapping[str, LogSource]) -> None:
        self._sources = sources

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        limit = min(getattr(arguments, "limit", None) or DEFAULT_LIMIT, MAX_LIMIT)
        question = _question(scope)
        everywhere = await asked_of(self._sources, scope.get("service"), question.end)
        counts = await everywhere.counts(question, 1)
        records = await _gravest(everywhere, question, counts, limit)
        exact = counts.bound is Bound.EXACT and not everywhere.partial
        if not records:
            everywhere.absence()
            return _nothing(scope, everywhere.notes, truncated=bool(counts.rows) or not exact)
        told = await _told(records, scope)
        shown = sum(line.startswith("log ") for line in told.content)
        summary = "; ".join([await _sentence(everywhere, question, group) for group in _groups(counts)])
        return told.model_copy(
            update={
                "summary": summary or told.summary,
                "truncated": told.truncated or not exact or shown < counts.total,
                "notes": (*told.notes, *everywhere.notes),
            }
        )

    @override
    def paste(self, scope: Scope) -> str:
        services = (scope["service"],) if "service" in scope else ()
        question = replace(_question(scope), services=services)
        return lines(source.paste(question) for source in self._sources.values())


def _question(scope: Scope) -> LogQuestion:
    start, end = (at.replace(tzinfo=UTC) for at in bounds(scope))
    severities = frozenset({scope["severity"]}) if "severity" in scope else None
    return LogQuestion(start, end, severities=severities, contains=scope.get("contains"))


async def _gravest(everywhere: Everywhere, question: LogQuestion, counts: Counts, limit: int) -> list[LogRecord]:
    """Fetch the gravest records first, and the earliest of each gravity, until there are enough."""
    if question.severities is not None:
        return list((await everywhere.records(question, limit)).rows)
    present = {row.severity for row in counts.rows}
    records: list[LogRecord] = []
    for gravity in (*_GRAVITY, _REST):
        if gravity & present and len(records) < limit:
            asked = replace(question, severities=gravity & present)
            records += (await everywhere.records(asked, limit - len(records))).rows
    return records


async def _told(records: list[LogRecord], scope: Scope) -> Evidence:
    # Backends have matched everything else already, each by its own rules: only the window is left to ask for.
    window = {"start": scope["start"], "end": scope["end"]}

    def answer(rows: Rows, loaded: Loaded) -> Evidence:
        return answer_search(rows, loaded, window, len(records))

    return await spooled({"logs": [record.document() for record in records]}, {"logs": load_logs}, answer)


def _groups(counts: Counts) -> list[Count]:
    """The counts by service and severity, the gravest first and then the most."""
    parts: dict[tuple[str, str], list[Count]] = defaultdict(list)
    for row in counts.rows:
        parts[row.service, row.severity].append(row)
    order = {severity: number for number, severity in enumerate((*SEVERITIES, UNLEVELLED))}
    summed = [replace(rows[0], records=sum(row.records for row in rows)) for rows in parts.values()]
    return sorted(summed, key=lambda row: (order.get(row.severity, len(order)), -row.records))[:_SENTENCES]


async def _sentence(everywhere: Everywhere, question: LogQuestion, group: Count) -> str:
    first, last = group.first, group.last
    if first is None or last is None:
        asked = replace(question, severities=frozenset({group.severity}))
        first = await _edge(everywhere, asked, group.service, latest=False)
        last = await _edge(everywhere, asked, group.service, latest=True)
    times = f" from {moment(first)} to {moment(last)}" if first and last else ""
    return f"{field(group.service)} {field(group.severity)}: {group.records} records{times}"


async def _edge(everywhere: Everywhere, question: LogQuestion, service: str, *, latest: bool) -> datetime | None:
    found = await everywhere.only(service).records(question, 1, latest=latest)
    return found.rows[0].at if found.rows else None


def _nothing(scope: Scope, notes: tuple[str, ...], *, truncated: bool) -> Evidence:
    whose = str(scope.get("service", "any service"))
    return Evidence(
        status=EvidenceStatus.NO_EVIDENCE,
        provenance=Provenance.TEXT,
        summary=f"no matching log record of {whose} from {scope['start']} to {scope['end']}",
        truncated=truncated,
        notes=notes,
    )
