"""Incidents with the deciding evidence taken away: a view of the directory, with the filtered files written anew.

What goes: what the changes do (message, files, diff), the guilty change itself, the whole change list, the error lines.
A case counts where another change, live before anything went wrong and on a service that suffers or is called by one
that does, fits what remains as well; without a change list the second cause is that no change did it, or that one did.
"""

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from pydantic import BaseModel, ConfigDict

from evals.suites.rootcausebench import NOBODY, TRUTH

COMMITS, DEPLOYS, FLAGS = "context/commits.json", "context/deploys.json", "context/flags.json"
CHANGES = (COMMITS, DEPLOYS, FLAGS)
LOGS, METRICS, TRACES, ALERT = "logs.ndjson", "metrics.csv", "traces.json", "alert.json"
NO_CHANGE = "load, data or a dependency, without a change"
UNSEEN_CHANGE = "a change that isn't listed"
CALM = frozenset({"INFO", "DEBUG", "TRACE"})
SPAN_FIELDS = ("trace_id", "span_id", "parent_id", "service", "name", "start", "duration_ms", "status")
ALERT_FIELDS = ("service", "metric", "threshold", "observed", "fired_at", "severity")
LASTING = 2
"""Samples in a row beyond the noise that make a deviation."""


class Removal(BaseModel):
    """What is taken away. `gaps`: the kinds of evidence that a fallback should name, one of them at least."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    for_changes: bool
    """Whether it takes part where a change is guilty; otherwise where none is."""
    unread: bool = False
    unlisted: bool = False
    no_list: bool = False
    silent: bool = False
    one_metric: bool = False
    gaps: tuple[str, ...]


REMOVALS = {
    removal.name: removal
    for removal in (
        Removal(name="changes-unread", for_changes=True, unread=True, gaps=("changes",)),
        Removal(name="changes-unread-silent", for_changes=True, unread=True, silent=True, gaps=("changes", "logs")),
        Removal(name="guilty-unlisted", for_changes=True, unread=True, unlisted=True, gaps=("changes",)),
        Removal(
            name="guilty-unlisted-silent",
            for_changes=True,
            unread=True,
            unlisted=True,
            silent=True,
            gaps=("changes", "logs"),
        ),
        Removal(name="no-change-list", for_changes=True, no_list=True, gaps=("changes",)),
        Removal(name="no-change-list-silent", for_changes=True, no_list=True, silent=True, gaps=("changes", "logs")),
        Removal(
            name="nothing-told",
            for_changes=False,
            unread=True,
            silent=True,
            one_metric=True,
            gaps=("changes", "logs", "metrics"),
        ),
        Removal(
            name="nothing-told-no-change-list",
            for_changes=False,
            no_list=True,
            silent=True,
            one_metric=True,
            gaps=("changes", "logs", "metrics"),
        ),
    )
}


class Ablated(BaseModel):
    """A removal applied to an incident; `second` is the other cause that fits, a change's id or words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    removal: str
    guilty: str
    second: str


def ablations_of(directory: Path) -> Iterator[Ablated]:
    """Yield the ablations of an incident that count."""
    guilty = str(_read(directory / TRUTH)["root_cause_commit"])
    begun = first_deviation(directory)
    for removal in REMOVALS.values():
        if removal.for_changes is (guilty == NOBODY) or begun is None:
            continue
        second = _second(directory, removal, guilty, begun)
        if second is not None:
            yield Ablated(removal=removal.name, guilty=guilty, second=second)


def _second(directory: Path, removal: Removal, guilty: str, begun: datetime) -> str | None:
    if removal.no_list:
        return NO_CHANGE if removal.for_changes else UNSEEN_CHANGE
    suffering = _suffering(directory)
    others = [
        (at, change_id)
        for at, change_id, service, is_flag in _live(directory)
        # A flag's name says what it does: it fits only where nothing else says what went wrong.
        if change_id != guilty and service in suffering and at <= begun and (removal.silent or not is_flag)
    ]
    return max(others)[1] if others else None


def _live(directory: Path) -> list[tuple[datetime, str, str, bool]]:
    """Return what went live: time, id, service, and whether it's a flag."""
    deploys = [(_time(one["timestamp"]), one["commit_sha"], one["service"], False) for one in _list(directory, DEPLOYS)]
    flags = [(_time(one["timestamp"]), one["flag"], one.get("service") or "", True) for one in _list(directory, FLAGS)]
    return [*deploys, *flags]


def _suffering(directory: Path) -> set[str]:
    """Return the alerting service and what it calls, directly, as the spans tell."""
    alerting = str(_alert(directory)["service"])
    spans = _list(directory, TRACES)
    service_of = {one.get("span_id"): one["service"] for one in spans}
    called = {one["service"] for one in spans if service_of.get(one.get("parent_id")) == alerting}
    return {alerting, *called}


def first_deviation(directory: Path) -> datetime | None:
    """Return when the first measure that is off at the alert's time had left its noise for good, None where none had.

    Noise: four deviations from the median of the first half before the alert, a tenth of the median at least.
    """
    fired = _time(str(_alert(directory)["fired_at"]))
    series: dict[tuple[str, str], list[tuple[datetime, float]]] = {}
    with (directory / METRICS).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["value"] and _time(row["timestamp"]) <= fired:
                key = (row["service"], row["metric"])
                series.setdefault(key, []).append((_time(row["timestamp"]), float(row["value"])))
    begun = [at for samples in series.values() if (at := _deviation(sorted(samples))) is not None]
    return min(begun, default=None)


def _deviation(samples: list[tuple[datetime, float]]) -> datetime | None:
    calm = [value for _, value in samples[: max(LASTING, len(samples) // 2)]]
    middle = median(calm)
    noise = max(4 * 1.4826 * median(abs(value - middle) for value in calm), abs(middle) / 10)
    off = [at for at, value in samples if abs(value - middle) > noise]
    lasting: list[datetime] = []
    for at, value in reversed(samples):
        if abs(value - middle) <= noise:
            break
        lasting.append(at)
    return lasting[-1] if off and len(lasting) >= LASTING else None


def write_view(source: Path, target: Path, ablated: Ablated) -> None:
    """Write what remains of the incident in `source` into `target`: whole files copied, filtered ones anew."""
    removal = REMOVALS[ablated.removal]
    begun = first_deviation(source)
    (target / "context").mkdir()
    for path in source.rglob("*"):
        name = path.relative_to(source).as_posix()
        if not path.is_file() or name == TRUTH or (removal.no_list and name in CHANGES):
            continue
        filtered = _filter(name, removal, ablated.guilty, begun)
        if filtered is not None:
            (target / name).write_text(filtered(path), encoding="utf-8")
        elif name in (*CHANGES, LOGS, METRICS, TRACES, ALERT):
            shutil.copyfile(path, target / name)


def _filter(name: str, removal: Removal, guilty: str, begun: datetime | None) -> Callable[[Path], str] | None:
    if name == COMMITS and removal.unread:
        return lambda path: _commits(path, guilty if removal.unlisted else None)
    if name == DEPLOYS and removal.unlisted:
        return lambda path: json.dumps([one for one in _read(path) if one["commit_sha"] != guilty])
    silenced: Mapping[str, Callable[[Path], str]] = {
        LOGS: lambda path: _calm_lines(path, begun),
        TRACES: lambda path: json.dumps([{key: one.get(key) for key in SPAN_FIELDS} for one in _read(path)]),
        ALERT: lambda path: json.dumps({key: _alert(path.parent).get(key) for key in ALERT_FIELDS}),
    }
    if removal.silent and name in silenced:
        return silenced[name]
    return _alerting_metric if name == METRICS and removal.one_metric else None


def _commits(path: Path, left_out: str | None) -> str:
    kept = [one for one in _read(path) if one["sha"] != left_out]
    return json.dumps([{**one, "message": "", "files_changed": [], "diff": None} for one in kept])


def _calm_lines(path: Path, begun: datetime | None) -> str:
    rows = []
    for row in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(row) if row.strip() else {}
        if str(record.get("severity_text")).upper() in CALM and begun and _time(record["timestamp"]) < begun:
            rows.append(row + "\n")
    return "".join(rows)


def _alerting_metric(path: Path) -> str:
    alert = _alert(path.parent)
    header, *rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
    wanted = f",{alert['service']},{alert['metric']},"
    return "".join([header, *(row for row in rows if wanted in row)])


def _alert(directory: Path) -> Mapping[str, Any]:
    content = _read(directory / ALERT)
    first: Mapping[str, Any] = content[0] if isinstance(content, list) else content
    return first


def _list(directory: Path, name: str) -> Iterable[Mapping[str, Any]]:
    path = directory / name
    found: Iterable[Mapping[str, Any]] = _read(path) if path.is_file() else ()
    return found


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
