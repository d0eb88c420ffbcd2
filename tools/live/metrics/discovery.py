"""What a server knows: which of its labels names a service, which metrics it has, what a mistyped name may have meant.

Source: decided contract, "Answers of tools": a name that the source has never known is a typo, not an absence. "Never"
is the last ninety days before the window's end: an index over all time is more than a question may cost.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.concurrency import in_turns
from tools.live.labels import short_name
from tools.live.metrics.prometheus import Prometheus, Span
from tools.live.metrics.promql import Selection
from tools.live.metrics.spelling import selector
from tools.names import near
from tools.vocabulary import SourceError

KNOWN_FOR = 90 * 86_400.0
_NAME = "__name__"
_FIRST_HINTS = ("namespace", "cluster", "instance", "pod", "path", "route", "uri", "method", "status", "code")


@dataclass(frozen=True)
class ServiceSeries:
    """One label that names the service that was asked about, and the metrics that the series with it have.

    `service`: the service as it's told, without what stands around its name (`shop/checkout`, `checkout.shop.svc…`).
    """

    label: str
    value: str
    service: str
    metrics: frozenset[str]

    @property
    def matcher(self) -> tuple[str, str, str]:
        """Return the matcher that selects the series."""
        return (self.label, "=", self.value)


async def find_service(source: Prometheus, asked: str, span: Span) -> tuple[ServiceSeries, ...]:
    """Return where the folded name `asked` stands as a service's name, the most telling label first.

    A service without series in the span that is known from before has no metrics. Raises
    SourceFailure(UNKNOWN_SELECTOR) with near names where it was never known.
    """
    known = await _service_values(source, span)
    found = _named(known, asked)
    if not found:
        earlier = await _service_values(source, long_before(span))
        if not _named(earlier, asked):
            candidates = {short_name(value) for values in (known, earlier) for one in values.values() for value in one}
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(asked, candidates), field="service")
        return tuple(
            ServiceSeries(label, value, short_name(value), frozenset()) for label, value in _named(earlier, asked)
        )
    names = await in_turns(
        lambda one: source.label_values(_NAME, [selector(None, [(one[0], "=", one[1])])], span),
        found,
    )
    return tuple(
        ServiceSeries(label, value, short_name(value), frozenset(metrics))
        for (label, value), metrics in zip(found, names, strict=True)
    )


async def metric_names(source: Prometheus, span: Span) -> frozenset[str]:
    """Return the names of all metrics in the span."""
    return frozenset(await source.label_values(_NAME, [], span))


async def labels_of(source: Prometheus, selectors: Iterable[str], span: Span) -> dict[str, frozenset[str]]:
    """Return, for each selector, the names of the labels that its series have."""
    asked = list(dict.fromkeys(selectors))
    found = await in_turns(lambda one: source.label_names([one], span), asked)
    return {one: frozenset(labels) for one, labels in zip(asked, found, strict=True)}


async def unknown_part(source: Prometheus, selections: Sequence[Selection], span: Span) -> SourceFailure | None:
    """Return what a query that found nothing names and the server has never known: a metric, a label, a value.

    None where everything that it names plainly is known, so that finding nothing is an absence.
    """
    wide = long_before(span)
    for one in selections:
        if await source.series([one.text], wide, limit=1):
            continue
        if one.metric and not await source.series([selector(one.metric, ())], wide, limit=1):
            return _unknown(one.metric, await metric_names(source, wide))
        scope = [selector(one.metric, ())] if one.metric else []
        for label, value in one.exact:
            values = await source.label_values(label, scope, wide)
            if not values:
                return _unknown(label, await source.label_names(scope, wide))
            if value not in values:
                return _unknown(value, values)
    return None


async def narrowing_labels(source: Prometheus, selectors: Sequence[str], span: Span) -> tuple[str, ...]:
    """Return the labels by which a question that is too large could be narrowed, the most usual first; at most five.

    Where asking for those of the selected series is too much, too, they are those of all series; none where that fails.
    """
    for selected in (selectors, ()):
        with suppress(SourceFailure):
            return ranked_labels(await source.label_names(selected, span), source.service_labels)
    return ()


def ranked_labels(names: Iterable[str], service_labels: Sequence[str]) -> tuple[str, ...]:
    """Return label names in the order in which somebody would narrow by them, at most five."""
    order = {label: place for place, label in enumerate((*service_labels, *_FIRST_HINTS))}
    return tuple(sorted((one for one in names if one != _NAME), key=lambda one: (order.get(one, len(order)), one))[:5])


def long_before(span: Span) -> Span:
    """Return the span in which a name counts as known."""
    return Span(min(span.start, span.end - KNOWN_FOR), span.end)


async def _service_values(source: Prometheus, span: Span) -> dict[str, list[str]]:
    names = set(await source.label_names([], span))
    labels = [one for one in source.service_labels if one in names]
    values = await in_turns(lambda label: source.label_values(label, [], span), labels)
    return dict(zip(labels, values, strict=True))


def _named(known: Mapping[str, Iterable[str]], asked: str) -> list[tuple[str, str]]:
    return [
        (label, value)
        for label, values in known.items()
        for value in sorted(values)
        if asked in {fold(value), fold(short_name(value))}
    ]


def _unknown(name: str, known: Iterable[str]) -> SourceFailure:
    return SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(name, known), field="query")
