"""What Prometheus' HTTP API answers: https://prometheus.io/docs/prometheus/latest/querying/api/#format-overview

Every server of the family wraps its answers alike, and each says in its own way that a query was too much for it, or
that a part of its stores didn't answer.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.base import SourceFailure
from tools.vocabulary import SourceError

ERROR_STATUSES = frozenset({400, 404, 422, 499, 500, 503})
"""The statuses whose bodies say more than the status does."""

_CODES = {
    "bad_data": SourceError.QUERY_REJECTED,
    "execution": SourceError.QUERY_REJECTED,
    "not_found": SourceError.QUERY_REJECTED,
    "timeout": SourceError.BACKEND_TIMEOUT,
    "canceled": SourceError.BACKEND_TIMEOUT,
}
_REJECTED = frozenset({400, 404, 422})
_TOO_MUCH = re.compile(
    r"too many (samples|series|points|time ?series|outstanding)|exceeded maximum resolution|too large|-search\.max\w+"
    r"|(samples|series|points) exceeds \d"
    r"|err-mimir-max|(exceeds|exceeded|hit) the (maximum |max )?(limit|number)|limit .{0,40}exceeded",
    re.IGNORECASE,
)
_TOO_LATE = re.compile(r"timed? ?out|timeout|deadline|-search\.maxQueryDuration", re.IGNORECASE)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_LONGEST = 20_000
_ANNOTATION = re.compile(r"PromQL (info|warning):", re.IGNORECASE)


@dataclass(frozen=True)
class Reply:
    """The data of an answer; `partial` where the server says that something is missing in it; `notes` in codes."""

    data: Any
    partial: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RawSeries:
    """One series as it came: its labels, and its finite samples in time order (seconds since the epoch)."""

    labels: Mapping[str, str]
    times: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Matrix:
    """The series of an answer over a window; `partial` and `notes` as in `Reply`. `clock`: when the server answered, by
    its own clock (seconds since the epoch), None where it doesn't say."""

    series: tuple[RawSeries, ...]
    partial: bool = False
    notes: tuple[str, ...] = ()
    clock: float | None = None


def reply_of(status: int, body: bytes) -> Reply:
    """Return what stands in a body. CPU-bound for large ones.

    Raises SourceFailure: what the server says was wrong (its text is read, never passed on), or SOURCE_UNREADABLE.
    """
    given = _parsed(body)
    if status >= 300 or (isinstance(given, dict) and given.get("status") == "error"):
        raise SourceFailure(_code_of(status, given if isinstance(given, dict) else {}))
    if not isinstance(given, dict) or given.get("status") != "success" or "data" not in given:
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    warnings = [str(one) for one in _list(given.get("warnings"))]
    missing = [one for one in warnings if not _ANNOTATION.match(one)]
    partial = given.get("isPartial") is True or bool(missing)
    notes = (("PARTIAL_RESPONSE",) if partial else ()) + (("QUERY_WARNING",) if len(warnings) > len(missing) else ())
    return Reply(given["data"], partial, notes)


def matrix_of(reply: Reply) -> Matrix:
    """Return the series of a range query's reply (or of a scalar's or vector's); raises SOURCE_UNREADABLE.

    Samples that are no finite number (NaN of a division by zero, infinities) are gaps. Native histograms have no
    single value: they're left out, and noted.
    """
    kind = reply.data.get("resultType") if isinstance(reply.data, dict) else None
    result = reply.data.get("result") if isinstance(reply.data, dict) else None
    if kind == "scalar":
        result = [{"metric": {}, "value": result}]
    if kind not in {"matrix", "vector", "scalar"} or not isinstance(result, list):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    series = [_series(one) for one in result]
    histograms = sum("histogram" in one or "histograms" in one for one in result)
    notes = (*reply.notes, *([f"NATIVE_HISTOGRAMS:{histograms}"] if histograms else []))
    return Matrix(tuple(one for one in series if one.times), reply.partial, notes)


def strings_of(reply: Reply) -> list[str]:
    """Return a reply's list of names; VictoriaMetrics and Mimir may say null for none. Raises SOURCE_UNREADABLE."""
    if reply.data is None:
        return []
    if not isinstance(reply.data, list) or not all(isinstance(one, str) for one in reply.data):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return reply.data


def label_sets_of(reply: Reply) -> list[dict[str, str]]:
    """Return a reply's list of label sets; raises SOURCE_UNREADABLE."""
    if reply.data is None:
        return []
    if not isinstance(reply.data, list) or not all(isinstance(one, dict) for one in reply.data):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return [{str(name): str(value) for name, value in one.items()} for one in reply.data]


def _series(given: Any) -> RawSeries:
    labels, points = (given.get("metric"), _points(given)) if isinstance(given, dict) else (None, None)
    if not isinstance(labels, dict) or not isinstance(points, list):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    samples = [_sample(one) for one in points]
    if any(one is None for one in samples):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    finite = [one for one in samples if one is not None and math.isfinite(one[1])]
    named = {str(name): str(value) for name, value in labels.items()}
    return RawSeries(named, tuple(at for at, _ in finite), tuple(value for _, value in finite))


def _points(given: Mapping[str, Any]) -> Any:
    if "value" in given:
        return [given["value"]]
    return given.get("values", [] if "histograms" in given or "histogram" in given else None)


def _sample(given: Any) -> tuple[float, float] | None:
    try:
        at, value = given
        sample = float(at), float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return sample if math.isfinite(sample[0]) else None


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _code_of(status: int, given: Mapping[str, Any]) -> SourceError:
    # What stands in quotes is the query itself, and says nothing about what happened to it.
    text = _QUOTED.sub("", str(given.get("error", ""))[-_LONGEST:])
    if given.get("status") == "error":
        if _TOO_MUCH.search(text):
            return SourceError.ANSWER_TOO_LARGE
        said = _CODES.get(str(given.get("errorType")))
        if said is not SourceError.QUERY_REJECTED and _TOO_LATE.search(text):
            return SourceError.BACKEND_TIMEOUT
        if said is not None:
            return said
    return SourceError.QUERY_REJECTED if status in _REJECTED else SourceError.BACKEND_UNAVAILABLE


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
