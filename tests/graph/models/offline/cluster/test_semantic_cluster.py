"""The semantic guard's review of cluster drafts: what is true passes, and the same evidence carries nothing else."""

import copy
import json
from typing import Any

import pytest

from graph.models.offline import OfflineDiagnostician
from graph.models.offline.cluster.report import phrase_of
from graph.models.offline.semantic.cluster import cluster_objection
from tests.graph.models.offline.cluster.faults import FAULTS, Fault
from tests.graph.models.offline.cluster.playing import drafted
from tests.graph.models.offline.cluster.test_rules import VOCABULARY, broken

NEAR = {
    ("liveness_probe_incorrect_timing", "liveness_probe_incorrect_protocol"),
    ("node_network_packet_loss", "node_network_delay"),
}
"""Pairs that the same evidence can carry."""


def told(draft: dict[str, Any], *, cause: str | None = None, component: str | None = None) -> dict[str, Any]:
    """The draft with another cause, or another component, told as its author would."""
    other = copy.deepcopy(draft)
    conclusion = other["conclusion"]
    conclusion["cause"] = cause or conclusion["cause"]
    conclusion["component"] = component or conclusion["component"]
    conclusion["text"] = f"根因：{conclusion['component']}：{phrase_of(conclusion['cause'], 'zh')}。"
    return other


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.cause)
async def test_the_right_cause_passes_and_no_other_does(fault: Fault) -> None:
    cluster, seat = broken(fault)
    draft, evidence = await drafted(cluster, fault.query, OfflineDiagnostician())
    assert cluster_objection(draft, evidence) is None
    for cause in VOCABULARY:
        if cause != fault.cause and (fault.cause, cause) not in NEAR:
            assert cluster_objection(told(draft, cause=cause), evidence), cause
    for app in cluster.apps.values():
        if app.name != seat:
            assert cluster_objection(told(draft, component=app.name), evidence), app.name


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("text", "根因：orders：磁盘写满。"),
        ("text", "根因不是 orders 的内存上限过低。"),
        ("text", "根因：orders：内存上限过低，毫无疑问是恶意攻击。"),
        ("text", "根因：内存上限过低。"),
        ("affected", ["billing"]),
        ("cause", "cosmic_rays"),
    ],
)
async def test_a_conclusion_says_one_thing_and_no_more_than_is_seen(change: str, value: object) -> None:
    fault = next(one for one in FAULTS if one.cause == "oom_killed")
    cluster, _ = broken(fault)
    draft, evidence = await drafted(cluster, fault.query, OfflineDiagnostician())
    draft["conclusion"][change] = value
    assert cluster_objection(draft, evidence)


async def test_references_prove_nothing() -> None:
    fault = next(one for one in FAULTS if one.cause == "oom_killed")
    cluster, _ = broken(fault)
    draft, evidence = await drafted(cluster, fault.query, OfflineDiagnostician())
    turned = [{**json.loads(json.dumps(record)), "relevance_level": "REFERENCE"} for record in evidence]
    assert cluster_objection(draft, turned)
