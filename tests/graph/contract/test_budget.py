"""Budgets: checked before each spend, the last unit ends nothing, what is kept back stays kept back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.contract.budget import (
    Budget,
    begin_model_call,
    model_call_forbidden,
    seconds_left,
    tool_call_forbidden,
    tool_request_forbidden,
)
from graph.contract.limits import Limits
from graph.contract.vocabulary import BudgetKind, ModelComponent

COMPONENTS = tuple(ModelComponent)
limits = st.builds(
    Limits,
    max_model_calls=st.integers(1, 20),
    max_tool_calls=st.integers(1, 8),
    max_tool_requests=st.integers(1, 8),
    max_tokens=st.integers(1, 1000),
    max_observation_bytes=st.integers(1, 1000),
    max_seconds=st.floats(0.5, 300),
)


@given(limits, st.lists(st.sampled_from(COMPONENTS), max_size=40))
def test_calls_never_go_over_their_limit_and_each_has_its_own_round(
    limit: Limits, wanted: list[ModelComponent]
) -> None:
    budget = Budget(started_at=0)
    made: list[ModelComponent] = []
    for component in wanted:
        if model_call_forbidden(budget, limit, component, 0) is None:
            budget = begin_model_call(budget, component)
            made.append(component)
    assert budget.model_calls == len(made) <= limit.max_model_calls
    assert budget.component_rounds == {component: made.count(component) for component in set(made)}


@given(st.integers(3, 20))
def test_collection_leaves_one_repair_and_one_review(calls: int) -> None:
    limit, budget = Limits(max_model_calls=calls), Budget(started_at=0)
    while model_call_forbidden(budget, limit, ModelComponent.DIAGNOSIS, 0) is None:
        budget = begin_model_call(budget, ModelComponent.DIAGNOSIS)
    assert budget.model_calls == calls - 2
    assert model_call_forbidden(budget, limit, ModelComponent.ROUTER, 0) is BudgetKind.MODEL_CALLS
    for component in (ModelComponent.EVIDENCE_REPAIR, ModelComponent.SEMANTIC_GUARD):
        assert model_call_forbidden(budget, limit, component, 0) is None
        budget = begin_model_call(budget, component)
        assert model_call_forbidden(budget, limit, component, 0) is BudgetKind.MODEL_CALLS


@given(st.integers(1, 20))
def test_a_router_never_takes_the_first_diagnosis_call(calls: int) -> None:
    limit, budget = Limits(max_model_calls=calls), Budget(started_at=0)
    if model_call_forbidden(budget, limit, ModelComponent.ROUTER, 0) is None:
        budget = begin_model_call(budget, ModelComponent.ROUTER)
    assert model_call_forbidden(budget, limit, ModelComponent.DIAGNOSIS, 0) is None


@pytest.mark.parametrize("component", COMPONENTS)
def test_tokens_are_known_afterwards_and_forbid_the_next_call(component: ModelComponent) -> None:
    limit = Limits(max_tokens=100)
    below, reached, crossed = (Budget(started_at=0).spent(tokens=used) for used in (99, 100, 250))
    assert model_call_forbidden(below, limit, component, 0) is None
    assert model_call_forbidden(reached, limit, component, 0) is BudgetKind.TOKENS
    assert model_call_forbidden(crossed, limit, component, 0) is BudgetKind.TOKENS


@given(limits, st.integers(0, 10), st.integers(0, 1500), st.floats(0, 400))
def test_a_tool_begins_only_below_every_limit(limit: Limits, calls: int, size: int, passed: float) -> None:
    budget = Budget(started_at=1000, tool_calls=calls, observation_bytes=size)
    forbidden = tool_call_forbidden(budget, limit, 1000 + passed)
    below = (calls < limit.max_tool_calls, size < limit.max_observation_bytes, 1000 + passed < 1000 + limit.max_seconds)
    assert (forbidden is None) is all(below)
    if forbidden:
        kinds = (BudgetKind.TOOL_CALLS, BudgetKind.OBSERVATION_BYTES, BudgetKind.SECONDS)
        assert forbidden is kinds[below.index(False)]


@given(limits, st.integers(0, 10))
def test_requests_have_a_budget_of_their_own(limit: Limits, made: int) -> None:
    budget = Budget(started_at=0, tool_requests=made)
    expected = BudgetKind.TOOL_REQUESTS if made >= limit.max_tool_requests else None
    assert tool_request_forbidden(budget, limit) is expected


@given(limits, st.floats(-10, 400))
def test_the_time_that_is_left_is_never_negative(limit: Limits, passed: float) -> None:
    left = seconds_left(Budget(started_at=1000), limit, 1000 + passed)
    assert left >= 0
    assert left == pytest.approx(max(0.0, limit.max_seconds - passed), abs=1e-6)


def test_spending_leaves_the_budget_before_as_it_was() -> None:
    before = Budget(started_at=0)
    after = begin_model_call(before.spent(tokens=5), ModelComponent.DIAGNOSIS)
    assert before == Budget(started_at=0)
    assert (after.tokens, after.model_calls) == (5, 1)
