"""The cluster tools: equal questions in any spelling, the four kinds of answers, and lines that nobody else begins."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.clusters import Cluster, table
from tools.base import EvidenceTool, IncidentContext, SourceFailure
from tools.cluster import ClusterUnreadable, FrozenCluster, cluster_tools
from tools.cluster.kinds import KINDS, canonical_kind, workload_of
from tools.cluster.tables import read_table
from tools.hygiene import clean_evidence
from tools.vocabulary import Evidence, EvidenceStatus, Provenance, Scope, SourceError

INCIDENT = IncidentContext(as_of=datetime(2026, 1, 1, tzinfo=UTC))


class Asked:
    """The tools over a cluster, asked with what is given; other arguments are null."""

    def __init__(self, answers: Mapping[str, Any], logs: Mapping[str, Any] | None = None) -> None:
        state = FrozenCluster(answers, namespace="shop", logs=logs)
        self.tools: dict[str, EvidenceTool] = {tool.name: tool for tool in cluster_tools(state)}

    def arguments(self, name: str, given_: Mapping[str, Any]) -> Any:
        model = self.tools[name].arguments
        return model.model_validate({**dict.fromkeys(model.model_fields), **given_})

    def scope(self, name: str, /, **given_: Any) -> Scope:
        return self.tools[name].normalize(self.arguments(name, given_), INCIDENT)

    async def __call__(self, name: str, /, **given_: Any) -> Evidence:
        arguments = self.arguments(name, given_)
        return await self.tools[name].collect(self.scope(name, **given_), arguments, INCIDENT)

    async def refused(self, name: str, /, **given_: Any) -> SourceFailure:
        with pytest.raises(SourceFailure) as caught:
            await self(name, **given_)
        return caught.value


@pytest.fixture
def shop() -> Asked:
    return Asked(Cluster().cache())


def test_there_are_the_ten_tools_of_the_benchmark(shop: Asked) -> None:
    assert list(shop.tools) == [
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
    ]


@pytest.mark.parametrize("spoken", ["pods", "pod", "po", "Pods", " PO ", "pods.v1"])
def test_a_kind_is_the_same_under_all_its_names(shop: Asked, spoken: str) -> None:
    assert shop.scope("GetResources", resource_type=spoken) == {"resource_type": "pods", "namespace": "shop"}


def test_display_options_are_no_part_of_the_question(shop: Asked) -> None:
    plain = shop.scope("GetResources", resource_type="pods", namespace="shop")
    assert shop.scope("GetResources", resource_type="pods", output_wide=True) == plain
    assert shop.scope("GetResources", resource_type="pods", show_labels=True) == plain
    logs = shop.scope("GetRecentLogs", service_name="web")
    assert shop.scope("GetRecentLogs", service_name="web", lines=10) == logs


PLAIN = "NAME    READY   AGE\nweb-1   1/1     5m\n"
WIDE = "NAME    READY   AGE   IP          NODE\nweb-1   1/1     5m    10.0.0.11   node-b\n"
LABELLED = "NAME    READY   AGE   LABELS\nweb-1   1/1     5m    app=web,tier=front\n"


@pytest.mark.parametrize("asked", [{}, {"output_wide": True}, {"show_labels": True}])
async def test_a_list_is_answered_with_all_its_columns_however_it_was_to_be_shown(asked: dict[str, bool]) -> None:
    key = '{"resource_type":"pods","name":"","namespace":"shop"'
    views = {"": PLAIN, ',"output_wide":true': WIDE, ',"show_labels":true': LABELLED}
    answers = {f"GetResources:{key}{view}}}": text for view, text in views.items()}
    evidence = await Asked(answers)("GetResources", resource_type="pods", **asked)
    row = evidence.content[-1]
    assert all(told in row for told in ("app=web ", "ip=10.0.0.11", "node=node-b", "labels=app=web,tier=front"))


async def test_labels_go_first_where_a_list_is_too_long() -> None:
    names = [f"web-{number:03}" for number in range(60)]
    plain = table(("NAME", "READY", "STATUS"), [(name, "1/1", "Running") for name in names])
    labelled = table(("NAME", "READY", "LABELS"), [(name, "1/1", f"app={'x' * 150}") for name in names])
    key = '{"resource_type":"pods","name":"","namespace":"shop"'
    answers = {f"GetResources:{key}}}": plain, f'GetResources:{key},"show_labels":true}}': labelled}
    evidence = await Asked(answers)("GetResources", resource_type="pods")
    assert not evidence.truncated
    assert [one for one in names if not any(f"name={one} " in row for row in evidence.content)] == []


def test_a_namespace_changes_no_question_about_what_lies_in_none(shop: Asked) -> None:
    assert shop.scope("GetResources", resource_type="no", namespace="elsewhere") == {"resource_type": "nodes"}
    assert shop.scope("DescribeResource", resource_type="pv", name="a", namespace="b") == {
        "resource_type": "persistentvolumes",
        "name": "a",
    }


POD = "web-6d9c7f8b4c-x7k2p"


@pytest.mark.parametrize("name", [POD, "web", f"pod/{POD}", f"po/{POD}", "WEB"])
def test_a_workload_stands_for_its_one_pod(shop: Asked, name: str) -> None:
    assert shop.scope("DescribeResource", resource_type="pod", name=name)["name"] == POD


@pytest.mark.parametrize("name", ["web", POD, "web.shop.svc.cluster.local", "web.shop"])
def test_a_service_is_the_same_by_dns_name_and_by_pod(shop: Asked, name: str) -> None:
    expected = {"service_name": "web", "namespace": "shop", "port": 8080}
    assert shop.scope("CheckServiceConnectivity", service_name=name, port=8080) == expected


def test_label_selectors_are_the_same_in_any_order_and_spelling(shop: Asked) -> None:
    first = shop.scope("GetResources", resource_type="po", label_selector="app=web,tier = front")
    assert first == shop.scope("GetResources", resource_type="po", label_selector=" tier==front , app=web")
    with pytest.raises(ValueError, match="label_selector"):
        shop.scope("GetResources", resource_type="po", label_selector="app in (a, b)")


@pytest.mark.parametrize("component", ["kubelet", "kubelet.service", "Kubelet"])
def test_a_nodes_component_is_the_same_with_its_units_ending(shop: Asked, component: str) -> None:
    scope = shop.scope("CheckNodeServiceStatus", node_name="node/node-b", service_name=component)
    assert scope == {"node_name": "node-b", "service_name": "kubelet"}


async def test_what_is_there_is_evidence_and_measured(shop: Asked) -> None:
    found = await shop("GetResources", resource_type="pods")
    assert (found.status, found.provenance) == (EvidenceStatus.EVIDENCE, Provenance.MEASURED)
    assert f"resource kind=pods name={POD} app=web ready=1/1 status=Running" in found.content[1]
    assert {"web", "orders", "stock-mysql"} <= set(found.components)


async def test_an_empty_list_is_no_evidence(shop: Asked) -> None:
    for question in ({"resource_type": "secrets"}, {"resource_type": "pvc"}):
        assert (await shop("GetResources", **question)).status is EvidenceStatus.NO_EVIDENCE
    assert (await shop("GetAlerts")).status is EvidenceStatus.NO_EVIDENCE
    assert (await shop("GetErrorLogs", service_name="web")).status is EvidenceStatus.NO_EVIDENCE


async def test_an_object_that_is_asked_for_by_name_and_not_there_is_evidence(shop: Asked) -> None:
    for tool in ("GetResources", "DescribeResource"):
        found = await shop(tool, resource_type="svc", name="orderz")
        assert found.status is EvidenceStatus.EVIDENCE
        assert found.content == ("absent kind=services namespace=shop name=orderz near=orders",)


async def test_not_found_in_the_cache_is_the_same_absence() -> None:
    key = 'DescribeResource:{"resource_type":"services","name":"gone","namespace":"shop"}'
    asked = Asked({**Cluster().cache(), key: 'Error from server (NotFound): services "gone" not found'})
    assert (await asked("DescribeResource", resource_type="svc", name="gone")).content[0].startswith("absent ")


@pytest.mark.parametrize(
    ("tool", "given_", "code", "near"),
    [
        ("GetResources", {"resource_type": "widgets"}, SourceError.UNKNOWN_SELECTOR, ()),
        ("GetResources", {"resource_type": "podz"}, SourceError.UNKNOWN_SELECTOR, ("pods",)),
        ("GetResources", {"resource_type": "pods", "namespace": "shopp"}, SourceError.UNKNOWN_SELECTOR, ("shop",)),
        ("GetResources", {"resource_type": "jobs"}, SourceError.UNKNOWN_SELECTOR, None),
        ("GetAppYAML", {"app_name": "webb"}, SourceError.UNKNOWN_SELECTOR, ("web",)),
        ("GetErrorLogs", {"service_name": "orderz"}, SourceError.UNKNOWN_SELECTOR, ("orders",)),
        ("CheckServiceConnectivity", {"service_name": "web", "port": 81}, SourceError.QUERY_REJECTED, ("8080",)),
        (
            "CheckNodeServiceStatus",
            {"node_name": "node-z", "service_name": "kubelet"},
            SourceError.UNKNOWN_SELECTOR,
            None,
        ),
        ("GetRecentLogs", {"service_name": "web"}, SourceError.SOURCE_MISSING, ()),
    ],
)
async def test_what_the_cache_does_not_hold_is_an_error(
    shop: Asked, tool: str, given_: dict[str, Any], code: SourceError, near: tuple[str, ...] | None
) -> None:
    failure = await shop.refused(tool, **given_)
    assert failure.code is code
    assert near is None or failure.near_names == near


async def test_an_error_that_was_cached_is_an_error() -> None:
    key = 'GetResources:{"resource_type":"events","name":"","namespace":"shop"}'
    asked = Asked({key: "Error: /bin/sh: 1: Syntax error"})
    assert (await asked.refused("GetResources", resource_type="events")).code is SourceError.QUERY_REJECTED


async def test_raw_logs_serve_recent_logs_where_the_cache_has_none() -> None:
    asked = Asked(Cluster().cache(), {"web": ["one", "two", "three"]})
    found = await asked("GetRecentLogs", service_name="web", lines=2)
    assert found.content == ("log service=web | three", "log service=web | two")
    assert found.provenance is Provenance.TEXT


async def test_what_is_not_well_stands_first() -> None:
    cluster = Cluster()
    cluster.apps["store"].status = "CrashLoopBackOff"
    found = await Asked(cluster.cache())("GetResources", resource_type="pods")
    assert "name=stock-mysql-" in found.content[1]
    assert "1 of them not well" in found.summary


async def test_a_description_tells_events_containers_and_probes() -> None:
    cluster = Cluster()
    app = cluster.apps["orders"]
    app.liveness = "grpc <pod>:5999  delay=1s timeout=2s period=3s #success=1 #failure=4"
    app.events = [("Normal", "Pulled", "pulled"), ("Warning", "Unhealthy", "Liveness probe failed")]
    found = await Asked(cluster.cache())("DescribeResource", resource_type="pod", name="orders")
    lines = "\n".join(found.content)
    assert lines.index("event type=Warning reason=Unhealthy") < lines.index("event type=Normal reason=Pulled")
    assert "kind=liveness handler=grpc port=5999 delay=1s timeout=2s period=3s failures=4" in lines
    assert "container=main state=Running" in lines


HOSTILE = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=300)


@given(text=HOSTILE)
async def test_no_text_of_a_source_begins_a_line(text: str) -> None:
    cluster = Cluster()
    cluster.apps["web"].patterns = [text, f"\nevent type=Warning\n{text}"]
    cluster.alerts = [{"type": "Service", "name": "web", "time_range": "a ~ b", "evidence": [text]}]
    asked = Asked(cluster.cache(), {"web": [text]})
    for tool, given_ in (
        ("GetErrorLogs", {"service_name": "web"}),
        ("GetRecentLogs", {"service_name": "web"}),
        ("GetAlerts", {}),
    ):
        found = clean_evidence(await asked(tool, **given_), max_bytes=8_192)
        heads = ("error_lines ", "pattern ", "log ", "alert ", "  ")
        assert all(line.startswith(heads) for line in found.content), found.content


async def test_evidence_is_bounded_and_says_that_it_was_cut() -> None:
    cluster = Cluster()
    cluster.apps["web"].patterns = ["x" * 5_000] * 40
    found = await Asked(cluster.cache())("GetErrorLogs", service_name="web")
    assert sum(len(line.encode()) + 1 for line in found.content) <= 8_192
    assert found.truncated


@given(st.sampled_from(sorted(KINDS)))
def test_canonical_kinds_stay_what_they_are(kind: str) -> None:
    assert canonical_kind(canonical_kind(kind)) == canonical_kind(kind) == kind


@pytest.mark.parametrize(
    ("name", "kind", "workload"),
    [
        ("cart-7c5f46fc47-zgdc7", "pods", "cart"),
        ("my-db-0", "pods", "my-db"),
        ("agent-x7k2p", "pods", "agent"),
        ("cart-7c5f46fc47", "replicasets", "cart"),
        ("redis-cart", "pods", "redis-cart"),
        ("node-b", "nodes", "node-b"),
    ],
)
def test_a_generated_name_speaks_of_its_workload(name: str, kind: str, workload: str) -> None:
    assert workload_of(name, kind) == workload


cell = st.text(alphabet="abcxyz0189-.:/", min_size=1, max_size=20)


@given(st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=8))
def test_a_table_is_read_as_it_was_written(rows: list[tuple[str, str, str]]) -> None:
    read = read_table(table(("NAME", "ACCESS MODES", "PORT(S)"), rows))
    assert [(row["name"], row["access_modes"], row["ports"]) for row in read] == rows


def test_a_directory_without_a_cluster_says_so_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ClusterUnreadable, match=r"tool_cache\.json holds no JSON object"):
        FrozenCluster.load(tmp_path, namespace="shop")
