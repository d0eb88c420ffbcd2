"""Ablation: incidents whose deciding evidence was taken away, so that what remains fits a second cause as well.

Made of RootCauseBench and Cloud-OpsBench as they lie there; nothing of them is kept. The right answer is no conclusion,
and a fallback that names what is missing; whatever is published is a false release.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evals.cases import ANSWERABLE, CORRECT, RELEASED, Attempt, Case, DataAbsent, Score
from evals.data import spread
from evals.suites.ablation import clusters, incidents
from evals.suites.opsbench import OpsBench
from evals.suites.rootcausebench import RootCauseBench, same_change
from tools.base import EvidenceTool
from tools.canonical import fold
from tools.frozen import frozen_tools

NAME = "ablation"
INCIDENT, CLUSTER = "incident", "cluster"


class Ablation:
    """The suite over whichever of the two benchmarks is there."""

    name = NAME

    def __init__(self, data: Path | None) -> None:
        self._data = data

    def cases(self, *, seed: int, limit: int | None) -> Iterable[Case]:
        """Yield the cases that count, incidents first. Raises DataAbsent where neither benchmark is there."""
        found = [*self._incidents(), *self._clusters()]
        if not found:
            raise DataAbsent(f"no data for {NAME}: neither rootcausebench nor cloud-opsbench is there; see --data")
        yield from spread(found, limit)

    def tools(self, case: Case) -> Sequence[EvidenceTool]:
        """Return the tools over what remains of the case."""
        directory = Path(case.source["directory"])
        if case.source["sort"] == CLUSTER:
            ablated = clusters.Ablated.model_validate(case.source["ablated"])
            return clusters.ablated_tools(directory, case.source["namespace"], ablated)
        return _view_tools(directory, incidents.Ablated.model_validate(case.source["ablated"]))

    def score(self, case: Case, attempt: Attempt) -> Score:
        """Return whether anything was published, whether it was the second cause, and whether the gap was named."""
        conclusion = attempt.conclusion
        return Score(
            values={
                RELEASED: conclusion is not None,
                CORRECT: False,
                ANSWERABLE: False,
                "second_cause_published": conclusion is not None and _is(conclusion, str(case.expected["second"])),
                "gap_named": None if conclusion is not None else names_gap(attempt.release or {}, case.expected),
            }
        )

    def _incidents(self) -> Iterator[Case]:
        try:
            originals = list(RootCauseBench(self._data).cases(seed=0, limit=None))
        except DataAbsent:
            return
        for case in originals:
            for ablated in incidents.ablations_of(Path(case.source["directory"])):
                removal = incidents.REMOVALS[ablated.removal]
                alert = case.incident or {}
                told = {key: alert.get(key) for key in incidents.ALERT_FIELDS} if removal.silent else alert
                source = {**case.source, "sort": INCIDENT}
                yield _ablated(case, ablated, source, removal.gaps).model_copy(update={"incident": told})

    def _clusters(self) -> Iterator[Case]:
        try:
            originals = list(OpsBench(self._data).cases(seed=0, limit=None))
        except DataAbsent:
            return
        for case in originals:
            for ablated in clusters.ablations_of(Path(case.source["directory"]), case.expected):
                yield _ablated(case, ablated, {**case.source, "sort": CLUSTER}, clusters.GAPS)


def _ablated(
    case: Case, ablated: incidents.Ablated | clusters.Ablated, source: dict[str, Any], gaps: Sequence[str]
) -> Case:
    return case.model_copy(
        update={
            "suite": NAME,
            "case_id": f"{case.case_id}/{ablated.removal}",
            "fault": ablated.removal,
            "source": {**source, "ablated": ablated.model_dump(mode="json")},
            "expected": {"second": ablated.second, "gaps": list(gaps)},
        }
    )


def _view_tools(directory: Path, ablated: incidents.Ablated) -> Sequence[EvidenceTool]:
    """Return tools over a view written for them, which goes when they do."""
    view = Path(tempfile.mkdtemp(prefix="ablation-"))
    incidents.write_view(directory, view, ablated)
    tools = frozen_tools(view)
    weakref.finalize(tools[0], shutil.rmtree, view, ignore_errors=True)
    return tools


def _is(conclusion: dict[str, Any], second: str) -> bool:
    return same_change(conclusion.get("change_id"), second) or fold(str(conclusion.get("cause"))) == fold(second)


def names_gap(release: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether a fallback names one of the missing kinds: as a gap, as a source that failed, or, of changes that tell
    nothing, as changes that stand there unproven."""
    kinds = set(expected["gaps"])
    named = {str(gap.get("kind")) for gap in release.get("gaps") or ()}
    failed = any(limitation.get("source") for limitation in release.get("limitations") or ())
    return bool(kinds & named) or failed or ("changes" in kinds and bool(release.get("unproven_changes")))


def make_suite(data: Path | None) -> Ablation:
    """Return the suite; `data` is where the benchmarks lie."""
    return Ablation(data)
