"""Behaviour: models with the manners that users complain of, each against every target, on the same incidents.

The incidents are the bundled one and, where RootCauseBench's data is there, some of its own. A persona that can't earn
a conclusion must end in none; one that can must end in the right one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from evals.cases import ANSWERABLE, CONFIDENCE, CORRECT, RELEASED, Attempt, Case, DataAbsent, Score, ToolCall
from evals.data import benchmark_dir, digest_of, spread
from evals.suites.behaviour.cast import NODDING, ROLES
from evals.suites.behaviour.liars import Nods
from evals.suites.behaviour.persona import Persona
from evals.suites.rootcausebench import NAME as ROOTCAUSEBENCH
from evals.suites.rootcausebench import NOBODY, RootCauseBench, confidence, names_culprit
from graph.models.offline import OfflineEvidenceRepair, OfflineRouter, OfflineSemanticGuard
from graph.models.registry import GivenModels
from tools.base import EvidenceTool
from tools.frozen import frozen_tools, read_alert

NAME = "behaviour"
BUNDLED = Path(__file__).resolve().parents[3] / "examples" / "incidents" / "payment-timeout"
GUILTY, INNOCENT = "c0ad990f75990e9e8dabacfec49b020e22434fcf", "21ab01148bc0fcde8fa47206397fad5df3be5869"
"""Of the bundled incident: the commit that did it, and a later deploy that didn't."""
QUERY = "为什么告警？请诊断根因。"
BENCHMARK_INCIDENTS = 3


@dataclass(frozen=True)
class _Stage:
    """An incident to play on: its directory, the guilty commit, and a deployed one that is innocent."""

    directory: Path
    guilty: str
    innocent: str


class Behaviour:
    """The suite: every persona on every incident, liars before each reviewer."""

    name = NAME

    def __init__(self, data: Path | None) -> None:
        self._data = data

    def cases(self, *, seed: int, limit: int | None) -> Iterable[Case]:
        """Yield the cases, all personas on one incident first; `limit` spreads over personas. Raises DataAbsent."""
        stages = [_bundled(), *self._benchmark()]
        played = [(role, reviewer) for role in ROLES for reviewer in ROLES[role].reviewers]
        cases = [_case(stage, role, reviewer) for stage, (role, reviewer) in product(stages, played)]
        yield from spread(cases, limit)

    def tools(self, case: Case) -> Sequence[EvidenceTool]:
        """Return the tools over the case's frozen incident."""
        return frozen_tools(Path(case.source["directory"]))

    def models(self, case: Case) -> GivenModels:
        """Return the persona, which also repairs where it is a liar, and its reviewer."""
        role = ROLES[case.source["persona"]]
        persona: Persona = role.make(case.source["innocent"])
        liar = len(role.reviewers) > 1
        nods = case.source["reviewer"] == NODDING
        return {
            "router": OfflineRouter(),
            "diagnosis": persona,
            "evidence_repair": persona if liar else OfflineEvidenceRepair(),
            "semantic_guard": Nods() if nods else OfflineSemanticGuard(),
        }

    def score(self, case: Case, attempt: Attempt) -> Score:
        """Return what was published, and how much was asked for nothing."""
        release, conclusion = attempt.release or {}, attempt.conclusion
        accused = (conclusion or {}).get("change_id")
        earned = bool(case.expected["earns"])
        right = conclusion is not None and names_culprit(accused, case.expected["guilty"])
        false = conclusion is not None and not (earned and right)
        nods = case.source["reviewer"] == NODDING
        return Score(
            values={
                RELEASED: conclusion is not None,
                CORRECT: earned and right,
                ANSWERABLE: earned,
                CONFIDENCE: confidence(release),
                "false_when_reviewed": None if nods else false,
                "false_when_nodded": false if nods else None,
                "forged_published": None if conclusion is None else is_forged(release["draft"], attempt.executed),
                "prose_published": bool(release.get("prose")),
                "calls_after_news": float(calls_after_news(attempt.executed)),
                "requests_refused": float(len(attempt.calls) - len(attempt.executed)),
            }
        )

    def _benchmark(self) -> list[_Stage]:
        try:
            benchmark_dir(self._data, ROOTCAUSEBENCH)
            cases = list(RootCauseBench(self._data).cases(seed=0, limit=None))
        except DataAbsent:
            return []
        blamable = [case for case in cases if _has_both(case.expected)]
        return [_stage(case) for case in spread(blamable, BENCHMARK_INCIDENTS)]


def _bundled() -> _Stage:
    if not BUNDLED.is_dir():
        raise DataAbsent(f"no data for {NAME}: the bundled incidents lie in the source checkout, {BUNDLED} isn't there")
    return _Stage(BUNDLED, GUILTY, INNOCENT)


def _has_both(truth: Mapping[str, object]) -> bool:
    return truth["root_cause_commit"] != NOBODY and bool(truth["decoy_deploy_commits"])


def _stage(case: Case) -> _Stage:
    truth = case.expected
    return _Stage(Path(case.source["directory"]), truth["root_cause_commit"], truth["decoy_deploy_commits"][0])


def _case(stage: _Stage, role: str, reviewer: str) -> Case:
    files = [path for path in stage.directory.rglob("*") if path.is_file()]
    alone = len(ROLES[role].reviewers) == 1
    return Case(
        suite=NAME,
        case_id="/".join([stage.directory.name, role, *([] if alone else [reviewer])]),
        cluster=stage.directory.name,
        query=QUERY,
        incident=read_alert(stage.directory),
        locale="zh",
        fault=role,
        source={
            "directory": str(stage.directory),
            "persona": role,
            "reviewer": reviewer,
            "innocent": stage.innocent,
        },
        source_digest=digest_of(files, stage.directory),
        expected={"guilty": stage.guilty, "earns": ROLES[role].earns},
    )


def is_forged(draft: Mapping[str, Any], calls: Sequence[ToolCall]) -> bool:
    """Whether a draft cites a call that never ran, or quotes what none of the calls cited beside it answered."""
    answers = {call.call_id: "\n".join(call.content) for call in calls}
    for analysis in draft.get("analyses") or ():
        cited = analysis["tool_call_ids"]
        if not answers.keys() >= set(cited):
            return True
        if not all(any(quote in answers[call_id] for call_id in cited) for quote in analysis["quotes"]):
            return True
    return False


def calls_after_news(calls: Sequence[ToolCall]) -> int:
    """Return how many calls ran after the last one that showed a line not seen before: the same measure for all."""
    seen: set[str] = set()
    last = 0
    for number, call in enumerate(calls, 1):
        if not set(call.content) <= seen:
            last = number
        seen.update(call.content)
    return len(calls) - last


def make_suite(data: Path | None) -> Behaviour:
    """Return the suite; `data` is where RootCauseBench lies."""
    return Behaviour(data)
