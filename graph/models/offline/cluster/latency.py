"""What alerts tell of slowness: saturation, a slow network of a node or of a pod."""

import re
from collections import Counter
from collections.abc import Iterator

from graph.models.offline.cluster.facts import Case, Finding, Seen

_AMOUNT = re.compile(r"-?\d+(?:\.\d+)?")
_MOST = 0.75
_WAITING = ("LATENCY", "ERROR")
"""Signs of who waits for another: slow answers, or errors, for want of one."""
_LOSSES = ("THROUGHPUT", "TRAFFIC", "ERROR")
"""Signs of who gets less done than usual."""


def amount(text: str) -> float:
    """Return the first number of a field, 0 where it has none."""
    found = _AMOUNT.search(text)
    return float(found[0]) if found else 0.0


def slow_components(case: Case) -> dict[str, Seen]:
    """Return the services that answer slowly, each with its slowest measure, the slowest first."""
    slow: dict[str, Seen] = {}
    for alert in case.of("alert", signal="LATENCY_DEGRADATION"):
        held = slow.get(alert.get("component"))
        if held is None or amount(alert.get("current")) > amount(held.get("current")):
            slow[alert.get("component")] = alert
    return dict(sorted(slow.items(), key=lambda one: -amount(one[1].get("current"))))


def read_latency(case: Case) -> Iterator[Finding]:
    """Yield what slows services down, the plainest sign first."""
    yield from _saturated(case)
    retransmits = _retransmitting(case)
    if retransmits:
        worst = max(retransmits, key=lambda one: amount(one.get("current")))
        yield Finding("node_network_packet_loss", worst.get("component"), (worst,))
    yield from _slow_network(case)


def _retransmitting(case: Case) -> list[Seen]:
    nodes = case.of("alert", kind="Node")
    return [one for one in nodes if re.search("retrans|loss", one.line.raw, re.IGNORECASE)]


def _saturated(case: Case) -> Iterator[Finding]:
    """A processor at its limit; among several the one that is throttled, then the deepest in the chain of calls."""
    held = [
        one
        for one in case.of("alert", signal="RESOURCE_SATURATION")
        if re.search("cpu", one.get("what"), re.IGNORECASE)
    ]
    throttled = [one for one in held if re.search("throttl", one.line.text, re.IGNORECASE)] or held
    names = list(dict.fromkeys(one.get("component") for one in throttled if one.get("kind") != "Node"))
    deepest = [name for name in names if not any(callee in names for callee in callees(case, name))] or names
    chosen = max(
        deepest,
        key=lambda name: max(amount(_told(one)) for one in throttled if one.get("component") == name),
        default=None,
    )
    if chosen is not None:
        pod = case.pod_of(chosen)
        own = (one for one in held if one.get("component") == chosen)
        yield Finding("pod_cpu_overload", chosen, (*own, *([pod] if pod else [])))


def _told(alert: Seen) -> str:
    return alert.get("current") or alert.line.text


def callees(case: Case, service: str) -> set[str]:
    """Return whom a service calls, directly."""
    return {edge.get("callee") for edge in case.of("calls", caller=service)}


def _slow_network(case: Case) -> Iterator[Finding]:
    """Slow services without a saturated processor: one at the end of every chain, which others bear witness to, is
    itself slow to reach; several that share a node have a slow node."""
    if any(True for _ in case.of("alert", signal="RESOURCE_SATURATION")) or _retransmitting(case):
        return
    slow = slow_components(case)
    known = any(True for _ in case.of("calls"))
    ends = slow_ends(case)
    if known and len(ends) == 1:
        witnesses = _witnesses(case, ends[0])
        yield Finding("pod_network_delay", ends[0], (*_proof(case, slow, ends), *witnesses[:2]), sure=bool(witnesses))
    callers = {edge.get("caller") for edge in case.of("calls")}
    called = {edge.get("callee") for edge in case.of("calls")}
    inner = [name for name in slow if name not in callers - called]
    nodes = Counter(case.node_of(name) for name in inner if case.node_of(name))
    if len(inner) > 1 and nodes:
        node, count = nodes.most_common(1)[0]
        placed = [name for name in inner if case.node_of(name) == node]
        sure = known and len(ends) > 1 and count >= _MOST * sum(nodes.values())
        yield Finding("node_network_delay", node, _proof(case, slow, placed), sure=sure)
    for name in ends[:1]:
        yield Finding("pod_network_delay", name, _proof(case, slow, [name]), sure=False)


def slow_ends(case: Case) -> list[str]:
    """Return the slow services that call no slow one: where the slowness comes from, as far as calls are known."""
    slow = slow_components(case)
    return [name for name in slow if not callees(case, name) & set(slow)]


def _witnesses(case: Case, end: str) -> list[Seen]:
    """Return the alerts that bear a slow service out: of all who call it, for whoever calls a slow service waits with
    it; where nobody does, its own that it gets less done. None where a caller is well, or nobody said who calls.

    That no other cause is seen proves nothing: it may not have been looked at.
    """
    if not any(True for _ in case.of("dependencies", service=end)):
        return []
    callers = {edge.get("caller") for edge in case.of("calls", callee=end)}
    if not callers:
        return _told_by(case, end, _LOSSES)
    told = [_told_by(case, caller, _WAITING) for caller in sorted(callers)]
    return [alerts[0] for alerts in told] if all(told) else []


def _told_by(case: Case, name: str, signals: tuple[str, ...]) -> list[Seen]:
    return [one for one in case.of("alert", component=name) if one.get("signal").startswith(signals)]


def _proof(case: Case, slow: dict[str, Seen], names: list[str]) -> tuple[Seen, ...]:
    pods = [pod for name in names if (pod := case.pod_of(name)) is not None]
    calls = [one for one in case.of("dependencies") if one.get("service") in names]
    return (*(slow[name] for name in names[:3]), *pods[:3], *calls[:1])
