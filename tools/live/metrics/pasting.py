"""Commands that show by hand what a question of metrics is about."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from tools.live.metrics.mapping import signal_map
from tools.live.metrics.spelling import selector
from tools.live.pasting import any_case, lines, whole
from tools.vocabulary import Scope

MOST = 2
"""How many queries stand for one question."""
_LIKELY = ("service", "job", "app", "application", "service_name")
_LEAST = 3
"""How many labels are tried at least where the metric is named: a service's only one is among them."""
_CLASSIC = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_FIRST = "(?i).*(error|fail|exception|5xx|reject|time_?out).*"


def command(query: str, scope: Scope) -> str:
    """Return a command; where the server is, only who runs it knows: its address may be private."""
    window = f"--start={scope['start']} --end={scope['end']}"
    return f'promtool query range {window} "$PROMETHEUS_URL" {shlex.quote(query)}'


def commands(scope: Scope, worth: Sequence[Sequence[str]], labels: Sequence[str]) -> str:
    """Return the commands of a question by name.

    `worth`: what was asked of the server and says most, each as queries from the fullest to the shortest; none where it
    never answered. `labels`: those that may name the service, the most telling first.
    """
    asked = lines([whole(command(query, scope) for query in queries) for queries in worth][:MOST])
    return asked or whole(command(query, scope) for query in _names(scope, labels))


def _names(scope: Scope, labels: Sequence[str]) -> Iterator[str]:
    """Yield queries of all that has a fitting name, from what says most to what is shortest.

    Of a service, whichever likely label names it; where that is too long, of all services, told apart by those labels:
    the wrong label alone would find nothing.
    """
    tried = [one for one in _LIKELY if one in labels] or [one for one in labels if _CLASSIC.fullmatch(one)]
    tried = tried[: len(_LIKELY)]
    service, metric = scope.get("service"), scope.get("metric")
    for patterns in _patterns(metric, named=service is not None):
        name = [("__name__", "=~", pattern) for pattern in patterns]
        if service is not None:
            yield from _either(name, service, tried, 1 if metric is None else _LEAST)
        if name:
            yield f"sum by ({', '.join(['__name__', *tried])}) ({selector(None, name)})"


def _either(name: list[tuple[str, str, str]], service: str, labels: Sequence[str], least: int) -> Iterator[str]:
    """Yield queries of a service's series by name, over all labels and over fewer and fewer of them."""
    for count in range(len(labels), least - 1, -1):
        selectors = [selector(None, [*name, (label, "=~", _pattern(label, service))]) for label in labels[:count]]
        yield f"sum by (__name__) ({' or '.join(selectors)})"


def _pattern(label: str, service: str) -> str:
    """Return a pattern of a service's name; OpenTelemetry's `job` holds its namespace, too (`shop/checkout`)."""
    return any_case(service).replace("(?i)", "(?i)(.*/)?") if label == "job" else any_case(service)


def _patterns(metric: str | None, *, named: bool) -> Iterable[list[str]]:
    """Return patterns of names, from what says most to what is shortest; an empty list is any name."""
    if metric is None:
        return [[]] if named else [[_FIRST]]
    asked = signal_map().asked(metric)
    if asked is None:
        return [[any_case(metric)]]
    if asked.golden:
        return [[f"(?i).*({signal_map().words[asked.golden[0]].pattern}).*"]]
    names = [needed[0] for signal in asked.signals for variant in signal.variants if (needed := signal.needs(variant))]
    unique = list(dict.fromkeys(names))
    return [["|".join(unique[:count])] for count in range(len(unique), 0, -1)]
