"""The state of a run, as Studio shows it: JSON values and messages, one docstring under each field.

Every value is plain JSON, so that a state that was read from a checkpoint, edited in Studio or sent over the wire is
the same state; the pure rules read it through the typed views of `graph.views`.
"""

import operator
from collections.abc import Mapping
from typing import Annotated, Any, cast

from langchain_core.messages import AnyMessage
from langgraph.managed import RemainingSteps
from typing_extensions import TypedDict

from graph.intake import add_turns


class DiagnosisInput(TypedDict, total=False):
    """What a caller sends."""

    messages: Annotated[list[AnyMessage], add_turns]
    """The user's turns; the last one is the query."""
    incident: dict[str, Any] | None
    """A structured alert or incident; with it, the router is skipped."""


class DiagnosisOutput(TypedDict, total=False):
    """What a caller gets."""

    release: dict[str, Any]
    """The run's one `Release`, as JSON."""
    messages: Annotated[list[AnyMessage], add_turns]
    """The user's turns and one text a Release."""


class DiagnosisState(TypedDict, total=False):
    """A thread's public turns, and everything of its latest run."""

    messages: Annotated[list[AnyMessage], add_turns]
    """Public: the user's turns and one text a Release. Grows through the thread."""
    transcript: Annotated[list[AnyMessage], operator.add]
    """Private to the run: the model's tool requests and their answers. Reset by `open_run`."""
    incident: dict[str, Any] | None
    """The structured incident that came with this run's request, masked; None where none came."""
    context: dict[str, str | None]
    """What the router found in the query: enterprise, service, environment, window, error."""
    run_id: str
    """This run's id."""
    run_number: int
    """This run's ordinal in its thread, from 1: the first part of its call ids."""
    as_of: str
    """The moment (ISO 8601, UTC) against which relative times are resolved."""
    zone: str
    """The IANA zone of times that name none."""
    locale: str
    """The language of published texts: zh or en."""
    calls_named: int
    """How many tool calls this run has named: the second part of its call ids."""
    collection_state: str
    """COLLECTING or SATURATED."""
    consecutive_no_gain: int
    """NO_GAIN decisions in a row."""
    consecutive_protocol_violations: int
    """Invalid progress protocol requests in a row."""
    pending_observation: str | None
    """The call id whose observation waits for the model's evaluation."""
    stop_reason: str | None
    """Why collection ended; the first reason stays."""
    stop_delivered: bool
    """Whether the model was told to stop."""
    invocation_keys: list[dict[str, Any]]
    """The run's canonical invocations in execution order: call id, tool, scope digest, status, record digest."""
    limits: dict[str, Any]
    """Thresholds, budgets, attempts and waits, fixed when the run opened."""
    budget: dict[str, Any]
    """What the run has spent."""
    agent_steps: list[dict[str, Any]]
    """One entry a diagnosis round: `{round, token_count | null}`."""
    trace: list[dict[str, Any]]
    """The audit trace: typed, bounded, without payload."""
    trace_dropped: int
    """Events that the trace's bound dropped."""
    last_answer: dict[str, Any] | None
    """The newest canonical answer that `evaluate_gain` has to settle: call id, status, evidence status."""
    draft_text: str | None
    """The model's draft as it came, until it is parsed; None once the run is released."""
    submissions: list[str]
    """Private to the run: its draft and the draft's repair as they came, kept for the run's record, never published."""
    ledger_gaps: list[dict[str, Any]]
    """Reads of the ledger that gave no believable record: which node read, of which call, the code that says why."""
    draft: dict[str, Any] | None
    """The parsed draft; after the release it stands at SUCCESS only."""
    draft_violations: list[dict[str, Any]]
    """What the EvidenceGuard held against the draft, for the one repair."""
    repaired: bool
    """Whether the one evidence repair was spent."""
    progress_snapshot: dict[str, Any] | None
    """The bounded projection of what was checked and found, made once."""
    ending: str | None
    """How the run ended: the row of the release table."""
    failure: str | None
    """The code of what kept the run from going on."""
    missing_info: list[str]
    """What the query would have to name before a bounded question is possible."""
    verified_sources: list[dict[str, Any]]
    """The cited records that were verified, as they may be published."""
    help: dict[str, Any]
    """What a fallback offers: gaps with queries to paste, onset, first failing component, unproven changes."""
    handed_over: bool
    """Whether the offline model took this run over because the endpoint was away."""
    release: dict[str, Any] | None
    """The run's one Release."""
    remaining_steps: RemainingSteps
    """Super-steps left under the caller's recursion limit; never stored."""


def amended(state: Mapping[str, Any], changes: Mapping[str, Any]) -> DiagnosisState:
    """Return `state` with `changes`, which name keys of a state; nothing is changed in place."""
    return cast(DiagnosisState, {**state, **changes})
