"""Why a pod isn't scheduled. The reasons are data, `rules/scheduling.toml`; which of them decides is here."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from graph.models.offline.cluster.facts import Case, Finding, Seen, pairs

_COUNTED = re.compile(r"(?P<count>\d+) (?P<told>(?:node\(s\)|Insufficient|Too many)[^,.{]*(?:\{[^}]*\})?)")
_NODES = re.compile(r"0/(?P<total>\d+) nodes are available: (?P<reasons>.*?)(?:\. preemption:|$)")
_LATER = ("cpu_capacity_mismatch", "memory_capacity_mismatch", "pod_anti_affinity_conflict")
_CONTROL_PLANE = re.compile(r"control-plane|master")


@dataclass(frozen=True)
class Refusal:
    """One reason of a scheduler with the number of nodes that it holds for."""

    cause: str
    count: int


@cache
def _reasons() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str] | None], ...]:
    text = files("graph.models.offline.cluster.rules").joinpath("scheduling.toml").read_text("utf-8")
    return tuple(
        (
            rule["cause"],
            re.compile(rule["text"], re.IGNORECASE),
            re.compile(rule["unless"]) if "unless" in rule else None,
        )
        for rule in tomllib.loads(text)["reason"]
    )


def refusals(event: Seen) -> list[Refusal]:
    """Return the reasons that a FailedScheduling event gives, the one of most nodes first."""
    told = _NODES.search(event.line.whole_text)
    reasons = told["reasons"] if told else event.line.whole_text
    total = int(told["total"]) if told else 1
    parts = [(int(found["count"]), found["told"]) for found in _COUNTED.finditer(reasons)] or [(total, reasons)]
    found = [
        (rank, Refusal(cause, count))
        for count, part in parts
        for rank, (cause, text, unless) in enumerate(_reasons())
        if text.search(part) and not (unless and unless.search(part))
    ]
    return [refusal for _, refusal in sorted(found, key=lambda one: (-one[1].count, one[0]))]


def failed_scheduling(case: Case) -> list[Seen]:
    """Return the newest FailedScheduling event of each application."""
    return list({seen.get("app"): seen for seen in case.of("event", reason="FailedScheduling")}.values())


def read_scheduling(case: Case) -> Iterator[Finding]:
    """Yield why pods aren't scheduled, where a rule of one pod decides it."""
    for event in failed_scheduling(case):
        told = refusals(event)
        causes = {refusal.cause for refusal in told}
        if not told or "node_down" in causes:
            continue
        # A control plane that takes no pods is as it should be: its reason decides only where it stands alone.
        leading = next((one for one in told if one.cause != "node_cordon_mismatch"), told[0])
        if leading.cause == "node_constraint":
            yield from _constraint(case, event, causes)
        elif not leading.cause.startswith("claim_"):
            yield Finding(leading.cause, event.get("app"), (event,))


def _constraint(case: Case, event: Seen, causes: set[str]) -> Iterator[Finding]:
    """No node has what the pod asks for; where one has it and takes no pods, that is why.

    Room and neighbours are looked at after the constraints: a node that lacks them has what is asked for.
    """
    app = event.get("app")
    later = [cause for cause in _LATER if cause in causes]
    if later:
        yield Finding(later[0], app, (event,))
        return
    pod = next((seen for seen in case.of("object", kind="pods", app=app)), None)
    wanted = pairs(pod.get("node_selectors")) if pod else {}
    if pod is not None and not wanted:
        yield Finding("node_affinity_mismatch", app, (event, pod))
        return
    nodes = _nodes(case)
    for node, labels, seen in nodes:
        if wanted and wanted.items() <= labels.items():
            yield from _why_not(event, app, node, seen, causes)
            return
    sources = (event, *([pod] if pod else []), *(seen for _, _, seen in nodes[:1]))
    yield Finding("node_selector_mismatch", app, sources, sure=bool(nodes))


def _why_not(event: Seen, app: str, node: str, seen: Seen, causes: set[str]) -> Iterator[Finding]:
    """The one node that fits is there: cordoned, tainted or full."""
    taints = seen.get("taints")
    others = [cause for cause in causes if cause not in ("node_constraint", "node_cordon_mismatch")]
    if others:
        yield Finding(others[0], app, (event, seen))
    elif "unschedulable" in taints or "SchedulingDisabled" in seen.get("status"):
        yield Finding("node_cordon_mismatch", app, (event, seen))
    else:
        yield Finding("node_affinity_mismatch", app, (event, seen))


def _nodes(case: Case) -> list[tuple[str, dict[str, str], Seen]]:
    configured = [(seen.get("node"), dict(pairs(seen.get("labels"))), seen) for seen in case.of("node")]
    listed = [
        (seen.get("name"), dict(pairs(seen.get("labels"))), seen)
        for seen in case.objects("nodes")
        if seen.get("labels")
    ]
    return configured or listed


def silent_pods(case: Case) -> list[Seen]:
    """Return the descriptions of pods that nobody has scheduled and of which no event tells."""
    return [
        pod
        for pod in case.of("object", kind="pods", status="Pending")
        if pod.get("node") in ("", "<none>") and any(True for _ in case.of("events", app=pod.get("app"), count="0"))
    ]


def control_plane(case: Case) -> str:
    """Return the node that the scheduler runs on, blank where it isn't known."""
    for seen in case.objects("nodes"):
        if _CONTROL_PLANE.search(seen.get("roles")):
            return seen.get("name")
    return next((node for node, labels, _ in _nodes(case) if any(map(_CONTROL_PLANE.search, labels.values()))), "")
