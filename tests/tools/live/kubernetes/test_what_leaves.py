"""What leaves for the API server: reading alone, in the allowed namespaces alone, and no secret comes back."""

import json
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.live.servers.answering import Request
from tests.live.servers.kubernetes import ClusterStore
from tests.support.clusters import Cluster
from tests.tools.live.kubernetes.asking import Asked, asking
from tests.tools.live.kubernetes.states import metadata, store_of
from tools.base import SourceFailure
from tools.cluster.kinds import KINDS
from tools.vocabulary import EvidenceStatus, SourceError

QUESTIONS: dict[str, dict[str, Any]] = {
    "GetResources": {"resource_type": "pods"},
    "DescribeResource": {"resource_type": "deploy", "name": "web"},
    "GetAppYAML": {"app_name": "web"},
    "GetServiceDependencies": {"service_name": "web"},
    "CheckServiceConnectivity": {"service_name": "web", "port": 8080},
    "GetAlerts": {},
    "GetRecentLogs": {"service_name": "web"},
    "GetErrorLogs": {"service_name": "web"},
    "GetClusterConfiguration": {},
    "CheckNodeServiceStatus": {"node_name": "node-b", "service_name": "kubelet"},
}
CLUSTER_WIDE = ("nodes", "persistentvolumes", "storageclasses")


def allowed(request: Request, *namespaces: str) -> bool:
    """Whether a request reads what lies in an allowed namespace, or a kind that lies in none."""
    parts = request.path.strip("/").split("/")
    group = 2 if parts[0] == "api" else 3
    rest = parts[group:]
    if rest[:1] == ["namespaces"]:
        return rest[1] in namespaces
    return request.path == "/version" or (bool(rest) and rest[0] in CLUSTER_WIDE)


async def test_the_ten_tools_and_the_probe_send_nothing_but_gets() -> None:
    store = store_of(Cluster())
    async with asking(store) as asked:
        assert set(asked.tools) == set(QUESTIONS)
        for tool, question in QUESTIONS.items():
            await asked(tool, **question)
        for kind in KINDS - {"events"}:
            await asked(
                "GetResources", resource_type=kind, namespace=None, name=None
            ) if kind in store.objects else None
        await asked.source.probe()
    assert {request.method for request in store.requests} == {"GET"}
    assert all(allowed(request, "shop") for request in store.requests)
    assert not any(request.param("watch") or "/proxy" in request.path for request in store.requests)


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
async def test_the_client_itself_refuses_every_other_verb(verb: str) -> None:
    store = store_of(Cluster())
    async with asking(store) as asked:
        await asked("GetResources", resource_type="pods")
        before = len(store.requests)
        line = asked.source._api._lines.get()
        assert line is not None
        assert line.client is not None
        url = line.client.configuration.host + "/api/v1/namespaces/shop/pods"
        with pytest.raises(aiohttp.ClientError):
            await line.client.call_api(verb, url, {}, body={} if verb != "HEAD" else None)
    assert len(store.requests) == before


OUTSIDE: list[tuple[str, dict[str, Any]]] = [
    ("GetResources", {"resource_type": "pods", "namespace": "kube-system"}),
    ("GetResources", {"resource_type": "events", "namespace": "kube-system"}),
    ("GetResources", {"resource_type": "secrets", "namespace": "kube-system"}),
    ("GetResources", {"resource_type": "namespaces", "name": "kube-system"}),
    ("DescribeResource", {"resource_type": "pods", "name": "x", "namespace": "kube-system"}),
    ("DescribeResource", {"resource_type": "namespaces", "name": "kube-system"}),
    ("CheckServiceConnectivity", {"service_name": "dns.kube-system.svc.cluster.local", "port": 53}),
    ("GetRecentLogs", {"service_name": "dns", "namespace": "kube-system"}),
    ("GetErrorLogs", {"service_name": "dns", "namespace": "kube-system"}),
]


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize(("tool", "question"), OUTSIDE)
async def test_another_namespace_is_refused_before_it_leaves_whether_it_exists_or_not(
    tool: str, question: dict[str, Any], exists: bool
) -> None:
    store = store_of(Cluster())
    if exists:
        store.add("namespaces", {"metadata": metadata("kube-system", None)})
    async with asking(store) as asked:
        failure = await asked.refused(tool, **question)
    assert (failure.code, failure.near_names) == (SourceError.UNKNOWN_SELECTOR, ("shop",))
    assert store.requests == []


ANYTHING = st.text(min_size=1, max_size=60) | st.sampled_from(
    [
        "..",
        "../../kube-system/pods/x",
        "x/../../../secrets",
        "%2e%2e/x",
        "x?watch=true",
        "web/log",
        "x#",
        "%00",
        "web.",
        ".",
    ]
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=ANYTHING)
async def test_no_name_leads_a_request_elsewhere(name: str) -> None:
    store = store_of(Cluster())
    async with asking(store) as asked:
        for tool, question in (
            ("GetResources", {"resource_type": "pods", "name": name}),
            ("DescribeResource", {"resource_type": "cm", "name": name}),
            ("GetAppYAML", {"app_name": name}),
            ("GetRecentLogs", {"service_name": name}),
            ("CheckNodeServiceStatus", {"node_name": name, "service_name": "kubelet"}),
        ):
            with suppress(SourceFailure, ValueError):
                await asked(tool, **question)
    assert all(allowed(request, "shop") for request in store.requests), [one.raw_path for one in store.requests]
    assert not any(request.param("watch") for request in store.requests)


SECRET = "aHVudGVyMi1zZWNyZXQ="


def with_secrets() -> ClusterStore:
    cluster = Cluster()
    cluster.apps["web"].env |= {"DB_PASSWORD": "hunter2-secret"}
    store = store_of(cluster)
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"data": {"password": SECRET}})}
    secret = {"type": "Opaque", "data": {"password": SECRET, "user": "YWRtaW4="}}
    store.add("secrets", {"kind": "Secret", "metadata": metadata("db", annotations=applied), **secret})
    container = {"name": "main", "image": "x", "env": [{"name": "API_TOKEN", "value": "hunter2-secret"}]}
    job = {"spec": {"template": {"spec": {"containers": [container]}}}}
    store.add("cronjobs", {"kind": "CronJob", "metadata": metadata("nightly"), "spec": {"jobTemplate": job}})
    store.add("configmaps", {"metadata": metadata("conf"), "data": {"api_key": "hunter2-secret", "level": "debug"}})
    return store


async def test_a_secrets_name_and_type_are_told_and_what_is_in_it_never_comes_over_the_wire() -> None:
    store = with_secrets()
    async with asking(store) as asked:
        listed = await asked("GetResources", resource_type="secrets")
        row = await asked("GetResources", resource_type="secret", name="db")
        described = await asked("DescribeResource", resource_type="secret", name="db")
    assert listed.content[1] == row.content[1] == "resource kind=secrets name=db type=Opaque data=2"
    told = "\n".join(described.content)
    assert "type=Opaque" in told
    assert SECRET not in told
    asked_for = [request for request in store.requests if "/secrets" in request.path]
    assert asked_for
    assert all(request.path.endswith("/secrets") for request in asked_for)
    assert all("as=Table" in request.headers["accept"] for request in asked_for)
    assert {request.param("includeObject") for request in asked_for} == {"None"}


async def test_a_value_under_a_name_that_speaks_of_a_secret_is_masked() -> None:
    async with asking(with_secrets()) as asked:
        answers = [
            await asked("GetAppYAML", app_name="web"),
            await asked("DescribeResource", resource_type="pod", name="web"),
            await asked("DescribeResource", resource_type="deploy", name="web"),
            await asked("DescribeResource", resource_type="configmap", name="conf"),
            await asked("DescribeResource", resource_type="cronjob", name="nightly"),
        ]
    told = "\n".join(line for answer in answers for line in answer.content)
    assert "DB_PASSWORD" in told
    assert "API_TOKEN" in told
    assert "MASKED" in told
    assert "hunter2" not in told
    assert "level: debug" in told


async def test_of_a_volume_that_another_namespaces_claim_holds_only_that_is_told() -> None:
    store = store_of(Cluster())
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    held = {**spec, "claimRef": {"namespace": "payroll", "name": "salaries"}}
    store.add("persistentvolumes", {"metadata": metadata("pv-1", None), "spec": held, "status": {"phase": "Bound"}})
    async with asking(store) as asked:
        answers = [
            await asked("GetResources", resource_type="pv"),
            await asked("DescribeResource", resource_type="pv", name="pv-1"),
        ]
    for answer in answers:
        told = "\n".join(answer.content)
        assert "another_namespace" in told
        assert "payroll" not in told
        assert "salaries" not in told


async def test_namespaces_are_the_allowed_ones() -> None:
    store = store_of(Cluster())
    store.add("namespaces", {"metadata": metadata("kube-system", None)}, {"metadata": metadata("pay", None)})
    async with asking(store, namespaces=("shop", "pay")) as asked:
        answer = await asked("GetResources", resource_type="ns")
    assert answer.status is EvidenceStatus.EVIDENCE
    assert [one.split()[2] for one in answer.content[1:]] == ["name=shop", "name=pay"]


def is_asked(asked: Asked) -> bool:
    """Whether the source has opened a connection."""
    return asked.source._api._lines.get() is not None


async def test_opening_a_source_connects_to_nothing() -> None:
    store = store_of(Cluster())
    async with asking(store) as asked:
        assert not is_asked(asked)
    assert store.requests == []
