"""An independent account of a run's collection, written from the words of the spec and the contract alone.

It shares no code with `graph.contract`: what it expects of a message, it works out with plain counters. Players tell it
each reply that a model is about to give; afterwards a test compares its counters and answers with the run's own.
"""

from dataclasses import dataclass, field
from typing import Any

RESERVED = 2
"""One repair and one semantic call are kept back from collection (contract, "Budgets")."""


@dataclass(frozen=True)
class Bounds:
    """The limits that a played run is given."""

    no_gain: int = 2
    violations: int = 3
    model_calls: int = 12
    tool_calls: int = 10
    tool_requests: int = 16
    tokens: int = 60_000
    observation_bytes: int = 256 * 1024
    seconds: float = 180.0
    attempts: int = 2
    repeats: int = 2


@dataclass(frozen=True)
class PlayedCall:
    """One tool call of a message: `scope` None where its arguments are at fault, `parsable` False for broken JSON."""

    supported: bool
    parsable: bool
    scope: str | None
    previous: Any


@dataclass
class Oracle:
    """What a run must have counted, answered and executed so far. `answers` maps a call id to the code it must get."""

    bounds: Bounds
    run: int
    no_gain: int = 0
    violations: int = 0
    saturated: bool = False
    reason: str | None = None
    delivered: bool = False
    pending: str | None = None
    named: int = 0
    requests: int = 0
    tool_calls: int = 0
    model_calls: int = 0
    tokens: int = 0
    observation_bytes: int = 0
    elapsed: float = 0.0
    usage_gaps: int = 0
    tries: int = 0
    over: bool = False
    answers: dict[str, str] = field(default_factory=dict)
    executed: list[str] = field(default_factory=list)
    ready: set[str] = field(default_factory=set)
    failed: dict[str, int] = field(default_factory=dict)
    running: str | None = None
    """The call whose tool must run now."""

    def may_ask(self, *, kept_back: int) -> bool:
        """Whether a model call may begin that leaves `kept_back` calls for others; the first one always may."""
        calls = max(1, self.bounds.model_calls - kept_back)
        return self.model_calls < calls and self.tokens < self.bounds.tokens and self.elapsed < self.bounds.seconds

    def billed(self, usage: tuple[int, int] | None) -> None:
        """A model call was made; the provider reported `usage`, or nothing."""
        self.model_calls += 1
        self.tokens += sum(usage or ())
        self.usage_gaps += usage is None

    def attempt_failed(self, *, again: bool) -> None:
        """A diagnosis call gave no usable reply; `again` where a failure of its sort is worth another attempt."""
        self.tries += 1
        if not again or self.tries >= self.bounds.attempts:
            self.over = True

    def requested(self, calls: list[PlayedCall]) -> None:
        """A diagnosis message asks for tools: work out each call's answer, and which tool runs."""
        self.tries = 0
        ids = [f"r{self.run}c{self.named + i}" for i in range(1, len(calls) + 1)]
        self.named += len(calls)
        if self.delivered:
            self.answers |= dict.fromkeys(ids, "CONTROLLED_STOP")
            self.over = True
            return
        judged = next((i for i, call in enumerate(calls) if call.supported), None)
        for i, call in enumerate(calls):
            self.answers[ids[i]] = "PARALLEL_TOOL_REQUEST" if call.supported else "UNSUPPORTED_TOOL"
        if judged is not None:
            self.answers[ids[judged]] = self._judge(ids[judged], calls[judged])

    def _judge(self, call_id: str, call: PlayedCall) -> str:
        if self.requests >= self.bounds.tool_requests:
            return self._budget()
        self.requests += 1
        if self.saturated or self.reason:
            return self._stop()
        if not call.parsable:
            return "INVALID_TOOL_ARGUMENTS"
        if self.pending and not self._speaks_of_pending(call.previous):
            self.violations += 1
            if self.violations >= self.bounds.violations:
                self.reason = "PROGRESS_PROTOCOL_VIOLATED"
                return self._stop()
            return "INVALID_PROGRESS_PROTOCOL"
        self.violations = 0
        if self.pending:
            self.pending = None
            self._gained(call.previous["information_gain"] == "GAINED")
            if self.saturated:
                return self._stop()
        return self._judge_scope(call_id, call.scope)

    def _judge_scope(self, call_id: str, scope: str | None) -> str:
        if scope is None:
            return "INVALID_TOOL_ARGUMENTS"
        if scope in self.ready:
            self._gained(False)
            return self._stop() if self.saturated else "DUPLICATE_SCOPE"
        if self.failed.get(scope, 0) > self.bounds.repeats:
            return "ATTEMPTS_EXHAUSTED"
        spent = self.tool_calls >= self.bounds.tool_calls
        if spent or self.observation_bytes >= self.bounds.observation_bytes or self.elapsed >= self.bounds.seconds:
            return self._budget()
        self.tool_calls += 1
        self.executed.append(scope)
        self.running = call_id
        return "RUN"

    def _speaks_of_pending(self, previous: Any) -> bool:
        if not isinstance(previous, dict) or previous.get("tool_call_id") != self.pending:
            return False
        return previous.get("information_gain") in ("GAINED", "NO_GAIN")

    def _gained(self, gained: bool) -> None:
        self.no_gain = 0 if gained else self.no_gain + 1
        if self.no_gain >= self.bounds.no_gain:
            self.saturated = True
            self.reason = self.reason or "INFORMATION_SATURATED"

    def _stop(self) -> str:
        self.delivered = True
        return "STOP_REQUIRED"

    def _budget(self) -> str:
        self.out_of_budget()
        return "BUDGET_LIMIT_REACHED"

    def out_of_budget(self) -> None:
        """A budget ends collection."""
        self.reason = self.reason or "BUDGET_LIMIT_REACHED"
        self.over = True

    def answered(self, outcome: str) -> None:
        """The tool that ran answered EVIDENCE, NO_EVIDENCE or ERROR."""
        scope, call_id, self.running = self.executed[-1], self.running, None
        if outcome == "ERROR":
            self.failed[scope] = self.failed.get(scope, 0) + 1
            return
        self.ready.add(scope)
        if outcome == "NO_EVIDENCE":
            self._gained(False)
        else:
            self.pending = call_id

    def drafted(self) -> None:
        """A draft came: what was pending is cleared, no counter moves."""
        self.pending = None
        self.over = True
