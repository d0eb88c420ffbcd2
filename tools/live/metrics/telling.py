"""What servers of metrics found, reduced and told in the lines of the frozen tool."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tools.frozen.lines import field, unit
from tools.frozen.metrics import told as told_series
from tools.frozen.series import Reduced, Series, reduce_series
from tools.live.metrics.questions import Found, Measured
from tools.live.metrics.sampling import Frame
from tools.vocabulary import Evidence

_COUNTER, _LEVEL = "counted_total", "level"
_METRIC = re.compile(r"[\w:.]+")


def told(found: Mapping[str, Found], frame: Frame) -> Evidence | None:
    """Return the evidence of what each server (by its name) found in a frame; None where no series has samples in it.

    CPU-bound: thousands of samples a series are judged. Changed series come first, in order of onset. `truncated`
    where a server answered in part or not every series is told.
    """
    reduced = list(_reduced(found, frame))
    if not reduced:
        return None
    cut = any(one.partial for one in found.values())
    notes = tuple(dict.fromkeys(note for one in found.values() for note in one.notes))
    return told_series(reduced, cut, notes, unit_of=_unit)


def _reduced(found: Mapping[str, Found], frame: Frame) -> Iterator[Reduced]:
    names = _names(found)
    for source, one in found.items():
        for series in one.series:
            kind = _COUNTER if series.counter else _LEVEL
            judged = reduce_series(
                Series(series.service, kind, series.times, series.values),
                start=frame.start,
                end=frame.end,
                source_end=one.until,
            )
            if judged is not None:
                name = names[source, _key(series)]
                yield replace(judged, series=replace(judged.series, metric=name))


_Key = tuple[str, str, tuple[tuple[str, str], ...]]


def _key(series: Measured) -> _Key:
    return series.service, series.metric, tuple(sorted(series.labels.items()))


def _names(found: Mapping[str, Found]) -> dict[tuple[str, _Key], str]:
    """Return what each series is called: the metric, and behind it the labels that tell it from its siblings.

    The server's name stands among them where several servers have the metric of the service.
    """
    keys = [(source, _key(series)) for source, one in found.items() for series in one.series]
    siblings: dict[tuple[str, str, str], list[Mapping[str, str]]] = defaultdict(list)
    for source, (service, metric, labels) in keys:
        siblings[source, service, metric].append(dict(labels))
    apart = {group: _telling_labels(members) for group, members in siblings.items()}
    servers = Counter((service, metric) for _, service, metric in siblings)
    return {
        (source, key): _name(key, apart[source, key[0], key[1]], source if servers[key[0], key[1]] > 1 else None)
        for source, key in keys
    }


def _telling_labels(members: Sequence[Mapping[str, str]]) -> frozenset[str]:
    labels = {label for one in members for label in one}
    return frozenset(label for label in labels if len({one.get(label) for one in members}) > 1)


def _name(key: _Key, telling: frozenset[str], source: str | None) -> str:
    parts = [f"{label}={value}" for label, value in key[2] if label in telling]
    parts += [f"source={source}"] if source else []
    return field(f"{key[1]}{{{','.join(parts)}}}" if parts else key[1])


def _unit(metric: str) -> str:
    name = metric.partition("{")[0]
    return (unit(name) or "") if _METRIC.fullmatch(name) else ""
