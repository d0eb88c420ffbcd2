"""The facts of a case: what the observations say, typed, each with the call and the line that says it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import gcd

from graph.models.offline.lines import Line
from graph.models.offline.transcript import Observation

_SPAN_FIELDS = frozenset(
    ("trace_id", "span_id", "parent", "service", "operation", "start", "duration_ms", "status", "error")
)


@dataclass(frozen=True)
class Source:
    """Where a fact stands: the call, its line verbatim, and whether a machine measured it."""

    call_id: str
    line: Line
    measured: bool


@dataclass(frozen=True)
class Alert:
    """What fired. `at` is aware UTC."""

    service: str
    metric: str
    at: datetime | None
    source: Source


@dataclass(frozen=True)
class Series:
    """A metric of one service that left its baseline, or stayed on it (`direction` FLAT, `onset` None)."""

    service: str
    metric: str
    direction: str
    baseline: float | None
    extreme: float | None
    last: float | None
    onset: datetime | None
    source: Source


@dataclass(frozen=True)
class Signature:
    """A log signature that is new or has grown. `text` is hostile."""

    service: str
    severity: str
    status: str
    first_seen: datetime | None
    text: str
    source: Source


@dataclass(frozen=True)
class FailedSpan:
    """A span that failed. `text` is its error text, which is hostile, or empty."""

    service: str
    operation: str
    at: datetime | None
    text: str
    source: Source


@dataclass(frozen=True)
class Edge:
    """One service calls another, and how that went."""

    caller: str
    callee: str
    calls: float
    errors: float
    source: Source


@dataclass(frozen=True)
class Change:
    """A change record. `diff` holds (file, sign, text) of the changed lines that were shown.

    `kind` is COMMIT, DEPLOY or FLAG; `complete` tells whether the whole bounded diff was asked for. The diff may stand
    in another record of the same commit: `diff_source`.
    """

    kind: str
    change_id: str
    service: str
    at: datetime
    files: tuple[str, ...]
    flip: str
    message: str
    diff: tuple[tuple[str, str, str], ...]
    source: Source
    diff_source: Source
    complete: bool = False


@dataclass
class Case:
    """Everything known. Lists keep the order in which the tools told."""

    alerts: list[Alert] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    signatures: list[Signature] = field(default_factory=list)
    spans: list[FailedSpan] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    runbooks: list[Source] = field(default_factory=list)
    first_failing: list[tuple[str, Source]] = field(default_factory=list)

    @property
    def changed_series(self) -> list[Series]:
        """The series that left their baseline, earliest first."""
        moved = [one for one in self.series if one.direction in ("UP", "DOWN") and one.onset is not None]
        return sorted(moved, key=lambda one: (one.onset, one.service, one.metric))

    @property
    def step(self) -> timedelta:
        """How far apart the samples of the measures are, as their times tell; a minute at most."""
        lines = [one.source.line for one in self.series]
        moments = [line.time(key) for line in lines for key in ("onset", "extreme_at")]
        return timedelta(seconds=gcd(60, *(int(one.timestamp()) for one in moments if one)))


def read_case(observations: Iterable[Observation]) -> Case:
    """Return the facts of all observations with evidence. Records of one commit share the longest diff of them."""
    case = Case()
    for observation in observations:
        if not observation.has_evidence:
            continue
        for line in observation.lines:
            source = Source(observation.call_id, line, observation.measured)
            if observation.reference:
                case.runbooks.append(source)
            else:
                _read(case, source, complete=observation.tool == "get_change")
    case.changes = _sharing_diffs(case.changes)
    return case


def _sharing_diffs(changes: list[Change]) -> list[Change]:
    longest: dict[str, Change] = {}
    for change in changes:
        known = longest.get(change.change_id)
        if known is None or (change.complete, len(change.diff)) > (known.complete, len(known.diff)):
            longest[change.change_id] = change
    shared = []
    for change in changes:
        best = longest[change.change_id]
        files = change.files or best.files
        shared.append(
            replace(change, diff=best.diff, diff_source=best.diff_source, complete=best.complete, files=files)
        )
    return list({(one.kind, one.change_id, one.service): one for one in reversed(shared)}.values())[::-1]


def _read(case: Case, source: Source, *, complete: bool) -> None:
    line = source.line
    if line.sort == "alert":
        case.alerts.append(Alert(line.get("service"), line.get("metric"), line.time("fired_at"), source))
    elif line.sort == "series":
        case.series.append(_series(source))
    elif line.sort in ("signature", "log"):
        case.signatures.append(_signature(source))
    elif line.sort == "span":
        if line.get("status").upper() not in ("OK", "UNSET", ""):
            text = " ".join([line.whole_text.strip(), *_attributes(line)]).strip()
            case.spans.append(FailedSpan(line.get("service"), line.get("operation"), line.time("start"), text, source))
    elif line.sort == "edge":
        edge = Edge(
            line.get("caller"), line.get("callee"), line.number("calls") or 0.0, line.number("errors") or 0.0, source
        )
        case.edges.append(edge)
    elif line.sort == "first_failing":
        case.first_failing.append((line.get("service"), source))
    elif line.sort == "change":
        _add_change(case, source, complete=complete)


def _attributes(line: Line) -> list[str]:
    return [f"{key}={value}" for key, value in line.fields.items() if key not in _SPAN_FIELDS]


def _series(source: Source) -> Series:
    line = source.line
    return Series(
        service=line.get("service"),
        metric=line.get("metric"),
        direction=line.get("direction"),
        baseline=line.number("baseline"),
        extreme=line.number("extreme"),
        last=line.number("last"),
        onset=line.time("onset"),
        source=source,
    )


def _signature(source: Source) -> Signature:
    line = source.line
    return Signature(
        service=line.get("service"),
        severity=line.get("severity").upper(),
        status=line.get("status") or "LOG",
        first_seen=line.time("first_seen") or line.time("at"),
        text=line.whole_text.strip(),
        source=source,
    )


def _add_change(case: Case, source: Source, *, complete: bool) -> None:
    line = source.line
    moment = line.time("at")
    if moment is None or not line.get("id"):
        return
    files = tuple(name for name in line.get("files").split(",") if name)
    case.changes.append(
        Change(
            kind=line.get("kind"),
            change_id=line.get("id"),
            service=line.get("service"),
            at=moment,
            files=files,
            flip=line.get("change"),
            message=line.text,
            diff=_changed_lines(line.more, files),
            source=source,
            diff_source=source,
            complete=complete,
        )
    )


def _changed_lines(more: tuple[str, ...], files: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    file = files[0] if files else ""
    found = []
    for raw in more:
        text = raw[2:]
        if text.startswith("@"):
            file = text.lstrip("@ ").rstrip("@ ") or file
        elif text[:1] in ("-", "+"):
            found.append((file, text[0], text[1:].strip()))
    return tuple(found)
