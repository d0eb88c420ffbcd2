"""A question by name, put to one server: a golden signal, an alias or a metric's own name, of one service or of all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.metrics.discovery import ServiceSeries, find_service, labels_of, long_before, metric_names
from tools.live.metrics.mapping import Asked, Bound, Signal, Variant, bare, family, signal_map
from tools.live.metrics.probing import probe_sampling
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.questions import Found, Plan, counted_series, raw_query, run
from tools.live.metrics.sampling import Frame
from tools.live.metrics.spelling import selector
from tools.names import near
from tools.vocabulary import SourceError

MAX_RAW_NAMES = 60
"""How many metrics of a service are read where no signal of theirs is known."""
_MAX_TELLING_NAMES = 12
_MOST_WORTH = 4
_MAX_SERVICE_LABELS = 4
_PARTS = ("_bucket", "_sum", "_count")


@dataclass(frozen=True)
class ByName:
    """The question: folded names, or None where open."""

    service: str | None
    metric: str | None
    frame: Frame


@dataclass(frozen=True)
class _Chosen:
    """A signal as one instrumentation has it, of one service or (place None) of all that `by` names."""

    signal: Signal
    variant: Variant
    place: ServiceSeries | None
    by: tuple[str, ...] = ()
    status: str | None = None

    @property
    def leading(self) -> str:
        """Return the selector of the metric that the formula starts from."""
        needed = self.signal.needs(self.variant) or ("",)
        return selector(needed[0], [self.place.matcher] if self.place else [])

    def plan(self, rate: timedelta) -> Plan:
        service = self.place.service if self.place else None
        query = self.signal.query(self.variant, self._bound(rate))
        return Plan(self.signal.name, query, service, self.place.label if self.place else "")

    def worth(self, rate: timedelta) -> tuple[str, ...]:
        """Return the query, and what says less in fewer words: at last, what its leading metric is."""
        return (*self.signal.queries(self.variant, self._bound(rate)), self.leading)

    def _bound(self, rate: timedelta) -> Bound:
        return Bound(self.by, self.place.value if self.place else None, rate, self.status)


@dataclass(frozen=True)
class _Raw:
    """A metric by its own name, of one service or (place None) of all."""

    name: str
    place: ServiceSeries | None
    counter: bool

    @property
    def matchers(self) -> list[tuple[str, str, str]]:
        return [self.place.matcher] if self.place else []

    @property
    def selector(self) -> str:
        return selector(self.name, self.matchers)

    def plan(self, query: str) -> Plan:
        if self.place is None:
            return Plan(self.name, query, counter=self.counter)
        return Plan(self.name, query, self.place.service, self.place.label, self.counter)


async def ask_by_name(source: Prometheus, question: ByName) -> Found:
    """Return what one server has; nothing where it knows the names and has no samples.

    Raises SourceFailure: UNKNOWN_SELECTOR with near names where it has never known the service or the metric, or where
    no metric of the service is what the alias stands for; ANSWER_TOO_LARGE with what to narrow by.
    """
    span = question.frame.read
    places: tuple[ServiceSeries, ...] = ()
    if question.service is not None:
        places = await find_service(source, question.service, span)
        names = frozenset(name for place in places for name in place.metrics)
    else:
        names = await metric_names(source, span)
    # A metric's own name comes before what else it may stand for (a gauge that is called `error_rate`).
    is_own_name = any(fold(one) == question.metric for one in names)
    asked = None if is_own_name else signal_map().asked(question.metric)
    chosen = await _chosen(source, question, asked.signals if asked else _family(question.metric, names), places, names)
    raw = _raw(question, asked, chosen, places, names)
    if question.metric and asked is None and not chosen:
        raw = [await _typed(source, one) for one in raw]
    if not chosen and not raw:
        return await _nothing(source, question, asked, names)
    return await _answered(source, question, chosen, raw)


async def _answered(source: Prometheus, question: ByName, chosen: Sequence[_Chosen], raw: Sequence[_Raw]) -> Found:
    frame = question.frame
    counted = await counted_series(source, [one.selector for one in raw], frame) if raw else []
    services = 1
    if chosen and question.service is None:
        services = len(await source.label_values(chosen[0].by[0], [chosen[0].leading], frame.read))
    expected = len(counted) + len(chosen) * services
    probed = chosen[0].leading if chosen else raw[0].selector
    sampled = await probe_sampling(source, frame, probed, series=expected)
    plans = [one.plan(sampled.rate) for one in chosen]
    plans += [one.plan(raw_query(one.name, one.matchers, sampled, counter=one.counter)) for one in raw]
    return replace(await run(source, frame, plans, sampled), worth=_worth(chosen, raw, sampled.rate))


def _worth(chosen: Sequence[_Chosen], raw: Sequence[_Raw], rate: timedelta) -> tuple[tuple[str, ...], ...]:
    """Return what says most: errors and latency first, each signal's formula and what of it is shorter."""
    order = {golden: number for number, golden in enumerate(("errors", "latency", "saturation", "traffic", None))}
    golden: dict[str | None, _Chosen] = {}
    for one in chosen:
        golden.setdefault(one.signal.golden, one)
    first = sorted(golden.values(), key=lambda one: order[one.signal.golden])
    return (*(one.worth(rate) for one in first), *((one.selector,) for one in raw))[:_MOST_WORTH]


async def _chosen(
    source: Prometheus,
    question: ByName,
    signals: Iterable[Signal],
    places: Sequence[ServiceSeries],
    names: frozenset[str],
) -> list[_Chosen]:
    """Return the signals that are there. Of one service, each as the first instrumentation has it; of all services, as
    every one has it, since services differ."""
    candidates = list(_candidates(signals, places, names, overall=question.service is None))
    labels = await labels_of(source, (one.leading for one in candidates if _asks_labels(one)), question.frame.read)
    fitting = [fit for one in candidates if (fit := _fitted(one, labels, source.service_labels)) is not None]
    if question.service is None:
        return fitting
    first: dict[str, _Chosen] = {}
    for one in fitting:
        first.setdefault(one.signal.name, one)
    return list(first.values())


def _candidates(
    signals: Iterable[Signal], places: Sequence[ServiceSeries], names: frozenset[str], *, overall: bool
) -> Iterator[_Chosen]:
    for signal in signals:
        for variant in signal.variants:
            needed = signal.needs(variant)
            if needed is None:
                continue
            if overall and names.issuperset(needed):
                yield _Chosen(signal, variant, None)
            yield from (
                _Chosen(signal, variant, place, (place.label,)) for place in places if place.metrics.issuperset(needed)
            )


def _asks_labels(one: _Chosen) -> bool:
    return one.place is None or bool(one.signal.labels_needed(one.variant)) or one.signal.needs_status(one.variant)


def _fitted(one: _Chosen, known: dict[str, frozenset[str]], service_labels: Sequence[str]) -> _Chosen | None:
    """Return a candidate with the labels that it needs; None where its metric hasn't got them."""
    if not _asks_labels(one):
        return one
    labels = known[one.leading]
    status = next((label for label in one.variant.status_labels if label in labels), None)
    by = one.by or tuple(label for label in service_labels if label in labels)[:_MAX_SERVICE_LABELS]
    lacks_status = one.signal.needs_status(one.variant) and status is None
    if not by or lacks_status or not labels.issuperset(one.signal.labels_needed(one.variant)):
        return None
    return _Chosen(one.signal, one.variant, one.place, by, status)


def _family(metric: str | None, names: frozenset[str]) -> tuple[Signal, ...]:
    """Return the signals of the histogram or summary that `metric` names, by its base name or its buckets."""
    asked = (metric or "").removesuffix("_bucket")
    base = next((one.removesuffix("_count") for one in sorted(names) if fold(one) == f"{asked}_count"), None)
    is_plain = any(fold(one) == metric and not one.endswith("_bucket") for one in names)
    return family(base) if base and f"{base}_sum" in names and not is_plain else ()


def _raw(
    question: ByName,
    asked: Asked | None,
    chosen: Sequence[_Chosen],
    places: Sequence[ServiceSeries],
    names: frozenset[str],
) -> list[_Raw]:
    """Return the metrics to be told as they are: the one that was named; those that say by their names that they are a
    golden signal which no mapping gave; all of a service where nothing else is known of it."""
    if asked is None:
        wanted = [] if chosen else [one for one in sorted(names) if fold(one) == question.metric]
    else:
        had = {one.signal.golden for one in chosen}
        plain = [one for one in sorted(names) if not _is_part(one, names) and one not in signal_map().read]
        wanted = [
            one
            for golden in asked.golden
            if golden not in had
            for one in signal_map().telling(golden, plain)[:_MAX_TELLING_NAMES]
        ]
        if not asked.golden and not chosen:
            wanted = [one for one in plain if bare(question.metric or "") in bare(one)][:_MAX_TELLING_NAMES]
        if question.metric is None and not chosen and not wanted and len(plain) <= MAX_RAW_NAMES:
            wanted = plain
    return [_Raw(one, _place_of(one, places), _counts(one, names)) for one in dict.fromkeys(wanted)]


def _place_of(name: str, places: Sequence[ServiceSeries]) -> ServiceSeries | None:
    return next((place for place in places if name in place.metrics), None)


def _is_part(name: str, names: frozenset[str]) -> bool:
    """Whether a metric is one of those that make up a histogram or a summary, or says when one was made."""
    stem = next((name.removesuffix(part) for part in _PARTS if name.endswith(part)), None)
    return name.endswith("_created") or (stem is not None and {f"{stem}_sum", f"{stem}_count"} <= names)


def _counts(name: str, names: frozenset[str]) -> bool:
    return name.endswith("_total") or (_is_part(name, names) and not name.endswith("_created"))


async def _typed(source: Prometheus, one: _Raw) -> _Raw:
    told = await source.metric_type(one.name)
    return one if told is None else _Raw(one.name, one.place, told == "counter" or (told != "gauge" and one.counter))


async def _nothing(source: Prometheus, question: ByName, asked: Asked | None, names: frozenset[str]) -> Found:
    """Return an absence where everything that was named is known, partial where the server may have left metrics out;
    raises SourceFailure where it isn't."""
    if question.metric is None and len(names) > MAX_RAW_NAMES:
        raise SourceFailure(SourceError.ANSWER_TOO_LARGE, near_names=tuple(sorted(names)), field="metric")
    if question.metric is None or (asked is not None and not names):
        return await _absence(source, question)
    known = names
    if asked is None:
        known = names | await metric_names(source, long_before(question.frame.read))
        if any(fold(one) == question.metric for one in known) or _family(question.metric, known):
            return await _absence(source, question)
    there = [one.name for one in signal_map().signals if any(_covers(one, variant, names) for variant in one.variants)]
    near_names = dict.fromkeys([*near(question.metric, [*known, *there]), *there])
    raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=tuple(near_names), field="metric")


async def _absence(source: Prometheus, question: ByName) -> Found:
    return Found(partial=not await source.tells_all_metrics(question.frame.read))


def _covers(signal: Signal, variant: Variant, names: frozenset[str]) -> bool:
    needed = signal.needs(variant)
    return needed is not None and names.issuperset(needed)
