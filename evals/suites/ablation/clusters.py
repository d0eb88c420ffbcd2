"""Clusters with the deciding answers taken away, as `clusters.toml` says.

A case counts where what remains shows the fault and tells none of the causes apart that would show the same; one of
those is named as the second cause.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from tools.base import EvidenceTool
from tools.cluster import FrozenCluster, cluster_tools

CACHE = "tool_cache.json"
TELLS_OF_OTHERS = ("GetErrorLogs", "GetAlerts", "GetServiceDependencies")
GAPS = ("resources", "alerts", "logs")

Answers = Mapping[str, Any]


class Removal(BaseModel):
    """One row of `clusters.toml`; what its fields mean is said there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    causes: tuple[str, ...]
    keep: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    strike: tuple[str, ...] = ()
    unnamed: bool = False
    entry_alerts: str | None = None
    shown_in: str
    shown: str
    told: tuple[str, ...]


class Ablated(BaseModel):
    """A removal applied to a case: which, of what object (None where it's no application), and the second cause."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    removal: str
    app: str | None
    second: str


@cache
def removals() -> Mapping[str, Removal]:
    """Return the table by name."""
    table = tomllib.loads(files("evals.suites.ablation").joinpath("clusters.toml").read_text("utf-8"))
    return {row["name"]: Removal.model_validate(row) for row in table["removal"]}


def ablations_of(directory: Path, truth: Mapping[str, Any]) -> Iterator[Ablated]:
    """Yield the ablations of a case that count. `truth` has `root_cause` and `fault_object`."""
    cause = str(truth["root_cause"])
    kind, _, name = str(truth["fault_object"]).partition("/")
    app = name if kind == "app" else None
    answers = read_answers(directory)
    for removal in removals().values():
        if cause not in removal.causes or (removal.unnamed and app is None):
            continue
        if counts(removal, app, what_remains(answers, removal, app)):
            place = removal.causes.index(cause)
            second = removal.causes[(place + 1) % len(removal.causes)]
            yield Ablated(removal=removal.name, app=app, second=second)


def ablated_tools(directory: Path, namespace: str, ablated: Ablated) -> Sequence[EvidenceTool]:
    """Return the tools over what remains of a case."""
    remaining = what_remains(read_answers(directory), removals()[ablated.removal], ablated.app)
    return cluster_tools(FrozenCluster(remaining, namespace=namespace))


def read_answers(directory: Path) -> Answers:
    """Return a case's answers by question."""
    answers: dict[str, Any] = json.loads((directory / CACHE).read_text("utf-8"))
    return answers


def what_remains(answers: Answers, removal: Removal, app: str | None) -> dict[str, Any]:
    """Return the answers that are left, and of them the lines."""
    keep, drop = _all(removal.keep or (".",), app), _all(removal.drop, app)
    left = {key: value for key, value in answers.items() if _any(keep, key) and not _any(drop, key)}
    if removal.unnamed and app:
        left = {key: value for key, value in left.items() if not _speaks_of(key, value, app)}
    if removal.entry_alerts:
        left = {k: _entry_alerts(v, left, removal.entry_alerts) if k.startswith("GetAlerts") else v
                for k, v in left.items()}  # fmt: skip
    strike = _all(removal.strike, app)
    return {key: _struck(value, strike) if isinstance(value, str) else value for key, value in left.items()}


def counts(removal: Removal, app: str | None, remaining: Answers) -> bool:
    """Whether what remains shows the fault, and doesn't tell its causes apart."""
    told, (shown,) = _all(removal.told, app), _all((removal.shown,), app)
    texts = {key: _text(value) for key, value in remaining.items()}
    if any(_any(told, text) for text in texts.values()):
        return False
    return any(shown.search(text) for key, text in texts.items() if re.search(removal.shown_in, key))


def _all(patterns: Iterable[str], app: str | None) -> list[re.Pattern[str]]:
    named = re.escape(app) if app else r"[\w-]+?"
    return [re.compile(pattern.replace("{app}", named), re.MULTILINE) for pattern in patterns]


def _any(patterns: Iterable[re.Pattern[str]], text: str) -> bool:
    return any(pattern.search(text) for pattern in patterns)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _speaks_of(key: str, value: Any, app: str) -> bool:
    if key.startswith(TELLS_OF_OTHERS):
        return app in key
    return app in key or app in _text(value)


def _struck(text: str, patterns: Sequence[re.Pattern[str]]) -> str:
    if not patterns:
        return text
    return "\n".join(row for row in text.splitlines() if not _any(patterns, row))


def _entry_alerts(value: Any, answers: Answers, sort: str) -> Any:
    """Return the alerts with one sort of evidence alone, at the services that no other service calls."""
    parsed = value if isinstance(value, Mapping) else json.loads(value or "{}")
    called = "\n".join(_text(v) for key, v in answers.items() if key.startswith("GetServiceDependencies"))
    kept = []
    for alert in parsed.get("alerts") or ():
        evidence = [text for text in alert.get("evidence") or () if re.search(sort, str(text))]
        if evidence and _is_entry(str(alert.get("name")), called):
            kept.append({**alert, "evidence": evidence})
    return {**parsed, "alerts": kept, "alert_count": len(kept)}


def _is_entry(service: str, dependencies: str) -> bool:
    """Whether the dependencies say that no service calls it: a remark in brackets stands where callers would."""
    return bool(re.search(rf"\[Service\]: {re.escape(service)}\b.*\n\[Upstream[^\]]*\]:\s*\(", dependencies))
