"""Who failed first is said where the evidence tells, and left open where it can't be told."""

import json
from dataclasses import replace
from typing import Any

import pytest

from graph.models.offline.assessment import Assessment, assess
from graph.models.offline.facts import read_case
from graph.models.offline.lines import parse_lines
from graph.models.offline.report import write_draft
from graph.models.offline.transcript import Observation
from tests.graph.models.offline.faults import observations

POOL = ["-  maximum-pool-size: 50", "+  maximum-pool-size: 5"]
ALERTING = "order http_server_error_ratio UP 0.002 0.5 2"


def seen(metrics: list[str], **more: Any) -> list[Observation]:
    fault = {"service": "payment", "file": "payment/app.yml", "diff": POOL, "metrics": metrics, "logs": []} | more
    return observations(fault)


def assessed(metrics: list[str], **more: Any) -> Assessment:
    return assess(read_case(seen(metrics, **more)), "order")


def first_in(draft: str) -> tuple[object, str]:
    conclusion = json.loads(draft)["conclusion"]
    return conclusion["first_failing"], conclusion["text"]


def test_where_the_cause_sits_a_measure_that_moved_earlier_was_first_by_less_than_a_minute() -> None:
    result = assessed(["payment connection_pool_used_ratio UP 0.2 1 1.25", ALERTING])
    assert result.component == "payment"
    assert first_in(write_draft(result, "en"))[0] == "payment"


def test_an_earlier_failure_of_a_service_without_known_calls_leaves_it_open() -> None:
    rows = ["stock http_server_error_ratio UP 0.002 0.5 1", ALERTING, "payment connection_pool_used_ratio UP 0.2 1 2.5"]
    result = assessed([*rows[:1], rows[2], rows[1]])
    assert result.suspicion is not None
    first, text = first_in(write_draft(result, "en"))
    assert first is None
    assert "First to fail" not in text
    assert "最先" not in first_in(write_draft(result, "zh"))[1]


def test_a_measure_that_moved_long_before_is_no_part_of_it() -> None:
    rows = ["stock http_server_error_ratio UP 0.002 0.5 -30", "payment connection_pool_used_ratio UP 0.2 1 2", ALERTING]
    assert assessed(rows).first_failing == "order"


@pytest.mark.parametrize("names", [("alpha", "beta"), ("beta", "alpha")])
def test_of_two_that_failed_at_once_none_is_first_by_its_name(names: tuple[str, str]) -> None:
    rows = [f"{name} http_server_error_ratio UP 0.002 0.5 2" for name in names]
    unalerted = [one for one in seen(rows, diff=["-a", "+b"]) if one.tool != "get_alerts"]
    assert assess(read_case(unalerted), None).first_failing is None
    edge = f"edge caller={names[0]} callee={names[1]} calls=10 errors=9"
    traced = [*unalerted, Observation("r1c9", "query_traces", True, False, True, False, tuple(parse_lines([edge])))]
    assert assess(read_case(traced), None).first_failing == names[1]


def test_the_step_of_the_samples_is_what_their_times_tell() -> None:
    case = read_case(seen(["payment connection_pool_used_ratio UP 0.2 1 1.25", ALERTING]))
    assert case.step.total_seconds() == 15
    assert replace(case, series=[]).step.total_seconds() == 60
