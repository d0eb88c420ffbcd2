"""What an evaluation leaves: one row a cell, and `results.json` with the manifest that says how it was made."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from evals.cases import SUFFICED_AFTER, Result, Value
from graph.contract.vocabulary import TraceEventType

RESULTS_FILE = "results.json"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(_Frozen):
    """One cell in brief: who answered what, and the scores. `digest` names the cell for resuming.

    `failure` is the code of a target or scorer that failed; such a row has no `values` and counts in no figure.
    `calls` ran, `refused` didn't; `calls_after_gain` ran after the last one that was judged GAINED (None where nothing
    was judged).
    """

    digest: str
    suite: str
    case_id: str
    cluster: str
    fault: str | None = None
    target: str
    repetition: int = 0
    failure: str | None = None
    outcome: str | None = None
    fallback_type: str | None = None
    stop_reason: str | None = None
    values: dict[str, Value] = {}
    calls: int = 0
    refused: int = 0
    calls_after_gain: int | None = None
    calls_after_sufficed: int | None = None
    model_calls: int = 0
    tokens: int | None = None
    seconds: float = 0.0

    @property
    def pair(self) -> tuple[str, str, int]:
        """What makes two rows of different targets or runs comparable."""
        return self.suite, self.case_id, self.repetition


class Manifest(_Frozen):
    """How the results were made: enough to make them again, or to see why two runs differ.

    `data` and `prompts` hold SHA-256 digests (of the cases with their data, by suite; of each prompt), `code` one of
    the sources. `wall_seconds` is this sitting's alone; cells that were done before aren't in it.
    """

    versions: dict[str, str]
    settings: dict[str, Any]
    models: tuple[str, ...]
    suites: tuple[str, ...]
    targets: tuple[str, ...]
    repeat: int
    limit: int | None
    limits: dict[str, int] = {}
    seed: int
    prompts: dict[str, str]
    data: dict[str, str] = {}
    code: str
    url: str | None = None
    absent: dict[str, str] = {}
    started_at: str
    finished_at: str = ""
    wall_seconds: float = 0.0
    peak_memory_mb: float = 0.0
    resumed: int = 0


class Results(_Frozen):
    """The content of `results.json`. `figures` is by suite, target and figure: `{value, low, high, n}`."""

    manifest: Manifest
    figures: dict[str, dict[str, dict[str, Any]]] = {}
    differences: dict[str, dict[str, dict[str, Any]]] = {}
    rows: tuple[Row, ...] = ()


class ResultsUnreadable(Exception):
    """The results can't be read. The text is one clear line."""


def row_of(result: Result, digest: str) -> Row:
    """Return a result's row."""
    case, attempt, release = result.case, result.attempt, result.attempt.release or {}
    executed = attempt.executed
    values = dict(result.score.values) if result.score else {}
    sufficed = values.get(SUFFICED_AFTER)
    return Row(
        digest=digest,
        suite=case.suite,
        case_id=case.case_id,
        cluster=case.cluster,
        fault=case.fault,
        target=result.target,
        repetition=result.repetition,
        failure=attempt.failure or (f"SCORER:{result.scorer_failure}" if result.score is None else None),
        outcome=release.get("outcome"),
        fallback_type=release.get("fallback_type"),
        stop_reason=_stop_reason(attempt.trace),
        values=values,
        calls=len(executed),
        refused=len(attempt.calls) - len(executed),
        calls_after_gain=_calls_after_gain([call.gained for call in executed]),
        calls_after_sufficed=None if sufficed is None else len(executed) - int(sufficed),
        model_calls=attempt.model_calls,
        tokens=attempt.tokens,
        seconds=round(attempt.seconds, 3),
    )


def _stop_reason(trace: Iterable[dict[str, Any]]) -> str | None:
    return next((e.get("stop_reason") for e in trace if e.get("type") == TraceEventType.STOP_REASON_SET), None)


def _calls_after_gain(gains: list[bool | None]) -> int | None:
    if all(gain is None for gain in gains):
        return None
    last = max((index for index, gain in enumerate(gains) if gain), default=-1)
    return len(gains) - 1 - last


def write_results(results: Results, directory: Path) -> None:
    """Write `results.json` into `directory`, whole or not at all."""
    text = json.dumps(results.model_dump(mode="json"), ensure_ascii=False, indent=1)
    partial = directory / f"{RESULTS_FILE}.partial"
    partial.write_text(text + "\n", encoding="utf-8")
    os.replace(partial, directory / RESULTS_FILE)


def read_results(place: Path) -> Results:
    """Return the results in `place`, a `results.json` or the directory that holds one. Raises ResultsUnreadable."""
    path = place / RESULTS_FILE if place.is_dir() else place
    try:
        return Results.model_validate_json(path.read_bytes())
    except OSError as error:
        reason = error.strerror or "no such file"
    except ValidationError:
        reason = "it holds no results of this version"
    raise ResultsUnreadable(f"{path} can't be read: {reason}")
