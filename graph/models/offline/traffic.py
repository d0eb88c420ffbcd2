"""Requests that come in and requests that go out: demand from outside, and load that our own code makes of it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from graph.models.offline.facts import Case, Series
from graph.models.offline.reach import Reach

_RATE = re.compile(
    r"^((http|https|server|nginx|ingress|edge|incoming|inbound|total|api|web|page|user|active)_)*(request|req|rps|qps|traffic|session|visitor|hit|page_?view)s?\w*?_?(rate|per_?(sec|min|second|s)\b|rps|qps|count|total"
    r"|throughput|$)|^(rps|qps|sessions|visitors)(_|$)",
    re.IGNORECASE,
)
_NOT_INBOUND = re.compile(
    r"error|fail|duration|latency|timeout|5xx|4xx|429|reject|cancel|db_|sql|pool|cache|retry|retries|attempt|outbound|client_"
    r"|upstream|egress|connect|dns|quer|publish|_sent|dropped|throttl|per_req|backend|downstream",
    re.IGNORECASE,
)
_NOT_ILL = re.compile(
    r"uptime|version|cert|expir|(^|_)(gc|build)_?info|(client|visitor|user|bot|ip)_?\w*(count|ratio|per_|total|score)|distinct",
    re.IGNORECASE,
)
_OUTBOUND = re.compile(
    r"(request|call|quer(y|ie)|connection|socket|attempt|rpc|fetch|lookup|command|op)s?_?\w*?(per_(sec|min|s|second|req\w*|call)|rate|opened"
    r"|rps|qps|count_rate)",
    re.IGNORECASE,
)
_FAILING = re.compile(r"error|fail|5xx|4xx|429|reject|drop|timeout", re.IGNORECASE)
_RISE = 2.0
_LOUD = {"WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "SEVERE", "ALERT", "EMERGENCY"}


@dataclass(frozen=True)
class Demand:
    """Requests that rose at an outermost service, not after anything was ill: by `factor`, at `services` services.

    `led`: whether they rose before anything else did, by more than the step of the samples.
    """

    series: Series
    suffering: Series
    factor: float
    services: int
    led: bool


def is_inbound(series: Series) -> bool:
    """Whether a series counts the requests that reach a service."""
    return bool(_RATE.search(series.metric)) and not _NOT_INBOUND.search(series.metric)


def exogenous_demand(case: Case, reach: Reach, alerting: str | None) -> Demand | None:
    """Return the demand that rose from outside, or None.

    What a service sends or opens is the work of its code; and where the service itself, or one that it doesn't call,
    has as many requests as ever, the rise was made inside. Of several services whose requests rose at once the
    `alerting` one is meant, else the one that all others are called by; where neither tells, nothing is said.
    """
    moved = case.changed_series
    risen = [series for series in moved if is_inbound(series) and _factor(series) >= _RISE]
    outer = [series for series in risen if not (reach.callers(series.service) & {one.service for one in moved})]
    first = _entry(case, outer, reach, alerting)
    ills = [one for one in moved if one not in risen and not _NOT_ILL.search(one.metric)]
    if first is None or not ills or any(_before(one, outer[0]) for one in ills):
        return None
    if _steady_elsewhere(case, reach, first.service):
        return None
    suffering = next((one for one in ills if one.service == first.service), ills[0])
    return Demand(first, suffering, _factor(first), len({one.service for one in risen}), _led(case, first, ills))


def _before(one: Series, other: Series) -> bool:
    return one.onset is not None and other.onset is not None and one.onset < other.onset


def _entry(case: Case, outer: Sequence[Series], reach: Reach, alerting: str | None) -> Series | None:
    """Return the series of the service where the demand came in, of those that rose within one step of the samples."""
    tied = [one for one in outer if one.onset and outer[0].onset and one.onset - outer[0].onset <= case.step]
    names = {one.service for one in tied}
    for name in (alerting, *sorted(names)):
        if name in names and (name == alerting or all(name in reach.upstream_of(one) for one in names - {name})):
            return next(one for one in tied if one.service == name)
    return None


def _led(case: Case, first: Series, ills: Iterable[Series]) -> bool:
    """Whether the requests rose before any measure moved and any error came up, by more than one step."""
    moments = [one.onset for one in ills]
    moments += [one.first_seen for one in case.signatures if one.severity in _LOUD and one.status == "NEW"]
    moments += [one.at for one in case.spans]
    begun = first.onset
    return begun is not None and all(at - begun > case.step for at in moments if at is not None)


def _factor(series: Series) -> float:
    if series.direction != "UP" or not series.baseline or series.extreme is None:
        return 0.0
    return series.extreme / series.baseline


def _steady_elsewhere(case: Case, reach: Reach, service: str) -> bool:
    return any(
        is_inbound(one) and one.direction != "UP" and service not in reach.upstream_of(one.service)
        for one in case.series
    )


def amplifiers(case: Case, reach: Reach) -> Iterator[tuple[str, Series]]:
    """Yield the services that send or open far more while no more comes in, with the series that shows it."""
    for series in case.changed_series:
        if _factor(series) < _RISE or not _OUTBOUND.search(series.metric) or _FAILING.search(series.metric):
            continue
        arrives = is_inbound(series)
        for maker in sorted(reach.callers(series.service)) if arrives else [series.service]:
            if _steady(case, maker, {maker} if arrives else reach.of(maker, "callees")):
                yield maker, series


def _steady(case: Case, maker: str, where: Iterable[str]) -> bool:
    inbound = [one for one in case.series if is_inbound(one)]
    own = [one for one in inbound if one.service == maker]
    told = own or [one for one in inbound if one.service in where]
    return bool(told) and all(one.direction != "UP" for one in told)
