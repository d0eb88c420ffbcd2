"""What a server says is told apart: data, parts of it, refusals, and what is no answer at all."""

import json
import math
from typing import Any

import pytest

from tools.base import SourceFailure
from tools.live.metrics.replies import Reply, label_sets_of, matrix_of, reply_of, strings_of
from tools.vocabulary import SourceError


def body(**fields: Any) -> bytes:
    return json.dumps({"status": "success", **fields}).encode()


def error(kind: str, text: str) -> bytes:
    return json.dumps({"status": "error", "errorType": kind, "error": text}).encode()


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (400, error("bad_data", "1:3: parse error: unexpected end of input"), SourceError.QUERY_REJECTED),
        (422, error("execution", "found duplicate series for the match group"), SourceError.QUERY_REJECTED),
        (
            422,
            error("execution", "query processing would load too many samples into memory in query execution"),
            SourceError.ANSWER_TOO_LARGE,
        ),
        (400, error("bad_data", "exceeded maximum resolution of 11,000 points"), SourceError.ANSWER_TOO_LARGE),
        (503, error("timeout", "query timed out in expression evaluation"), SourceError.BACKEND_TIMEOUT),
        (503, error("canceled", "query was canceled in query execution"), SourceError.BACKEND_TIMEOUT),
        (499, error("canceled", "context canceled"), SourceError.BACKEND_TIMEOUT),
        (500, error("internal", "block read failed"), SourceError.BACKEND_UNAVAILABLE),
        (503, error("unavailable", "shutting down"), SourceError.BACKEND_UNAVAILABLE),
        (404, error("not_found", "no such thing"), SourceError.QUERY_REJECTED),
        (
            422,
            error("422", "the number of matching timeseries exceeds 300000; -search.maxUniqueTimeseries"),
            SourceError.ANSWER_TOO_LARGE,
        ),
        (422, error("422", 'cannot parse "http_timeouts_total{": unexpected token'), SourceError.QUERY_REJECTED),
        (503, error("503", "timeout exceeded during query execution: 30.000 seconds"), SourceError.BACKEND_TIMEOUT),
        (
            422,
            error("execution", "the query exceeded the maximum number of series (err-mimir-max-series-per-query)"),
            SourceError.ANSWER_TOO_LARGE,
        ),
        (200, error("timeout", "deadline exceeded"), SourceError.BACKEND_TIMEOUT),
        (503, b"<html>bad gateway</html>", SourceError.BACKEND_UNAVAILABLE),
        (400, b"no", SourceError.QUERY_REJECTED),
        (200, b"no", SourceError.SOURCE_UNREADABLE),
        (200, b"[]", SourceError.SOURCE_UNREADABLE),
        (200, b'{"data": []}', SourceError.SOURCE_UNREADABLE),
        (200, b'{"status": "success"}', SourceError.SOURCE_UNREADABLE),
    ],
)
def test_an_answer_without_data_is_the_failure_that_it_tells_of(status: int, said: bytes, code: SourceError) -> None:
    with pytest.raises(SourceFailure) as caught:
        reply_of(status, said)
    assert caught.value.code is code
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("fields", "partial", "notes"),
    [
        ({}, False, ()),
        ({"isPartial": False, "warnings": []}, False, ()),
        ({"isPartial": True}, True, ("PARTIAL_RESPONSE",)),
        ({"warnings": ["No StoreAPIs matched for this query"]}, True, ("PARTIAL_RESPONSE",)),
        ({"infos": ["PromQL info: metric might not be a counter"]}, False, ()),
        ({"warnings": ["PromQL warning: encountered a mix of histograms"]}, False, ("QUERY_WARNING",)),
    ],
)
def test_a_partial_answer_is_told_from_a_remark(fields: dict[str, Any], partial: bool, notes: tuple[str, ...]) -> None:
    reply = reply_of(200, body(data=[], **fields))
    assert (reply.partial, reply.notes) == (partial, notes)


def test_samples_that_are_no_finite_number_are_gaps() -> None:
    values = [[1, "1.5"], [2, "NaN"], [3, "+Inf"], [4, "-Inf"], [5.5, "2"]]
    (series,) = matrix_of(Reply({"resultType": "matrix", "result": [{"metric": {"a": "b"}, "values": values}]})).series
    assert series.times == (1.0, 5.5)
    assert series.values == (1.5, 2.0)
    assert all(math.isfinite(value) for value in series.values)


def test_a_series_without_any_finite_sample_is_none() -> None:
    result = [{"metric": {}, "values": [[1, "NaN"]]}, {"metric": {}, "values": []}]
    assert matrix_of(Reply({"resultType": "matrix", "result": result})).series == ()


def test_native_histograms_are_left_out_and_noted() -> None:
    result = [{"metric": {}, "histograms": [[1, {"count": "1"}]]}]
    matrix = matrix_of(Reply({"resultType": "matrix", "result": result}))
    assert matrix.series == ()
    assert matrix.notes == ("NATIVE_HISTOGRAMS:1",)


def test_a_scalar_and_a_vector_are_series_of_one_sample() -> None:
    assert matrix_of(Reply({"resultType": "scalar", "result": [5, "2"]})).series[0].values == (2.0,)
    vector = {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [5, "3"]}]}
    assert matrix_of(Reply(vector)).series[0].labels == {"a": "b"}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"resultType": "streams", "result": []},
        {"resultType": "matrix", "result": {}},
        {"resultType": "matrix", "result": [{"metric": {}}]},
        {"resultType": "matrix", "result": ["text"]},
        {"resultType": "matrix", "result": [{"metric": [], "values": []}]},
        {"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "x"]]}]},
        {"resultType": "matrix", "result": [{"metric": {}, "values": [[1]]}]},
        {"resultType": "matrix", "result": [{"metric": {}, "values": [5]}]},
    ],
)
def test_data_of_another_form_are_unreadable(data: Any) -> None:
    with pytest.raises(SourceFailure) as caught:
        matrix_of(Reply(data))
    assert caught.value.code is SourceError.SOURCE_UNREADABLE


@pytest.mark.parametrize("read", [strings_of, label_sets_of])
def test_lists_of_another_form_are_unreadable_and_null_is_none(read: Any) -> None:
    assert read(Reply(None)) == []
    others: tuple[Any, ...] = ({}, "text", [1])
    for data in others:
        with pytest.raises(SourceFailure):
            read(Reply(data))


@pytest.mark.parametrize("sample", [[10**400, "1"], [1, 10**400], ["NaN", "1"], ["Inf", "1"]])
def test_a_sample_that_no_time_or_number_holds_is_unreadable(sample: list[Any]) -> None:
    with pytest.raises(SourceFailure) as caught:
        matrix_of(Reply({"resultType": "vector", "result": [{"metric": {}, "value": sample}]}))
    assert caught.value.code is SourceError.SOURCE_UNREADABLE
