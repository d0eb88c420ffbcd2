"""Error signatures of live logs: what they say that they didn't say before, however many lines there are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from typing_extensions import override

from tools.base import IncidentContext
from tools.canonical import fold
from tools.frozen.database import Loaded, Row, Rows
from tools.frozen.lines import Page
from tools.frozen.logs import load_logs
from tools.frozen.scopes import bounds
from tools.frozen.signatures import MAX_SIGNATURES, SignaturesTool, signature_sentence
from tools.live.concurrency import in_turns
from tools.live.logs.discovering import FEW, discover
from tools.live.logs.everywhere import Everywhere, asked_of
from tools.live.logs.judging import SLICES, Reach
from tools.live.logs.pasting import GRAVE
from tools.live.logs.records import LogRecord
from tools.live.logs.source import Bound, LogQuestion, LogSource
from tools.live.logs.telling import Judged, judge, lines_of, tell
from tools.live.pasting import lines
from tools.live.spool import spooled
from tools.vocabulary import Evidence, EvidenceStatus, Provenance, Scope


class LiveSignaturesTool(SignaturesTool):
    """Finds log signatures that are new or have grown, in live logs. TEXT, DIRECT.

    Scope, lines and rules are those of `SignaturesTool`. Where the window and its baseline hold few records, they are
    fetched and told by it. Where they hold many, signatures are found in samples and counted at the backend
    (`tools.live.logs.discovering`); such an answer is truncated unless the backend counts none beside them, and a count
    that isn't exact says so in `counted=` (`tools.live.logs.telling`).
    """

    def __init__(self, sources: Mapping[str, LogSource]) -> None:
        self._sources = sources

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        question = _question(scope)
        everywhere = await asked_of(self._sources, scope.get("service"), question.end)
        totals = await everywhere.counts(question, SLICES)
        exact = totals.bound is Bound.EXACT
        extent = await _extent(everywhere, question) if totals.rows else None
        if extent is None:
            everywhere.absence()
            return _nothing(scope, everywhere.notes, truncated=not exact)
        if totals.total <= FEW:
            return await self._few(everywhere, question, scope, extent, exact=exact)
        reach = extent.reach(question)
        findings = await discover(everywhere, question, totals, reach)
        told = judge(findings.candidates, reach)
        rows = await in_turns(lambda one: tell(everywhere, one, question), told[:MAX_SIGNATURES])
        if not told:
            everywhere.absence()
        truncated = everywhere.partial or not exact or not findings.complete or len(told) > MAX_SIGNATURES
        notes = (*everywhere.notes, *findings.notes())
        return _found(told, rows, notes, truncated=truncated) if told else _nothing(scope, notes, truncated=truncated)

    async def _few(
        self, everywhere: Everywhere, question: LogQuestion, scope: Scope, extent: "_Extent", *, exact: bool
    ) -> Evidence:
        """Fetch all records and let the frozen side tell them."""
        found = await everywhere.records(question, FEW + FEW // 2)
        asked = scope.get("service")
        # The logs' first and last record say how far they reach, whoever wrote them: it decides what a baseline is.
        edges = [one for one in (extent.first, extent.last) if asked is not None and fold(one.service) != asked]
        documents = [record.document() for record in (*found.rows, *edges)]

        def answer(rows: Rows, loaded: Loaded) -> Evidence:
            return self.answer(rows, loaded, scope)

        told = await spooled({"logs": documents}, {"logs": load_logs}, answer)
        if told.status is EvidenceStatus.NO_EVIDENCE:
            everywhere.absence()
        truncated = told.truncated or everywhere.partial or not (exact and found.complete)
        return told.model_copy(update={"truncated": truncated, "notes": (*told.notes, *everywhere.notes)})

    @override
    def paste(self, scope: Scope) -> str:
        start, end = (moment.replace(tzinfo=UTC) for moment in bounds(scope))
        services = (scope["service"],) if "service" in scope else ()
        question = LogQuestion(start, end, services, GRAVE)
        return lines(source.paste(question) for source in self._sources.values())


@dataclass(frozen=True)
class _Extent:
    """The first and the last record of all services in the window and its baseline."""

    first: LogRecord
    last: LogRecord

    def reach(self, question: LogQuestion) -> Reach:
        step = (question.end - question.start) / SLICES
        return Reach(question.start, step, self.first.at, self.last.at)


async def _extent(everywhere: Everywhere, question: LogQuestion) -> _Extent | None:
    anyone = everywhere.anyone()
    first = await anyone.records(question, 1)
    last = await anyone.records(question, 1, latest=True)
    return _Extent(first.rows[0], last.rows[-1]) if first.rows and last.rows else None


def _question(scope: Scope) -> LogQuestion:
    """The question about the window and as much again before it."""
    start, end = (moment.replace(tzinfo=UTC) for moment in bounds(scope))
    return LogQuestion(start - (end - start), end)


def _nothing(scope: Scope, notes: tuple[str, ...], *, truncated: bool) -> Evidence:
    whose = str(scope.get("service", "any service"))
    return Evidence(
        status=EvidenceStatus.NO_EVIDENCE,
        provenance=Provenance.TEXT,
        summary=f"no new or grown log signature of {whose} from {scope['start']} to {scope['end']}",
        truncated=truncated,
        notes=notes,
    )


def _found(told: Sequence[Judged], rows: Sequence[Row], notes: tuple[str, ...], *, truncated: bool) -> Evidence:
    page = Page(lines=3 * MAX_SIGNATURES)
    shown = [row for one, row in zip(told, rows, strict=False) if page.add(lines_of(row, one))]
    return Evidence(
        status=EvidenceStatus.EVIDENCE,
        provenance=Provenance.TEXT,
        content=tuple(page.lines),
        summary="; ".join(signature_sentence(row) for row in shown[:4]),
        truncated=truncated or page.truncated,
        components=tuple(dict.fromkeys(row[0] for row in shown)),
        notes=notes,
    )
