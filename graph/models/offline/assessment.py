"""The picture of a case: what broke first, who suffers, what did it. What the diagnostician decides stands here."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from graph.models.offline.environment import Cause, find_causes
from graph.models.offline.facts import Alert, Case, Series, Source
from graph.models.offline.reach import Reach, read_reach
from graph.models.offline.suspects import CONVICTING, MARGIN, NOISE, Suspects, Suspicion, weigh
from graph.models.offline.symptoms import Symptom, families, read_symptoms
from graph.models.offline.ties import SAMPLING

_NOT_ILL = ("traffic", "log_volume", "cardinality", "business", "stale")
"""Families that move without anything being wrong."""


@dataclass
class Assessment:
    """What the facts so far come to. `suspicion` and `cause` exclude each other; both None: nothing decides."""

    case: Case
    symptoms: list[Symptom]
    reach: Reach
    alert: Alert | None
    alert_series: Series | None
    suspects: Suspects
    causes: list[Cause]
    suspicion: Suspicion | None = None
    cause: Cause | None = None
    first_failing: str | None = None
    first_failing_source: Source | None = None
    victims: list[tuple[str, Source]] = field(default_factory=list)

    @property
    def decided(self) -> bool:
        """Whether a cause is proven."""
        return self.suspicion is not None or self.cause is not None

    @property
    def component(self) -> str:
        """The component where the proven cause sits, or an empty string."""
        if self.suspicion is not None:
            return self.suspicion.change.service or self.first_failing or ""
        return self.cause.service if self.cause is not None else ""

    def picture(self) -> tuple[object, ...]:
        """Return what an observation would have to change to be a gain: hypotheses, onset, order and direction."""
        return (
            frozenset((one.family.name, one.service) for one in self.symptoms),
            self.alert.source.line.raw if self.alert else None,
            self.alert_series.onset if self.alert_series else None,
            self.first_failing,
            tuple((one.change.change_id, one.match.mechanism.name, one.score) for one in self.suspects.suspicions),
            frozenset(self.suspects.innocent.items()),
            tuple((one.rule.name, one.service, one.score) for one in self.causes),
            self.reach.calls,
            frozenset(one.service for one in self.case.changed_series),
            len(self.case.runbooks) if self.decided else 0,
        )


_UNNAMED = frozenset({"", "-"})
"""How a line says that an alert names no metric, as few live ones do."""


def assess(case: Case, service: str | None) -> Assessment:
    """Return the assessment of a case. `service` is the one that the alert or the query names, if any."""
    case = replace(case, alerts=[_measured(alert, case) for alert in case.alerts])
    reach = read_reach(case)
    symptoms = read_symptoms(case, reach)
    alert = _alert(case, service)
    alert_series = _alert_series(case, alert)
    onset = alert_series.onset if alert_series else (alert.at if alert else None)
    suspects = weigh(case, symptoms, onset, reach)
    causes = find_causes(case, alert, onset, reach)
    result = Assessment(case, symptoms, reach, alert, alert_series, suspects, causes)
    _decide(result)
    _find_first(result)
    _find_victims(result)
    return result


def _alert(case: Case, service: str | None) -> Alert | None:
    own = [alert for alert in case.alerts if service and alert.service.lower() == service.lower()]
    return next(iter(own or case.alerts), None)


def _alert_series(case: Case, alert: Alert | None) -> Series | None:
    if alert is None:
        return None
    return next(
        (one for one in case.changed_series if (one.service, one.metric) == (alert.service, alert.metric)), None
    )


def _measured(alert: Alert, case: Case) -> Alert:
    """Return an alert that names no metric as one on the measure of its service that most likely raised it."""
    if alert.metric not in _UNNAMED:
        return alert
    own = [one for one in case.changed_series if one.service == alert.service]
    raised = next((one for one in own if _is_ill(one)), next(iter(own), None))
    return replace(alert, metric=raised.metric) if raised else alert


def _decide(result: Assessment) -> None:
    suspicion = result.suspects.convicted
    strongest = result.suspects.suspicions[0].score if result.suspects.suspicions else 0
    cause = next(iter(result.causes), None)
    if cause is not None and not cause.proven:
        cause = None
    if cause is not None and cause.overwhelming and suspicion is not None and not suspicion.specific:
        strongest, suspicion = 0, None
    if cause is not None and cause.rule.yields and strongest >= CONVICTING:
        cause = None
    if cause is None:
        result.suspicion = suspicion
    elif strongest < CONVICTING or cause.score >= strongest + MARGIN:
        result.cause = cause
    elif suspicion is not None and suspicion.score >= cause.score + MARGIN:
        result.suspicion = suspicion


def _find_first(result: Assessment) -> None:
    """Find the component that failed first: as spans tell, else the earliest failure that a metric shows.

    It stays open where several failed at once, or where a measure of a service of which no calls are known moved
    before: the sources may then be measured all the same.
    """
    ill = [one for one in result.case.changed_series if _is_ill(one)]
    spans = [(name, source) for name, source in result.case.first_failing if name]
    if result.alert_series is not None:
        alerting = result.alert_series
        rival = next((one for one in ill if _fails_before(result, one, alerting)), None)
        first = rival or alerting
        begun = next((one for one in ill if one.service == alerting.service), alerting)
        untold = rival is None and any(_may_have_failed_before(result, one, begun) for one in ill)
        result.first_failing, result.first_failing_source = None if untold else first.service, first.source
    elif spans:
        result.first_failing, result.first_failing_source = spans[0]
    elif ill:
        tied = [one for one in ill if one.onset and ill[0].onset and one.onset - ill[0].onset < result.case.step]
        seat = _seat_of(result, {one.service for one in tied})
        result.first_failing = seat
        result.first_failing_source = next((one for one in tied if one.service == seat), ill[0]).source


def _seat_of(result: Assessment, services: set[str]) -> str | None:
    """Return who failed first of those that failed at once: the component, else the one whom all others call."""
    if result.component in services:
        return result.component
    found = [name for name in services if services - {name} <= result.reach.upstream_of(name)]
    return found[0] if len(found) == 1 else None


def _is_ill(series: Series) -> bool:
    return any(one.name not in _NOT_ILL and one.in_metric(series.metric, series.direction) for one in families())


def _fails_before(result: Assessment, one: Series, alerting: Series) -> bool:
    """Whether a measure turned before the alerting one: clearly, or at all where the cause sits.

    In the same moment it did where the cause sits and the alerting service calls it; without calls nothing tells.
    """
    if one.onset is None or alerting.onset is None or one.service == alerting.service:
        return False
    called = alerting.service in result.reach.upstream_of(one.service)
    lead = alerting.onset - one.onset
    if one.service == result.component:
        return lead > timedelta(0) or (called and lead == timedelta(0))
    return called and lead >= SAMPLING


def _may_have_failed_before(result: Assessment, one: Series, begun: Series) -> bool:
    """Whether a measure of the same trouble clearly turned before the alerting service did (`begun`), and no calls tell
    of where it did."""
    if one.onset is None or begun.onset is None or one.service == begun.service:
        return False
    known = {name for call in result.reach.calls for name in call}
    lead = begun.onset - one.onset
    return one.service not in known and min(SAMPLING, 2 * result.case.step) <= lead <= NOISE


def _find_victims(result: Assessment) -> None:
    """Find who suffers without being the cause: services with symptoms that call the component, or fail after it."""
    seat = {result.component, result.first_failing}
    seen: set[str] = set()
    for series in result.case.changed_series:
        if series.service not in seat and series.service not in seen and _is_ill(series):
            seen.add(series.service)
            result.victims.append((series.service, series.source))
    for symptom in _loud_texts(result.symptoms):
        if symptom.service not in seat and symptom.service not in seen:
            seen.add(symptom.service)
            result.victims.append((symptom.service, symptom.source))
    callers = set().union(*(result.reach.upstream_of(name) for name in seat if name), set())
    for span in result.case.spans:
        if span.service in callers - seat - seen:
            seen.add(span.service)
            result.victims.append((span.service, span.source))


def _loud_texts(symptoms: Sequence[Symptom]) -> list[Symptom]:
    return [one for one in symptoms if one.source.line.sort == "signature" and one.family.name != "log_volume"]


def onset_of(result: Assessment) -> datetime | None:
    """Return when the trouble began as measured: the alerting measure's onset, else the earliest failure's."""
    if result.alert_series is not None:
        return result.alert_series.onset
    return next((one.onset for one in result.case.changed_series if _is_ill(one)), None)
