"""What all rules together say of a case."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from graph.models.offline.cluster.facts import Case, Finding, ill_pods
from graph.models.offline.cluster.latency import read_latency, slow_components
from graph.models.offline.cluster.probes import read_port_conflicts, read_probes
from graph.models.offline.cluster.quotas import podless, read_accounts, read_quotas
from graph.models.offline.cluster.routing import idle_services, read_routing, suspects
from graph.models.offline.cluster.scheduling import read_scheduling, silent_pods
from graph.models.offline.cluster.signs import read_log_signs, read_signs
from graph.models.offline.cluster.volumes import read_volumes

_READERS: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    read_signs,
    read_accounts,
    read_scheduling,
    read_volumes,
    read_quotas,
    read_port_conflicts,
    read_probes,
    read_latency,
    read_routing,
    read_log_signs,
)
"""In the order of trust: where two rules decide, the first stands."""
MAX_ALTERNATIVES = 2


@dataclass(frozen=True)
class Verdict:
    """The cause that evidence decides, None where it decides none, and what else it hints at."""

    found: Finding | None
    others: tuple[Finding, ...]


def judge(case: Case, vocabulary: Mapping[str, object]) -> Verdict:
    """Return the verdict; `vocabulary` bounds the causes that may be named, empty where nobody bounded them."""
    findings: dict[tuple[str, str], Finding] = {}
    for reader in _READERS:
        for finding in reader(case):
            if vocabulary and finding.cause not in vocabulary:
                continue
            key = (finding.cause, finding.component)
            if key not in findings or (finding.sure and not findings[key].sure):
                findings[key] = finding
    sure = [finding for finding in findings.values() if finding.sure]
    hints = [finding for finding in findings.values() if not finding.sure]
    found = sure[0] if sure else None
    others = [finding for finding in (*sure[1:], *hints) if finding is not found]
    return Verdict(found, tuple(others[:MAX_ALTERNATIVES]))


def picture(case: Case, vocabulary: Mapping[str, object]) -> tuple[object, ...]:
    """Return what a case looks like: an observation that leaves it as it was brought no gain.

    What is suspected, what is decided, what isn't well, and which kinds of objects turned out to be well.
    """
    verdict = judge(case, vocabulary)
    found = [(one.cause, one.component, one.sure) for one in (verdict.found, *verdict.others) if one]
    leads = (
        [pod.get("app") for pod in ill_pods(case)],
        [workload.get("name") for workload in podless(case)],
        [endpoint.get("name") for endpoint in idle_services(case)],
        [pod.get("app") for pod in silent_pods(case)],
        sorted(slow_components(case)),
        suspects(case),
        sorted({seen.get("kind") for seen in case.of("resource")}),
        sorted({seen.get("app") for seen in case.of("workload")}),
        sorted({(seen.get("node"), seen.get("component"), seen.get("active")) for seen in case.of("node_service")}),
        sorted({(seen.get("node"), seen.get("result")) for seen in case.of("connectivity")}),
        sorted({seen.get("service") for seen in case.of("dependencies")}),
        sorted({seen.get("reason") for seen in case.of("event", type="Warning")}),
        any(True for _ in case.of("node")),
    )
    return (tuple(found), *map(repr, leads))
