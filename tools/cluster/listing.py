"""A table of objects as evidence: what isn't well stands first."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set

from tools.cluster.evidence import bounded, found, line, named, nothing
from tools.cluster.kinds import GENERATED, workload_of
from tools.cluster.state import Raw
from tools.cluster.tables import read_table
from tools.vocabulary import Evidence

_RESTARTS = re.compile(r"(?P<count>\d+)\s*\((?P<last>\S+) ago\)")
_RATIO = re.compile(r"(\d+)/(\d+)")
_KEYS = {"cluster_ip": "ip", "ports": "ports"}
_HIDDEN = frozenset(("nominated_node", "readiness_gates", "volumeattributesclass", "external_ip"))
_APP_LABEL = re.compile(r"(?:^|,)(?:app|app\.kubernetes\.io/name|k8s-app)=([^,\s]+)")

Row = Mapping[str, str]


def list_objects(kind: str, namespace: str | None, table: Raw, *, asked: str = "") -> Evidence:
    """Return a table, or its rows, as `resource` lines (`event` lines for events), what isn't well first.

    `asked`: of which objects, for the summary of an empty one.
    """
    rows: Sequence[Row] = table if isinstance(table, list) else read_table(str(table))
    place = f" in {namespace}" if namespace else ""
    if not rows:
        return nothing(f"no {kind}{asked}{place}")
    if kind == "events":
        return list_events(rows, place)
    ordered = sorted(rows, key=lambda row: well(kind, row))
    ill = [row for row in rows if not well(kind, row)]
    head = line("list", {"kind": kind, "namespace": namespace, "rows": len(rows), "unwell": len(ill)})
    lines: list[str] = []
    for shown in (None, _BRIEF, _BRIEF - {"labels"}):
        lines = [head, *(line("resource", _values(kind, _brief(kind, row, shown))) for row in ordered)]
        if not bounded(lines)[1]:
            break
    told = named([_told(kind, row) for row in ill]) if ill else "every one is as it should be"
    summary = f"{len(rows)} {kind}{asked}{place}, {len(ill)} of them not well: {told}"
    return found(lines, summary, [*map(app_of_row(kind), rows), *([namespace] if namespace else [])])


def app_of_row(kind: str) -> "_AppOf":
    """Return the function that tells a row's application: its label, else the workload that its name speaks of."""
    return _AppOf(kind)


class _AppOf:
    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __call__(self, row: Row) -> str:
        label = _APP_LABEL.search(row.get("labels", ""))
        return label[1] if label else workload_of(row.get("name", ""), self._kind)


def well(kind: str, row: Row) -> bool:
    """Return whether an object is in the state that it should be in, as far as its row tells."""
    if kind == "pods":
        ready = _RATIO.fullmatch(row.get("ready", ""))
        full = ready is None or ready[1] == ready[2]
        status = row.get("status")
        return (status == "Completed") or (status == "Running" and full and row.get("restarts", "0") == "0")
    if kind in ("deployments", "statefulsets"):
        ready = _RATIO.fullmatch(row.get("ready", ""))
        return ready is None or (ready[1] == ready[2] and ready[2] != "0")
    if kind in ("replicasets", "daemonsets"):
        return row.get("desired", "") == row.get("ready", "")
    if kind == "nodes":
        return row.get("status") == "Ready"
    if kind in ("persistentvolumeclaims", "persistentvolumes"):
        return row.get("status") == "Bound"
    if kind == "endpoints":
        return row.get("endpoints", "") not in ("", "<none>")
    return True


def _values(kind: str, row: Row) -> dict[str, object]:
    values: dict[str, object] = {"kind": kind, "name": row.get("name")}
    if kind in GENERATED or _APP_LABEL.search(row.get("labels", "")):
        values["app"] = app_of_row(kind)(row)
    for key, value in row.items():
        if key == "name" or key in _HIDDEN or (key == "age" and kind != "pods"):
            continue
        restarts = _RESTARTS.fullmatch(value) if key == "restarts" else None
        if restarts:
            values |= {"restarts": restarts["count"], "last_restart": restarts["last"]}
        else:
            values[_KEYS.get(key, key)] = value
    return values


_BRIEF = frozenset(("name", "labels", "ready", "status", "endpoints", "ports", "cluster_ip", "node", "desired"))


def _brief(kind: str, row: Row, shown: Set[str] | None) -> Row:
    """Return what a row of something well has to say where there are too many for the bound: the columns `shown`."""
    return {key: value for key, value in row.items() if key in shown} if shown and well(kind, row) else row


def _told(kind: str, row: Row) -> str:
    state = " ".join(
        f"{key}={row[key]}" for key in ("ready", "status", "restarts", "endpoints", "desired") if row.get(key)
    )
    return f"{row.get('name')} {state}".strip()


def list_events(rows: Iterable[Row], place: str) -> Evidence:
    """Return the events as lines, warnings first; equal ones once, with how many there are."""
    merged: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        _, _, name = row["object"].partition("/")
        message = row["message"].replace(name, "*") if row["type"] != "Warning" else _generalized(row["message"])
        merged.setdefault((row["reason"], row["object"], message), []).append(row)
    groups = sorted(merged.values(), key=lambda group: group[0]["type"] != "Warning")
    lines = [_event(group) for group in groups]
    warnings = [f"{group[0]['reason']} of {group[0]['object']}" for group in groups if group[0]["type"] == "Warning"]
    told = named(warnings) if warnings else "none"
    apps = [_app_of_object(group[0]["object"]) for group in groups]
    return found(lines, f"{len(merged)} kinds of events{place}; warnings: {told}", apps)


def _generalized(message: str) -> str:
    return re.sub(r'"[\w.-]+-[a-z0-9]{5}"', '"*"', message)


def _event(group: list[Row]) -> str:
    row = group[-1]
    kind, _, name = row["object"].partition("/")
    values = {
        "type": row["type"],
        "reason": row["reason"],
        "object": f"{kind}/{name}",
        "app": _app_of_object(row["object"]),
        "last_seen": row.get("last_seen"),
        "times": sum(int(one.get("count", "1")) for one in group),
    }
    return line("event", values, row["message"])


def _app_of_object(spoken: str) -> str:
    kind, _, name = spoken.partition("/")
    return workload_of(name, f"{kind}s")
