"""What a record says of a run's surroundings, told in the order in which the run asked: clock, models, ledger.

Source: design, decision 3.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from langchain_core.messages import AIMessage

from graph.asking import WORTH_ANOTHER_TRY, Answer, audit_attempt
from graph.contract.budget import begin_model_call, model_call_forbidden
from graph.contract.records import verify_record
from graph.contract.trace import TraceLog
from graph.contract.vocabulary import LimitationCode, ModelComponent, SourceError
from graph.ledger import Checked
from graph.nodes.open_run import fresh_channels
from graph.recording import Recorder
from graph.replay.gate import ai_message, misfit
from graph.replay.inputs import AiMessage, Inputs, Reply
from graph.state import DiagnosisState, amended
from graph.views import budget_of, keys_of, limits_of

T = TypeVar("T")

CLOCK_STEP = 0.001
"""A trace's times are cut to the millisecond, in seconds."""


class Testimony:
    """The state of a replayed run, and what a record has still to tell of it."""

    def __init__(self, inputs: Inputs, outputs: Mapping[str, Any]) -> None:
        run = inputs.run
        opened = {
            **run.model_dump(include={"run_id", "run_number", "as_of", "zone", "locale", "incident"}),
            "limits": inputs.limits.model_dump(mode="json"),
            **fresh_channels(run.started_at),
            "context": dict(run.context),
        }
        self.state: DiagnosisState = amended({}, opened)
        self.published = ""
        self._inputs = inputs
        self._outputs = outputs
        self._events = {event["seq"]: event for event in outputs["trace"]}
        self._entries = {entry.key.call_id: entry for entry in inputs.ledger}
        self._gaps = list(inputs.ledger_gaps)
        self._replies = 0
        self._messages = 0
        self._submissions = 0

    # What the clock said

    @property
    def _log(self) -> TraceLog:
        return TraceLog(tuple(self.state["trace"]), self.state["trace_dropped"])

    def _recorder(self) -> Recorder:
        recorder = Recorder(lambda: self._time_after(recorder.log), self.state, unheard_events)
        return recorder

    def _ahead(self, log: TraceLog | None = None) -> dict[str, Any]:
        """The event that the record has after `log`, or an empty one."""
        log = log or self._log
        ahead: dict[str, Any] = self._events.get(len(log.events) + log.dropped, {"type": None})
        return ahead

    def _time_after(self, log: TraceLog) -> datetime:
        """The recorded time of the event that comes after `log`."""
        times = self._inputs.times
        if not times:
            raise misfit("inputs.times", "a time for each event", "none")
        return times[min(len(log.events), len(times) - 1)]

    def _earliest(self, recorder: Recorder) -> float:
        """The time (POSIX seconds) before which nothing can be asked that comes after the recorder's events."""
        last = recorder.log.events[-1]["at"]
        return datetime.fromisoformat(last).timestamp()

    def _latest(self, recorder: Recorder) -> float:
        return self._time_after(recorder.log).timestamp() + CLOCK_STEP

    # What models said

    def _ask(self, component: ModelComponent, recorder: Recorder, value: Callable[[Reply], T]) -> Answer[T]:
        """The attempts of one question, as `graph.asking` makes them."""
        limits = limits_of(self.state)
        answer: Answer[T] = Answer(budget_of(self.state))
        for _ in range(1 if component is ModelComponent.ROUTER else limits.model_attempts):
            reply = self._next_reply(component)
            now = self._earliest(recorder) if reply else self._latest(recorder)
            answer.exhausted = model_call_forbidden(answer.budget, limits, component, now)
            if answer.exhausted:
                return answer
            if reply is None:
                raise misfit(f"inputs.replies[{self._replies}]", f"a reply of {component}", "none")
            self._replies += 1
            answer.budget = begin_model_call(answer.budget, component)
            answer.failure = reply.code
            audit_attempt(component, answer, (reply.input_tokens, reply.output_tokens), recorder)
            if reply.code is None:
                answer.value = value(reply)
                return answer
            if reply.code not in WORTH_ANOTHER_TRY:
                return answer
        return answer

    def _next_reply(self, component: ModelComponent) -> Reply | None:
        if self._replies >= len(self._inputs.replies):
            return None
        reply = self._inputs.replies[self._replies]
        return reply if reply.component is component else None

    def _diagnosis(self, _: Reply) -> AIMessage:
        """The next request of the transcript, or the draft where there is none."""
        if self._messages < len(self._inputs.transcript):
            message = self._inputs.transcript[self._messages]
            if not isinstance(message, AiMessage):
                raise misfit(f"inputs.transcript[{self._messages}]", "a request", "an answer that nobody asked for")
            self._messages += 1
            return ai_message(message)
        return AIMessage(self._submission())

    def _submission(self) -> str:
        if self._submissions >= len(self._inputs.submissions):
            raise misfit(f"inputs.submissions[{self._submissions}]", "a draft's text", "nothing")
        self._submissions += 1
        return self._inputs.submissions[self._submissions - 1]

    # What the ledger said

    def _checked(self, reader: str) -> dict[str, Checked]:
        unbelieved: dict[str, LimitationCode | SourceError] = {}
        while self._gaps and self._gaps[0].reader == reader and self._gaps[0].call_id not in unbelieved:
            gap = self._gaps.pop(0)
            unbelieved[gap.call_id] = gap.code
        now = datetime.fromisoformat(self.state["trace"][-1]["at"]).timestamp()
        checked: dict[str, Checked] = {}
        for key in keys_of(self.state):
            stored = self._entries[key.call_id].stored
            checked[key.call_id] = unbelieved.get(key.call_id) or verify_record(
                key, stored, run_id=self.state["run_id"], now=now
            )
        return checked


def unheard_events(_: Any) -> None:
    """Nobody listens to a replay."""
