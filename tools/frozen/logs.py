# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""The log table of a frozen incident: one row a record, stack traces joined to the record that they belong to."""

from tools.frozen.database import Quality, Rows, Source
from tools.frozen.records import check_readable, judged, load_documents, rejected
from tools.frozen.sql import LINES, Document, names

MAX_TAIL_LINES = 60

_MESSAGE = ("msg", "message", "body", "log", "text")
_TIMED = ("timestamp", "time", "ts", "@timestamp", "at", "datetime")
_SERVICE = ("service", "service_name", "service.name", "app", "application")
_LEVEL = ("severity_text", "severity", "level", "loglevel", "severity_number")
_TRACE = ("trace_id", "traceId", "traceid", "trace.id")
_STACK = ("stack", "stack_trace", "stacktrace", "exception.stacktrace", "error.stack", "exception")
_TOLD = (*_MESSAGE, *_TIMED, *_SERVICE, *_LEVEL, *_TRACE, *_STACK)
_DOC = Document(*_TOLD)
_SHOWN = names(*_TOLD, "attributes")
_CONTINUES = (
    r"'^(\s+\S|at [\w.$<>/]+\(|Caused by:|Suppressed:|\.\.\. \d+ (more|common)|Traceback \(|File \"|"
    r"[\w.$]+(Exception|Error)\b|goroutine \d+)'"
)

_CONTINUES_RECORD = (
    r"'^(\s+at [\w.$<>/]+|at [\w.$<>/]+\(|\s*Caused by: |\s*Suppressed: |\s*\.\.\. \d+ (more|common)|\s+File \")'"
)
_PLAIN = r"regexp_replace(message, '\x1b(\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])', '', 'g')"

_FROM_LINES = f"""
    CREATE TABLE documents AS
    SELECT seq, line, CASE WHEN json_type(doc) = 'OBJECT' THEN doc END AS doc
    FROM (SELECT seq, line, TRY_CAST(line AS JSON) AS doc FROM ({LINES}) WHERE trim(line) <> '')
    """
_EXTRA = f"""
    array_to_string(list_concat(plain_fields(doc, {_SHOWN}, 400),
        plain_fields(CASE WHEN json_type(doc -> '$.attributes') = 'OBJECT' THEN doc -> '$.attributes' END,
            {_SHOWN}, 400)), ' ')
    """
_STAGED = f"""
    CREATE TABLE staged AS
    SELECT seq, moment, service, severity, trace_id, timed, extra, raw,
        CASE WHEN stack IS NULL OR contains(message, stack) THEN message ELSE concat_ws(chr(10), message, stack) END
            AS message,
        raw OR regexp_matches(message, {_CONTINUES_RECORD}) AS continues
    FROM (
        SELECT seq, doc IS NULL AS raw, timed, instant(timed, $zone) AS moment, service, level_of(level) AS severity,
            trace_id, stack, {_EXTRA} AS extra, {_PLAIN} AS message
        FROM (
            SELECT seq, doc, {_DOC.said(*_TIMED)} AS timed, {_DOC.said(*_SERVICE)} AS service,
                {_DOC.said(*_LEVEL)} AS level, {_DOC.said(*_TRACE)} AS trace_id, {_DOC.said(*_STACK)} AS stack,
                coalesce({_DOC.said(*_MESSAGE)}, CASE WHEN doc IS NULL THEN line END) AS message
            FROM (SELECT seq, line, doc, {_DOC.taken} AS taken FROM documents)))
    """
_ADOPTED = f"""
    CREATE OR REPLACE TABLE staged AS
    SELECT seq, severity, trace_id, timed, extra, message, raw, continues,
        CASE WHEN raw THEN last_value(moment IGNORE NULLS) OVER files ELSE moment END AS moment,
        CASE WHEN raw THEN last_value(service IGNORE NULLS) OVER files ELSE service END AS service
    FROM staged
    WHERE NOT raw OR regexp_matches(message, {_CONTINUES})
    WINDOW files AS (ORDER BY seq ROWS UNBOUNDED PRECEDING)
    """
_JOINED = f"""
    CREATE TABLE logs AS
    WITH headed AS (
        SELECT *, count(*) FILTER (NOT continues) OVER (PARTITION BY service ORDER BY moment, seq
            ROWS UNBOUNDED PRECEDING) AS head
        FROM staged),
    placed AS (
        SELECT *, row_number() OVER (PARTITION BY service, head ORDER BY moment, seq) AS place FROM headed)
    SELECT min(seq) AS seq, arg_min(moment, place) AS moment, service, arg_min(severity, place) AS severity,
        arg_min(trace_id, place) AS trace_id, arg_min(extra, place) AS extra,
        string_agg(CASE WHEN place = 1 THEN message ELSE rtrim(message) END, chr(10) ORDER BY place) AS message
    FROM placed
    WHERE place <= {MAX_TAIL_LINES} OR ltrim(message) LIKE 'Caused by:%'
    GROUP BY service, head
    """
_SINGLE = "CREATE TABLE logs AS SELECT seq, moment, service, severity, trace_id, extra, message FROM staged"


def load_logs(rows: Rows, source: Source, zone: str) -> Quality:
    """Create table `logs(seq, moment, service, severity, trace_id, extra, message)`, times in UTC.

    A line or record that continues a stack trace belongs to the record of the same service before it (a raw line: to
    the record before it in the file); its text follows in `message` on lines of its own. `extra` holds the record's
    other plain fields as `key=value`.
    """
    broken = _load_lines(rows, source) if source.sort in {"ndjson", "jsonl"} else load_documents(rows, source)
    if source.sort not in {"ndjson", "jsonl"}:
        rows.run("ALTER TABLE documents ADD COLUMN line VARCHAR")
    rows.run(_STAGED, zone=zone)
    rows.run("DROP TABLE documents")
    if rows.all("SELECT count(*) FROM staged WHERE raw")[0][0]:
        rows.run(_ADOPTED)
    unusable, zoneless = rows.all(
        "SELECT count(*) FILTER (moment IS NULL OR message IS NULL),"
        " count(*) FILTER (moment IS NOT NULL AND NOT raw AND NOT zoned(timed)) FROM staged"
    )[0]
    rows.run("DELETE FROM staged WHERE moment IS NULL OR message IS NULL")
    rows.run("UPDATE staged SET service = '-' WHERE service IS NULL")
    rows.run(_JOINED if rows.all("SELECT bool_or(continues) FROM staged")[0][0] else _SINGLE)
    rows.run("DROP TABLE staged")
    return judged(rows, "logs", broken + int(unusable), int(zoneless))


def _load_lines(rows: Rows, source: Source) -> int:
    """Create `documents(seq, line, doc)` from raw lines; returns how many are neither a record nor a continuation."""
    if source.empty:
        rows.run("CREATE TABLE documents (seq BIGINT, line VARCHAR, doc JSON)")
        return 0
    rows.run(_FROM_LINES, path=source.path)
    broken = rejected(rows) + int(
        rows.all(f"SELECT count(*) FROM documents WHERE doc IS NULL AND NOT regexp_matches(line, {_CONTINUES})")[0][0]
    )
    check_readable(rows, broken)
    return broken
