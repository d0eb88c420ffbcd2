"""The semantic review of a cluster's draft: whether its one cause follows from the evidence. Every doubt is a no.

Nothing here is shared with the diagnosticians: the comparisons that a cause rests on are made again, from the lines.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from graph.models.offline.semantic.cluster_checks import CHECKS, Entry, read_entries

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
_TOO_MUCH = re.compile(
    r"毫无疑问|百分之百|所有(用户|客户)|数据丢失|永久|攻击|入侵|恶意|without (a |any )?doubt|all (users|customers)"
    r"|data loss|breach|malicious|sabotage|attack",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"并非|不是.{0,8}原因|根因(并)?不|无关|root cause (is|was) not|not the (root )?cause|unrelated|ruled out|isn.t the",
    re.IGNORECASE,
)


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
    if check is None or CHECKS[check](component, entries):
        return None
    return "the comparison that the cause rests on comes out otherwise"


def _affected(conclusion: Mapping[str, Any], entries: list[Entry]) -> str | None:
    for name in map(str, conclusion.get("affected") or ()):
        if not any(entry.names(name) for entry in entries):
            return "nothing was seen at a component that is said to be affected"
    return None
