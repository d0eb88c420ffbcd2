"""The six budgets: checked before each spend; what crosses a limit is kept, what would begin beyond it isn't begun.

Source: contract, "Budgets"; spec "Information stop reasons SHALL remain distinct from release outcomes", scenario "Hard
budget terminates collection".
"""

from pydantic import BaseModel, ConfigDict

from graph.contract.limits import Limits
from graph.contract.vocabulary import BudgetKind, ModelComponent

RESERVED_MODEL_CALLS = 2
"""One evidence repair and one semantic review are kept back from collection."""


class Budget(BaseModel):
    """What a run has spent. `started_at` is POSIX seconds (UTC); tokens and bytes are known only after the spend."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    started_at: float
    model_calls: int = 0
    tool_calls: int = 0
    tool_requests: int = 0
    tokens: int = 0
    observation_bytes: int = 0
    component_rounds: dict[ModelComponent, int] = {}

    def spent(self, **more: int) -> "Budget":
        """Return the budget with the given counters raised by the given amounts."""
        return self.model_copy(update={name: getattr(self, name) + amount for name, amount in more.items()})


def begin_model_call(budget: Budget, component: ModelComponent) -> Budget:
    """Return the budget with one more admitted model call, which takes the component's next round (from 1)."""
    rounds = {**budget.component_rounds, component: budget.component_rounds.get(component, 0) + 1}
    return budget.spent(model_calls=1).model_copy(update={"component_rounds": rounds})


def model_call_forbidden(budget: Budget, limits: Limits, component: ModelComponent, now: float) -> BudgetKind | None:
    """Return the budget that forbids `component` to begin a model call at `now` (POSIX seconds), or None.

    A router leaves at least one diagnosis call, collection leaves one repair and one review, a repair leaves one
    review. However small the budget is, the first diagnosis call is affordable.
    """
    calls = {
        ModelComponent.ROUTER: limits.max_model_calls - RESERVED_MODEL_CALLS - 1,
        ModelComponent.DIAGNOSIS: max(1, limits.max_model_calls - RESERVED_MODEL_CALLS),
        ModelComponent.EVIDENCE_REPAIR: limits.max_model_calls - 1,
        ModelComponent.SEMANTIC_GUARD: limits.max_model_calls,
    }
    if budget.model_calls >= calls[component]:
        return BudgetKind.MODEL_CALLS
    if budget.tokens >= limits.max_tokens:
        return BudgetKind.TOKENS
    return _time_forbidden(budget, limits, now)


def tool_request_forbidden(budget: Budget, limits: Limits) -> BudgetKind | None:
    """Return TOOL_REQUESTS where the run has made all the requests that it may make, or None."""
    return BudgetKind.TOOL_REQUESTS if budget.tool_requests >= limits.max_tool_requests else None


def tool_call_forbidden(budget: Budget, limits: Limits, now: float) -> BudgetKind | None:
    """Return the budget that forbids a tool to begin at `now` (POSIX seconds), or None."""
    if budget.tool_calls >= limits.max_tool_calls:
        return BudgetKind.TOOL_CALLS
    if budget.observation_bytes >= limits.max_observation_bytes:
        return BudgetKind.OBSERVATION_BYTES
    return _time_forbidden(budget, limits, now)


def seconds_left(budget: Budget, limits: Limits, now: float) -> float:
    """Return the seconds that the run's time budget still holds at `now`, never negative."""
    return max(0.0, budget.started_at + limits.max_seconds - now)


def _time_forbidden(budget: Budget, limits: Limits, now: float) -> BudgetKind | None:
    return None if seconds_left(budget, limits, now) > 0 else BudgetKind.SECONDS
