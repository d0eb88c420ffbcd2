"""Asking a model within the run's budget: bounded attempts, each an admitted and audited call of its own.

Source: spec "Model token audit SHALL be component-scoped and reconcilable"; contract, "Gain and stop", "Budgets".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from graph.contract.budget import Budget, begin_model_call, model_call_forbidden, seconds_left
from graph.contract.limits import Limits
from graph.contract.vocabulary import BudgetKind, FailureCode, ModelComponent, TraceEventType
from graph.models.calling import call_model
from graph.models.replies import ModelFailure
from graph.parts import Parts
from graph.recording import Recorder
from graph.state import DiagnosisState
from graph.views import budget_of, limits_of

T = TypeVar("T")

WORTH_ANOTHER_TRY = frozenset({FailureCode.MODEL_UNREACHABLE, FailureCode.MODEL_REPLY_INVALID})


@dataclass(frozen=True)
class Question(Generic[T]):
    """What is asked of a component: messages, tool schemas, and `read`, which turns a reply into what the node needs.

    `read` raises ModelFailure for a reply that can't be used; that's a failed attempt.
    """

    component: ModelComponent
    model: BaseChatModel
    messages: Sequence[BaseMessage]
    read: Callable[[AIMessage], T]
    tools: Sequence[dict[str, Any]] = ()


@dataclass
class Answer(Generic[T]):
    """What came of it: `value`, or why there is none: the last attempt's failure, or the budget that forbade one."""

    budget: Budget
    value: T | None = None
    failure: FailureCode | None = None
    exhausted: BudgetKind | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    """One entry an attempt: `{round, token_count | null}`."""


async def ask_model(
    question: Question[T], state: DiagnosisState, parts: Parts, recorder: Recorder, *, limits: Limits | None = None
) -> Answer[T]:
    """Ask until there is a usable answer, the attempts are used up, or a budget forbids the next one.

    `limits`: narrower ones than the run's, None for the run's own.
    """
    limits = limits or limits_of(state)
    answer: Answer[T] = Answer(budget_of(state))
    for _ in range(limits.model_attempts):
        forbidden = model_call_forbidden(answer.budget, limits, question.component, parts.now())
        if forbidden:
            answer.exhausted = forbidden
            return answer
        await _attempt(question, answer, limits, parts, recorder)
        if answer.value is not None or answer.failure not in WORTH_ANOTHER_TRY:
            return answer
    return answer


async def _attempt(question: Question[T], answer: Answer[T], limits: Limits, parts: Parts, recorder: Recorder) -> None:
    answer.budget = begin_model_call(answer.budget, question.component)
    usage: tuple[int | None, int | None] = (None, None)
    answer.failure = None
    try:
        reply = await call_model(
            question.model,
            question.messages,
            tools=question.tools,
            timeout=min(limits.model_timeout_seconds, seconds_left(answer.budget, limits, parts.now())),
            capabilities=parts.settings.model.capabilities(),
        )
        usage = (reply.input_tokens, reply.output_tokens)
        answer.value = question.read(reply.message)
    except ModelFailure as failure:
        answer.failure = failure.code
        if failure.input_tokens is not None:
            usage = (failure.input_tokens, failure.output_tokens)
    audit_attempt(question.component, answer, usage, recorder)


def audit_attempt(
    component: ModelComponent, answer: Answer[T], usage: tuple[int | None, int | None], recorder: Recorder
) -> None:
    """The same counts go to the budget, the trace and the step; what the provider didn't report is shown as a gap."""
    round_number = answer.budget.component_rounds[component]
    read, written = usage
    tokens = None if read is None or written is None else read + written
    answer.budget = answer.budget.spent(tokens=tokens or 0)
    answer.steps.append({"round": round_number, "token_count": tokens})
    recorder.event(
        TraceEventType.MODEL_TOKEN_USAGE,
        component=component,
        component_round=round_number,
        usage_available=tokens is not None,
        input_tokens=None if tokens is None else read,
        output_tokens=None if tokens is None else written,
        code=answer.failure,
    )
