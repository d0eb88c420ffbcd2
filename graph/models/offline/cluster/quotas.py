"""What a namespace's quota no longer allows."""

from collections.abc import Iterator
from decimal import Decimal

from graph.models.offline.cluster.facts import Case, Finding, Seen
from graph.models.offline.cluster.routing import unserved_apps
from graph.models.offline.cluster.signs import whole
from graph.models.offline.cluster.volumes import quantity, waiting_for

_CAUSES = (
    ("namespace_storage_quota_exceeded", ("requests.storage", "persistentvolumeclaims", "requests.ephemeral-storage")),
    (
        "namespace_service_quota_exceeded",
        ("services", "count/services", "services.nodeports", "services.loadbalancers"),
    ),
    ("namespace_pod_quota_exceeded", ("pods", "count/pods")),
    ("namespace_cpu_quota_exceeded", ("requests.cpu", "limits.cpu", "cpu")),
    ("namespace_memory_quota_exceeded", ("requests.memory", "limits.memory", "memory")),
)


def podless(case: Case) -> list[Seen]:
    """Return the workloads that want pods and have none, or none of their newest declaration."""
    apps = {pod.get("app") for pod in case.objects("pods")}
    return [
        workload
        for kind in ("deployments", "statefulsets")
        for workload in case.objects(kind)
        if not whole(workload) and (workload.get("name") not in apps or workload.get("up_to_date") == "0")
    ]


def read_quotas(case: Case) -> Iterator[Finding]:
    """Yield the quotas that keep something out which is missing; one that is merely full is a hint."""
    for seen, resource, used, hard in _entries(case):
        cause = next((cause for cause, resources in _CAUSES if resource in resources), None)
        if cause is None:
            continue
        proof = _kept_out(case, cause, used, hard)
        if proof:
            yield Finding(cause, case.namespace, (seen, *proof))
        elif used >= hard:
            yield Finding(cause, case.namespace, (seen,), sure=False)


def _kept_out(case: Case, cause: str, used: Decimal, hard: Decimal) -> tuple[Seen, ...]:
    """Return the lines that show what the quota keeps out."""
    if cause == "namespace_storage_quota_exceeded":
        for event in waiting_for(case, "claim_missing"):
            claims = [
                claim
                for claim in case.of("claim", app=event.get("app"))
                if used + (quantity(claim.get("storage")) or 0) > hard
            ]
            if claims or used >= hard:
                return (event, *claims[:1])
        return ()
    if used < hard:
        return ()
    if cause == "namespace_service_quota_exceeded":
        return tuple(seen for _, seen in unserved_apps(case))[:1]
    missing = podless(case)
    return (missing[0],) if missing and cause == "namespace_pod_quota_exceeded" else ()


def _entries(case: Case) -> Iterator[tuple[Seen, str, Decimal, Decimal]]:
    for seen in case.of("quota"):
        yield from _entry(seen, seen.get("resource"), seen.get("used"), seen.get("hard"))
    for seen in case.objects("resourcequotas"):
        for key in ("request", "limit"):
            for part in seen.get(key).split(",_"):
                resource, _, amounts = part.partition(":_")
                used, _, hard = amounts.partition("/")
                yield from _entry(seen, resource, used, hard)


def _entry(seen: Seen, resource: str, used: str, hard: str) -> Iterator[tuple[Seen, str, Decimal, Decimal]]:
    spent, limit = quantity(used), quantity(hard)
    if spent is not None and limit is not None:
        yield seen, resource, spent, limit


def read_accounts(case: Case) -> Iterator[Finding]:
    """Yield the workloads whose pods are refused for a service account that isn't there.

    The same refusal is seen for a moment wherever accounts are made after workloads: it counts where pods are missing.
    """
    missing = {workload.get("name"): workload for workload in podless(case)}
    for event in case.of("event", reason="FailedCreate"):
        told = event.line.whole_text
        workload = missing.get(event.get("app"))
        if workload is not None and "serviceaccount" in told and "not found" in told:
            yield Finding("missing_service_account", event.get("app"), (event, workload))
