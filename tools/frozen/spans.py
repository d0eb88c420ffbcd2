# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""The span table of a frozen incident: parents found by span id, whatever the trace ids say."""

from tools.frozen.database import Quality, Rows, Source
from tools.frozen.records import judged, load_documents
from tools.frozen.sql import Document, names

MAX_DEPTH = 64

_TREE = ("trace_id", "traceId")
_SPAN = ("span_id", "spanId", "id")
_PARENT = ("parent_id", "parentId", "parent_span_id", "parentSpanId")
_SERVICE = ("service", "service_name", "service.name")
_OPERATION = ("name", "operation", "operation_name")
_TIMED = ("start", "start_time", "timestamp", "start_time_unix_nano")
_DURATION = ("duration_ms", "durationMs", "duration")
_STATUS = ("status", "status_code", "statusCode")
_ERROR = ("error", "status_message", "statusMessage", "error.message", "exception.message", "error_message")
_HTTP = ("http.status_code", "http.response.status_code")
_TOLD = (
    *_TREE, *_SPAN, *_PARENT, *_SERVICE, *_OPERATION, *_TIMED, *_DURATION, *_STATUS, *_ERROR
)  # fmt: skip
_DOC = Document(*_TOLD, *_HTTP, "peer.service")
_SHOWN = names(*_TOLD, "attributes")
_EXTRA = f"""
    array_to_string(list_transform(list_concat(plain_fields(doc, {_SHOWN}, 80),
        plain_fields(CASE WHEN json_type(doc -> '$.attributes') = 'OBJECT' THEN doc -> '$.attributes' END,
            {_SHOWN}, 80)), lambda one: replace(one, ' ', '_'))[:12], ' ')
    """

_READ = f"""
    CREATE TABLE read_spans AS
    SELECT seq, CASE WHEN lower(trim(trace)) IN ('', 'same', 'ditto', '-', 'none', 'null', 'unknown', 'n/a') THEN NULL
            ELSE trace END AS trace, span_id, nullif(trim(parent_id), '') AS parent_id, service, operation, timed,
        instant(timed, $zone) AS moment, TRY_CAST(duration AS DOUBLE) AS duration_ms,
        CASE WHEN lower(error) IN ('false', 'true', '0', '1', '') THEN NULL ELSE error END AS error, peer, extra,
        CASE WHEN upper(status) IN ('ERROR', 'ERR', 'STATUS_CODE_ERROR', 'FAILED', 'FAILURE', 'FAULT', 'TIMEOUT',
                'CANCELLED', 'CANCELED', 'DEADLINE_EXCEEDED', '2') OR TRY_CAST(status AS INTEGER) >= 500 THEN 'ERROR'
            WHEN upper(status) IN ('OK', 'STATUS_CODE_OK', 'SUCCESS', '1')
                OR TRY_CAST(status AS INTEGER) BETWEEN 200 AND 499 THEN 'OK'
            WHEN lower(error) NOT IN ('false', '0', '') OR http >= 500 THEN 'ERROR'
            ELSE 'UNSET' END AS status
    FROM (
        SELECT seq, {_DOC.said(*_TREE)} AS trace, {_DOC.said(*_SPAN)} AS span_id, {_DOC.said(*_PARENT)} AS parent_id,
            {_DOC.said(*_SERVICE)} AS service, {_DOC.said(*_OPERATION)} AS operation, {_DOC.said(*_TIMED)} AS timed,
            {_DOC.said(*_DURATION)} AS duration, coalesce(doc ->> '$.status.code', {_DOC.said(*_STATUS)}) AS status,
            coalesce(doc ->> '$.status.message', {_DOC.said(*_ERROR)}) AS error,
            TRY_CAST({_DOC.said(*_HTTP)} AS INTEGER) AS http, {_DOC.said("peer.service")} AS peer, {_EXTRA} AS extra
        FROM (SELECT seq, doc, {_DOC.taken} AS taken FROM documents))
    """
_LINKED = """
    CREATE TABLE linked AS
    WITH parents AS (SELECT trace, span_id, min(seq) AS seq FROM read_spans WHERE trace IS NOT NULL GROUP BY ALL),
    exact AS (
        SELECT child.*, parents.seq AS exact FROM read_spans AS child
        LEFT JOIN parents ON parents.trace = child.trace AND parents.span_id = child.parent_id
            AND parents.seq <> child.seq),
    lost AS (SELECT seq, trace, parent_id, moment FROM exact WHERE exact IS NULL AND parent_id IS NOT NULL),
    found AS (
        SELECT lost.seq, near.seq AS parent FROM (SELECT * FROM lost WHERE trace IS NULL) AS lost
        ASOF JOIN read_spans AS near ON near.span_id = lost.parent_id AND near.moment <= lost.moment
        WHERE near.seq <> lost.seq
        UNION ALL
        SELECT lost.seq, near.seq AS parent FROM (SELECT * FROM lost WHERE trace IS NOT NULL) AS lost
        ASOF JOIN (SELECT * FROM read_spans WHERE trace IS NULL) AS near
            ON near.span_id = lost.parent_id AND near.moment <= lost.moment)
    SELECT exact.* EXCLUDE (exact), coalesce(exact.exact, found.parent) AS parent
    FROM exact LEFT JOIN found USING (seq)
    """
_SPANS = f"""
    CREATE TABLE spans AS
    WITH RECURSIVE tree AS (
        SELECT seq, 0 AS depth, coalesce(trace, 'untraced-' || seq) AS tree FROM linked WHERE parent IS NULL
        UNION ALL
        SELECT child.seq, tree.depth + 1, tree.tree FROM linked AS child JOIN tree ON child.parent = tree.seq
        WHERE tree.depth < {MAX_DEPTH}),
    failing AS (SELECT DISTINCT parent FROM linked WHERE status = 'ERROR' AND parent IS NOT NULL)
    SELECT linked.*, coalesce(tree.tree, linked.trace, 'untraced-' || linked.seq) AS tree,
        coalesce(tree.depth, 0) AS depth,
        linked.status = 'ERROR' AND linked.seq NOT IN (SELECT parent FROM failing) AS origin
    FROM linked LEFT JOIN tree USING (seq)
    """


def load_spans(rows: Rows, source: Source, zone: str) -> Quality:
    """Create table `spans`, one row a span, times in UTC; a span without service, id or start is broken.

    `parent` is the parent's `seq`: the span of the same trace that carries the parent id; where a trace id is missing
    or a placeholder such as `same`, the span with that id that started last before the child. `tree` names the trace
    that a span's root belongs to. `origin`: it failed, and none of its children did.
    """
    broken = load_documents(rows, source)
    rows.run(_READ, zone=zone)
    rows.run("DROP TABLE documents")
    usable = "moment IS NOT NULL AND service IS NOT NULL AND span_id IS NOT NULL"
    unusable, zoneless = rows.all(
        f"SELECT count(*) FILTER (NOT ({usable})), count(*) FILTER ({usable} AND NOT zoned(timed)) FROM read_spans"
    )[0]
    rows.run(f"DELETE FROM read_spans WHERE NOT ({usable})")
    rows.run(_LINKED)
    rows.run(_SPANS)
    rows.run("DROP TABLE linked")
    rows.run("DROP TABLE read_spans")
    return judged(rows, "spans", broken + int(unusable), int(zoneless))
