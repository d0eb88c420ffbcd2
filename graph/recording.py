"""What a node tells: audit events into the state and the stream, and progress for people into the stream alone.

Source: contract, "Trace and audit": the progress stream may hold scopes and summaries, the trace holds no payload.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from graph.contract.trace import TraceLog
from graph.contract.vocabulary import TraceEventType
from graph.state import DiagnosisState

Writer = Callable[[Any], None]


class Recorder:
    """Collects one node's events; `flush` streams them, last in the node, and gives the update that keeps them."""

    def __init__(self, clock: Callable[[], datetime], state: DiagnosisState, writer: Writer) -> None:
        self._clock = clock
        self._run_id = state["run_id"]
        self._writer = writer
        self._log = TraceLog(tuple(state.get("trace") or ()), state.get("trace_dropped") or 0)
        self._told = len(self._log.events)

    @property
    def log(self) -> TraceLog:
        """The run's trace with what this node has added."""
        return self._log

    def event(self, type: TraceEventType, **fields: Any) -> None:
        """Record one audit event; raises ValueError for a field that isn't of its closed type."""
        at = self._clock().isoformat(timespec="milliseconds")
        self._log = self._log.record(run_id=self._run_id, type=type, at=at, **fields)

    def progress(self, kind: str, **fields: Any) -> None:
        """Stream one line of progress for people, at once."""
        self._writer({"stream": "progress", "kind": kind, **fields})

    def flush(self) -> dict[str, Any]:
        """Stream the new events and return the state update that keeps them."""
        for event in self._log.events[self._told :]:
            self._writer({"stream": "trace", "event": event})
        self._told = len(self._log.events)
        return {"trace": list(self._log.events), "trace_dropped": self._log.dropped}
