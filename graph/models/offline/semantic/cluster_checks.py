"""The comparisons that a cluster's cause rests on, made again from the lines of evidence by the semantic guard."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_PAIR = re.compile(r"(\w+)=(\S+)")


@dataclass(frozen=True)
class Entry:
    """A line of evidence with what belongs to it."""

    sort: str
    fields: Mapping[str, str]
    told: str
    text: str

    def get(self, key: str) -> str:
        """Return a field, blank where it's absent or `-`."""
        value = self.fields.get(key, "")
        return "" if value == "-" else value

    def names(self, component: str) -> bool:
        """Return whether the entry speaks of a component by its whole name, or of an object that was made for it."""
        return bool(re.search(rf"(?<![\w.-]){re.escape(component)}(?![\w.]|-(?!\w+-\w{{5}}\b))", self.told))


def read_entries(evidence: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """Return the entries of direct evidence."""
    blocks: list[list[str]] = []
    for record in evidence:
        if record.get("relevance_level") == "REFERENCE":
            continue
        for line in record.get("content") or ():
            if isinstance(line, str) and line[:2] != "  ":
                blocks.append([line])
            elif isinstance(line, str) and blocks:
                blocks[-1].append(line)
    return [_entry(block) for block in blocks]


def _entry(block: list[str]) -> Entry:
    head, _, text = block[0].partition(" | ")
    return Entry(head.split(" ", 1)[0], dict(_PAIR.findall(head)), " ".join(block), text)


def _own(entries: Iterable[Entry], sort: str, component: str) -> list[Entry]:
    return [entry for entry in entries if entry.sort == sort and entry.get("app") == component]


def _labels(text: str) -> set[str]:
    return {part for part in text.split(",") if "=" in part}


def _ports(entries: list[Entry], component: str) -> set[str]:
    told = [entry.get("ports") for entry in _own(entries, "container", component)]
    return {piece for one in told for piece in re.findall(r"[\w-]+", one)}


_GARBLED = re.compile(
    r"malformed|broken|HTTPS client|tls: |preface|too large|content-type|unimplemented|HTTP/0|handshake|http2: "
    r"|no such file",
    re.IGNORECASE,
)


def _probe(kind: str, what: str) -> Callable[[str, list[Entry]], bool]:
    def check(component: str, entries: list[Entry]) -> bool:
        ports = _ports(entries, component)
        probes = [entry for entry in _own(entries, "probe", component) if entry.get("kind") == kind]
        wrong = [probe for probe in probes if probe.get("port") and ports and probe.get("port") not in ports]
        if what == "port":
            return bool(wrong)
        failed = [one for one in entries if one.names(component) and f"{kind} probe failed" in one.told.casefold()]
        garbled = any(_GARBLED.search(one.text) for one in failed)
        other = [one for one in _own(entries, "probe", component) if one.get("kind") != kind]
        ways = {(one.get("handler"), one.get("port")) for one in other}
        unlike = any((one.get("handler"), one.get("port")) not in ways for one in probes)
        return bool(probes) and not wrong and (garbled or (bool(ways) and unlike))

    return check


def _hasty(component: str, entries: list[Entry]) -> bool:
    probes = [entry for entry in _own(entries, "probe", component) if entry.get("kind") == "liveness"]
    times = [[re.sub(r"\D", "", probe.get(key)) for key in ("delay", "period", "failures")] for probe in probes]
    return any(all(one) and int(one[0]) + int(one[1]) * int(one[2]) < 20 for one in times)


def _without_selector(component: str, entries: list[Entry]) -> bool:
    pods = [entry for entry in _own(entries, "object", component) if entry.get("kind") == "pods"]
    bare = any(pod.get("node_selectors") in ("", "<none>") for pod in pods)
    return bare or any(entry.get("kind") == "nodeAffinity" for entry in _own(entries, "affinity", component))


def _selector_unmet(component: str, entries: list[Entry]) -> bool:
    wanted = [_labels(entry.get("node_selectors")) for entry in _own(entries, "object", component)]
    nodes = [entry for entry in entries if entry.sort == "node" or entry.get("kind") == "nodes"]
    have = [_labels(node.get("labels")) for node in nodes if node.get("labels")]
    return any(one and have and not any(one <= other for other in have) for one in wanted)


def _all_cordoned(component: str, entries: list[Entry]) -> bool:
    for entry in entries:
        told = re.search(r"0/(\d+) nodes are available: (\d+) node\(s\) were unschedulable", entry.told)
        if told and entry.names(component) and told[1] == told[2]:
            return True
    fitting = [one for one in entries if one.sort == "node" and "unschedulable" in one.get("taints")]
    wanted = [_labels(entry.get("node_selectors")) for entry in _own(entries, "object", component)]
    return any(one and one <= _labels(node.get("labels")) for one in wanted for node in fitting)


def _claims(component: str, entries: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    volumes = [entry for entry in entries if entry.sort == "resource" and entry.get("kind") == "persistentvolumes"]
    return _own(entries, "claim", component), [one for one in volumes if one.get("status") == "Available"]


def _claim(fits: Callable[[Entry, Entry], bool]) -> Callable[[str, list[Entry]], bool]:
    def check(component: str, entries: list[Entry]) -> bool:
        claims, volumes = _claims(component, entries)
        return bool(volumes) and any(not any(fits(claim, volume) for volume in volumes) for claim in claims)

    return check


def _has_modes(claim: Entry, volume: Entry) -> bool:
    short = {"".join(re.findall("[A-Z]", mode)).replace("ROM", "ROX").replace("RWM", "RWX") for mode in _several(claim)}
    return short <= set(volume.get("access_modes").split(","))


def _several(claim: Entry) -> list[str]:
    return [one for one in claim.get("access_modes").split(",") if one]


def _has_size(claim: Entry, volume: Entry) -> bool:
    asked, has = _bytes(claim.get("storage")), _bytes(volume.get("capacity"))
    return asked is not None and has is not None and asked <= has


def _bytes(text: str) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]i?)?", text)
    if found is None:
        return None
    unit = found[2] or ""
    step = 1024.0 if unit.endswith("i") else 1000.0
    return float(found[1]) * float(step ** ("KMGTP".index(unit[0]) + 1 if unit else 0))


def _has_labels(claim: Entry, volume: Entry) -> bool:
    return _labels(claim.get("match_labels")) <= _labels(volume.get("labels"))


def _has_class(claim: Entry, volume: Entry) -> bool:
    return claim.get("storage_class") == volume.get("storageclass")


def _service_labels(component: str, entries: list[Entry]) -> bool:
    have = [_labels(entry.get("labels")) for entry in _own(entries, "workload", component)]
    wanted = [_labels(entry.get("selector")) for entry in _own(entries, "service", component)]
    return any(one and have and not any(one <= other for other in have) for one in wanted)


def _target_port(component: str, entries: list[Entry]) -> bool:
    ports = _ports(entries, component)
    targets = [entry.get("target_port") for entry in _own(entries, "service_port", component)]
    return bool(ports) and any(target and target not in ports for target in targets)


_MYSQL = re.compile("mysql|mariadb", re.IGNORECASE)


def _services(entries: list[Entry]) -> dict[str, set[str]]:
    """Return the listed services with their ports."""
    rows = [entry for entry in entries if entry.sort == "resource" and entry.get("kind") == "services"]
    return {row.get("name"): set(re.findall(r"\d+", row.get("ports"))) for row in rows}


def _addresses(component: str, entries: list[Entry]) -> list[tuple[str, str]]:
    """Return the (host, port) pairs of an application's environment; the port may be blank."""
    told = [
        re.fullmatch(r"(?:\w+://)?([a-z][\w.-]*?)(?::(\d+))?(?:/.*)?", e.text.strip())
        for e in _own(entries, "env", component)
    ]
    return [(one[1].split(".", 1)[0], one[2] or "") for one in told if one]


def _unknown_address(component: str, entries: list[Entry]) -> bool:
    services = _services(entries)
    for host, port in _addresses(component, entries):
        if host in services and port and port not in services[host] and not _MYSQL.search(host):
            return True
        near = (name for name in services if name[:6] == host[:6] or host.startswith(f"{name}-"))
        if services and host not in services and any(near):
            return True
    return False


def _database_port(component: str, entries: list[Entry]) -> bool:
    databases = {name: ports for name, ports in _services(entries).items() if _MYSQL.search(name)}
    if any(port and host in databases and port not in databases[host] for host, port in _addresses(component, entries)):
        return True
    told = [one.text.strip("\"' ") for one in _own(entries, "env", component) if "PORT" in one.get("name").upper()]
    known = {port for ports in databases.values() for port in ports}
    return bool(known) and any(value.isdigit() and value not in known for value in told)


def _shared_port(component: str, entries: list[Entry]) -> bool:
    if any(entry.names(component) and re.search("in use|bind", entry.told) for entry in entries):
        return True
    held: dict[str, str] = {}
    for entry in _own(entries, "container", component):
        for port in set(re.findall(r"\d+", entry.get("ports"))):
            if held.setdefault(port, entry.get("container")) != entry.get("container"):
                return True
    return False


def _another_target(component: str, entries: list[Entry]) -> bool:
    """A path in a gateway's configuration speaks of one service, and the target above it is another."""
    names = [one.get("name") for one in entries if one.sort == "resource" and one.get("kind") == "services"]
    services = {name: re.sub(r"\W", "", name) for name in names}
    for entry in _own(entries, "config", component):
        target = ""
        for row in entry.told.split("  "):
            if re.match(r"\W*(uri|url|proxy_pass|service|host|backend)\b", row):
                target = next((name for name in services if re.search(rf"[/ :]{re.escape(name)}\b", row)), target)
            words = {re.sub(r"\W", "", part) for part in re.findall(r"/([\w-]{6,})", row)}
            meant = {name for name, bare in services.items() if any(bare.endswith(word) for word in words)}
            if target and meant and target not in meant:
                return True
    return False


def _amount(text: str) -> float:
    found = re.search(r"\d+(?:\.\d+)?", text)
    return float(found[0]) if found else 0.0


def _worst_node(component: str, entries: list[Entry]) -> bool:
    told = [one for one in entries if one.sort == "alert" and one.get("kind") == "Node" and "etrans" in one.told]
    worst = max(told, key=lambda one: _amount(one.get("current")), default=None)
    return worst is not None and worst.get("component") == component


def _slow(entries: list[Entry]) -> set[str]:
    return {entry.get("component") for entry in entries if entry.sort == "alert" and "LATENCY" in entry.told}


def _slow_neighbours(component: str, entries: list[Entry]) -> bool:
    slow = _slow(entries)
    pods = [one for one in entries if one.get("kind") == "pods" and one.get("app") in slow and one.get("node")]
    there = {pod.get("app") for pod in pods if pod.get("node") == component}
    return len(there) > 1 and len(there) * 2 > len({pod.get("app") for pod in pods})


def _slow_end(component: str, entries: list[Entry]) -> bool:
    """The slow one that calls no slow one, borne out by who waits for it or by its losses: slow alone is no proof."""
    slow = _slow(entries)
    calls = {(one.get("caller"), one.get("callee")) for one in entries if one.sort == "calls"}
    alerts = [one for one in entries if one.sort == "alert"]
    saturated = any("RESOURCE_SATURATION" in one.told for one in alerts)
    callers = {a for a, b in calls if b == component}
    waiting = {one.get("component") for one in alerts if re.search("LATENCY|ERROR", one.told)}
    losing = any(
        one.get("component") == component and re.search("THROUGHPUT|TRAFFIC|ERROR", one.told) for one in alerts
    )
    borne_out = callers <= waiting if callers else losing
    return component in slow and not saturated and borne_out and not any(a == component and b in slow for a, b in calls)


CHECKS: Mapping[str, Callable[[str, list[Entry]], bool]] = {
    "without_selector": _without_selector,
    "selector_unmet": _selector_unmet,
    "all_cordoned": _all_cordoned,
    "claim_labels": _claim(_has_labels),
    "claim_class": _claim(_has_class),
    "claim_modes": _claim(_has_modes),
    "claim_size": _claim(_has_size),
    "liveness_port": _probe("liveness", "port"),
    "liveness_protocol": _probe("liveness", "protocol"),
    "liveness_hasty": _hasty,
    "readiness_port": _probe("readiness", "port"),
    "readiness_protocol": _probe("readiness", "protocol"),
    "service_labels": _service_labels,
    "target_port": _target_port,
    "unknown_address": _unknown_address,
    "database_port": _database_port,
    "shared_port": _shared_port,
    "another_target": _another_target,
    "worst_node": _worst_node,
    "slow_neighbours": _slow_neighbours,
    "slow_end": _slow_end,
}
