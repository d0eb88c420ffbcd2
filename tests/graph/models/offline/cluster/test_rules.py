"""The rules baseline: each cause found in a small cluster of its own, whatever the names; nothing where all is well."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.graph.models.offline.cluster.faults import FAULTS, NAMESPACE, Fault, slow_alert
from tests.graph.models.offline.cluster.playing import CAUSES, released
from tests.support.clusters import Cluster

VOCABULARY = sorted(tomllib.loads(CAUSES.read_text("utf-8"))["cause"])
RULES = CAUSES.parent


def broken(fault: Fault, **names: str) -> tuple[Cluster, str]:
    """A cluster with the fault, and the name of the component that it lies at."""
    cluster = Cluster(names=names)
    fault.breaks(cluster)
    seat = cluster.namespace if fault.seat == NAMESPACE else fault.seat
    return cluster, cluster.apps[seat].name if seat in cluster.apps else seat


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.cause)
async def test_each_cause_is_found_and_released(fault: Fault) -> None:
    cluster, seat = broken(fault)
    release = await released(cluster, fault.query)
    assert release["outcome"] == "SUCCESS", release
    conclusion = release["draft"]["conclusion"]
    assert (conclusion["cause"], conclusion["component"]) == (fault.cause, seat)


def test_every_cause_that_is_told_has_a_fault_that_shows_it() -> None:
    assert sorted({fault.cause for fault in FAULTS}) == VOCABULARY


@pytest.mark.parametrize("query", ["服务部分不可用。", "Service latency increased significantly."])
async def test_a_cluster_in_which_all_is_well_gets_no_conclusion(query: str) -> None:
    release = await released(Cluster(), query)
    assert (release["outcome"], release["fallback_type"]) == ("FALLBACK", "INSUFFICIENT_EVIDENCE")


word = st.from_regex(r"[a-z]{4,9}", fullmatch=True)


@given(
    fault=st.sampled_from(FAULTS),
    words=st.lists(word, min_size=3, max_size=3, unique_by=lambda one: one[:4]),
    ending=st.sampled_from(["-service", "", "-api", "svc"]),
)
@settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
async def test_the_verdict_does_not_depend_on_names(fault: Fault, words: list[str], ending: str) -> None:
    web, orders, store = words
    cluster, seat = broken(fault, web=f"{web}-front", orders=f"{orders}{ending}", store=f"{store}-mysql")
    release = await released(cluster, fault.query)
    assert release["outcome"] == "SUCCESS", (fault.cause, release)
    conclusion = release["draft"]["conclusion"]
    assert (conclusion["cause"], conclusion["component"]) == (fault.cause, seat)


async def test_only_causes_of_the_given_vocabulary_are_named() -> None:
    fault = next(one for one in FAULTS if one.cause == "oom_killed")
    cluster, _ = broken(fault)
    release = await released(cluster, fault.query, {"pod_cpu_overload": [{"object_kind": "app"}]})
    assert release["outcome"] == "FALLBACK"


async def test_a_refusal_that_is_over_accuses_nobody() -> None:
    cluster = Cluster()
    web = cluster.apps["web"]
    web.events = [("Warning", "FailedCreate", 'is forbidden: serviceaccount "web" not found')]
    cluster.events = [("Warning", "FailedCreate", f"replicaset/{web.name}-{web.hash}", web.events[0][2])]
    release = await released(cluster, "服务部分不可用。")
    assert release["outcome"] == "FALLBACK"


LOSES = "THROUGHPUT_DROP [RPS] | Normal=27.08req/s -> Current=14.45req/s (-46.6%)"


@pytest.mark.parametrize(
    ("slow", "told", "found"),
    [
        (("web",), (), False),
        (("web",), (LOSES,), True),
        (("orders",), (), False),
        (("web", "orders"), (), True),
    ],
)
async def test_slowness_alone_locates_nothing(slow: tuple[str, ...], told: tuple[str, ...], found: bool) -> None:
    """Someone has to bear it out: all who call the slow one, or, where nobody does, its own losses."""
    cluster = Cluster()
    cluster.alerts = [
        slow_alert(role, ms, *(told if role == slow[-1] else ())) for ms, role in enumerate(reversed(slow), 700)
    ]
    release = await released(cluster, "Service latency increased significantly.")
    assert (release["outcome"] == "SUCCESS") is found, release


def test_no_rule_speaks_of_a_service_of_the_benchmark() -> None:
    known = re.compile(
        r"boutique|checkout|redis-cart|cartservice|adservice|train-?ticket|\bts-|worker-0", re.IGNORECASE
    )
    package = Path(RULES).parent
    texts = {path.name: path.read_text("utf-8") for path in package.rglob("*") if path.suffix in (".py", ".toml")}
    assert not {name: found[0] for name, text in texts.items() if (found := known.search(text))}
