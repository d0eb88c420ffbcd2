# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""Traces of a frozen incident: who failed first, who calls whom, which spans failed or were slow."""

from datetime import UTC
from typing import Any

from pydantic import Field

from tools.base import IncidentContext
from tools.frozen.database import Loaded, Row, Rows
from tools.frozen.lines import MAX_TEXT, Page, field, fields, moment, number, plain
from tools.frozen.scopes import WindowedArguments, bounds, windowed
from tools.frozen.selectors import resolve
from tools.frozen.sql import literal
from tools.frozen.windowed import WindowedTool
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope

MAX_ORIGINS = 6
MAX_EDGES = 24
MAX_FAILED = 18
MAX_ALIKE = 3
_MAX_SPAN = 700
MAX_SLOW = 8
SLOW = 2.0
"""A span that didn't fail is slow where it takes at least this many times its operation's lower quartile."""

_CHOSEN = """
    WITH chosen AS (
        SELECT * FROM spans WHERE moment >= $start AND moment < $end AND tree IN (
            SELECT tree FROM spans WHERE moment >= $start AND moment < $end AND list_contains($services, service)
                AND ($operations IS NULL OR list_contains($operations, operation))))
    """
_ORIGINS = f"""
    {_CHOSEN}
    SELECT service, operation, min(moment), count(*), arg_min(peer, moment), max(depth) FROM chosen WHERE origin
    GROUP BY service, operation ORDER BY 3, 6 DESC, 1, 2 LIMIT $limit
    """
_EDGES = f"""
    {_CHOSEN}
    SELECT caller, callee, count(*), count(*) FILTER (status = 'ERROR'), max(duration_ms) FROM (
        SELECT up.service AS caller, down.service AS callee, down.status, down.duration_ms
        FROM chosen AS down JOIN spans AS up ON up.seq = down.parent WHERE up.service <> down.service
        UNION ALL
        SELECT service, peer, status, duration_ms FROM chosen
        WHERE peer IS NOT NULL AND peer <> service AND seq NOT IN (SELECT parent FROM spans WHERE parent IS NOT NULL))
    GROUP BY ALL ORDER BY 4 DESC, 5 DESC NULLS LAST, 1, 2 LIMIT $limit
    """
_COLUMNS = """
    chosen.tree, chosen.span_id, chosen.parent_id, chosen.service, chosen.operation, chosen.moment, chosen.duration_ms,
    chosen.status, chosen.error, chosen.extra
    """
_FAILED = f"""
    {_CHOSEN}
    SELECT {_COLUMNS} FROM chosen WHERE status = 'ERROR'
    QUALIFY row_number() OVER (PARTITION BY service, operation, error ORDER BY moment, span_id) <= {MAX_ALIKE}
    ORDER BY NOT origin, moment, depth DESC, service, span_id LIMIT $limit
    """
_SLOW = f"""
    {_CHOSEN}
    SELECT {_COLUMNS} FROM chosen JOIN (
        SELECT service, operation, quantile_cont(duration_ms, 0.25) AS usual FROM spans GROUP BY ALL) AS typical
        ON typical.service = chosen.service AND typical.operation IS NOT DISTINCT FROM chosen.operation
    WHERE status <> 'ERROR' AND chosen.duration_ms >= {SLOW} * typical.usual AND chosen.duration_ms > 1
    ORDER BY chosen.duration_ms / greatest(typical.usual, 1) DESC, moment, span_id LIMIT $limit
    """
_EXTENT = f"{_CHOSEN} SELECT count(*), count(*) FILTER (status = 'ERROR'), max(duration_ms) FROM chosen"


class TracesArguments(WindowedArguments):
    """What may be asked for; null leaves a field open."""

    operation: str | None = Field(description="操作（span 名）；不限时填 null")


class TracesTool(WindowedTool):
    """Tells which span failed first, the calls between services, and the failing and slow spans. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |
    | operation | yes, unless null | `fold` |
    | start, end | yes | resolved to UTC, aligned outward to the minute; default [as_of - 3 h, as_of + 15 min] |

    Told are the whole traces in which the service and the operation take part, so that a failure is followed to its
    origin: a failing span none of whose children failed; of several, the earliest, then the deepest. An edge to a
    callee that has no spans of its own comes from `peer.service`. A slow span takes at least twice its operation's
    lower quartile. Of spans that fail alike (service, operation, error) at most three are told.
    """

    name = "query_traces"
    description = "查询调用链：最先失败的环节、服务间调用与错误、失败和偏慢的 span。"
    kind = EvidenceKind.TRACES
    arguments = TracesArguments
    part = "traces"

    def normalize(self, arguments: TracesArguments, incident: IncidentContext) -> Scope:
        return windowed(
            incident, arguments.start, arguments.end, service=arguments.service, operation=arguments.operation
        )

    def answer(self, rows: Rows, loaded: Loaded, scope: Scope) -> Evidence:
        return _answer(rows, loaded, scope)

    def paste(self, scope: Scope) -> str:
        start, end = bounds(scope)
        where = [f"start >= {literal(moment(start))}", f"start < {literal(moment(end))}"]
        where += [
            f"lower({column}) = {literal(scope[key])}"
            for key, column in (("service", "service"), ("operation", "name"))
            if key in scope
        ]
        return (
            f"SELECT trace_id, span_id, parent_id, service, name, start, duration_ms, status "
            f"FROM {literal(str(self._path))} WHERE {' AND '.join(where)} ORDER BY start;"
        )


def _answer(rows: Rows, loaded: Loaded, scope: Scope) -> Evidence:
    known = rows.all("SELECT DISTINCT service, operation FROM spans")
    services = resolve(scope.get("service"), (service for service, _ in known), field="service")
    operations = resolve(scope.get("operation"), (one for _, one in known if one is not None), field="operation")
    start, end = bounds(scope)
    question = {
        "start": start,
        "end": end,
        "services": services if services is not None else sorted({service for service, _ in known}),
        "operations": operations,
    }
    count, errors, slowest = rows.all(_EXTENT, **question)[0]
    if not count:
        whose = " ".join(str(scope[key]) for key in ("service", "operation") if key in scope) or "any service"
        return Evidence(
            status=EvidenceStatus.NO_EVIDENCE,
            provenance=Provenance.MEASURED,
            summary=f"no span of {whose} from {scope['start']} to {scope['end']}",
            notes=loaded.notes,
        )
    healthy = fields("healthy", {"spans": count, "errors": errors, "max_ms": number(slowest)})
    return _told(rows, question, healthy, errors, loaded.notes)


def _told(rows: Rows, question: dict[str, Any], healthy: str, errors: int, notes: tuple[str, ...]) -> Evidence:
    """Write down what stands out; `healthy` where nothing does."""
    origins = rows.all(_ORIGINS, limit=MAX_ORIGINS, **question)
    edges = rows.all(_EDGES, limit=MAX_EDGES + 1, **question)
    failed = rows.all(_FAILED, limit=MAX_FAILED, **question)
    slow = rows.all(_SLOW, limit=MAX_SLOW, **question)
    page = Page()
    for line in [*map(_origin, origins), *map(_edge, edges[:MAX_EDGES]), *map(_span, [*failed, *slow])]:
        page.add([line])
    named = (
        [row[0] for row in origins] + [name for row in edges for name in row[:2]] + [row[3] for row in failed + slow]
    )
    return Evidence(
        status=EvidenceStatus.EVIDENCE,
        provenance=Provenance.MEASURED,
        content=tuple(page.lines) or (healthy,),
        summary=_summary(origins, edges) or healthy,
        truncated=page.truncated or len(failed) < errors or len(edges) > MAX_EDGES,
        components=tuple(dict.fromkeys(named)),
        onset=origins[0][2].replace(tzinfo=UTC) if origins else None,
        first_failing=origins[0][0] if origins else None,
        notes=notes,
    )


def _origin(row: Row) -> str:
    service, operation, at, spans, peer, _ = row
    values = {"service": service, "operation": operation, "at": moment(at), "spans": spans}
    return fields("first_failing", values | ({"peer.service": peer} if peer else {}))


def _edge(row: Row) -> str:
    caller, callee, calls, errors, slowest = row
    return fields(
        "edge", {"caller": caller, "callee": callee, "calls": calls, "errors": errors, "max_ms": number(slowest)}
    )


def _span(row: Row) -> str:
    trace, span_id, parent, service, operation, start, duration, status, error, extra = row
    values = {
        "trace_id": trace,
        "span_id": span_id,
        "parent": parent,
        "service": service,
        "operation": operation,
        "start": moment(start),
        "duration_ms": number(duration),
        "status": status,
    }
    head = " ".join([fields("span", values), *map(field, (extra or "").split())])[:_MAX_SPAN]
    return f"{head} | {plain(' '.join(error.split()))[:MAX_TEXT]}" if error else head


def _summary(origins: list[Row], edges: list[Row]) -> str:
    told = [f"{field(row[0])} {field(row[1])} failed first at {moment(row[2])}" for row in origins[:2]]
    told += [
        f"{field(row[0])} -> {field(row[1])}: {row[3]} errors in {row[2]} calls, max {number(row[4]) or '-'} ms"
        for row in edges[:2]
    ]
    return "; ".join(told)
