"""Upload of finished results to LangSmith as an experiment; nothing here runs unless a person asks for it with a key.

The run itself is never traced: what is uploaded is the finished table, through the API's way for experiments that were
run elsewhere, one request a suite and target.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from evals.results import Results, Row

KEY_VARIABLE = "LANGSMITH_API_KEY"
ENDPOINT_VARIABLE = "LANGSMITH_ENDPOINT"
DEFAULT_ENDPOINT = "https://api.smith.langchain.com"
PATH = "/api/v1/datasets/upload-experiment"
TIMEOUT_SECONDS = 60.0


class UploadRefused(Exception):
    """The upload can't be done or was refused. The text is one clear line, without the key."""


def upload_key(environ: Mapping[str, str] = os.environ) -> str:
    """Return the LangSmith key. Raises UploadRefused where there's none, before anything is run or sent."""
    key = environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise UploadRefused(f"--upload needs {KEY_VARIABLE}")
    return key


def upload(results: Results, key: str, *, transport: httpx.BaseTransport | None = None) -> int:
    """Send each suite and target as one experiment; return how many. Raises UploadRefused."""
    endpoint = os.environ.get(ENDPOINT_VARIABLE, DEFAULT_ENDPOINT).rstrip("/")
    experiments = list(experiments_of(results))
    with httpx.Client(
        base_url=endpoint, headers={"x-api-key": key}, timeout=TIMEOUT_SECONDS, transport=transport
    ) as client:
        for experiment in experiments:
            try:
                status = client.post(PATH, json=experiment).status_code
            except httpx.HTTPError:
                status = 0
            if status == 0:
                raise UploadRefused("LangSmith can't be reached")
            if status >= httpx.codes.BAD_REQUEST:
                raise UploadRefused(f"LangSmith refused the upload with status {status}")
    return len(experiments)


def experiments_of(results: Results) -> Sequence[dict[str, Any]]:
    """Return the bodies of the requests: scores and case names, no query, no evidence, no report."""
    return [_experiment(results, suite, target) for suite, by_target in results.figures.items() for target in by_target]


def _experiment(results: Results, suite: str, target: str) -> dict[str, Any]:
    made = results.manifest
    rows = [row for row in results.rows if (row.suite, row.target) == (suite, target)]
    figures = results.figures[suite][target]
    return {
        "experiment_name": f"{suite}-{target}-{made.started_at}",
        "experiment_start_time": made.started_at,
        "experiment_end_time": made.finished_at,
        "dataset_name": f"zhizhi-{suite}",
        "experiment_metadata": made.model_dump(mode="json", exclude={"absent"}),
        "summary_experiment_scores": [{"key": name, "score": figure["value"]} for name, figure in figures.items()],
        "results": [_result(row, datetime.fromisoformat(made.started_at), made.finished_at) for row in rows],
    }


def _result(row: Row, start: datetime, end: str) -> dict[str, Any]:
    """Times give the run's length from the experiment's beginning: when exactly it ran isn't kept."""
    finished = min(start + timedelta(seconds=row.seconds), datetime.fromisoformat(end))
    scores = [{"key": name, "score": float(value)} for name, value in row.values.items() if value is not None]
    return {
        "row_id": str(uuid5(NAMESPACE_URL, f"zhizhi:{row.suite}:{row.case_id}:{row.repetition}")),
        "inputs": {"case_id": row.case_id, "suite": row.suite},
        "actual_outputs": {"outcome": row.outcome, "fallback_type": row.fallback_type},
        "evaluation_scores": scores,
        "start_time": start.isoformat(),
        "end_time": finished.isoformat(),
        "run_name": row.target,
        "error": row.failure,
        "run_metadata": {"repetition": row.repetition, "calls": row.calls, "seconds": row.seconds},
    }
