"""Which bounded question to ask of a cluster next."""

import re
from collections.abc import Iterator
from typing import Any

from graph.models.offline.cluster.facts import CRASHING, Case, Seen, ill_pods, pod_rank
from graph.models.offline.cluster.latency import callees, slow_components, slow_ends
from graph.models.offline.cluster.quotas import podless
from graph.models.offline.cluster.routing import idle_services, odd_protocols, suspects, unserved_apps
from graph.models.offline.cluster.scheduling import control_plane, failed_scheduling, refusals, silent_pods
from graph.models.offline.cluster.signs import database_users, whole
from graph.models.offline.cluster.verdict import Verdict
from graph.models.offline.cluster.volumes import waiting_for
from graph.models.offline.questions import Question, budget_is_left, closed_questions
from graph.models.offline.transcript import Transcript

MAX_CALLS = 9
"""Requests in one run, refused ones included: with the draft they fill the default budget of model calls; contract,
"Budgets"."""
MAX_MANIFESTS = 4
_SLOW = re.compile(r"latenc|slow|degrad|response time|time[ds]? ?out|延迟|变慢|缓慢|卡顿|性能|劣化|超时", re.IGNORECASE)
_ENTRY = re.compile(r"front|gateway|ingress|dashboard|(^|-)(ui|web|edge)(-|$)", re.IGNORECASE)


def next_question(transcript: Transcript, case: Case, verdict: Verdict) -> Question | None:
    """Return the next question, None where the cause is decided or nothing that could decide it is left to ask."""
    if transcript.stopped or verdict.found is not None or not _may_ask(transcript):
        return None
    closed = closed_questions(transcript)
    return next((one for one in _wanted(case) if one.key not in closed), None)


def _may_ask(transcript: Transcript) -> bool:
    if len(transcript.requests) >= MAX_CALLS:
        return False
    return budget_is_left(transcript)


def _wanted(case: Case) -> Iterator[Question]:
    """Yield the questions of an investigation in order: pods, what their state asks for, then who serves whom."""
    yield _list(case, "pods", wide=True)
    yield from _of_nodes(case)
    ill = ill_pods(case)
    for pod in ill[:1]:
        yield from _of_pod(case, pod)
    for pod in ill[1:3]:
        yield _describe(case, "pods", pod.get("name"))
    if _SLOW.search(case.query):
        yield from _of_slowness(case)
    yield _list(case, "deployments")
    yield from _of_workloads(case)
    yield _list(case, "endpoints")
    yield _list(case, "services", wide=True)
    yield from _of_services(case)
    yield from _of_errors(case)
    yield from _of_slowness(case)


def _list(case: Case, kind: str, *, wide: bool = False, labels: bool = False) -> Question:
    arguments: dict[str, Any] = {"resource_type": kind, "namespace": case.given_namespace}
    display = {"output_wide": True} if wide else {"show_labels": True} if labels else {}
    return Question("GetResources", {**arguments, **display})


def _describe(case: Case, kind: str, name: str) -> Question:
    return Question("DescribeResource", {"resource_type": kind, "name": name, "namespace": case.given_namespace})


def _manifest(app: str) -> Question:
    return Question("GetAppYAML", {"app_name": app})


def _node_service(node: str, component: str) -> Question:
    return Question("CheckNodeServiceStatus", {"node_name": node, "service_name": component})


def _of_nodes(case: Case) -> Iterator[Question]:
    """A sandbox that can't be made, a node that nobody hears of: ask its components."""
    for event in case.of("event", reason="FailedCreatePodSandBox"):
        if re.search(r"containerd|docker|cri-?o|container runtime", event.line.whole_text):
            yield _node_service(case.node_of(event.get("app")), "containerd")
    down = [event for event in failed_scheduling(case) if any(one.cause == "node_down" for one in refusals(event))]
    lost = list(case.of("event", reason="NodeNotReady"))
    if down or lost:
        yield _list(case, "nodes")
    unready = [node.get("name") for node in case.objects("nodes") if not node.get("status").startswith("Ready")]
    unready += [node.get("node") for node in case.of("node") if node.get("status") != "Ready"]
    for node in dict.fromkeys(unready):
        yield _node_service(node, "kubelet")
        yield _node_service(node, "containerd")
    split = {seen.get("result") for seen in case.of("connectivity")} == {"OPEN", "FAILED"}
    for seen in case.of("connectivity", result="FAILED"):
        if split and seen.get("node"):
            yield _node_service(seen.get("node"), "kube-proxy")


def _of_pod(case: Case, pod: Seen) -> Iterator[Question]:
    """Describe a pod that isn't well, and ask for what its description points at."""
    app, rank = pod.get("app"), pod_rank(pod)
    yield _describe(case, "pods", pod.get("name"))
    for silent in silent_pods(case):
        if silent.get("app") == app:
            yield _list(case, "nodes")
            if control_plane(case):
                yield _node_service(control_plane(case), "kube-scheduler")
    if any(event.get("app") == app for event in waiting_for(case, "claim_unbound")):
        yield _list(case, "persistentvolumeclaims")
        yield _list(case, "persistentvolumes", labels=True)
        yield _manifest(app)
    if any(event.get("app") == app for event in waiting_for(case, "claim_missing")):
        yield _list(case, "persistentvolumeclaims")
        yield _manifest(app)
        yield _list(case, "resourcequotas")
    if any(event.get("app") == app for event in failed_scheduling(case)):
        yield Question("GetClusterConfiguration", {})
        yield _manifest(app)
    described = any(True for _ in case.of("object", kind="pods", app=app))
    warned = any(True for _ in case.of("event", type="Warning", app=app))
    if rank == 2 and described and not warned:
        # Its node took it and then said nothing more: the node may be lost.
        yield _list(case, "nodes")
    if rank >= CRASHING:
        yield _logs(case, app)
        yield _manifest(app)
        yield Question("GetRecentLogs", {"service_name": app, "namespace": case.given_namespace})


def _logs(case: Case, service: str) -> Question:
    return Question("GetErrorLogs", {"service_name": service, "namespace": case.given_namespace})


def _of_workloads(case: Case) -> Iterator[Question]:
    """Workloads without pods: who refuses them. Workloads that lost theirs: on which node they were."""
    for workload in podless(case)[:2]:
        yield _describe(case, "replicasets", workload.get("name"))
        yield _list(case, "resourcequotas")
        yield _list(case, "events")
        yield _manifest(workload.get("name"))
    unwell = {pod.get("app") for pod in ill_pods(case)} | {workload.get("name") for workload in podless(case)}
    if any(not whole(one) and one.get("name") not in unwell for one in case.objects("deployments")):
        # Pods that look well and aren't counted: nobody reports them any more.
        yield _list(case, "nodes")


def _of_services(case: Case) -> Iterator[Question]:
    """Services without a backend, of an odd protocol, or missing altogether."""
    for endpoint in idle_services(case)[:2]:
        yield _manifest(endpoint.get("name"))
    for service in odd_protocols(case)[:2]:
        yield _manifest(service.get("name"))
    if unserved_apps(case):
        yield _list(case, "resourcequotas")


def entry_of(case: Case) -> Seen | None:
    """Return the service that users come in by: one behind what is open to the outside, else one that is named so."""
    services = case.objects("services")
    backends = {one.get("name"): one.get("endpoints") for one in case.objects("endpoints")}
    outer = [service for service in services if service.get("type") in ("NodePort", "LoadBalancer")]
    open_ = {backends.get(service.get("name"), "") for service in outer} - {"", "<none>"}
    inner = [one for one in services if one not in outer and backends.get(one.get("name")) in open_]
    named = [one for one in services if one not in outer and _ENTRY.search(one.get("name"))]
    return next(iter([*inner, *named, *outer]), None)


def _of_errors(case: Case) -> Iterator[Question]:
    """What the entry complains about, whether it can be reached from each node, and how its suspects are configured."""
    entry = entry_of(case)
    apps = {pod.get("app") for pod in case.objects("pods")}
    if entry is not None:
        yield _logs(case, entry.get("name"))
    named = [app for app in suspects(case) if app in apps]
    for app in [*database_users(case), *named][:1]:
        yield _manifest(app)
    port = re.match(r"\d+", entry.get("ports")) if entry is not None else None
    if entry is not None and port:
        arguments = {"service_name": entry.get("name"), "port": int(port[0]), "namespace": case.given_namespace}
        yield Question("CheckServiceConnectivity", arguments)
    writers = [entry.get("name")] if entry is not None and named and entry.get("name") in apps else []
    for app in [*database_users(case), *named[:1], *writers, *named[1:MAX_MANIFESTS]]:
        yield _manifest(app)
    yield from _of_alerts(case)
    if entry is not None and entry.get("name") in apps:
        yield _manifest(entry.get("name"))


def _of_alerts(case: Case) -> Iterator[Question]:
    """What those complain about that answer with errors."""
    yield Question("GetAlerts", {})
    failing = {alert.get("component") for alert in case.of("alert", signal="ERROR_SPIKE")}
    deepest = [name for name in sorted(failing) if not callees(case, name) & failing]
    for name in deepest[:2]:
        yield _logs(case, name)


def _of_slowness(case: Case) -> Iterator[Question]:
    yield Question("GetAlerts", {})
    for name in list(slow_components(case))[:1]:
        yield Question("GetServiceDependencies", {"service_name": name})
        ends = slow_ends(case)
        if len(ends) == 1:
            yield Question("GetServiceDependencies", {"service_name": ends[0]})
