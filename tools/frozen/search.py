# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""Single log records of a frozen incident."""

from typing import Any

from pydantic import Field

from tools.base import EvidenceTool, IncidentContext
from tools.canonical import fold
from tools.frozen.database import Database, Loaded, Row, Rows
from tools.frozen.layout import expected
from tools.frozen.lines import MAX_TEXT, Page, field, fields, moment, plain, with_text
from tools.frozen.scopes import WindowedArguments, bounds, windowed
from tools.frozen.selectors import resolve
from tools.frozen.signatures import known_services, paste_logs
from tools.frozen.sql import literal
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope

DEFAULT_LIMIT = 20
MAX_LIMIT = 60

_LEVELS = {
    "fatal": "FATAL", "critical": "FATAL", "crit": "FATAL", "panic": "FATAL", "emergency": "FATAL", "emerg": "FATAL",
    "alert": "FATAL", "致命": "FATAL", "严重": "FATAL",
    "error": "ERROR", "err": "ERROR", "severe": "ERROR", "错误": "ERROR",
    "warn": "WARN", "warning": "WARN", "警告": "WARN", "告警": "WARN",
    "info": "INFO", "information": "INFO", "informational": "INFO", "notice": "INFO", "信息": "INFO",
    "debug": "DEBUG", "fine": "DEBUG", "调试": "DEBUG",
    "trace": "TRACE", "verbose": "TRACE", "finer": "TRACE", "finest": "TRACE",
}  # fmt: skip

_MATCHING = """
    FROM logs WHERE moment >= $start AND moment < $end AND list_contains($services, service)
        AND ($severity IS NULL OR severity = $severity)
        AND ($contains IS NULL OR contains(regexp_replace(lower(nfc_normalize(concat_ws(' ', message, extra))),
            '\\s+', ' ', 'g'), $contains))
    """
_COUNTED = f"SELECT service, severity, count(*), min(moment), max(moment) {_MATCHING} GROUP BY ALL ORDER BY 4, 1, 2"
_FOUND = f"""
    SELECT * FROM (
        SELECT moment, service, severity, trace_id, message, extra, seq {_MATCHING}
        ORDER BY CASE severity WHEN 'FATAL' THEN 0 WHEN 'ERROR' THEN 1 WHEN 'WARN' THEN 2 ELSE 3 END, moment, seq
        LIMIT $limit)
    ORDER BY moment, seq
    """


class SearchArguments(WindowedArguments):
    """What may be asked for; null leaves a field open."""

    contains: str | None = Field(description="日志中包含的文字，不区分大小写；不限时填 null")
    severity: str | None = Field(description="级别：FATAL、ERROR、WARN、INFO、DEBUG、TRACE；不限时填 null")
    limit: int | None = Field(description="最多返回多少条；默认 20，填 null")


class SearchTool(EvidenceTool):
    """Finds log records. TEXT, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |
    | contains | yes, unless null | `fold` (case, width and runs of blanks don't count) |
    | severity | yes, unless null | one of FATAL, ERROR, WARN, INFO, DEBUG, TRACE; synonyms in any case |
    | start, end | yes | resolved to UTC, aligned outward to the minute; default [as_of - 3 h, as_of + 15 min] |
    | limit | no (display) | 1 to 60, default 20 |

    Where more records match than are shown, the most severe and earliest are, in order of time. A stack trace belongs
    to its record.
    """

    name = "search_logs"
    description = "按服务、级别、文字与时间查找日志记录；多行堆栈与其 Caused by 作为一条记录。"
    kind = EvidenceKind.LOGS
    arguments = SearchArguments

    def __init__(self, database: Database) -> None:
        self._database = database
        self._path = expected(database.directory, "logs")

    def normalize(self, arguments: SearchArguments, incident: IncidentContext) -> Scope:
        severity = fold(arguments.severity or "")
        if severity and severity not in _LEVELS:
            raise ValueError("severity")
        if arguments.limit is not None and arguments.limit < 1:
            raise ValueError("limit")
        scope = windowed(
            incident, arguments.start, arguments.end, service=arguments.service, contains=arguments.contains
        )
        return {**scope, "severity": _LEVELS[severity]} if severity else scope

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        limit = min(getattr(arguments, "limit", None) or DEFAULT_LIMIT, MAX_LIMIT)
        return await self._database.ask(incident.zone, lambda rows, loaded: answer_search(rows, loaded, scope, limit))

    def suggest(self, incident: IncidentContext) -> Scope | None:
        named = {"service": incident.service, "contains": incident.error}
        return windowed(incident, None, None, **named) if any(named.values()) else None

    def paste(self, scope: Scope) -> str:
        extra = [f"contains(lower(msg), {literal(scope['contains'])})"] if "contains" in scope else []
        extra += [f"upper(severity_text) = {literal(scope['severity'])}"] if "severity" in scope else []
        return paste_logs(self._path, scope, "timestamp, severity_text, msg", "ORDER BY timestamp", tuple(extra))


def answer_search(rows: Rows, loaded: Loaded, scope: Scope, limit: int) -> Evidence:
    """Return the evidence of a scope from table `logs`, at most `limit` records; raises SourceFailure for a service
    that isn't there."""
    known = known_services(rows)
    start, end = bounds(scope)
    question = {
        "services": resolve(scope.get("service"), known, field="service") or known,
        "start": start,
        "end": end,
        "severity": scope.get("severity"),
        "contains": scope.get("contains"),
    }
    counted = rows.all(_COUNTED, **question)
    if not counted:
        whose = str(scope.get("service", "any service"))
        return Evidence(
            status=EvidenceStatus.NO_EVIDENCE,
            provenance=Provenance.TEXT,
            summary=f"no matching log record of {whose} from {scope['start']} to {scope['end']}",
            notes=loaded.notes,
        )
    page = Page()
    shown = [row for row in rows.all(_FOUND, limit=limit, **question) if page.add(_lines(row))]
    return Evidence(
        status=EvidenceStatus.EVIDENCE,
        provenance=Provenance.TEXT,
        content=tuple(page.lines),
        summary="; ".join(_sentence(row) for row in counted[:4]),
        truncated=len(shown) < sum(row[2] for row in counted),
        components=tuple(dict.fromkeys(row[1] for row in shown)),
        notes=loaded.notes,
    )


def _lines(row: Row) -> list[str]:
    at, service, severity, trace_id, message, extra, _ = row
    values = {"at": moment(at), "service": service, "severity": severity, "trace_id": trace_id}
    lines = with_text(fields("log", values), message)
    return [*lines, f"  [{plain(extra)[:MAX_TEXT]}]"] if extra else lines


def _sentence(row: Row) -> str:
    service, severity, count, first, last = row
    return f"{field(service)} {field(severity)}: {count} records from {moment(first)} to {moment(last)}"
