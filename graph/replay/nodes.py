"""The replay of a recorded run: the nodes' pure halves, in the run's order, over what models and sources said.

Nothing is asked: what came from outside is taken from the record's inputs, and every decision is made again from it.
Source: design, decision 3. Where inputs don't fit together, `Misfit` names the place.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.types import Command

from graph.asking import Answer
from graph.cancellation import cancelled_update
from graph.contract.admission import Admission, GateState, ToolRequest, Verdict, admit
from graph.contract.evidence import check_draft
from graph.contract.gaps import Asked, CheckedScope
from graph.contract.records import InvocationRecord
from graph.contract.vocabulary import (
    BudgetKind,
    Ending,
    FailureCode,
    InvocationStatus,
    ModelComponent,
    ReleaseOutcome,
    SemanticVerdict,
    SourceError,
    TraceEventType,
)
from graph.envelope import rejection_message
from graph.ledger import Checked, gaps_after, records_of
from graph.nodes.classify import not_a_diagnosis
from graph.nodes.close_collection import closed
from graph.nodes.diagnose import answered, away, budget_stop, model_failed
from graph.nodes.evaluate_gain import settled
from graph.nodes.evidence_guard import judged
from graph.nodes.evidence_repair import repaired
from graph.nodes.release import released
from graph.nodes.safe_fallback import helpful
from graph.nodes.semantic_guard import reviewed
from graph.nodes.tool_gate import decided, tell, way_on
from graph.recording import Recorder
from graph.replay.gate import Misfit, check_invocation, check_told, misfit, requests_of, told
from graph.replay.inputs import AiMessage, Entry, ToolAnswer
from graph.replay.seals import first_difference
from graph.replay.testimony import Testimony, unheard_events
from graph.state import DiagnosisState, amended
from graph.views import budget_of, draft_of, keys_of, limits_of, progress_of

ON_FAILURE = {
    "classify": "safe_fallback",
    "diagnose": "close_collection",
    "tool_gate": "close_collection",
    "evaluate_gain": "close_collection",
    "close_collection": "safe_fallback",
    "evidence_guard": "safe_fallback",
    "evidence_repair": "safe_fallback",
    "semantic_guard": "safe_fallback",
    "safe_fallback": "release",
}
"""Where a node's own failure leads, as the graph is wired."""


class Replay(Testimony):
    """One replay. `run` makes it and returns the state that the rules give."""

    def run(self) -> DiagnosisState:
        """Replay the run to its Release; raises Misfit."""
        recorder = self._recorder()
        recorder.event(TraceEventType.RUN_OPENED)
        self._apply(recorder.flush())
        node: str | None = "classify"
        while node is not None:
            node = self._step(node)
        self._refuse_leftovers()
        return self.state

    def _step(self, node: str) -> str | None:
        if self._cut_before(node):
            update = cancelled_update(
                self.state,
                run_id=self.state["run_id"],
                locale=self.state["locale"],
                clock=lambda: self._time_after(self._log),
                writer=unheard_events,
            )
            self._publish(update)
            return None
        if node == "release":
            self._publish(released(self.state, self._recorder(), self._model))
            return None
        ahead = self._ahead()
        if ahead["type"] == TraceEventType.RUN_FAILURE and ahead.get("code") == FailureCode.INTERNAL_ERROR:
            return self._fail(node)
        command = _NODES[node](self)
        self._apply(command.update or {})
        return str(command.goto)

    def _fail(self, node: str) -> str:
        """The node itself failed, which no rule foretells: its work is lost, and the failure is released in order."""
        recorder = self._recorder()
        recorder.event(TraceEventType.RUN_FAILURE, code=FailureCode.INTERNAL_ERROR)
        ending = self.state.get("ending") or Ending.INTERNAL_ERROR.value
        self._apply({"ending": ending, "failure": FailureCode.INTERNAL_ERROR.value, **recorder.flush()})
        return ON_FAILURE[node]

    def _cut_before(self, node: str) -> bool:
        """Whether a cancellation cut the run here: some nodes leave no event, but a mark in the state."""
        ahead = self._ahead()
        if ahead["type"] != TraceEventType.RELEASE or ahead.get("outcome") != ReleaseOutcome.CANCELLED:
            return False
        if node == "evaluate_gain":
            return self._outputs.get("last_answer") is not None
        return node != "safe_fallback" or not self._outputs.get("help")

    def _publish(self, update: dict[str, Any]) -> None:
        self.published = str(update["messages"][0].text)
        self._apply({name: value for name, value in update.items() if name != "messages"})

    def _apply(self, update: Any) -> None:
        self.state = amended(self.state, {name: value for name, value in update.items() if name != "transcript"})

    def _classify(self) -> Command[Any]:
        recorder = self._recorder()
        if self.state.get("incident"):
            return Command(goto="diagnose")
        turns = self._inputs.run.turns
        if not (turns and turns[-1].role == "human" and turns[-1].text.strip()):
            return not_a_diagnosis({}, {}, recorder)
        answer = self._ask(ModelComponent.ROUTER, recorder, lambda reply: reply.said)
        update: dict[str, Any] = {"budget": answer.budget.model_dump(mode="json")}
        if answer.value is None:
            return Command(goto="diagnose", update={**update, **recorder.flush()})
        if answer.value == "other":
            return not_a_diagnosis(dict(self._inputs.run.context), update, recorder)
        recorder.event(TraceEventType.RUN_CLASSIFIED, passed=True)
        return Command(goto="diagnose", update={**update, **recorder.flush()})

    def _diagnose(self) -> Command[Any]:
        recorder = self._recorder()
        ahead = self._ahead()
        if ahead["type"] == TraceEventType.STOP_REASON_SET and ahead.get("budget") == BudgetKind.STEPS:
            return budget_stop(self.state, BudgetKind.STEPS, {}, recorder)
        before = self.state
        answer = self._ask(ModelComponent.DIAGNOSIS, recorder, self._diagnosis)
        update = self._spent(answer, before)
        if away(answer, before):
            recorder.event(TraceEventType.MODEL_HANDED_OVER, code=answer.failure)
            self.state = amended(before, {**update, "handed_over": True})
            answer = self._ask(ModelComponent.DIAGNOSIS, recorder, self._diagnosis)
            update = {**self._spent(answer, self.state), "handed_over": True}
            self.state = before
        if answer.value is not None:
            return self._answered(answer.value, update, recorder)
        if answer.exhausted:
            return budget_stop(before, answer.exhausted, update, recorder)
        return model_failed(answer, update, recorder)

    def _answered(self, reply: AIMessage, update: dict[str, Any], recorder: Recorder) -> Command[Any]:
        command = answered(reply, self.state, update, recorder)
        made = (command.update or {}).get("transcript")
        if made and [call["id"] for call in _calls(made[0])] != [call["id"] for call in _calls(reply)]:
            ids = ", ".join(str(call["id"]) for call in _calls(made[0]))
            raise misfit(f"inputs.transcript[{self._messages - 1}]", f"calls {ids}", "other call ids")
        return command

    @staticmethod
    def _spent(answer: Answer[Any], state: DiagnosisState) -> dict[str, Any]:
        steps = [*state["agent_steps"], *answer.steps]
        return {"budget": answer.budget.model_dump(mode="json"), "agent_steps": steps}

    def _tool_gate(self) -> Command[Any]:
        recorder = self._recorder()
        asked = self._messages - 1
        message = self._inputs.transcript[asked]
        assert isinstance(message, AiMessage)  # noqa: S101 - `_diagnosis` took it
        requests = requests_of(message, self._inputs.tools, f"inputs.transcript[{asked}]")
        admission = self._admit(requests, recorder)
        tell(admission, self.state, recorder)
        update = decided(admission)
        answers = {r.call_id: str(rejection_message(r, admission.progress).content) for r in admission.rejections}
        given = self._answers(requests)
        for call_id, content in answers.items():
            path, answer = given[call_id]
            if difference := first_difference(json.loads(content), told(answer, path), f"{path}.content"):
                raise Misfit(difference)
        if admission.verdict is not Verdict.RUN or admission.admitted is None:
            return Command(goto=way_on(admission), update={**update, **recorder.flush()})
        update |= self._ran(admission.admitted, admission, given[admission.admitted.call_id], recorder)
        return Command(goto="evaluate_gain", update={**update, **recorder.flush()})

    def _admit(self, requests: list[ToolRequest], recorder: Recorder) -> Admission:
        gate = GateState(
            progress=progress_of(self.state),
            budget=budget_of(self.state),
            limits=limits_of(self.state),
            invocations=keys_of(self.state),
            now=self._earliest(recorder),
        )
        admission = admit(requests, gate)
        if admission.admitted is None or admission.admitted.call_id in self._entries:
            return admission
        late = admit(requests, replace(gate, now=self._latest(recorder)))
        if late.admitted is None:
            return late
        raise misfit("inputs.ledger", f"a record of {admission.admitted.call_id}", "none")

    def _answers(self, requests: list[ToolRequest]) -> dict[str, tuple[str, ToolAnswer]]:
        """The answers in the transcript, by call id, each with its place."""
        given: dict[str, tuple[str, ToolAnswer]] = {}
        for request in requests:
            path = f"inputs.transcript[{self._messages}]"
            answer = dict(enumerate(self._inputs.transcript)).get(self._messages)
            if not isinstance(answer, ToolAnswer) or answer.tool_call_id != request.call_id:
                raise misfit(path, f"the answer to {request.call_id}", "something else")
            given[request.call_id] = (path, answer)
            self._messages += 1
        return given

    def _ran(
        self, request: ToolRequest, admission: Admission, given: tuple[str, ToolAnswer], recorder: Recorder
    ) -> dict[str, Any]:
        number = len(self.state["invocation_keys"])
        entry = self._entries[request.call_id]
        check_invocation(entry, request, self.state["run_id"], limits_of(self.state), f"inputs.ledger[{number}]")
        path, answer = given
        check_told(entry, answer, path)
        body = told(answer, path)
        found = body.get("evidence_status")
        recorder.event(
            TraceEventType.TOOL_INVOCATION,
            call_id=request.call_id,
            tool_name=request.tool_name,
            status=entry.key.status,
            evidence_status=found,
            code=body.get("code"),
        )
        size = len(answer.content.encode())
        return {
            "invocation_keys": [*self.state["invocation_keys"], entry.key.model_dump(mode="json")],
            "budget": admission.budget.spent(observation_bytes=size).model_dump(mode="json"),
            "last_answer": {"call_id": request.call_id, "status": entry.key.status.value, "evidence_status": found},
        }

    def _evaluate_gain(self) -> Command[Any]:
        return Command(goto="diagnose", update=settled(self.state, self._recorder()))

    def _close_collection(self) -> Command[Any]:
        return closed(self.state, self._checked("close_collection"), self._recorder())

    def _evidence_guard(self) -> Command[Any]:
        checked = self._checked("evidence_guard")
        violations = check_draft(draft_of(self.state), records_of(checked), zone=self.state["zone"])
        return judged(self.state, checked, violations, self._recorder())

    def _evidence_repair(self) -> Command[Any]:
        recorder = self._recorder()
        checked = self._checked("evidence_repair")
        answer = self._ask(ModelComponent.EVIDENCE_REPAIR, recorder, lambda _: self._submission())
        return repaired(self.state, checked, answer, recorder)

    def _semantic_guard(self) -> Command[Any]:
        recorder = self._recorder()
        answer = self._ask(ModelComponent.SEMANTIC_GUARD, recorder, lambda reply: SemanticVerdict(str(reply.said)))
        return reviewed(answer, recorder)

    def _safe_fallback(self) -> Command[Any]:
        checked = self._checked("safe_fallback")
        records = list(records_of(checked).values())
        asked = Asked(
            answered=records,
            failed=[self._failed(entry) for entry in self._failures(checked)],
            suggested=self._inputs.suggested,
            pastes={record.call_id: str(self._entries[record.call_id].paste) for record in records},
        )
        gaps = gaps_after(self.state, "safe_fallback", checked)
        return Command(goto="release", update={"help": helpful(asked), "ledger_gaps": gaps})

    def _failures(self, checked: Mapping[str, Checked]) -> list[Entry]:
        """The failed invocations whose record can be read."""
        entries = [self._entries[key.call_id] for key in keys_of(self.state) if key.status is InvocationStatus.ERROR]
        gone = SourceError.LEDGER_UNAVAILABLE
        return [entry for entry in entries if entry.stored is not None and checked[entry.key.call_id] is not gone]

    @staticmethod
    def _failed(entry: Entry) -> CheckedScope:
        record = InvocationRecord.model_validate(entry.stored)
        return record.kind, record.scope, str(entry.paste)

    def _model(self) -> str | None:
        asked = budget_of(self.state).component_rounds.get(ModelComponent.DIAGNOSIS)
        return self._inputs.model if asked else None

    def _refuse_leftovers(self) -> None:
        """Everything that the record brings has its place in the run."""
        for name, used in (
            ("replies", self._replies),
            ("transcript", self._messages),
            ("submissions", self._submissions),
            ("ledger", len(self.state["invocation_keys"])),
            ("ledger_gaps", len(self._inputs.ledger_gaps) - len(self._gaps)),
        ):
            if used < len(getattr(self._inputs, name)):
                raise misfit(f"inputs.{name}[{used}]", "nothing", "more than the run had")


def _calls(message: AIMessage) -> list[Mapping[str, Any]]:
    return [*message.tool_calls, *message.invalid_tool_calls]


_NODES: Mapping[str, Callable[[Replay], Command[Any]]] = {name: getattr(Replay, f"_{name}") for name in ON_FAILURE}
