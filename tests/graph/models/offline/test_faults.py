"""Faults of our own making: the guilty change is named, the innocent deploys beside it never are."""

from dataclasses import replace
from typing import Any

import pytest

from graph.models.offline.assessment import assess
from graph.models.offline.facts import read_case
from graph.models.offline.lines import Line
from graph.models.offline.mechanisms import mechanisms
from graph.models.offline.symptoms import families
from tests.graph.models.offline.faults import DECOYS, GUILTY, all_faults, observations

FAULTS = all_faults()


@pytest.mark.parametrize("name", FAULTS)
def test_what_did_it_is_found_and_nothing_else(name: str) -> None:
    fault = FAULTS[name]
    result = assess(read_case(observations(fault)), fault["service"])
    convicted = result.suspicion.change.change_id if result.suspicion else None
    assert convicted == (GUILTY if fault.get("named") else None)
    assert (result.cause.rule.name if result.cause else None) == fault.get("cause")


@pytest.mark.parametrize("name", FAULTS)
def test_an_alert_that_names_no_metric_changes_no_verdict(name: str) -> None:
    fault = FAULTS[name]
    seen = [
        replace(one, lines=tuple(replace(line, fields={**line.fields, "metric": "-"}) for line in one.lines))
        if one.tool == "get_alerts"
        else one
        for one in observations(fault)
    ]
    result = assess(read_case(seen), fault["service"])
    assert (result.suspicion.change.change_id if result.suspicion else None) == (GUILTY if fault.get("named") else None)
    first = assess(read_case(observations(fault)), fault["service"]).first_failing
    assert result.first_failing == first


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.get("named")])
def test_a_change_that_came_after_the_trouble_is_never_convicted(name: str) -> None:
    fault = FAULTS[name]
    early = [" ".join([*row.split()[:5], str(float(row.split()[5]) - 40)]) for row in fault["metrics"]]
    logs = [" ".join([str(float(row.split(" ", 1)[0]) - 40), row.split(" ", 1)[1]]) for row in fault["logs"]]
    result = assess(read_case(observations({**fault, "metrics": early, "logs": logs})), fault["service"])
    assert result.suspicion is None


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.get("named")])
def test_the_same_change_on_a_service_that_is_well_is_not_convicted(name: str) -> None:
    fault = FAULTS[name]
    moved: dict[str, Any] = {**fault, "service": "bystander"}
    result = assess(read_case(observations(moved)), fault["service"])
    assert result.suspicion is None or result.suspicion.match.mechanism.reach == "any"


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.get("named")])
def test_two_changes_that_fit_as_well_leave_it_open(name: str) -> None:
    fault = FAULTS[name]
    seen = observations(fault)
    twin = [
        replace(one, call_id="r1c9", lines=tuple(map(_twin, one.lines))) for one in seen if one.tool == "list_changes"
    ]
    assert assess(read_case([*seen, *twin]), fault["service"]).suspicion is None


def _twin(line: Line) -> Line:
    return replace(line, fields={**line.fields, "id": line.fields["id"][::-1]})


def test_every_mechanism_speaks_of_known_symptoms_and_both_languages() -> None:
    known = {family.name for family in families()}
    for mechanism in mechanisms():
        assert set(mechanism.effects) <= known, mechanism.name
        assert mechanism.zh
        assert mechanism.en
        assert mechanism.key or mechanism.removed or mechanism.added or mechanism.block, mechanism.name


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_stands_beside_all_decoys(name: str) -> None:
    lines = observations(FAULTS[name])[2].lines
    assert sum(line.sort == "change" for line in lines) == len(DECOYS) + ("diff" in FAULTS[name])
