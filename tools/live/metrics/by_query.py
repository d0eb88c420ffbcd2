"""A question in PromQL, put to one server."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tools.base import SourceFailure
from tools.live.labels import short_name
from tools.live.metrics.discovery import unknown_part
from tools.live.metrics.probing import probe_sampling
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.promql import PromQuery, Selection
from tools.live.metrics.questions import Found, Plan, compact, narrowed, run
from tools.live.metrics.sampling import Frame, sampling
from tools.live.metrics.spelling import string
from tools.vocabulary import SourceError


@dataclass(frozen=True)
class ByQuery:
    """The question: a query in its one spelling, and the frame."""

    query: PromQuery
    frame: Frame


async def ask_by_query(source: Prometheus, question: ByQuery) -> Found:
    """Return what one server has; nothing where it knows the metrics, labels and values that the query names.

    Raises SourceFailure: UNKNOWN_SELECTOR with near names otherwise; ANSWER_TOO_LARGE with labels to narrow by.
    """
    query, frame = question.query, question.frame
    texts = [one.text for one in query.selections]
    failure = None
    try:
        found = await _answered(source, query, frame)
    except SourceFailure as raised:
        failure = raised
    if failure is not None:
        raise await narrowed(source, failure, texts, frame)
    if not found.series:
        unknown = await unknown_part(source, query.selections, frame.read)
        if unknown is not None:
            raise unknown
    return found


async def _answered(source: Prometheus, query: PromQuery, frame: Frame) -> Found:
    expected = 1 if query.scalar else await _counted(source, query.text, frame)
    if expected > source.max_series:
        raise SourceFailure(SourceError.ANSWER_TOO_LARGE)
    probed = await _one_metric(source, query.selections, frame)
    if probed is not None:
        sampled = await probe_sampling(source, frame, probed, series=expected)
    else:
        sampled = sampling(frame.read, samples=None, series=expected)
    service = service_asked(query.selections, source.service_labels)
    found = await run(source, frame, [Plan(compact(query.text), query.text)], sampled)
    if service is None:
        return found
    named = [one if one.service != "-" else replace(one, service=service) for one in found.series]
    return replace(found, series=tuple(named))


async def _one_metric(source: Prometheus, selections: Sequence[Selection], frame: Frame) -> str | None:
    """Return a selector of one metric that the query reads, None where there is none; functions over time can't be
    taken over several, since they drop the names."""
    named = next((one.text for one in selections if one.metric), None)
    if named is not None or not selections:
        return named
    text = selections[0].text
    names = await source.label_values("__name__", [text], frame.read)
    return f"{{__name__={string(min(names))},{text[1:]}" if names else None


async def _counted(source: Prometheus, query: str, frame: Frame) -> int:
    """Return how many series a query has at the window's beginning or its end, whichever is more; asked before all of
    them are fetched."""
    counts = [await source.instant(f"count({query})", at) for at in (frame.start, frame.end - 1)]
    return max((int(value) for one in counts for series in one.series for value in series.values), default=0)


def service_asked(selections: Iterable[Selection], service_labels: Iterable[str]) -> str | None:
    """Return the one service that every selector of a query names, or None."""
    wanted = tuple(service_labels)
    named = {_service(one, wanted) for one in selections}
    return named.pop() if len(named) == 1 else None


def _service(one: Selection, service_labels: Iterable[str]) -> str | None:
    said = dict(one.exact)
    value = next((said[label] for label in service_labels if label in said), None)
    return None if value is None else short_name(value)
