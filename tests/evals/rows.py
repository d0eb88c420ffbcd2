"""Rows and results made by hand."""

from collections.abc import Sequence
from typing import Any

from evals.results import Manifest, Results, Row
from evals.summary import results_of
from graph.models.offline import OFFLINE_MODEL_NAME

SUITE = "made-up"


def row(case_id: str, target: str = "zhizhi", *, repetition: int = 0, **fields: Any) -> Row:
    """Return a row of an answerable case that was answered right, but for `fields` and the scores in `values`."""
    values = {"released": True, "correct": True, "answerable": True} | fields.pop("values", {})
    usual: dict[str, Any] = {"cluster": case_id, "outcome": "SUCCESS", "calls": 3}
    digest = f"{case_id}/{target}/{repetition}"
    given = {**usual, **fields}
    return Row(
        digest=digest, suite=SUITE, case_id=case_id, target=target, repetition=repetition, values=values, **given
    )


def abstained(case_id: str, target: str = "zhizhi", **fields: Any) -> Row:
    """Return a row of an answerable case on which nothing was published."""
    values = {"released": False, "correct": False} | fields.pop("values", {})
    return row(case_id, target, outcome="FALLBACK", values=values, **fields)


def wrong(case_id: str, target: str = "zhizhi", **fields: Any) -> Row:
    """Return a row of an answerable case on which a wrong conclusion was published."""
    return row(case_id, target, values={"correct": False} | fields.pop("values", {}), **fields)


def results(rows: Sequence[Row], **manifest: Any) -> Results:
    """Return the results over `rows`."""
    made: dict[str, Any] = {
        "versions": {"zhizhi": "0"},
        "settings": {},
        "models": (OFFLINE_MODEL_NAME,),
        "suites": (SUITE,),
        "targets": tuple(dict.fromkeys(one.target for one in rows)),
        "repeat": 1 + max((one.repetition for one in rows), default=0),
        "limit": None,
        "seed": 7,
        "prompts": {},
        "code": "c0de",
        "started_at": "2026-03-04T05:06:07+00:00",
        "finished_at": "2026-03-04T05:07:07+00:00",
    }
    return results_of(Manifest(**{**made, **manifest}), rows)
