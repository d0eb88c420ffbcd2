"""A rise of demand: what is said of its order, and which service is meant."""

import json

import pytest

from graph.models.offline.assessment import Assessment, assess
from graph.models.offline.facts import read_case
from graph.models.offline.lines import parse_lines
from graph.models.offline.report import write_draft
from graph.models.offline.transcript import Observation
from tests.graph.models.offline.faults import observations

SERVICES = ("inventory", "order", "payment")


def surge(trouble: float, *, alerting: str = "order", edges: tuple[str, ...] = (), alerted: bool = True) -> Assessment:
    """Return demand that rose eightfold at all services at minute 2, and durations that rose at minute `trouble`."""
    ordered = (*(name for name in SERVICES if name != alerting), alerting)
    rows = [f"{name} http_server_requests_per_second UP 10 80 2" for name in ordered]
    rows += [f"{name} http_server_duration_p95_seconds UP 0.4 4 {trouble}" for name in ordered]
    seen = observations({"service": alerting, "metrics": rows, "logs": []})
    if not alerted:
        seen = [one for one in seen if one.tool != "get_alerts"]
    if edges:
        seen.append(Observation("r1c9", "query_traces", True, False, True, False, tuple(parse_lines(edges))))
    return assess(read_case(seen), alerting if alerted else None)


@pytest.mark.parametrize(("trouble", "led"), [(2, False), (2.25, False), (3, False), (3.25, True)])
def test_traffic_came_first_only_where_it_did_by_more_than_a_step_of_the_samples(trouble: float, led: bool) -> None:
    result = surge(trouble, edges=("edge caller=web callee=nobody calls=1 errors=0",))
    assert result.cause is not None
    assert ("before anything else" in result.cause.rule.en) is led
    assert ("先于其他" in result.cause.rule.zh) is led


@pytest.mark.parametrize("alerting", SERVICES)
def test_of_several_whose_demand_rose_at_once_the_alerting_one_is_meant_and_helped(alerting: str) -> None:
    conclusion = json.loads(write_draft(surge(2, alerting=alerting), "en"))
    assert conclusion["conclusion"]["component"] == alerting
    assert conclusion["action_plan"][0]["text"].startswith(f"Add capacity to {alerting};")


def test_without_an_alert_the_one_that_calls_the_others_is_meant_else_nobody() -> None:
    calls = ("edge caller=order callee=payment calls=9 errors=1", "edge caller=order callee=inventory calls=9 errors=1")
    entry = surge(2, alerted=False, edges=calls)
    assert entry.cause is not None
    assert entry.cause.service == "order"
    assert surge(2, alerted=False).cause is None
