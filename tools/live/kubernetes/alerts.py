"""What is not as it should be in the allowed namespaces, in the form of the cluster's alerts.

A cluster has no detector of its own: its warning events, its unready pods and workloads, and its nodes' conditions
stand in. Only words of the control plane become fields; an event's message, which may repeat what an application
printed, is left to the questions about events.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tools.canonical import iso_utc
from tools.cluster.kinds import workload_of
from tools.cluster.listing import well
from tools.cluster.state import Told
from tools.live.kubernetes.api import LIST_CUT
from tools.live.kubernetes.events import last_seen, reason_of, times_of
from tools.live.kubernetes.nodes import condition, status_of
from tools.live.kubernetes.objects import Object, at, each, name_of, one
from tools.live.kubernetes.reading import Reading, Row, gathered
from tools.live.reading import moment

_LISTED = ("pods", "deployments", "statefulsets", "daemonsets")
_TOLD = ("ready", "status", "restarts", "available", "desired", "up_to_date")
Alert = dict[str, Any]


async def alerts_of(reading: Reading) -> Told:
    """Return `{"alerts": […]}` over all allowed namespaces and the nodes; parts that fail are named. Raises
    SourceFailure where all of them do."""
    questions = {"nodes": _nodes(reading)}
    for place in reading.namespaces:
        questions[f"{place}/events"] = _events(reading, place)
        for kind in _LISTED:
            questions[f"{place}/{kind}"] = _unwell(reading, place, kind)
    parts = await gathered(questions)
    alerts = [alert for found, _ in parts.found for alert in found]
    cut = any(short for _, short in parts.found)
    notes = (*parts.notes, *((LIST_CUT,) if cut else ()))
    return Told({"alerts": alerts}, notes=notes, cut=cut, missing=parts.missing)


async def _nodes(reading: Reading) -> tuple[list[Alert], bool]:
    listed = await reading.objects("nodes", None)
    return [alert for node in listed.items for alert in _node(node)], listed.cut


def _node(node: Object) -> Iterator[Alert]:
    status = status_of(node)
    told = [f"NODE_STATUS [{status}] | since {_since(condition(node, 'Ready'))}"] if status != "Ready" else []
    told += [
        f"NODE_CONDITION [{one(found.get('type'))}={one(found.get('status'))}] | since {_since(found)}"
        for found in each(node, "status", "conditions")
        if found.get("type") != "Ready" and found.get("status") != "False"
    ]
    if told:
        yield {"type": "Node", "name": name_of(node), "evidence": told}


def _since(found: Object) -> str:
    since = moment(found.get("lastTransitionTime"))
    return iso_utc(since) if since else "-"


async def _events(reading: Reading, place: str) -> tuple[list[Alert], bool]:
    listed = await reading.events(place, fields="type=Warning")
    groups: dict[tuple[str, str, str], list[Object]] = defaultdict(list)
    for event in listed.items:
        kind, name = one(at(event, "involvedObject", "kind")), one(at(event, "involvedObject", "name"))
        groups[kind, workload_of(name, f"{kind.casefold()}s"), reason_of(event)].append(event)
    return [_of_events(place, key, events) for key, events in groups.items()], listed.cut


def _of_events(place: str, key: tuple[str, str, str], events: list[Object]) -> Alert:
    kind, name, reason = key
    seen = sorted(filter(None, map(last_seen, events)))
    begun = sorted(filter(None, (moment(event.get("firstTimestamp")) for event in events)))
    objects = {one(at(event, "involvedObject", "name")) for event in events}
    text = f"{sum(map(times_of, events))} times, of {len(objects)} {kind} in {place}"
    return {
        "type": kind,
        "name": name,
        "time_range": f"{_text([*begun, *seen][:1])} ~ {_text(seen[-1:])}",
        "evidence": [f"WARNING_EVENT [{reason}] | {text}"],
    }


def _text(moments: list[datetime]) -> str:
    return iso_utc(moments[0].replace(microsecond=0)) if moments else "-"


async def _unwell(reading: Reading, place: str, kind: str) -> tuple[list[Alert], bool]:
    rows, cut = await reading.rows(kind, place)
    return [_of_row(place, kind, row) for row in rows if not well(kind, row)], cut


def _of_row(place: str, kind: str, row: Row) -> Alert:
    told = " ".join(f"{key}={row[key]}" for key in _TOLD if key in row)
    sort = {"pods": "Pod", "deployments": "Deployment", "statefulsets": "StatefulSet"}.get(kind, "DaemonSet")
    what = row.get("status") or "not_all_ready"
    return {
        "type": sort,
        "name": workload_of(row.get("name", ""), kind),
        "evidence": [f"{sort.upper()}_NOT_WELL [{what}] | {row.get('name')} in {place}: {told}"],
    }
