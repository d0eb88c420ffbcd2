"""guard-calibration: the hand-written items are whole, and the figures say what a reviewer said."""

from collections import Counter

import pytest

from evals.cases import SelfRunningSuite
from evals.suites.guard_calibration import make_suite
from evals.suites.guard_calibration.items import Claim, Group, groups
from graph.contract.reading import Reading
from tests.support.drafts import verdict
from tests.support.scripted import ScriptedChatModel

ALL = [(group, claim) for group in groups() for claim in group.claims]


def test_there_are_enough_items_of_each_language_and_word() -> None:
    found = Counter((claim.locale, claim.supported) for _, claim in ALL)
    assert sum(found.values()) >= 150
    assert min(found[locale, word] for locale in ("zh", "en") for word in (True, False)) >= 20


def test_no_claim_stands_twice_and_each_unsupported_one_says_why() -> None:
    assert len({(group.case, claim.text) for group, claim in ALL}) == len(ALL)
    assert len({group.case for group, _ in ALL}) == len(list(groups()))
    assert [claim.text for _, claim in ALL if bool(claim.why) is claim.supported] == []


@pytest.mark.parametrize(("group", "claim"), ALL)
def test_each_quote_stands_in_the_evidence(group: Group, claim: Claim) -> None:
    reading = Reading(group.draft(claim), group.records(), "UTC")
    assert all(reading.places(group.draft(claim).analyses[0]))


@pytest.mark.parametrize(("word", "right"), [("SUPPORTED", 0.5), ("UNSUPPORTED", 0.5)])
async def test_a_reviewer_of_one_word_is_no_better_than_a_coin(word: str, right: float) -> None:
    suite = make_suite(None)
    assert isinstance(suite, SelfRunningSuite)
    model = ScriptedChatModel(script=[verdict(word) for _ in ALL])
    rows = [result.score.values async for result in suite.run(seed=0, limit=None, models=model) if result.score]
    assert len(rows) == len(ALL)
    assert sum(float(row["balanced_accuracy"] or 0) for row in rows) / len(rows) == pytest.approx(right)
    passed = word == "SUPPORTED"
    assert {row["false_support"] for row in rows} == {passed, None}
    assert {row["missed_support"] for row in rows} == {not passed, None}


async def test_a_slice_is_spread_and_a_failing_reviewer_is_counted() -> None:
    model = ScriptedChatModel(script=[ConnectionError("away") for _ in range(20)])
    results = [result async for result in make_suite(None).run(seed=0, limit=10, models=model)]
    assert len({result.case.cluster for result in results}) >= 8
    assert all(result.failed for result in results)
