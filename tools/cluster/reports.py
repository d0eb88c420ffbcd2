"""Dependencies, probes of ports, nodes and their components as evidence."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tools.cluster.evidence import below, field, found, line, named, nothing
from tools.vocabulary import Evidence

_BRANCH = re.compile(r"(?P<indent>[│ ]*)(?:├──|└──|\|--|`--)\s*(?P<name>[\w.-]+)")
_CALLED_BY = re.compile(r"\[Upstream[^\]]*\]:\s*(?P<names>.*)")
_FROM = re.compile(r"on (?P<node>[\w.-]+):\s*(?P<rest>.*)")
_ACTIVE = re.compile(r"Active:\s*(?P<active>\S+)\s*(?:\((?P<sub>[^)]*)\))?(?:.*?since (?P<since>[^;]+))?")
_LOADED = re.compile(r"Loaded:\s*(?P<loaded>\S+)(?:.*?;\s*(?P<enabled>enabled|disabled|masked|static))?")
_JOURNAL = re.compile(r"[A-Z][a-z]{2} \d{2} \d{2}:\d{2}:\d{2} ")
MAX_JOURNAL = 12


def show_dependencies(service: str, text: str) -> Evidence:
    """Return who calls a service and, edge by edge, whom it calls, directly and through others."""
    called_by = _CALLED_BY.search(text)
    callers = re.findall(r"[A-Za-z][\w.-]*", called_by["names"]) if called_by and "(" not in called_by["names"] else []
    edges = list(dict.fromkeys([*((caller, service) for caller in callers), *_edges(service, text)]))
    if not edges:
        return nothing(f"{service} neither calls nor is called by a known service")
    below_it = [callee for caller, callee in edges if caller == service]
    head = line("dependencies", {"service": service, "callers": ",".join(callers), "callees": ",".join(below_it)})
    lines = [head, *(line("calls", {"caller": caller, "callee": callee}) for caller, callee in edges)]
    summary = f"{service} is called by {named(callers) or 'nobody'} and calls {named(below_it) or 'nobody'}"
    return found(lines, summary, [service, *(name for edge in edges for name in edge)])


def _edges(root: str, text: str) -> Iterator[tuple[str, str]]:
    path: list[tuple[int, str]] = [(-1, root)]
    for row in text.splitlines():
        branch = _BRANCH.search(row)
        if branch is None:
            continue
        depth = len(branch["indent"])
        while path[-1][0] >= depth:
            path.pop()
        yield path[-1][1], branch["name"]
        path.append((depth, branch["name"]))


def show_connectivity(namespace: str, service: str, port: int, told: Any) -> Evidence:
    """Return whether the port of a service answers, from each node that it was probed from.

    Where nothing was probed, `told` has what was looked at instead: `checked`, and `results` (node, result, detail).
    """
    whole: dict[str, object] = {"service": service, "namespace": namespace, "port": port}
    if isinstance(told, Mapping):
        return _looked_at(whole, told)
    results = list(_probed(str(told)))
    lines = [
        line("connectivity", {**whole, "node": node, "result": result}, detail) for node, result, detail in results
    ]
    seen = "; ".join(f"from {node or 'the cluster'} {result}" for node, result, _ in results)
    nodes = [node for node, _, _ in results if node]
    return found(lines, f"{service}:{port} in {namespace}: {seen}", [service, *nodes])


def _looked_at(whole: Mapping[str, object], told: Mapping[str, Any]) -> Evidence:
    results: list[Mapping[str, Any]] = list(told.get("results") or ())
    checked = told.get("checked")
    lines = [
        line(
            "connectivity",
            {**whole, "node": one.get("node"), "result": one.get("result"), "checked": checked},
            str(one.get("detail") or ""),
        )
        for one in results
    ]
    seen = ", ".join(
        f"{count} {result}" for result, count in Counter(str(one.get("result")) for one in results).items()
    )
    place = f"{whole['service']}:{whole['port']} in {whole['namespace']}"
    nodes = [str(one["node"]) for one in results if one.get("node")]
    return found(lines, f"{place}, by its {checked}, no connection tried: {seen}", [str(whole["service"]), *nodes])


def _probed(text: str) -> Iterator[tuple[str | None, str, str]]:
    """Yield node (None where there is none), OPEN or FAILED, and what the probe printed."""
    groups: list[tuple[str | None, list[str]]] = [(None, [])]
    for row in text.splitlines():
        start = _FROM.search(row) if "test results" in row else None
        if start:
            groups.append((start["node"], [start["rest"]]))
        elif not row.startswith("==="):
            groups[-1][1].append(row)
    for node, rows in groups:
        if any(row.strip() for row in rows):
            detail = " ".join(row.strip() for row in rows if row.strip())
            opened = "succeeded" in detail.casefold() or detail.casefold().endswith("open")
            yield node, "OPEN" if opened else "FAILED", detail


def show_configuration(value: Any) -> Evidence:
    """Return the nodes with status, taints, labels, conditions and resources; those that aren't ready first."""
    parsed = value if isinstance(value, Mapping) else _json(value)
    nodes = [one for one in parsed.get("nodes") or () if isinstance(one, Mapping)]
    if not nodes:
        return nothing("no node in the cluster")
    ordered = sorted(nodes, key=lambda node: node.get("status") == "Ready")
    names = [str(node.get("name")) for node in nodes]
    unwell = [f"{node.get('name')} {node.get('status')}" for node in ordered if node.get("status") != "Ready"]
    tainted = [f"{node.get('name')} {','.join(map(str, node['taints']))}" for node in nodes if node.get("taints")]
    summary = f"{len(nodes)} nodes; not ready: {named(unwell) or 'none'}; tainted: {named(tainted) or 'none'}"
    return found(map(_node, ordered), summary, names)


def _json(value: Any) -> Mapping[str, Any]:
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, Mapping) else {}


def _node(node: Mapping[str, Any]) -> str:
    resources = node.get("allocatable_resources") or {}
    conditions = node.get("conditions") or {}
    values = {
        "node": node.get("name"),
        "status": node.get("status"),
        "role": node.get("role"),
        "taints": ",".join(map(str, node.get("taints") or [])),
        "cpu": resources.get("cpu"),
        "memory": resources.get("memory"),
        **{field(name): state for name, state in conditions.items()},
        "labels": ",".join(f"{key}={value}" for key, value in (node.get("labels") or {}).items()),
    }
    return line("node", values)


def show_node_service(node: str, component: str, told: Any) -> Evidence:
    """Return whether a component runs on a node, with the newest lines of its journal.

    Where no service manager was asked, `told` has what was looked at instead: `active`, `since`, `checked`, `detail`.
    """
    if isinstance(told, Mapping):
        values = {
            "node": node,
            "component": component,
            **{key: told.get(key) for key in ("active", "since", "checked")},
        }
        lines = [line("node_service", values), *map(below, told.get("detail") or ())]
        return found(
            lines, f"{component} on {node} is {told.get('active')}, by {told.get('checked')}", [node, component]
        )
    text = str(told)
    active = _ACTIVE.search(text)
    loaded = _LOADED.search(text)
    values = {
        "node": node,
        "component": component,
        "active": active["active"] if active else "unknown",
        "sub": active["sub"] if active else None,
        "since": active["since"] if active else None,
        "loaded": loaded["loaded"] if loaded else None,
        "enabled": loaded["enabled"] if loaded else None,
    }
    journal = [row for row in text.splitlines() if _JOURNAL.match(row)][-MAX_JOURNAL:]
    detail = [] if active else [row for row in text.splitlines() if row.strip()][:MAX_JOURNAL]
    state = f"{values['active']} ({values['sub']})" if values["sub"] else values["active"]
    lines = [line("node_service", values), *map(below, [*detail, *journal])]
    return found(lines, f"{component} on {node} is {state}", [node, component])
