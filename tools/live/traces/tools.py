"""`query_traces` over live backends: whole traces, fetched within bounds, told by the frozen loader and answer."""

from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import override

from tools.base import EvidenceTool, IncidentContext
from tools.canonical import fold
from tools.frozen.spans import load_spans
from tools.frozen.traces import TracesTool
from tools.live.fanout import Gathered, ask_all
from tools.live.pasting import lines
from tools.live.spool import spooled
from tools.live.traces.source import FoundSpans, SpanRecord, TraceQuestion, TraceSource
from tools.vocabulary import Evidence, EvidenceStatus, Provenance, Scope


class LiveTracesTool(TracesTool):
    """Tells which span failed first, the calls between services, and the failing and slow spans. MEASURED, DIRECT.

    Name, arguments and scope are the frozen tool's:

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |
    | operation | yes, unless null | `fold` |
    | start, end | yes | resolved to UTC, aligned outward to the minute; default [as_of - 3 h, as_of + 15 min] |

    Of a window with more traces than are read, the failing ones (the earliest and the latest), the slow ones and some
    usual ones are: the evidence is truncated then, and counts (`calls=`, `spans=`) are of that sample
    (`SAMPLED_TRACES:60`). Where no service is named, those with failures are looked at first.
    """

    def __init__(self, sources: Mapping[str, TraceSource]) -> None:
        """`sources`: the opened trace backends by name, at least one."""
        self._sources = dict(sources)

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        question = TraceQuestion.of(scope, prefer=fold(incident.service) if incident.service else None)
        gathered = await ask_all(self._sources, lambda source: source.spans(question))
        records = _once(found.records for found in gathered.answers.values())
        if records:
            evidence = await spooled(
                {"traces": records}, {"traces": load_spans}, lambda rows, loaded: self.answer(rows, loaded, scope)
            )
        else:
            evidence = _nothing(scope)
        if evidence.status is EvidenceStatus.NO_EVIDENCE:
            gathered.absence()
        return _completed(evidence, gathered)

    @override
    def paste(self, scope: Scope) -> str:
        return lines(source.paste(scope) for source in self._sources.values())


def tools_of(sources: Mapping[str, TraceSource]) -> tuple[EvidenceTool, ...]:
    """Return `query_traces` over the opened trace backends, by name; nothing where there are none."""
    return (LiveTracesTool(sources),) if sources else ()


def _once(found: Iterable[Iterable[SpanRecord]]) -> list[SpanRecord]:
    """Return every span once, whichever sources keep it."""
    spans = {(span["trace_id"], span["span_id"]): span for records in found for span in records}
    return list(spans.values())


def _completed(evidence: Evidence, gathered: Gathered[FoundSpans]) -> Evidence:
    answers = gathered.answers.values()
    notes = dict.fromkeys(note for found in answers for note in found.notes)
    truncated = evidence.truncated or bool(gathered.failures) or any(found.truncated for found in answers)
    return evidence.model_copy(
        update={"truncated": truncated, "notes": (*gathered.notes, *notes, *evidence.notes)},
    )


def _nothing(scope: Scope) -> Evidence:
    whose = " ".join(str(scope[key]) for key in ("service", "operation") if key in scope) or "any service"
    return Evidence(
        status=EvidenceStatus.NO_EVIDENCE,
        provenance=Provenance.MEASURED,
        summary=f"no span of {whose} from {scope['start']} to {scope['end']}",
    )
