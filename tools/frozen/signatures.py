# ruff: noqa: S608 -- statements are composed of fixed text of this package; every value is a parameter
"""Error signatures of a frozen incident: what the logs say that they didn't say before."""

from pathlib import Path

from tools.base import IncidentContext
from tools.frozen.database import Loaded, Row, Rows
from tools.frozen.lines import MAX_TEXT, Page, field, fields, moment, plain
from tools.frozen.scopes import WindowedArguments, bounds, windowed
from tools.frozen.selectors import resolve
from tools.frozen.sql import literal
from tools.frozen.windowed import WindowedTool
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope

MAX_SIGNATURES = 24
GROWTH = 3.0
"""A signature has grown where some sixth of the incident part has at least this many times its baseline rate."""
LEAST_INFORMATIONAL = 5
"""How often a signature below WARN must occur to be told."""
LEAST_SUSPICIOUS = 3
"""How often a signature below WARN that sounds like trouble must occur to be told."""
SURE = 5
"""Records, and lengths of the time that they took, of silence before: then a young store's signature began in it."""

_TROUBLE = (
    "error", "exception", "fail(ed|ure|ing)?", "fatal", "panic", "timed? ?out", "timeout", "refused", "denied",
    "killed", "oom\\w*", "unavailable", "expired?", "exhausted", "exceeded", "no space left", "unreachable", "rejected",
    "corrupt(ed)?", "deadlock", "throttl\\w+", "not found",
)  # fmt: skip
SUSPICIOUS = r"(?i)\b(" + "|".join(_TROUBLE) + r")\b"

GENERALIZED = (
    ("[\\x00-\\x1f]+", " "),
    ("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "<uuid>"),
    ("[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]+(Z|[+-][0-9]{2}:?[0-9]{2})?", "<time>"),
    ('(^|[^\\w"\'>])"[^"<>]*"', "\\1<str>"),
    ("(^|[^\\w\"'>])'[^'<>]*'", "\\1<str>"),
    ("\\b[0-9]{1,3}(\\.[0-9]{1,3}){3}(:[0-9]+)?\\b", "<ip>"),
    ("-[0-9a-f]{8,10}-[0-9a-z]{5}\\b", "-<pod>"),
    ("\\b0[xX][0-9a-fA-F]+\\b", "<hex>"),
    ("\\b([0-9]+[a-fA-F]|[a-fA-F]+[0-9])[0-9a-fA-F]{5,}\\b", "<hex>"),
    ("\\b[0-9]+(\\.[0-9]+)?\\s?(ns|us|µs|ms|s|sec|secs|seconds|m|min|minutes|h)\\b", "<time>"),
    ("\\b([A-Za-z_]+[0-9]{5,}|[0-9]{5,}[A-Za-z_])\\w*\\b", "<id>"),
    ("\\b([A-Za-z]*[0-9][A-Za-z0-9]{15,}|[A-Za-z0-9]{15,}[0-9][A-Za-z0-9]*)\\b", "<id>"),
    ("\\b[0-9]+(\\.[0-9]+)*\\b", "<n>"),
    ("\\s+", " "),
)
"""What is generalized away, in this order: RE2 patterns and what stands for them. No placeholder is one itself."""


def generalized(column: str) -> str:
    """Return SQL that generalizes the text in `column`."""
    sql = f"left({column}, 600)"
    for pattern, replacement in GENERALIZED:
        sql = f"regexp_replace({sql}, {literal(pattern)}, {literal(replacement)}, 'g')"
    return f"trim({sql})"


FIRST_LINE = "split_part(ltrim(message, chr(10)), chr(10), 1)"
_SPAN = """
    SELECT min(moment), max(moment) FROM logs WHERE moment >= $lookback AND moment < $end
    """
_FOUND = f"""
    WITH told AS (
        SELECT service, coalesce(severity, '-') AS severity, moment, message, extra,
            {generalized(FIRST_LINE)} AS signature
        FROM logs WHERE moment >= $first AND moment < $end AND list_contains($services, service)),
    dated AS (
        SELECT *, CASE WHEN min(moment) OVER alike BETWEEN $start AND $pivot AND count(*) OVER alike >= {SURE}
                AND date_sub('us', $first, min(moment) OVER alike) * count(*) OVER alike
                    >= {SURE} * date_sub('us', min(moment) OVER alike, max(moment) OVER alike)
            THEN min(moment) OVER alike ELSE $pivot END AS parted
        FROM told WINDOW alike AS (PARTITION BY service, severity, signature)),
    sliced AS (
        SELECT * EXCLUDE (parted), moment < parted AS before, date_sub('us', $first, parted) AS before_us,
            date_sub('us', parted, $last) AS after_us,
            least(5, date_sub('us', parted, moment) * 6 // greatest(1, date_sub('us', parted, $last))) AS slice
        FROM dated),
    counted AS (
        SELECT service, severity, signature, slice, before, before_us, after_us, count(*) AS records,
            count(*) FILTER (moment >= $start) AS inside, min(moment) FILTER (moment >= $start) AS first_seen,
            max(moment) FILTER (moment >= $start) AS last_seen,
            min({{'moment': moment, 'message': message, 'extra': extra}}) FILTER (NOT before) AS sample
        FROM sliced GROUP BY ALL),
    summed AS (
        SELECT service, severity, signature, coalesce(sum(inside) FILTER (NOT before), 0) AS records,
            coalesce(sum(records) FILTER (before), 0) AS baseline, max(records) FILTER (NOT before) AS densest,
            min(first_seen) FILTER (NOT before) AS first_seen, max(last_seen) FILTER (NOT before) AS last_seen,
            min(sample) FILTER (NOT before) AS sample, any_value(before_us) AS before_us,
            any_value(after_us) AS after_us
        FROM counted GROUP BY service, severity, signature),
    judged AS (
        SELECT *, CASE WHEN severity IN ('FATAL', 'ERROR') THEN 0 WHEN severity = 'WARN' THEN 1
                WHEN regexp_matches(signature, {literal(SUSPICIOUS)}) THEN 2 ELSE 3 END AS rank,
            densest * 6 * greatest(before_us, 1) / (greatest(after_us, 1) * greatest(baseline, 3)) AS growth
        FROM summed WHERE records > 0)
    SELECT service, severity, CASE WHEN baseline = 0 THEN 'NEW' ELSE 'GROWN' END AS status, records, baseline,
        first_seen, last_seen, signature, sample['message'], sample['extra']
    FROM judged
    WHERE CASE WHEN baseline = 0
        THEN rank <= 1 OR (rank = 2 AND records >= {LEAST_SUSPICIOUS}) OR records >= {LEAST_INFORMATIONAL}
        ELSE growth >= {GROWTH} AND densest >= CASE WHEN rank = 3 THEN 2 ELSE 1 END * {LEAST_INFORMATIONAL} END
    ORDER BY rank, status DESC, records DESC, first_seen, service, signature
    LIMIT $limit
    """


class SignaturesTool(WindowedTool):
    """Finds log signatures that are new or have grown, in the raw lines. TEXT, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |
    | start, end | yes | resolved to UTC, aligned outward to the minute; default [as_of - 3 h, as_of + 15 min] |

    A signature is a record's first line with numbers, ids, addresses, durations and quoted values generalized, by
    service and severity. What is known of the logs reaches from as much again as the window is long before `start` (or
    the source's first record) to the last record before `end`. The baseline part is all of it before `start`, and at
    least its first quarter; the incident part is the rest. NEW: seen in the incident part, never in the baseline part.
    GROWN: in the densest sixth of the incident part, at least three times the baseline's rate (a baseline of less than
    three records counts as three). ERROR and FATAL come first, then WARN, then what sounds like trouble at a lower
    severity (three records at least), then other texts (new: five at least; grown: ten). `count` is the incident
    part's, `baseline_count` the baseline part's.
    """

    name = "find_log_signatures"
    description = "在原始日志中找出相对基线新增或明显增多的错误特征，附首末时间、次数与样例。"
    kind = EvidenceKind.LOGS
    arguments = WindowedArguments
    part = "logs"

    def normalize(self, arguments: WindowedArguments, incident: IncidentContext) -> Scope:
        return windowed(incident, arguments.start, arguments.end, service=arguments.service)

    def answer(self, rows: Rows, loaded: Loaded, scope: Scope) -> Evidence:
        return _answer(rows, loaded, scope)

    def paste(self, scope: Scope) -> str:
        return paste_logs(
            self._path,
            scope,
            "severity_text, count(*), min(timestamp), max(timestamp), any_value(msg)",
            "GROUP BY ALL ORDER BY 3 DESC",
        )


def paste_logs(path: Path, scope: Scope, columns: str, tail: str, extra: tuple[str, ...] = ()) -> str:
    """Return a DuckDB query over the log file for a scope's service and window."""
    start, end = bounds(scope)
    where = [f"timestamp >= {literal(moment(start))}", f"timestamp < {literal(moment(end))}", *extra]
    if "service" in scope:
        where.append(f"lower(service) = {literal(scope['service'])}")
    return f"SELECT service, {columns} FROM {literal(str(path))} WHERE {' AND '.join(where)} {tail};"


def known_services(rows: Rows) -> list[str]:
    """Return every service that the logs name."""
    return [service for (service,) in rows.all("SELECT DISTINCT service FROM logs ORDER BY service")]


def _answer(rows: Rows, loaded: Loaded, scope: Scope) -> Evidence:
    known = known_services(rows)
    services = resolve(scope.get("service"), known, field="service") or known
    found = _found(rows, scope, services)
    if not found:
        whose = str(scope.get("service", "any service"))
        return Evidence(
            status=EvidenceStatus.NO_EVIDENCE,
            provenance=Provenance.TEXT,
            summary=f"no new or grown log signature of {whose} from {scope['start']} to {scope['end']}",
            notes=loaded.notes,
        )
    page = Page(lines=3 * MAX_SIGNATURES)
    shown = [row for row in found[:MAX_SIGNATURES] if page.add(signature_lines(row))]
    return Evidence(
        status=EvidenceStatus.EVIDENCE,
        provenance=Provenance.TEXT,
        content=tuple(page.lines),
        summary="; ".join(signature_sentence(row) for row in shown[:4]),
        truncated=page.truncated or len(found) > MAX_SIGNATURES,
        components=tuple(dict.fromkeys(row[0] for row in shown)),
        notes=loaded.notes,
    )


def _found(rows: Rows, scope: Scope, services: list[str]) -> list[Row]:
    start, end = bounds(scope)
    first, last = rows.all(_SPAN, lookback=start - (end - start), end=end)[0]
    if first is None:
        return []
    pivot = max(start, first + (last - first) / 4)
    return rows.all(
        _FOUND,
        services=services,
        first=first,
        start=start,
        pivot=pivot,
        last=last,
        end=end,
        limit=MAX_SIGNATURES + 1,
    )


def signature_lines(row: Row) -> list[str]:
    """Return a signature's lines: of its service, severity, status, count, baseline count, first and last time (naive
    UTC), text, and a sample's message and other fields."""
    service, severity, status, count, baseline, first_seen, last_seen, signature, sample, extra = row
    values = {
        "service": service,
        "severity": severity,
        "status": status,
        "count": count,
        "baseline_count": baseline,
        "first_seen": moment(first_seen),
        "last_seen": moment(last_seen),
    }
    texts = [text for row in (sample or "").splitlines() if (text := plain(row))]
    causes = [text for text in texts[1:] if text.startswith("Caused by")][-1:]
    detail = " ".join([*texts[:1], f"[{plain(extra)}]" if extra else ""]).strip()
    return [
        f"{fields('signature', values)} | {plain(signature)[:MAX_TEXT]}",
        *(f"  {text[:MAX_TEXT]}" for text in [detail, *causes] if text),
    ]


def signature_sentence(row: Row) -> str:
    """Return what a summary says of a signature, without its text; `row` as for `signature_lines`."""
    service, severity, status, count, baseline, first_seen, *_ = row
    return (
        f"{field(service)} {severity} signature {status}: {count} records since {moment(first_seen)}, {baseline} before"
    )
