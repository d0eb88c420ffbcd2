"""Each figure on rows small enough to count by hand."""

from typing import Any

import pytest

from evals.cases import Attempt, Case, Result, Score, ToolCall
from evals.figures import Figure, figures
from evals.results import Row, row_of
from tests.evals.rows import SUITE, abstained, results, row, wrong

UNANSWERABLE = {"answerable": False, "correct": False}


def values(rows: list[Row], target: str = "zhizhi", repeat: int = 1) -> dict[str, float]:
    found: dict[str, Figure] = figures(rows, SUITE, target, repeat=repeat, seed=7)
    return {name: figure.value for name, figure in found.items()}


def test_right_wrong_and_abstained_are_told_apart_on_answerable_and_unanswerable_cases() -> None:
    found = values(
        [
            row("a"), row("b"), wrong("c"), abstained("d"),
            abstained("e", values=UNANSWERABLE), abstained("f", values=UNANSWERABLE), row("g", values=UNANSWERABLE),
        ]
    )  # fmt: skip
    assert found["right_outcome"] == pytest.approx(4 / 7)
    assert found["accuracy"] == 2 / 4
    assert found["coverage"] == 3 / 4
    assert found["selective_accuracy"] == pytest.approx(2 / 3)
    assert found["over_abstention"] == 1 / 4
    assert found["false_release"] == pytest.approx(2 / 7)
    assert found["false_release_answerable"] == 1 / 4
    assert found["false_release_unanswerable"] == pytest.approx(1 / 3)
    assert found["calls_per_right"] == 7 * 3 / 4


def test_an_agent_that_never_answers_is_never_wrong_and_never_right() -> None:
    found = values([abstained("a", calls=0), abstained("b", calls=0)])
    assert (found["false_release"], found["over_abstention"], found["aurc"]) == (0, 1, 1)
    assert "selective_accuracy" not in found
    assert "calls_per_right" not in found


def test_a_failed_run_counts_in_no_figure() -> None:
    failed = row("b", failure="TARGET:OSError", values={"correct": False})
    assert values([row("a"), failed])["accuracy"] == 1


def test_pass_k_needs_every_repetition_of_a_case_to_go_right() -> None:
    runs = [row("a", repetition=i) for i in range(3)] + [row("b"), wrong("b", repetition=1), row("b", repetition=2)]
    found = values(runs, repeat=3)
    assert found["pass^1"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["pass^2"] == pytest.approx((1 + 1 / 3) / 2)
    assert found["pass^3"] == pytest.approx((1 + 0) / 2)


def test_a_conclusion_is_missed_by_the_stop_where_the_agent_without_it_is_right() -> None:
    free = "zhizhi-without-stop"
    stopped: dict[str, Any] = {"stop_reason": "INFORMATION_SATURATED"}
    rows = [
        abstained("missed", **stopped), row("missed", free),
        abstained("hopeless", **stopped), wrong("hopeless", free),
        abstained("not stopped"), row("not stopped", free),
        row("answered", **stopped), row("answered", free),
    ]  # fmt: skip
    assert values(rows)["missed_by_stop"] == 1 / 4
    assert "missed_by_stop" not in values(rows, free)
    assert "missed_by_stop" not in values([one for one in rows if one.target == "zhizhi"])


def test_a_suites_own_scores_are_shares_or_means_over_the_rows_that_have_them() -> None:
    found = figures(
        [row("a", values={"steps": 4.0, "exact": True}), row("b", values={"steps": 7.0, "exact": None})],
        SUITE, "zhizhi", repeat=1, seed=7,
    )  # fmt: skip
    assert (found["steps"].value, found["steps"].is_share) == (5.5, False)
    assert (found["exact"].value, found["exact"].is_share, found["exact"].n) == (1, True, 1)


def test_a_suites_score_never_takes_the_place_of_the_frames_figure() -> None:
    found = values([row("a", values={"coverage": 0.25}), abstained("b", values={"coverage": 0.75})])
    assert (found["coverage"], found["suite_coverage"]) == (0.5, 0.5)
    found = values([row("a", values={"coverage": 0.25}), row("b", values={"coverage": 0.75})])
    assert (found["coverage"], found["suite_coverage"]) == (1, 0.5)


def test_differences_are_over_the_pairs_that_both_have() -> None:
    rows = [row("a"), row("b"), row("c"), wrong("a", "other"), row("b", "other"), wrong("only there", "other")]
    compared = results(rows).differences[SUITE]["zhizhi - other"]
    assert (compared["right_outcome"]["value"], compared["right_outcome"]["n"]) == (0.5, 2)
    assert compared["false_release"]["value"] == -0.5


def test_models_are_compared_with_the_baselines_that_ran_with_them() -> None:
    rows = [row("a", name) for name in ("zhizhi@m", "zhizhi@n", "create-agent@m", "create-agent@n", "abstain")]
    assert set(results(rows).differences[SUITE]) == {
        "zhizhi@m - create-agent@m", "zhizhi@m - abstain", "zhizhi@n - create-agent@n", "zhizhi@n - abstain",
    }  # fmt: skip


CASE = Case(suite=SUITE, case_id="a", cluster="i", query="why?")


def test_a_row_counts_calls_refusals_and_what_came_after_the_last_gain() -> None:
    gains = (True, False, None)
    calls = (*(ToolCall(tool_name="t", gained=gain) for gain in gains), ToolCall(tool_name="t", executed=False))
    stop = {"type": "STOP_REASON_SET", "stop_reason": "INFORMATION_SATURATED"}
    attempt = Attempt(release={"outcome": "FALLBACK"}, calls=calls, trace=(stop,), seconds=1.5)
    result = Result(case=CASE, target="zhizhi", attempt=attempt, score=Score(values={"sufficed_after": 1.0}))
    found = row_of(result, "d")
    assert (found.calls, found.refused, found.calls_after_gain, found.calls_after_sufficed) == (3, 1, 2, 2)
    assert (found.stop_reason, found.outcome, found.failure) == ("INFORMATION_SATURATED", "FALLBACK", None)


def test_a_row_names_what_failed() -> None:
    failed = Result(case=CASE, target="t", attempt=Attempt(failure="TARGET:OSError"))
    unscored = Result(case=CASE, target="t", attempt=Attempt(release={}), scorer_failure="KeyError")
    assert (row_of(failed, "").failure, row_of(unscored, "").failure) == ("TARGET:OSError", "SCORER:KeyError")
