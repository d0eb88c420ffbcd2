"""Requests that come in and requests that go out: demand from outside, and load that our own code makes of it."""

import re
from collections.abc import Iterable, Iterator
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


@dataclass(frozen=True)
class Demand:
    """Requests that rose at an outermost service before anything was ill: by `factor`, at `services` services."""

    series: Series
    suffering: Series
    factor: float
    services: int


def is_inbound(series: Series) -> bool:
    """Whether a series counts the requests that reach a service."""
    return bool(_RATE.search(series.metric)) and not _NOT_INBOUND.search(series.metric)


def exogenous_demand(case: Case, reach: Reach) -> Demand | None:
    """Return the demand that rose from outside, or None.

    What a service sends or opens is the work of its code; and where the service itself, or one that it doesn't call,
    has as many requests as ever, the rise was made inside.
    """
    moved = case.changed_series
    risen = [series for series in moved if is_inbound(series) and _factor(series) >= _RISE]
    outer = [series for series in risen if not (reach.callers(series.service) & {one.service for one in moved})]
    if not outer:
        return None
    first = outer[0]
    ills = [one for one in moved if one not in risen and not _NOT_ILL.search(one.metric)]
    if first.onset is None or not ills or any(one.onset is not None and one.onset < first.onset for one in ills):
        return None
    if _steady_elsewhere(case, reach, first.service):
        return None
    return Demand(first, ills[0], _factor(first), len({one.service for one in risen}))


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
