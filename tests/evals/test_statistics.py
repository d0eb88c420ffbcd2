"""Intervals and curves against known values, brute force and their own laws."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.statistics import (
    Answer,
    Tally,
    paired_difference,
    pass_hat,
    proportion_interval,
    ratio_interval,
    risk_coverage,
    tally,
    wilson,
)

SEED = 7


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (81, 263, 0.2553, 0.3662),
        (1, 1, 0.2065, 1),
    ],
)
def test_wilsons_interval_is_the_published_one(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson(successes, trials)
    assert [found.low, found.high] == pytest.approx([low, high], abs=5e-5)


@given(st.integers(0, 200), st.integers(0, 200))
def test_wilsons_interval_holds_the_share_and_narrows_with_more_trials(successes: int, failures: int) -> None:
    trials = successes + failures
    found = wilson(successes, trials)
    assert 0 <= found.low <= found.high <= 1
    if trials:
        assert found.low <= successes / trials <= found.high
        wider = found.high - found.low
        many = wilson(successes * 10, trials * 10)
        assert many.high - many.low < wider


def outcomes(*shares: tuple[int, int]) -> Tally:
    """A cluster for each (right, all)."""
    return tally((f"c{i}", float(k < good), 1.0) for i, (good, total) in enumerate(shares) for k in range(total))


def test_an_interval_over_clusters_is_wider_than_one_that_takes_their_cases_for_independent() -> None:
    clustered = outcomes(*[(10, 10)] * 5, *[(0, 10)] * 5)
    naive = wilson(50, 100)
    found = proportion_interval(clustered, SEED)
    assert found is not None
    assert found.high - found.low > 2 * (naive.high - naive.low)
    assert found.low <= 0.5 <= found.high


def test_one_trial_a_cluster_takes_wilsons_interval() -> None:
    assert proportion_interval(outcomes(*[(1, 1)] * 7, *[(0, 1)] * 3), SEED) == wilson(7, 10)


def test_where_a_bootstrap_knows_no_doubt_the_clusters_are_the_trials() -> None:
    assert proportion_interval(outcomes(*[(4, 4)] * 6), SEED) == wilson(6, 6)
    assert proportion_interval(outcomes(*[(0, 4)] * 6), SEED) == wilson(0, 6)


def test_a_ratio_of_sums_has_no_interval_where_there_is_nothing_to_resample() -> None:
    assert ratio_interval(tally([("a", 1.0, 2.0)]), SEED) is None
    assert ratio_interval(tally([("a", 1.0, 0.0), ("b", 2.0, 0.0)]), SEED) is None
    assert tally([("a", 1.0, 0.0)]).value is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=2, max_size=8))
def test_intervals_dont_depend_on_the_order_of_items(shares: list[tuple[int, int]]) -> None:
    items = [(f"c{i}", float(good), float(total)) for i, (good, total) in enumerate(shares)]
    forwards, backwards = tally(items), tally(reversed(items))
    assert forwards.value == backwards.value
    assert ratio_interval(forwards, SEED) == ratio_interval(backwards, SEED)


def test_a_target_differs_from_itself_by_nothing_as_far_as_so_few_clusters_can_tell() -> None:
    ours = outcomes(*[(1, 1)] * 12)
    found = paired_difference(ours, ours, SEED, is_share=True)
    assert found is not None
    assert found[1] is not None
    assert [found[0], found[1].low, found[1].high] == pytest.approx([0, -0.2425, 0.2425], abs=1e-4)


def test_the_largest_difference_is_no_certainty() -> None:
    found = paired_difference(outcomes(*[(1, 1)] * 12), outcomes(*[(0, 1)] * 12), SEED, is_share=True)
    assert found is not None
    assert found[1] is not None
    assert (found[0], found[1].high) == (1, 1)
    assert 0.6 < found[1].low < 0.7


def test_a_pair_needs_the_same_clusters_and_a_value_on_both_sides() -> None:
    with pytest.raises(ValueError, match="same clusters"):
        paired_difference(outcomes((1, 2)), outcomes((1, 1), (1, 1)), SEED, is_share=True)
    nothing = tally([("c0", 0.0, 0.0)])
    assert paired_difference(outcomes((1, 1)), nothing, SEED, is_share=True) is None


def test_pairing_takes_out_what_makes_the_clusters_differ() -> None:
    """Two targets that differ by about the same in every incident, easy or hard."""
    easy_and_hard = [(8, 10), (1, 10), (6, 10), (3, 10), (0, 10), (7, 10)]
    ours = outcomes(*[(good + 2 + i % 2, total) for i, (good, total) in enumerate(easy_and_hard)])
    theirs = outcomes(*easy_and_hard)
    found = paired_difference(ours, theirs, SEED, is_share=True)
    alone = ratio_interval(ours, SEED)
    assert found is not None
    assert found[1] is not None
    assert alone is not None
    assert found[0] == pytest.approx(0.25)
    assert found[1].low > 0
    assert (found[1].high - found[1].low) * 3 < alone.high - alone.low


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.data())
def test_pass_k_is_the_share_of_draws_in_which_all_went_right(runs: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(runs)))
    draws = list(combinations(runs, k))
    assert pass_hat(sum(runs), len(runs), k) == pytest.approx(sum(map(all, draws)) / len(draws))


@pytest.mark.parametrize("k", [0, 4])
def test_pass_k_needs_k_repetitions(k: int) -> None:
    with pytest.raises(ValueError, match="repetitions"):
        pass_hat(3, 3, k)


def answers(*confidences: tuple[float | None, bool]) -> list[Answer]:
    return [Answer(f"c{i}", sure, correct) for i, (sure, correct) in enumerate(confidences)]


def test_the_curve_begins_with_the_surest_and_abstentions_come_last_as_wrong() -> None:
    curve = risk_coverage(answers((1.0, False), (3.0, True), (None, True), (2.0, True)), SEED)
    assert curve is not None
    assert curve.coverage == (0.25, 0.5, 0.75, 1.0)
    assert curve.risk == pytest.approx((0, 0, 1 / 3, 2 / 4))
    assert curve.area == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4)


def test_the_area_is_0_for_who_is_always_right_and_1_for_who_never_answers() -> None:
    always = risk_coverage(answers((1.0, True), (2.0, True)), SEED)
    never = risk_coverage(answers((None, False), (None, False)), SEED)
    assert always is not None
    assert never is not None
    assert (always.area, never.area) == (0.0, 1.0)
    assert risk_coverage([], SEED) is None


@given(st.permutations([(1.0, True), (1.0, False), (1.0, True), (2.0, False), (None, True)]))
def test_no_order_among_equally_sure_answers_is_favoured(order: list[tuple[float | None, bool]]) -> None:
    first = risk_coverage(answers((1.0, True), (1.0, False), (1.0, True), (2.0, False), (None, True)), SEED)
    other = risk_coverage(answers(*order), SEED)
    assert first is not None
    assert other is not None
    assert other.risk == pytest.approx(first.risk)
