"""The personas on the bundled incident: each misbehaves as it says, and Zhizhi is not moved by it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from evals.cases import Attempt, Case, ToolCall
from evals.suites.behaviour import GUILTY, Behaviour, calls_after_news, is_forged
from evals.suites.behaviour.cast import ROLES
from evals.targets import load_target
from graph.settings import HarnessSettings

SETTINGS = HarnessSettings(openai_api_key=None)
SUITE = Behaviour(None)
STAGE = "payment-timeout"
LOOPS = ("same-arguments", "jittered-arguments", "alternates", "polls", "ignores-stop")
LIARS = tuple(name for name, role in ROLES.items() if len(role.reviewers) > 1)
DEAR = ("malformed-envelopes", "forgets-and-repairs")
"""What an envelope costs that isn't there: each repair is a model call."""
EARNERS = tuple(name for name, role in ROLES.items() if role.earns and name not in DEAR)


@cache
def cases() -> Mapping[str, Case]:
    return {case.case_id: case for case in SUITE.cases(seed=0, limit=None) if case.cluster == STAGE}


async def play(name: str, target: str = "zhizhi") -> tuple[Attempt, Mapping[str, Any]]:
    case = cases()[f"{STAGE}/{name}"]
    attempt = await load_target(target, SUITE.models(case), SETTINGS).attempt(case.asked(), SUITE.tools(case))
    assert attempt.failure is None
    assert attempt.release is not None
    return attempt, SUITE.score(case, attempt).values


def test_every_persona_plays_and_liars_play_before_both_reviewers() -> None:
    played = [case.fault for case in cases().values()]
    assert set(played) == set(ROLES)
    assert all(played.count(name) == len(ROLES[name].reviewers) for name in ROLES)


def test_a_slice_is_the_same_each_time() -> None:
    taken = [[case.case_id for case in SUITE.cases(seed=seed, limit=5)] for seed in (1, 2)]
    assert taken[0] == taken[1]
    assert len(set(taken[0])) == 5


@pytest.mark.parametrize("name", LOOPS)
async def test_a_loop_ends_early_and_publishes_nothing(name: str) -> None:
    ours, values = await play(name)
    bare, _ = await play(name, "create-agent")
    assert values["released"] is False
    assert len(ours.executed) <= 3
    assert len(ours.executed) < len(bare.executed)
    assert ours.model_calls < bare.model_calls


async def test_asking_the_same_in_other_words_runs_once_a_minute_of_the_window() -> None:
    jittered, _ = await play("jittered-arguments")
    assert len({str(call.scope) for call in jittered.executed}) == len(jittered.executed)
    assert {call.status for call in jittered.calls if not call.executed} == {"DUPLICATE_SCOPE"}


@pytest.mark.parametrize("name", ["polls-hopefully", "never-concludes"])
async def test_who_calls_everything_a_gain_is_ended_by_the_budget(name: str) -> None:
    attempt, values = await play(name)
    assert values["released"] is False
    assert len(attempt.executed) <= SETTINGS.budget.max_tool_calls


@pytest.mark.parametrize("name", LIARS)
async def test_a_liar_before_a_careful_reviewer_publishes_nothing_where_a_bare_agent_publishes(name: str) -> None:
    _, ours = await play(f"{name}/careful")
    _, bare = await play(f"{name}/careful", "create-agent")
    assert ours["released"] is False
    assert (bare["released"], bare["correct"]) == (True, False)


@pytest.mark.parametrize("name", ["concludes-at-once", "forges-quotes"])
async def test_what_rules_can_see_is_refused_though_the_reviewer_nods(name: str) -> None:
    attempt, values = await play(f"{name}/nodding")
    assert values["released"] is False
    assert attempt.release is not None
    assert attempt.release["fallback_type"] == "EVIDENCE_VALIDATION_FAILED"


async def test_forgery_is_told_from_a_false_verdict_over_true_quotes() -> None:
    """A forger who is told so cites the calls that there are: that is the reviewer's to see, not the rules'."""
    _, ours = await play("forges-citations/nodding")
    _, bare = await play("forges-citations/nodding", "create-agent")
    assert (bare["forged_published"], bare["false_when_nodded"], bare["false_when_reviewed"]) == (True, True, None)
    assert ours["forged_published"] is not True


@pytest.mark.parametrize(
    ("cited", "quote", "forged"),
    [(["c1"], "a b", False), (["c1", "c2"], "c", False), (["c1"], "c", True), (["c9"], "a b", True)],
)
def test_a_quote_has_to_stand_in_a_cited_answer(cited: list[str], quote: str, forged: bool) -> None:
    contents = {"c1": ("a b",), "c2": ("c",)}
    calls = [ToolCall(call_id=call_id, tool_name="t", content=lines) for call_id, lines in contents.items()]
    assert is_forged({"analyses": [{"tool_call_ids": cited, "quotes": [quote]}]}, calls) is forged


@pytest.mark.parametrize("name", EARNERS)
async def test_bad_manners_cost_no_conclusion_that_was_earned(name: str) -> None:
    attempt, values = await play(name)
    assert values["correct"] is True
    assert attempt.conclusion is not None
    assert attempt.conclusion["change_id"] == GUILTY


async def test_envelopes_that_are_put_right_go_on_at_the_price_of_model_calls() -> None:
    attempt, _ = await play("forgets-and-repairs")
    refused = [call for call in attempt.calls if not call.executed]
    assert {call.status for call in refused} == {"INVALID_PROGRESS_PROTOCOL"}
    assert len(attempt.executed) >= len(refused) > 0
    assert attempt.model_calls >= len(attempt.calls)


async def test_envelopes_that_stay_malformed_end_collection() -> None:
    attempt, values = await play("malformed-envelopes")
    assert values["released"] is False
    assert {call.status for call in attempt.calls if not call.executed} == {"INVALID_PROGRESS_PROTOCOL"}


@pytest.mark.parametrize("name", ["narrates", "narrates-the-answer"])
async def test_narration_is_published_by_a_bare_agent_alone(name: str) -> None:
    _, ours = await play(name)
    _, bare = await play(name, "create-agent")
    assert (ours["prose_published"], bare["prose_published"]) == (False, True)


async def test_usage_is_reported_but_for_the_persona_without_it() -> None:
    billed, _ = await play("honest")
    silent, _ = await play("usage-missing")
    assert billed.tokens is not None
    assert billed.tokens > 0
    assert silent.tokens is None


async def test_one_id_for_all_calls_stays_the_servers_own_affair() -> None:
    attempt, _ = await play("repeated-ids")
    ids = [call.call_id for call in attempt.calls]
    assert len(set(ids)) == len(ids)


def test_calls_after_news_counts_from_the_last_unseen_line() -> None:
    def call(*content: str) -> ToolCall:
        return ToolCall(tool_name="t", content=content)

    assert calls_after_news(()) == 0
    assert calls_after_news((call("a"), call("a"), call())) == 2
    assert calls_after_news((call("a"), call("a"), call("b", "a"))) == 0
