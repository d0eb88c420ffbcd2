"""What the field puts around a bare agent: call limits, a forced last answer, a fingerprint of repeats.

All of it is LangChain agent middleware; one instance serves one run.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, ModelRetryMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from graph.asking import WORTH_ANOTHER_TRY
from graph.contract.protocol import PREVIOUS_OBSERVATION
from graph.contract.vocabulary import FailureCode
from graph.models.calling import usage_of
from graph.models.replies import failure_of

LAST_ANSWER = {
    "zh": "调用次数已用尽，不能再调用工具。现在只根据已有的证据，交出最终答卷的 JSON。",
    "en": "No tool calls are left. Answer now, from the evidence that you have: the final JSON alone.",
}
REPEATED = "REPEATED"
_ALL_TOOLS = "__all__"

ModelHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
ModelAnswer = ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]
ToolHandler = Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]


@dataclass
class Bill:
    """What a run's model calls cost. `tokens` is None once a call came without usage; `failure`: the last call's."""

    model_calls: int = 0
    tokens: int | None = 0
    failure: FailureCode | None = None

    def add(self, read: int | None, written: int | None) -> None:
        """Add the usage of one call, None where the provider didn't say."""
        known = self.tokens is not None and read is not None and written is not None
        self.tokens = (self.tokens or 0) + (read or 0) + (written or 0) if known else None


class Billing(AgentMiddleware[Any, Any, Any]):
    """Counts every attempt at the model, failed ones too."""

    def __init__(self, bill: Bill) -> None:
        super().__init__()
        self._bill = bill

    async def awrap_model_call(self, request: ModelRequest[Any], handler: ModelHandler) -> ModelAnswer:
        """Count the call, its usage, and how it failed."""
        self._bill.model_calls += 1
        self._bill.failure = None
        try:
            response = await handler(request)
        except Exception as error:
            self._bill.failure = failure_of(error)
            self._bill.add(None, None)
            raise
        for message in response.result:
            self._bill.add(*usage_of(message))
        return response


def retrying(attempts: int) -> AgentMiddleware[Any, Any, Any]:
    """Return a retry that gives a model as many attempts as Zhizhi does; when all fail, the run ends without answer."""
    return ModelRetryMiddleware(
        max_retries=attempts - 1,
        retry_on=lambda error: failure_of(error) in WORTH_ANOTHER_TRY,
        on_failure=lambda _: "",
        initial_delay=0.0,
        jitter=False,
    )


class RepeatFingerprint(AgentMiddleware[Any, Any, Any]):
    """Refuses a call whose name and arguments were asked before, and takes the tools away after repeats in a row.

    A call that was refused is a repeat, and so is one whose answer holds what an earlier answer of that tool held.
    `limit` repeats in a row end collection.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self._asked: set[str] = set()
        self._answered: set[str] = set()
        self._in_a_row = 0

    @property
    def stuck(self) -> bool:
        """Whether the repeats in a row have reached the limit."""
        return self._in_a_row >= self._limit

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolMessage | Command[Any]:
        """Run the call unless it was asked before."""
        asked = _fingerprint(request.tool_call["name"], _arguments(request.tool_call["args"]))
        if asked in self._asked:
            self._in_a_row += 1
            return _refusal(request)
        self._asked.add(asked)
        answer = await handler(request)
        answered = _fingerprint(request.tool_call["name"], _told(answer))
        self._in_a_row = self._in_a_row + 1 if answered in self._answered else 0
        self._answered.add(answered)
        return answer


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != PREVIOUS_OBSERVATION}


def _told(answer: ToolMessage | Command[Any]) -> Any:
    """What an answer says, without the id of its call."""
    text = str(answer.content) if isinstance(answer, ToolMessage) else ""
    try:
        body = json.loads(text)
    except ValueError:
        return text
    return {key: value for key, value in body.items() if key != "tool_call_id"} if isinstance(body, dict) else body


def _fingerprint(name: str, value: Any) -> str:
    return f"{name} {json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)}"


def _refusal(request: ToolCallRequest) -> ToolMessage:
    call_id = str(request.tool_call["id"])
    body = json.dumps({"type": "REJECTED", "tool_call_id": call_id, "code": REPEATED})
    return ToolMessage(body, tool_call_id=call_id, name=request.tool_call["name"])


class LastAnswer(AgentMiddleware[Any, Any, Any]):
    """Asks for the answer, without tools, at the last model call, at the tool limit, or where the agent is stuck."""

    def __init__(self, text: str, *, model_calls: int, tool_calls: int, fingerprint: RepeatFingerprint | None) -> None:
        super().__init__()
        self._text = text
        self._model_calls = model_calls
        self._tool_calls = tool_calls
        self._fingerprint = fingerprint

    async def awrap_model_call(self, request: ModelRequest[Any], handler: ModelHandler) -> ModelAnswer:
        """Pass the request on, the tools taken away where it is the last one."""
        if not self._is_due(request.state):
            return await handler(request)
        return await handler(request.override(tools=[], messages=[*request.messages, HumanMessage(self._text)]))

    def _is_due(self, state: Any) -> bool:
        last = state.get("run_model_call_count", 0) >= self._model_calls - 1
        used_up = (state.get("run_tool_call_count") or {}).get(_ALL_TOOLS, 0) >= self._tool_calls
        return last or used_up or (self._fingerprint is not None and self._fingerprint.stuck)
