"""Symptoms: which families of trouble a case shows, where and since when. The families are data."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from graph.models.offline.facts import Case, Series, Signature, Source
from graph.models.offline.reach import Reach
from graph.models.offline.traffic import amplifiers

_LOUD = {"WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "ALERT", "EMERGENCY", "SEVERE"}


@dataclass(frozen=True)
class Family:
    """One family of symptoms; see `rules/symptoms.toml`."""

    name: str
    weight: int
    text: re.Pattern[str] | None
    text_not: re.Pattern[str] | None
    up: re.Pattern[str] | None
    down: re.Pattern[str] | None
    subjects: tuple[re.Pattern[str], ...] = ()
    load: bool = False

    def beside(self, text: str, changed: str) -> bool:
        """Whether an error names its subject (a version, a cipher, a certificate) and the changed lines another one."""
        meant = [one for one in self.subjects if one.search(text)]
        touched = [one for one in self.subjects if one.search(changed)]
        return bool(meant and touched) and not any(one in touched for one in meant)

    def in_text(self, text: str) -> bool:
        """Whether free text of an error speaks of this family."""
        return bool(self.text and self.text.search(text) and not (self.text_not and self.text_not.search(text)))

    def in_metric(self, metric: str, direction: str) -> bool:
        """Whether a metric of this name shows this family by moving in this direction (UP or DOWN)."""
        pattern = self.up if direction == "UP" else self.down
        return bool(pattern and pattern.search(metric))


@dataclass(frozen=True)
class Symptom:
    """A family seen at a service since a moment (None where the source tells no time)."""

    family: Family
    service: str
    at: datetime | None
    source: Source
    text: str

    @property
    def measure(self) -> bool:
        """Whether a metric shows it: then `text` is the metric's name."""
        return self.source.line.sort == "series"


@cache
def families() -> tuple[Family, ...]:
    """Return the families, read once from the rules."""
    table = tomllib.loads(files("graph.models.offline.rules").joinpath("symptoms.toml").read_text("utf-8"))
    return tuple(_family(name, rule) for name, rule in table.items())


def _family(name: str, rule: dict[str, Any]) -> Family:
    def pattern(key: str) -> re.Pattern[str] | None:
        return re.compile(str(rule[key]), re.IGNORECASE) if key in rule else None

    subjects = tuple(re.compile(one, re.IGNORECASE) for one in rule.get("subjects", ()))
    return Family(
        name=name,
        weight=rule["weight"],
        text=pattern("text"),
        text_not=pattern("text_not"),
        up=pattern("up"),
        down=pattern("down"),
        subjects=subjects,
        load=rule.get("load", False),
    )


def _family_named(name: str) -> Family:
    return next(one for one in families() if one.name == name)


def read_symptoms(case: Case, reach: Reach) -> list[Symptom]:
    """Return every symptom of a case, earliest first; those without a time last. Texts have service names blanked."""
    found: list[Symptom] = []
    for series in case.changed_series:
        found.extend(_of_series(series))
    for service, series in amplifiers(case, reach):
        found.append(Symptom(_family_named("amplified"), service, series.onset, series.source, series.metric))
    for signature in case.signatures:
        found.extend(_of_signature(signature, reach.masked(signature.text)))
    for span in case.spans:
        found.extend(_of_text(span.service, span.at, reach.masked(span.text), span.source))
    return sorted(found, key=lambda one: (one.at is None, one.at.timestamp() if one.at else 0.0))


def _of_series(series: Series) -> Iterable[Symptom]:
    for family in families():
        if family.in_metric(series.metric, series.direction):
            yield Symptom(family, series.service, series.onset, series.source, series.metric)


def _of_signature(signature: Signature, text: str) -> Iterable[Symptom]:
    if signature.severity in _LOUD:
        yield from _of_text(signature.service, signature.first_seen, text, signature.source)
    elif signature.severity in ("DEBUG", "TRACE") and signature.status == "NEW":
        volume = _family_named("log_volume")
        yield Symptom(volume, signature.service, signature.first_seen, signature.source, signature.severity)


def _of_text(service: str, at: datetime | None, text: str, source: Source) -> Iterable[Symptom]:
    for family in families():
        if text and family.in_text(text):
            yield Symptom(family, service, at, source, text)
