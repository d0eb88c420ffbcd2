"""Which changes could have produced the symptoms, and why the others could not.

A change is convicted only if it was live before what it explains, a mechanism in its diff produces a symptom seen within
its reach, and no other change fits as well.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain

from graph.models.offline.diffs import Diff, identifiers_of, read_diff, words_of
from graph.models.offline.facts import Case, Change, Series
from graph.models.offline.mechanisms import Match, find_mechanisms
from graph.models.offline.quantities import find_values, scale
from graph.models.offline.reach import Reach
from graph.models.offline.symptoms import Symptom
from graph.models.offline.verdicts import Innocence, shape_of

SAMPLING = timedelta(seconds=60)
"""A sample of a minute may stand before a change that fell into that minute."""
LONG = timedelta(minutes=60)
"""A change that was live for longer without any effect is less likely to be the cause."""
CONVICTING = 4
"""The least score that convicts."""
MARGIN = 2
"""How far the next change has to be behind."""

_DULL = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "not",
        "get",
        "set",
        "add",
        "new",
        "err",
        "error",
        "errors",
        "nil",
        "null",
        "none",
        "true",
        "false",
        "return",
        "func",
        "function",
        "def",
        "class",
        "var",
        "let",
        "const",
        "public",
        "private",
        "static",
        "void",
        "string",
        "int",
        "float",
        "bool",
        "byte",
        "time",
        "date",
        "context",
        "ctx",
        "request",
        "req",
        "response",
        "res",
        "resp",
        "http",
        "https",
        "json",
        "xml",
        "sql",
        "select",
        "from",
        "where",
        "order",
        "group",
        "into",
        "update",
        "delete",
        "insert",
        "table",
        "column",
        "row",
        "rows",
        "item",
        "items",
        "value",
        "values",
        "key",
        "keys",
        "name",
        "names",
        "data",
        "type",
        "types",
        "list",
        "map",
        "array",
        "object",
        "result",
        "results",
        "status",
        "code",
        "message",
        "msg",
        "log",
        "logger",
        "info",
        "warn",
        "debug",
        "fatal",
        "file",
        "path",
        "line",
        "config",
        "cfg",
        "service",
        "services",
        "server",
        "client",
        "handler",
        "handle",
        "api",
        "app",
        "main",
        "test",
        "user",
        "users",
        "host",
        "port",
        "url",
        "uri",
        "timeout",
        "failed",
        "fail",
        "failure",
        "call",
        "calls",
        "called",
        "count",
        "total",
        "number",
        "size",
        "max",
        "min",
        "rate",
        "ratio",
        "per",
        "sec",
        "second",
        "seconds",
        "minute",
        "duration",
        "latency",
        "metric",
        "metrics",
        "span",
        "trace",
        "default",
        "defaults",
        "option",
        "options",
        "load",
        "read",
        "write",
        "open",
        "close",
        "start",
        "stop",
        "begin",
        "end",
        "run",
        "init",
        "make",
        "use",
        "used",
        "using",
        "this",
        "self",
        "that",
        "async",
        "await",
        "try",
        "catch",
        "except",
        "throw",
        "raise",
        "import",
        "package",
        "module",
        "export",
        "struct",
        "interface",
        "method",
        "field",
        "fields",
        "param",
        "args",
        "arg",
        "len",
        "append",
        "id",
        "ids",
        "uid",
        "uuid",
        "end",
        "index",
        "all",
        "any",
        "one",
        "two",
        "old",
        "next",
        "last",
        "first",
        "out",
        "over",
        "under",
        "upstream",
        "downstream",
        "database",
        "query",
        "queries",
        "executing",
        "execute",
        "exec",
        "exceeded",
        "returned",
        "returning",
        "after",
        "before",
        "during",
        "while",
        "when",
        "then",
        "than",
        "because",
    ]
)


@dataclass(frozen=True)
class Tie:
    """What joins a diff to the symptoms beyond the mechanism. `score` adds to the suspicion."""

    score: int = 0
    words: frozenset[str] = frozenset()
    series: Series | None = None
    named_file: bool = False


@dataclass(frozen=True)
class Suspicion:
    """One mechanism of one change with the symptoms that it explains, the first one foremost."""

    change: Change
    match: Match
    effects: tuple[Symptom, ...]
    tie: Tie
    score: int


@dataclass
class Suspects:
    """All changes weighed: the best suspicion of each that has one, and why the others are innocent, by change."""

    suspicions: list[Suspicion] = field(default_factory=list)
    innocent: dict[str, Innocence] = field(default_factory=dict)

    @property
    def convicted(self) -> Suspicion | None:
        """The one change that fits and that none other fits as well, or None."""
        if not self.suspicions or self.suspicions[0].score < CONVICTING:
            return None
        first, *others = self.suspicions
        return None if any(other.score > first.score - MARGIN for other in others) else first


def live_changes(case: Case) -> list[Change]:
    """Return the changes that reached production: deploys; every commit where the incident has no deploy records."""
    deploys = [change for change in case.changes if change.kind == "DEPLOY"]
    return deploys or [change for change in case.changes if change.kind == "COMMIT"]


def weigh(case: Case, symptoms: Sequence[Symptom], alert_onset: datetime | None, reach: Reach) -> Suspects:
    """Return every live change weighed against the symptoms.

    `alert_onset`: when the alerting measure left its baseline (aware UTC): a later change can't have caused that.
    """
    suspects = Suspects()
    for change in live_changes(case):
        diff = read_diff(change.files, change.diff)
        late = alert_onset is not None and change.at > alert_onset + SAMPLING
        found = [] if late else list(_suspicions(case, change, diff, symptoms, reach))
        if found:
            suspects.suspicions.append(max(found, key=lambda one: one.score))
        else:
            suspects.innocent[change.change_id] = Innocence.LATE if late else shape_of(diff)
    suspects.suspicions.sort(key=lambda one: (-one.score, one.change.at))
    return _shipped_together(suspects)


def _shipped_together(suspects: Suspects) -> Suspects:
    """Count the same commit deployed to several services once, by its strongest suspicion."""
    seen: set[str] = set()
    kept = []
    for suspicion in suspects.suspicions:
        if suspicion.change.change_id not in seen:
            seen.add(suspicion.change.change_id)
            kept.append(suspicion)
    suspects.suspicions = kept
    for change_id in seen:
        suspects.innocent.pop(change_id, None)
    return suspects


def _suspicions(
    case: Case, change: Change, diff: Diff, symptoms: Sequence[Symptom], reach: Reach
) -> Iterable[Suspicion]:
    for match in find_mechanisms(diff):
        effects = _effects(change, match, symptoms, reach)
        if not effects:
            continue
        tie = _tie(case, change, match, diff, symptoms)
        if _tied_enough(change, match, tie, effects, symptoms):
            yield Suspicion(change, match, effects, tie, _score(case, change, match, effects, tie, reach))


def _effects(change: Change, match: Match, symptoms: Sequence[Symptom], reach: Reach) -> tuple[Symptom, ...]:
    services = reach.of(change.service, match.mechanism.reach)
    first: dict[tuple[str, str], Symptom] = {}
    for symptom in symptoms:
        if symptom.family.name in match.mechanism.effects and symptom.at is not None and symptom.service in services:
            first.setdefault((symptom.family.name, symptom.service), symptom)
    caused = [one for one in first.values() if one.at is not None and one.at >= change.at - SAMPLING]
    order = match.mechanism.effects
    return tuple(sorted(caused, key=lambda one: (one.service != change.service, order.index(one.family.name))))


def _tied_enough(
    change: Change, match: Match, tie: Tie, effects: Sequence[Symptom], symptoms: Sequence[Symptom]
) -> bool:
    needed = match.mechanism.tie
    if needed == "object":
        return _object_named(match, change, symptoms)
    if needed == "word":
        return bool(tie.words)
    if needed == "file":
        return tie.named_file
    if needed == "any" and any(one.family.weight > 2 and one.service == change.service for one in effects):
        return True
    return not needed or tie.score > 0


def _object_named(match: Match, change: Change, symptoms: Sequence[Symptom]) -> bool:
    if not match.object:
        return False
    wanted = re.compile(rf"(?<!\w){re.escape(match.object)}(?!\w)", re.IGNORECASE)
    return any(
        symptom.family.name in match.mechanism.effects
        and symptom.at is not None
        and symptom.at >= change.at - SAMPLING
        and wanted.search(symptom.text)
        for symptom in symptoms
    )


def _score(case: Case, change: Change, match: Match, effects: Sequence[Symptom], tie: Tie, reach: Reach) -> int:
    own = [one.family.weight for one in effects if one.service == change.service]
    others = [one.family.weight - 1 for one in effects if one.service != change.service]
    score = max(chain(own, others)) + tie.score
    score += 1 if match.value is not None else 0
    score += 1 if len({one.family.name for one in effects}) > 1 else 0
    score += 2 if match.mechanism.tie in ("object", "file") else 0
    score -= 1 if tie.series is None and _long_after(change, effects) else 0
    return score + (1 if _explains_alert(case, effects) else 0)


def _explains_alert(case: Case, effects: Sequence[Symptom]) -> bool:
    return any(
        effect.service == alert.service
        and (effect.family.in_metric(alert.metric, "UP") or effect.family.in_metric(alert.metric, "DOWN"))
        for effect in effects
        for alert in case.alerts
    )


def _long_after(change: Change, effects: Sequence[Symptom]) -> bool:
    return all(one.at is not None and one.at - change.at > LONG for one in effects)


def _tie(case: Case, change: Change, match: Match, diff: Diff, symptoms: Sequence[Symptom]) -> Tie:
    gauge = _gauge(case, change, match)
    if gauge is not None:
        return Tie(3, series=gauge)
    after = [one for one in symptoms if one.at is not None and one.at >= change.at - SAMPLING]
    spoken = "\n".join(one.text for one in after)
    services = set().union(*(words_of(name) for name in {one.service for one in after} | {change.service}), set())
    changed = "\n".join(text for _, _, text in (*match.lines, *diff.added, *diff.removed))
    names = identifiers_of(changed) & identifiers_of(spoken)
    words = (words_of("\n".join(text for _, _, text in match.lines)) & words_of(spoken)) - _DULL - services
    files = _named_file(change.files, spoken)
    score = 2 if names or files else min(len(words), 2)
    score += 2 if _number_spoken(match, spoken) else 0
    score += 2 if _flag_flipped(case, change, changed) else 0
    return Tie(min(score, 3), frozenset(words | names), named_file=files)


def _flag_flipped(case: Case, change: Change, changed: str) -> bool:
    """Whether a flag that the changed lines ask for was switched after they went live."""
    return any(
        flag.kind == "FLAG" and flag.at >= change.at and flag.change_id.lower() in changed.lower()
        for flag in case.changes
    )


def _named_file(files: Iterable[str], spoken: str) -> bool:
    """Whether a stack trace names a file of the change."""
    bases = (file.rsplit("/", 1)[-1] for file in files)
    return any(re.search(rf"(?<![\w.]){re.escape(base)}(:\d+|\W+line \d+)", spoken) for base in bases if "." in base)


def _number_spoken(match: Match, spoken: str) -> bool:
    """Whether an error tells the very number that the change set (three digits at least: small ones are everywhere)."""
    new = " ".join(text for _, sign, text in match.lines if sign == "+")
    numbers = (f"{value.number:g}" for value in find_values(new) if value.number is not None)
    return any(
        len(number) > 2 and re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", spoken) for number in numbers
    )


def _gauge(case: Case, change: Change, match: Match) -> Series | None:
    """Return the series that moved from the old value of the diff to the new one, if there is one."""
    value = match.value
    if value is None or value.old.number is None or value.new.number is None:
        return None
    old, new = scale(value.old, value.old_line), scale(value.new, value.new_line)
    for series in case.changed_series:
        if series.service != change.service or series.baseline is None or series.onset is None:
            continue
        reached = {series.last, series.extreme}
        for unit in (1.0, 1000.0, 1 / 1024**2, 1e-6):
            if _near(series.baseline, old * unit) and any(
                one is not None and _near(one, new * unit) for one in reached
            ):
                return series if series.onset >= change.at - SAMPLING else None
    return None


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 0.001 * max(abs(one), abs(other), 1e-9)
