"""Which changes could have produced the symptoms, and why the others could not.

A change is convicted only if it was live before what it explains, a mechanism in its diff produces a symptom seen
within its reach, and no other change fits as well.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain

from graph.models.offline.diffs import Diff, read_diff
from graph.models.offline.facts import Case, Change, Series
from graph.models.offline.general import find_grounds
from graph.models.offline.mechanisms import Match, find_mechanisms
from graph.models.offline.reach import Reach
from graph.models.offline.rivals import rival_of
from graph.models.offline.room import lowered_limit, measured_room
from graph.models.offline.symptoms import Symptom
from graph.models.offline.ties import SAMPLING, Tie, find_tie
from graph.models.offline.verdicts import Innocence, shape_of

LONG = timedelta(minutes=60)
"""A change that was live for longer without any effect is less likely to be the cause."""
NOISE = timedelta(minutes=10)
"""Errors of a kind that come this long before their measure moves are the everyday ones."""
SOON = timedelta(minutes=5)
LEAD = timedelta(minutes=15)
SPECIFIC = 2
"""The least tie that makes symptoms those of this change, not of load as such."""
CONVICTING = 4
"""The least score that convicts."""
MARGIN = 2
"""How far the next change has to be behind."""


@dataclass(frozen=True)
class Suspicion:
    """One mechanism of one change with the symptoms that it explains, the first one foremost."""

    change: Change
    match: Match
    effects: tuple[Symptom, ...]
    tie: Tie
    score: int
    contested: bool = False
    """Whether another party failed as early, and nothing measured says that the changed limit can bite."""

    @property
    def specific(self) -> bool:
        """Whether something seen is a sign of this change, and not of load as such."""
        return self.tie.score >= SPECIFIC or not all(one.family.load for one in self.effects)


@dataclass
class Suspects:
    """All changes weighed: the best suspicion of each that has one, and why the others are innocent, by change."""

    suspicions: list[Suspicion] = field(default_factory=list)
    innocent: dict[str, Innocence] = field(default_factory=dict)
    rooms: dict[str, Series] = field(default_factory=dict)
    """The measure that leaves room under a lowered limit, by the change that is innocent for that."""

    @property
    def convicted(self) -> Suspicion | None:
        """The one change that fits and that none other fits as well, or None."""
        if not self.suspicions or self.suspicions[0].score < CONVICTING:
            return None
        first, *others = self.suspicions
        if first.contested:
            return None
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
        found = [] if late else list(chain(*_all_suspicions(case, change, diff, symptoms, reach)))
        biting, rooms = _biting(case, found, diff, reach)
        if biting:
            suspects.suspicions.append(max(biting, key=lambda one: (one.score, not one.contested)))
        elif rooms:
            suspects.innocent[change.change_id] = Innocence.ROOM
            suspects.rooms[change.change_id] = rooms[0]
        else:
            suspects.innocent[change.change_id] = Innocence.LATE if late else shape_of(diff)
    suspects.suspicions.sort(key=lambda one: (-one.score, one.change.at))
    return _shipped_together(suspects)


def _all_suspicions(
    case: Case, change: Change, diff: Diff, symptoms: Sequence[Symptom], reach: Reach
) -> Iterable[Iterable[Suspicion]]:
    yield _suspicions(case, change, diff, symptoms, reach)
    if shape_of(diff) is Innocence.OTHER_PATH:
        for ground in find_grounds(case, change, diff, symptoms, reach):
            first = ground.effects[0]
            score = max(first.family.weight, 2) + ground.worth + (1 if _explains_alert(case, ground.effects) else 0)
            yield [Suspicion(change, ground.match, ground.effects, Tie(ground.worth), score)]


def _biting(case: Case, found: Iterable[Suspicion], diff: Diff, reach: Reach) -> tuple[list[Suspicion], list[Series]]:
    """Leave out what lowers a limit under which normal use has room, and return the measures that say so.

    Where nothing is measured, another party's failure as early leaves a lowered limit contested.
    """
    kept: list[Suspicion] = []
    rooms: list[Series] = []
    for one in found:
        limit = lowered_limit(one.match, diff)
        room = measured_room(case, one.change, limit, reach) if limit else None
        if room is not None and room.left:
            rooms.append(room.series)
        elif limit and room is None and rival_of(case, one.change, limit[0], one.effects, reach):
            kept.append(replace(one, contested=True))
        else:
            kept.append(one)
    return kept, rooms


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
        suspects.rooms.pop(change_id, None)
    return suspects


def _suspicions(
    case: Case, change: Change, diff: Diff, symptoms: Sequence[Symptom], reach: Reach
) -> Iterable[Suspicion]:
    for match in find_mechanisms(diff):
        effects = _effects(change, match, symptoms, reach)
        if not effects:
            continue
        tie = find_tie(case, change, match, diff, symptoms)
        if match.mechanism.tie == "file" and not tie.new_names and shape_of(diff) is not Innocence.OTHER_PATH:
            continue
        if _tied_enough(change, match, tie, effects, symptoms):
            yield Suspicion(change, match, effects, tie, _score(case, change, match, effects, tie, reach))


def _effects(change: Change, match: Match, symptoms: Sequence[Symptom], reach: Reach) -> tuple[Symptom, ...]:
    services = reach.of(change.service, match.mechanism.reach)
    changed = "\n".join(text for _, _, text in match.lines)
    shown = [
        one
        for one in symptoms
        if one.family.name in match.mechanism.effects and one.at is not None and one.service in services
    ]
    if any(one.family.beside(one.text, changed) for one in shown if not one.measure):
        return ()
    caused = [one for one in _begun(shown) if one.at is not None and one.at >= change.at - SAMPLING]
    if match.mechanism.reach == "consumers" and not _fail_alike(change, caused, reach):
        return ()
    if match.mechanism.sign and not any(one.family.name in match.mechanism.sign for one in caused):
        return ()
    if not _said(match, [one for one in shown if one.at is not None and one.at >= change.at - SAMPLING]):
        return ()
    order = match.mechanism.effects
    return tuple(sorted(caused, key=lambda one: (one.service != change.service, order.index(one.family.name))))


def _said(match: Match, seen: Sequence[Symptom]) -> bool:
    """Whether what is seen has the words that the mechanism asks for, and no error those that speak against it."""
    says, says_not = match.mechanism.says, match.mechanism.says_not
    if says and not any(says.search(one.text) for one in seen):
        return False
    return not (says_not and any(says_not.search(one.text) for one in seen if not one.measure))


def _fail_alike(change: Change, caused: Sequence[Symptom], reach: Reach) -> bool:
    """Whether a direct neighbour fails, or two that read the same do: then it's what they read."""
    where = {one.service for one in caused}
    return bool(where & reach.of(change.service, "callers")) or len(where) > 1


def _begun(symptoms: Sequence[Symptom]) -> list[Symptom]:
    """Return each family's first symptom at each service; lone texts long before its measure moved are noise."""
    first: dict[tuple[str, str], Symptom] = {}
    moved = {(one.family.name, one.service): one.at for one in reversed(symptoms) if one.measure and one.at}
    for symptom in symptoms:
        key = (symptom.family.name, symptom.service)
        if symptom.at is not None and key in moved and moved[key] - symptom.at > NOISE:
            continue
        first.setdefault(key, symptom)
    return list(first.values())


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
    names = [part for part in re.split(r"[/@]", match.object) if len(part) > 2]
    if not names:
        return False
    edge = "A-Za-z" if match.mechanism.moves else r"\w"
    wanted = re.compile(rf"(?<![{edge}])({'|'.join(map(re.escape, names))})(?![{edge}])", re.IGNORECASE)
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
    score += 1 if match.mechanism.reach == "consumers" and len({one.service for one in effects}) > 1 else 0
    score -= 1 if tie.series is None and _long_after(change, effects) else 0
    score += 1 if _leads(case, change, effects) else 0
    return score + (1 if _explains_alert(case, effects) else 0)


def _leads(case: Case, change: Change, effects: Sequence[Symptom]) -> bool:
    """Whether a telling measure of the service began to move right at the change, long before anybody was alerted."""
    alerting = {(one.service, one.metric) for one in case.alerts}
    onsets = [one.onset for one in case.changed_series if (one.service, one.metric) in alerting and one.onset]
    at_once = [
        one.at
        for one in effects
        if one.measure
        and one.service == change.service
        and one.family.weight > 2
        and one.at
        and one.at - change.at <= SOON
    ]
    return bool(at_once and onsets) and min(onsets) - min(at_once) >= LEAD


def _explains_alert(case: Case, effects: Sequence[Symptom]) -> bool:
    return any(
        effect.service == alert.service
        and (effect.family.in_metric(alert.metric, "UP") or effect.family.in_metric(alert.metric, "DOWN"))
        for effect in effects
        for alert in case.alerts
    )


def _long_after(change: Change, effects: Sequence[Symptom]) -> bool:
    return all(one.at is not None and one.at - change.at > LONG for one in effects)
