"""The semantic review of a cluster's draft: whether its one cause follows from the evidence. Every doubt is a no.

Nothing here is shared with the diagnosticians: the comparisons that a cause rests on are made again, from the lines.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_TOOLS = frozenset(
    (
        "GetResources",
        "DescribeResource",
        "GetAppYAML",
        "GetServiceDependencies",
        "CheckServiceConnectivity",
        "GetAlerts",
        "GetRecentLogs",
        "GetErrorLogs",
        "GetClusterConfiguration",
        "CheckNodeServiceStatus",
    )
)
_PAIR = re.compile(r"(\w+)=(\S+)")
_TOO_MUCH = re.compile(
    r"毫无疑问|百分之百|所有(用户|客户)|数据丢失|永久|攻击|入侵|恶意|without (a |any )?doubt|all (users|customers)"
    r"|data loss|breach|malicious|sabotage|attack",
    re.IGNORECASE,
)
_DENIED = re.compile(r"并非|不是.{0,8}原因|无关|not the (root )?cause|unrelated|ruled out|isn.t the", re.IGNORECASE)


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


def is_about_cluster(evidence: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the evidence is a cluster's, by the tools that gave it."""
    return any(record.get("tool_name") in _TOOLS for record in evidence)


def cluster_objection(draft: Mapping[str, Any], evidence: Sequence[Mapping[str, Any]]) -> str | None:
    """Return why a concluded draft about a cluster isn't supported, in one short phrase, or None where it is."""
    conclusion = draft.get("conclusion")
    if not isinstance(conclusion, Mapping):
        return "no conclusion"
    cause, component = str(conclusion.get("cause") or "").strip(), str(conclusion.get("component") or "")
    rule = _rules().get(re.sub(r"[\s-]+", "_", cause.casefold()))
    if rule is None:
        return "the cause is none that can be judged"
    entries = read_entries(evidence)
    return (
        _wording(conclusion, rule, component, draft)
        or _seat(rule, component, entries)
        or _proof(rule, component, entries)
        or _again(rule, component, entries)
        or _affected(conclusion, entries)
    )


@cache
def _rules() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(files("graph.models.offline.semantic").joinpath("cluster.toml").read_text("utf-8"))


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


def _wording(
    conclusion: Mapping[str, Any], rule: Mapping[str, Any], component: str, draft: Mapping[str, Any]
) -> str | None:
    text = str(conclusion.get("text") or "")
    if not component or component not in text:
        return "the sentence doesn't name the component"
    if not re.search(rule["claim"], text, re.IGNORECASE):
        return "the sentence tells another cause than the conclusion names"
    if rule.get("other") and re.search(rule["other"], text, re.IGNORECASE):
        return "the sentence tells two causes"
    texts = [text, *(str(one.get("text") or "") for one in draft.get("analyses") or () if isinstance(one, Mapping))]
    if any(_TOO_MUCH.search(one) for one in texts) or _DENIED.search(text):
        return "claims more, or something else, than the evidence says"
    return None


_DATABASE = re.compile(r"mysql|mariadb|postgres|mongo|redis|(^|-)db(-|$)|database", re.IGNORECASE)


def _seat(rule: Mapping[str, Any], component: str, entries: list[Entry]) -> str | None:
    """A cause of nodes lies at a node, one of applications at an application."""
    nodes = {one.get("node") for one in entries}
    nodes |= {one.get("name") for one in entries if one.get("kind") == "nodes"}
    nodes |= {one.get("component") for one in entries if one.get("kind") == "Node"}
    namespaces = {one.get("namespace") for one in entries}
    apps = {one.get(key) for one in entries for key in ("app", "service", "caller", "callee")}
    apps |= {one.get("component") for one in entries if one.sort == "alert"} - nodes
    apps |= {one.get("name") for one in entries if one.get("kind") in ("deployments", "statefulsets", "services")}
    seats = {
        "node": component in nodes,
        "namespace": component in namespaces,
        "database": component in apps and bool(_DATABASE.search(component)),
        "app": component in apps - nodes,
    }
    return None if seats[str(rule.get("seat", "app"))] else "such a cause doesn't lie at such a component"


def _proof(rule: Mapping[str, Any], component: str, entries: list[Entry]) -> str | None:
    for patterns in rule["proof"]:
        if all(any(_shows(entry, pattern, component) for entry in entries) for pattern in patterns):
            return None
    return "what the cause rests on is not in the evidence"


def _shows(entry: Entry, pattern: str, component: str) -> bool:
    bare = pattern.removeprefix("@")
    if bare != pattern and not entry.names(component):
        return False
    return bool(re.search(bare, entry.told, re.IGNORECASE))


def _again(rule: Mapping[str, Any], component: str, entries: list[Entry]) -> str | None:
    check = rule.get("check")
    if check is None or _CHECKS[check](component, entries):
        return None
    return "the comparison that the cause rests on comes out otherwise"


def _affected(conclusion: Mapping[str, Any], entries: list[Entry]) -> str | None:
    for name in map(str, conclusion.get("affected") or ()):
        if not any(entry.names(name) for entry in entries):
            return "nothing was seen at a component that is said to be affected"
    return None


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


def _unknown_address(component: str, entries: list[Entry]) -> bool:
    services = {
        entry.get("name"): entry.get("ports")
        for entry in entries
        if entry.sort == "resource" and entry.get("kind") == "services"
    }
    for entry in _own(entries, "env", component):
        address = re.fullmatch(r"(?:\w+://)?([a-z][\w.-]*?)(?::(\d+))?(?:/.*)?", entry.text.strip())
        if address is None or not services:
            continue
        host = address[1].split(".", 1)[0]
        ports = services.get(host)
        if ports is not None and address[2] and address[2] not in re.findall(r"\d+", ports):
            return True
        if ports is None and any(name[:6] == host[:6] or host.startswith(f"{name}-") for name in services):
            return True
    return False


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
            if re.search(r"\b(uri|url|proxy_pass|service|host|backend)\b", row):
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
    slow = _slow(entries)
    calls = {(one.get("caller"), one.get("callee")) for one in entries if one.sort == "calls"}
    saturated = any(one.sort == "alert" and "RESOURCE_SATURATION" in one.told for one in entries)
    return component in slow and not saturated and not any(a == component and b in slow for a, b in calls)


_CHECKS: Mapping[str, Callable[[str, list[Entry]], bool]] = {
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
    "shared_port": _shared_port,
    "another_target": _another_target,
    "worst_node": _worst_node,
    "slow_neighbours": _slow_neighbours,
    "slow_end": _slow_end,
}
