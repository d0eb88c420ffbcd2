"""Two results pair by pair."""

from typing import Any
from xml.etree import ElementTree

import pytest

from evals.compare import Change, compare, got_worse, junit, markdown
from evals.results import Row
from tests.evals.rows import SUITE, abstained, results, row, wrong

UNANSWERABLE = {"answerable": False, "correct": False}
FAILED: dict[str, Any] = {"failure": "TARGET:OSError"}


@pytest.mark.parametrize(
    ("before", "after", "change", "worse"),
    [
        (row("a"), row("a"), Change.SAME, False),
        (row("a"), abstained("a"), Change.LOST, True),
        (row("a"), wrong("a"), Change.FALSE_RELEASE, True),
        (abstained("a"), wrong("a"), Change.FALSE_RELEASE, True),
        (wrong("a"), abstained("a"), Change.STOPPED_FALSE_RELEASE, False),
        (wrong("a"), row("a"), Change.STOPPED_FALSE_RELEASE, False),
        (abstained("a"), row("a"), Change.WON, False),
        (abstained("a", values=UNANSWERABLE), row("a", values=UNANSWERABLE), Change.FALSE_RELEASE, True),
        (row("a"), row("a", **FAILED), Change.FAILS_NOW, True),
        (row("a", **FAILED), row("a"), Change.RUNS_NOW, False),
        (row("a", **FAILED), row("a", **FAILED), Change.SAME, False),
        (row("a"), row("b"), Change.MISSING, True),
    ],
)
def test_each_pair_is_better_worse_or_the_same(before: Row, after: Row, change: Change, worse: bool) -> None:
    pairs = compare(results([before]), results([after]))
    assert pairs[0].change is change
    assert bool(got_worse(pairs)) is worse


def test_a_case_that_was_not_run_before_is_new_unless_it_fails() -> None:
    assert compare(results([]), results([row("a")]))[0].change is Change.NEW
    assert compare(results([]), results([row("a", **FAILED)]))[0].change is Change.FAILS_NOW


def test_in_a_suite_without_conclusions_going_right_is_what_counts() -> None:
    def item(correct: bool) -> Row:
        plain = {"correct": correct, "released": None, "answerable": None}
        return row("a", values=plain)

    assert compare(results([item(True)]), results([item(False)]))[0].change is Change.LOST


def test_the_same_results_differ_in_nothing() -> None:
    same = results([row("a"), wrong("b"), abstained("c")])
    pairs = compare(same, same)
    shown = markdown(same, same, pairs)
    assert got_worse(pairs) == []
    assert "Differs in: nothing." in shown
    assert "3 pairs: 3 the same." in shown
    assert "| right outcome | 0.0 % [" in shown


def test_markdown_names_what_differs_and_puts_what_got_worse_first() -> None:
    before = results([row("a"), abstained("b"), row("c")])
    after = results([row("a"), row("b"), wrong("c")], prompts={"diagnosis": "other"}, models=("gpt-x",))
    shown = markdown(before, after, compare(before, after))
    assert "Differs in: models, prompts." in shown
    changed = [line for line in shown.splitlines() if line.startswith(f"| {SUITE} |")]
    assert changed == [
        f"| {SUITE} | zhizhi | c | 0 | published a wrong conclusion |",
        f"| {SUITE} | zhizhi | b | 0 | right now |",
    ]


def test_junit_has_one_test_a_pair_and_fails_those_that_got_worse() -> None:
    before = results([row("a"), row("b"), row("a", "other")])
    after = results([row("a"), wrong("b"), row("a", "other")])
    root = ElementTree.fromstring(junit(compare(before, after)))  # noqa: S314 - our own text
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    failed = [test.get("name") for test in suite if len(test)]
    assert failed == ["b[0]"]
