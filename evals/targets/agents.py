"""What people would use instead: LangChain's `create_agent` with the middleware that its users put around it.

Same models, same tools, same prompt, router and incident as Zhizhi, and its budgets as the limits. No progress
envelope, no gate, no ledger, no guards: the model's last answer is what is published.
"""

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelCallLimitMiddleware, ToolCallLimitMiddleware
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from evals.cases import Attempt, Case, Target, ToolCall
from evals.targets.answers import release_of
from evals.targets.middleware import LAST_ANSWER, Bill, Billing, LastAnswer, RepeatFingerprint, retrying
from evals.targets.naive import ABSTAINED
from evals.targets.plain_tools import Collection, plain_tools
from evals.targets.reading import TARGET_FAILURES
from graph.contract.draft import Draft, DraftUnreadable, parse_draft
from graph.contract.vocabulary import ModelComponent, SemanticVerdict
from graph.models.calling import call_model
from graph.models.registry import GivenModels, choose_models
from graph.models.replies import ModelFailure, Route, parse_route, parse_verdict
from graph.nodes.classify import spoken_window
from graph.nodes.diagnose import model_messages
from graph.nodes.evidence_json import evidence_json
from graph.nodes.open_run import incident_time
from graph.settings import DEFAULT_ZONES, HarnessSettings
from graph.state import DiagnosisState, amended
from graph.views import incident_context
from prompts.loader import render
from tools.base import EvidenceTool

PLAIN = "create-agent"
FINGERPRINT = "create-agent-fingerprint"
VERIFIED = "create-agent-verified"
REFUSED = "REFUSED"


@dataclass
class _Run:
    """One attempt: the state that the incident context is read from, what was collected, what it cost."""

    state: DiagnosisState
    collection: Collection
    bill: Bill
    messages: list[BaseMessage]


class Agent:
    """A target that runs `create_agent`, or the variant of it that `name` says."""

    def __init__(self, name: str, models: GivenModels | None, settings: HarnessSettings) -> None:
        self.name = name
        self._models = choose_models(models, settings)[0]
        self._settings = settings

    async def attempt(self, case: Case, tools: Sequence[EvidenceTool]) -> Attempt:
        """Run the agent on the case within the settings' time; what isn't finished by then has no answer."""
        started = time.monotonic()
        run = self._opened(case)
        try:
            async with asyncio.timeout(self._settings.budget.max_seconds):
                release = await self._answer(case, tools, run)
        except TimeoutError:
            release = ABSTAINED
        failure = run.bill.failure if run.bill.failure in TARGET_FAILURES else None
        return Attempt(
            release=None if failure else release,
            calls=tuple(_calls(run.messages, run.collection.calls)),
            model_calls=run.bill.model_calls,
            tokens=run.bill.tokens,
            seconds=time.monotonic() - started,
            failure=failure,
        )

    def _opened(self, case: Case) -> _Run:
        zone = self._settings.zone or DEFAULT_ZONES[case.locale]
        as_of = incident_time(case.incident or {}, zone) or datetime.now(UTC)
        told: dict[str, Any] = {"messages": [HumanMessage(case.query)], "incident": case.incident, "context": {}}
        state = amended({}, {**told, "as_of": as_of.isoformat(), "zone": zone, "locale": case.locale, "transcript": []})
        collection = Collection(incident_context(state), self._settings.tool.observation_bytes)
        return _Run(state, collection, Bill(), [])

    async def _answer(self, case: Case, tools: Sequence[EvidenceTool], run: _Run) -> dict[str, Any]:
        route = await self._route(case, run)
        if route is not None and route.kind == "other":
            return {**ABSTAINED, "fallback_type": "MISSING_REQUIRED_CONTEXT"}
        context = {**(route.context if route else {})}
        context["window"] = spoken_window(case.query, run.state) or context.get("window")
        run.state = amended(run.state, {"context": context})
        run.collection.incident = incident_context(run.state)
        text = await self._converse(case, tools, run)
        release = release_of(text, set(run.collection.records))
        if self.name != VERIFIED or release["outcome"] != "SUCCESS":
            return release
        return release if await self._verified(release["draft"], text, run) else ABSTAINED

    async def _route(self, case: Case, run: _Run) -> Route | None:
        if case.incident:
            return None
        body = json.dumps({"query": case.query}, ensure_ascii=False)
        reply = await self._ask(ModelComponent.ROUTER, [SystemMessage(render("router")), HumanMessage(body)], run)
        try:
            return parse_route(reply) if reply is not None else None
        except ModelFailure:
            return None

    async def _converse(self, case: Case, tools: Sequence[EvidenceTool], run: _Run) -> str:
        """Run the agent and return its last words, blank where it has none of its own."""
        system, *messages = model_messages(run.state)
        agent: Any = create_agent(
            self._models[ModelComponent.DIAGNOSIS],
            plain_tools(tools, run.collection),
            system_prompt=str(system.content),
            middleware=self._middleware(case, run),
        )
        # Its own limits end the run; the frame's must not come first.
        config = {"recursion_limit": 20 * self._settings.budget.max_model_calls}
        try:
            async for state in agent.astream({"messages": messages}, config, stream_mode="values"):
                run.messages = state["messages"]
        except ModelCallLimitExceededError:
            return ""
        return str(run.messages[-1].text)

    def _middleware(self, case: Case, run: _Run) -> list[AgentMiddleware[Any, Any, Any]]:
        budget = self._settings.budget
        model_calls = budget.max_model_calls - run.bill.model_calls - (self.name == VERIFIED)
        threshold = self._settings.chat.stop_after_consecutive_no_gain
        fingerprint = RepeatFingerprint(threshold) if self.name == FINGERPRINT else None
        last = LastAnswer(
            LAST_ANSWER[case.locale],
            model_calls=model_calls,
            tool_calls=budget.max_tool_calls,
            fingerprint=fingerprint,
        )
        return [
            ModelCallLimitMiddleware(run_limit=model_calls, exit_behavior="error"),
            ToolCallLimitMiddleware(run_limit=budget.max_tool_calls, exit_behavior="continue"),
            *([fingerprint] if fingerprint else []),
            last,
            retrying(self._settings.model.attempts),
            Billing(run.bill),
        ]

    async def _verified(self, draft: dict[str, Any], text: str, run: _Run) -> bool:
        """Whether the second model finds the answer supported; a reply that can't be had or read is a no."""
        try:
            read = parse_draft(text)
        except DraftUnreadable:
            read = Draft(conclusion=None)
        body = {"draft": draft, "evidence": evidence_json(read, run.collection.records, cited_only=False)}
        asked = [SystemMessage(render("semantic_guard")), HumanMessage(json.dumps(body, ensure_ascii=False))]
        reply = await self._ask(ModelComponent.SEMANTIC_GUARD, asked, run)
        try:
            return reply is not None and parse_verdict(reply) is SemanticVerdict.SUPPORTED
        except ModelFailure:
            return False

    async def _ask(self, component: ModelComponent, messages: list[BaseMessage], run: _Run) -> str | None:
        run.bill.model_calls += 1
        run.bill.failure = None
        model: BaseChatModel = self._models[component]
        settings = self._settings.model
        try:
            timeout, capabilities = settings.timeout_seconds, settings.capabilities()
            reply = await call_model(model, messages, timeout=timeout, capabilities=capabilities)
        except ModelFailure as failure:
            run.bill.failure = failure.code
            run.bill.add(failure.input_tokens, failure.output_tokens)
            return None
        run.bill.add(reply.input_tokens, reply.output_tokens)
        return str(reply.message.text)


def _calls(messages: Iterable[BaseMessage], ran: Sequence[ToolCall]) -> Iterable[ToolCall]:
    """Return every request of the run in order: those that ran, and the ones that limits or fingerprint refused."""
    left = list(ran)
    for message in messages:
        for request in message.tool_calls if isinstance(message, AIMessage) else ():
            own = next((one for one in left if (one.call_id, one.tool_name) == (request["id"], request["name"])), None)
            if own is not None:
                left.remove(own)
                yield own
            else:
                name, call_id = request["name"], request["id"]
                yield ToolCall(call_id=call_id, tool_name=name, executed=False, status=REFUSED)
    yield from left


def make_target(name: str, models: GivenModels | None, settings: HarnessSettings) -> Target:
    """Return the agent called `name`."""
    return Agent(name, models, settings)
