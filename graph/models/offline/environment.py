"""Causes that are no change of ours: certificates, providers, bad data, nodes, traffic. The causes are data."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

from graph.models.offline.facts import Alert, Case, Series, Source
from graph.models.offline.reach import Reach
from graph.models.offline.traffic import Demand, exogenous_demand

PROVING = 4
"""The least score that proves a cause."""
_LOUD = {"WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "SEVERE", "ALERT", "EMERGENCY"}
_EARLY = timedelta(minutes=2)
_COINCIDENCE = timedelta(minutes=3)


@dataclass(frozen=True)
class Rule:
    """One cause; see the head of `rules/environment.toml` for the fields."""

    name: str
    weight: int
    action: str
    zh: str
    en: str
    text: re.Pattern[str] | None = None
    metric: re.Pattern[str] | None = None
    without: re.Pattern[str] | None = None
    external: bool = False
    yields: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class Cause:
    """A cause that the case shows: at which service first and since when, and the lines that show it."""

    rule: Rule
    service: str
    at: datetime
    shown: tuple[Source, ...]
    measured: tuple[Source, ...]
    score: int
    services: int
    """How many services speak of it: one stream of text proves nothing by itself."""
    overwhelming: bool = False
    """Whether it is a rise of demand that explains exhausted capacity by itself, whatever was changed."""

    @property
    def proven(self) -> bool:
        """Whether it may be concluded: strong enough, and measured or told by two services independently."""
        return self.score >= PROVING and (bool(self.measured) or self.services > 1)


SURGE = Rule(
    name="traffic_surge",
    weight=3,
    action="add_capacity",
    zh="外来请求量先于其他一切上升，超出了现有容量",
    en="incoming traffic rose before anything else did, beyond the present capacity",
    yields=True,
)
SURGE_AT_ONCE = replace(
    SURGE,
    zh="外来请求量与其他异常同时上升，超出了现有容量",
    en="incoming traffic rose with everything else, beyond the present capacity",
)
"""The same where nothing tells which came first."""
LARGE = 3.0
"""A rise of demand by this factor explains exhausted capacity by itself."""


@dataclass(frozen=True)
class _Mention:
    service: str
    at: datetime
    text: str
    source: Source
    quiet: bool = False


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules, read once."""
    table = tomllib.loads(files("graph.models.offline.rules").joinpath("environment.toml").read_text("utf-8"))
    return tuple(_rule(name, rule) for name, rule in table.items())


def _rule(name: str, rule: dict[str, Any]) -> Rule:
    patterns = ("text", "metric", "without")
    fields: dict[str, Any] = {
        key: re.compile(value, re.IGNORECASE) if key in patterns else value for key, value in rule.items()
    }
    return Rule(name=name, **fields)


def find_causes(case: Case, alert: Alert | None, alert_onset: datetime | None, reach: Reach) -> list[Cause]:
    """Return the causes that the case shows, strongest first. `alert_onset` is when the alerting measure moved."""
    mentions = list(_mentions(case, reach))
    found = [cause for rule in rules() for cause in _find(case, rule, mentions, alert_onset)]
    demand = exogenous_demand(case, reach, alert.service if alert else None)
    if demand is not None:
        found.append(_surge(demand))
    limit = alert_onset + _EARLY if alert_onset else (alert.at if alert else None)
    relevant = [cause for cause in found if limit is None or cause.at <= limit]
    return sorted(relevant, key=lambda one: (-one.score, one.at))


def _mentions(case: Case, reach: Reach) -> Iterable[_Mention]:
    for signature in case.signatures:
        quiet = signature.severity not in _LOUD
        if signature.first_seen is not None and (not quiet or signature.status == "NEW"):
            text = reach.masked(signature.text)
            yield _Mention(signature.service, signature.first_seen, text, signature.source, quiet)
    for span in case.spans:
        if span.at is not None and span.text:
            yield _Mention(span.service, span.at, reach.masked(span.text), span.source)


def _find(case: Case, rule: Rule, mentions: Sequence[_Mention], alert_onset: datetime | None) -> Iterable[Cause]:
    if rule.text is None:
        return
    shown = [one for one in mentions if (rule.quiet or not one.quiet) and _speaks_of(rule, one.text)]
    if not shown:
        return
    shown.sort(key=lambda one: one.at)
    begun = shown[0].at
    metrics = [series for series in case.changed_series if _confirms(rule, series, begun)]
    spans = [one.source for one in shown if one.source.measured]
    coincides = not rule.yields and alert_onset is not None and abs(alert_onset - begun) <= _COINCIDENCE
    services = len({one.service for one in shown})
    score = rule.weight + bool(spans) + bool(metrics) + coincides + (services > 1)
    yield Cause(
        rule=rule,
        service=shown[0].service,
        at=begun,
        shown=tuple(one.source for one in list({one.service: one for one in reversed(shown)}.values())[::-1][:2]),
        measured=(*spans[:1], *(series.source for series in metrics[:1])),
        score=score,
        services=services,
    )


def _speaks_of(rule: Rule, text: str) -> bool:
    flat = " ".join(text.split())
    return bool(rule.text and rule.text.search(flat)) and not (rule.without and rule.without.search(flat))


def _confirms(rule: Rule, series: Series, begun: datetime) -> bool:
    return (
        rule.metric is not None
        and bool(rule.metric.search(series.metric))
        and series.onset is not None
        and series.onset <= begun + timedelta(minutes=10)
    )


def _surge(demand: Demand) -> Cause:
    first = demand.series
    assert first.onset is not None  # noqa: S101 - demand is told by series that moved
    return Cause(
        rule=SURGE if demand.led else SURGE_AT_ONCE,
        service=first.service,
        at=first.onset,
        shown=(),
        measured=(first.source, demand.suffering.source),
        score=SURGE.weight + (demand.services > 1) + (demand.factor >= LARGE),
        services=demand.services,
        overwhelming=demand.factor >= LARGE,
    )
