"""`open_run`: gives a run its id, its limits and its moment, and starts every counter fresh.

Source: contract, "Run and thread"; spec "Consecutive no-gain threshold SHALL be fixed per Run".
"""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from langgraph.runtime import Runtime
from langgraph.types import Command, Overwrite
from pydantic import TypeAdapter, ValidationError

from graph.contract.budget import Budget
from graph.contract.progress import Progress
from graph.contract.vocabulary import TraceEventType
from graph.nodes.edge import Node
from graph.parts import Parts
from graph.recording import Recorder
from graph.settings import DEFAULT_ZONES, DiagnosisContext, plausible
from graph.state import DiagnosisState, amended
from graph.views import progress_update

INCIDENT_TIMES = ("as_of", "fired_at", "started_at", "startsAt", "timestamp")
"""Where alerts of the field keep their own time, in the order of trust."""

_moments: TypeAdapter[datetime] = TypeAdapter(datetime)


def make_open_run(parts: Parts) -> Node[Literal["classify"]]:
    """Return the node."""

    async def open_run(state: DiagnosisState, runtime: Runtime[DiagnosisContext]) -> Command[Literal["classify"]]:
        context = runtime.context or DiagnosisContext()
        zone = context.zone or parts.settings.zone or DEFAULT_ZONES[context.locale]
        now = parts.clock()
        moment = incident_time(state.get("incident") or {}, zone) or context.moment() or now
        told = {
            "run_number": (state.get("run_number") or 0) + 1,
            "as_of": moment.isoformat(),
            "zone": zone,
            "locale": context.locale,
        }
        opened = amended(fresh_run(parts, now), told)
        recorder = Recorder(parts.clock, opened, runtime.stream_writer)
        recorder.event(TraceEventType.RUN_OPENED)
        update: dict[str, Any] = {**opened, **recorder.flush(), "transcript": Overwrite([])}
        return Command(goto="classify", update=update)

    return open_run


def fresh_run(parts: Parts, now: datetime) -> DiagnosisState:
    """Return a new run's id and limits, and every channel that a run owns, empty. `now` is aware."""
    own = {"run_id": uuid.uuid4().hex, "limits": parts.settings.limits().model_dump(mode="json")}
    return amended({}, {**own, **fresh_channels(now.timestamp())})


def fresh_channels(started_at: float) -> dict[str, Any]:
    """Return every channel that a run owns and fills as it goes, empty. `started_at` is POSIX seconds."""
    fresh: dict[str, Any] = {
        "budget": Budget(started_at=started_at).model_dump(mode="json"),
        **progress_update(Progress()),
        "calls_named": 0,
        "trace_dropped": 0,
        "repaired": False,
        "handed_over": False,
    }
    lists = ("invocation_keys", "agent_steps", "trace", "draft_violations", "missing_info", "verified_sources")
    kept = ("submissions", "ledger_gaps")
    absent = ("last_answer", "draft_text", "draft", "progress_snapshot", "ending", "failure", "release")
    return fresh | {name: [] for name in (*lists, *kept)} | dict.fromkeys(absent) | {"context": {}, "help": {}}


def incident_time(incident: Mapping[str, Any], zone: str) -> datetime | None:
    """Return the incident's own time in UTC; None where it names none that can be.

    ISO 8601, a zone-less one read in `zone`, or POSIX seconds or milliseconds.
    """
    for name in INCIDENT_TIMES:
        value = incident.get(name)
        if not value or isinstance(value, bool) or not isinstance(value, str | int | float):
            continue
        try:
            moment = _moments.validate_python(value)
        except ValidationError:
            continue
        if not plausible(moment):
            continue
        aware = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))
        return aware.astimezone(UTC)
    return None
