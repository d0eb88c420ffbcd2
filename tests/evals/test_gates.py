"""Gates: which hold, which fail, and which the offline model can't speak for."""

from pathlib import Path
from typing import Any

import pytest

from evals.gates import Gate, GatesUnreadable, Verdict, judge, read_gates
from evals.results import Results
from evals.suites import MODULES as SUITES
from evals.targets import MODULES as TARGETS
from tests.evals.rows import SUITE, abstained, results, row, wrong


def verdict(found: Results, **fields: Any) -> Verdict:
    gate = Gate.model_validate({"name": "g", "suite": SUITE, "speaks": "any", **fields})
    (judged,) = judge([gate], found)
    assert judged.fails == (judged.verdict in (Verdict.FAILED, Verdict.MISSING))
    return judged.verdict


THREE_OF_FOUR = [row("a"), row("b"), row("c"), wrong("d"), *(abstained(c, "abstain") for c in "abcd")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"figure": "accuracy", "at_least": 0.75}, Verdict.HELD),
        ({"figure": "accuracy", "at_least": 0.76}, Verdict.FAILED),
        ({"figure": "false_release", "at_most": 0.25}, Verdict.HELD),
        ({"figure": "false_release", "at_most": 0.24}, Verdict.FAILED),
        ({"figure": "false_release", "of": "high", "at_most": 0.25}, Verdict.FAILED),
        ({"figure": "accuracy", "of": "low", "at_least": 0.3}, Verdict.HELD),
        ({"figure": "accuracy", "target": "abstain", "at_most": 0.0}, Verdict.HELD),
        ({"figure": "right_outcome", "versus": "abstain", "at_least": 0.75}, Verdict.HELD),
        ({"figure": "right_outcome", "versus": "abstain", "at_least": 0.8}, Verdict.FAILED),
        ({"figure": "no such figure", "at_least": 0.0}, Verdict.MISSING),
        ({"figure": "accuracy", "versus": "last-deploy", "at_least": 0.0}, Verdict.MISSING),
        ({"figure": "accuracy", "at_least": 0.99, "speaks": "endpoint"}, Verdict.NOT_JUDGED),
    ],
)
def test_a_figure_is_held_to_its_bound(fields: dict[str, Any], expected: Verdict) -> None:
    assert verdict(results(THREE_OF_FOUR), **fields) is expected


@pytest.mark.parametrize("made", [{"models": ("gpt-x",)}, {"models": ("zhizhi-offline", "gpt-x")}, {"url": "http://h"}])
def test_an_endpoint_or_a_deployment_can_speak_for_prompts(made: dict[str, Any]) -> None:
    fields = {"figure": "accuracy", "at_least": 0.99, "speaks": "endpoint"}
    assert verdict(results(THREE_OF_FOUR, **made), **fields) is Verdict.FAILED


def test_a_suite_that_was_not_run_or_has_no_data_is_not_judged() -> None:
    gate = Gate(name="g", suite=SUITE, figure="accuracy", at_least=1.0, speaks="any")
    assert judge([gate], results(THREE_OF_FOUR, suites=("another",))) == []
    (absent,) = judge([gate], results([], absent={SUITE: "no data"}))
    assert absent.verdict is Verdict.NOT_JUDGED


def test_a_line_says_what_was_measured_and_wanted() -> None:
    gate = Gate(name="what is published is right", suite=SUITE, figure="accuracy", at_least=0.9, speaks="any")
    (judged,) = judge([gate], results(THREE_OF_FOUR))
    line = f"failed: {SUITE}: what is published is right: accuracy (value) 75.0 %, wanted >= 90.0 %"
    assert judged.line() == line


def test_the_shipped_gates_name_suites_and_targets_that_there_are() -> None:
    gates = read_gates()
    assert set(gates.slice) <= set(SUITES)
    assert {gate.suite for gate in gates.gates} <= set(gates.slice)
    guards = {"evidence-guard", "both-guards", "semantic-guard"}  # as the suites that drive them call them
    assert {gate.target for gate in gates.gates} <= set(TARGETS) | guards
    assert {gate.versus for gate in gates.gates if gate.versus} <= set(gates.baselines) <= set(TARGETS)


@pytest.mark.parametrize(
    "text",
    [
        "]",
        "seed: 1\ngates: []",
        "seed: 1\nslice: {a: 1}\ngates: [{name: g, suite: s, figure: f, speaks: any}]",
        "seed: 1\nslice: {a: 1}\ngates: [{name: g, suite: s, figure: f, speaks: any, at_least: 1, at_most: 2}]",
    ],
)
def test_gates_that_cannot_be_read_are_one_clear_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "gates.yaml").write_text(text)
    with pytest.raises(GatesUnreadable) as unreadable:
        read_gates(tmp_path / "gates.yaml")
    assert str(unreadable.value).startswith("gates can't be used: ")
    assert "\n" not in str(unreadable.value)
