"""Alerts and logs of a cluster as evidence."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tools.cluster.evidence import found, line, named, nothing
from tools.vocabulary import Evidence, Provenance

_SORT = re.compile(r"(?P<sort>[A-Z][A-Z_]+)\s*(?:\[(?P<what>[^\]]*)\])?\s*\|?\s*(?P<rest>.*)", re.DOTALL)
_MEASURE = re.compile(
    r"(?:(?P<name>[\w.-]+):\s*)?Normal=(?P<normal>[^\s|]+(?: (?!->)[a-z]+)?)\s*->\s*Cur(?:rent)?=(?P<current>[^\s|(]+"
    r"(?: [a-z]+)?)\s*(?:\((?P<change>[^)]*)\))?"
)
MAX_LINES = 60


def show_alerts(value: Any) -> Evidence:
    """Return the open alerts as `alert` lines, one a measure; those of nodes and of saturation first.

    MEASURED: a detector writes them from metrics, its sentences hold no text of the application.
    """
    parsed = value if isinstance(value, Mapping) else _json(value)
    alerts = [one for one in parsed.get("alerts") or () if isinstance(one, Mapping)]
    lines = [row for alert in alerts for row in _alert(alert)]
    if not lines:
        return nothing("no open alert in the cluster")
    lines.sort(key=lambda row: " kind=Service " in row and " signal=RESOURCE_" not in row)
    names = [str(alert.get("name") or "") for alert in alerts]
    told = [f"{alert.get('type')} {alert.get('name')}: {_sorts(alert)}" for alert in alerts]
    return found(lines, f"{len(alerts)} objects with alerts: {named(told)}", names)


def _json(value: Any) -> Mapping[str, Any]:
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, Mapping) else {}


def _evidence(alert: Mapping[str, Any]) -> list[str]:
    told = alert.get("evidence")
    return [str(one) for one in told] if isinstance(told, list) else [str(told)] if told else []


def _sorts(alert: Mapping[str, Any]) -> str:
    return ", ".join(dict.fromkeys(text.partition(" ")[0] for text in _evidence(alert)))


def _alert(alert: Mapping[str, Any]) -> Iterator[str]:
    kind, name = str(alert.get("type") or "Service"), alert.get("name")
    start, _, end = str(alert.get("time_range") or "").partition(" ~ ")
    whole = {"component": name, "kind": kind}
    window = {"from": start.replace(" ", "T"), "to": end.replace(" ", "T")}
    for text in _evidence(alert):
        found_sort = _SORT.match(text)
        sort, what, rest = (
            (found_sort["sort"], found_sort["what"], found_sort["rest"]) if found_sort else ("", "", text)
        )
        measures = list(_MEASURE.finditer(rest))
        for measure in measures:
            values = {
                **whole,
                "signal": sort,
                "what": what,
                "metric": measure["name"],
                "normal": measure["normal"],
                "current": measure["current"],
                "change": measure["change"],
                **window,
            }
            yield line("alert", values)
        if not measures:
            yield line("alert", {**whole, "signal": sort, "what": what, **window}, rest)


def show_error_logs(namespace: str, service: str, value: Any) -> Evidence:
    """Return the patterns of a service's error lines, the most frequent first. TEXT."""
    parsed = _json(value)
    patterns = [one for one in parsed.get("patterns") or () if isinstance(one, Mapping)]
    total = parsed.get("total_log_count")
    if not patterns:
        known = f" among {total} lines" if total else ""
        return nothing(f"no error line of {service} in {namespace}{known}", provenance=Provenance.TEXT)
    patterns.sort(key=lambda one: -float(one.get("count") or 0))
    head = {"service": service, "namespace": namespace, "lines": total, "errors": parsed.get("total_errors")}
    lines = [line("error_lines", head)]
    for one in patterns:
        values = {"service": service, "count": one.get("count"), "ratio": one.get("ratio")}
        values |= {key: one[key] for key in ("first_seen", "last_seen") if one.get(key)}
        lines.append(line("pattern", values, str(one.get("sample") or "")))
    summary = f"{service} in {namespace}: {parsed.get('total_errors')} error lines of {total}, {len(patterns)} patterns"
    return found(lines, summary, [service], provenance=Provenance.TEXT)


def show_recent_logs(namespace: str, service: str, value: Any, limit: int) -> Evidence:
    """Return the newest `limit` lines of a service's log, the newest last. TEXT."""
    rows = [str(row) for row in value] if isinstance(value, list) else str(value or "").splitlines()
    kept = [row for row in rows if row.strip()]
    if not kept:
        return nothing(f"no log line of {service} in {namespace}", provenance=Provenance.TEXT)
    shown = kept[-min(limit, MAX_LINES) :]
    lines = [line("log", {"service": service}, row) for row in reversed(shown)]
    summary = f"{service} in {namespace}: the newest {len(shown)} of {len(kept)} log lines"
    return found(lines, summary, [service], provenance=Provenance.TEXT)
