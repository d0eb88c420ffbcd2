"""A suite and targets that fail on demand, registered under their names for a test's length."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from evals.cases import Attempt, Case, DataAbsent, Score, Target, ToolCall
from evals.data import spread
from graph.models.registry import GivenModels
from graph.settings import HarnessSettings
from tools.base import EvidenceTool

SUITE = "toy"
TRACE: list[tuple[str, str]] = []
"""What was attempted: (target, case)."""
BROKEN: set[str] = set()
"""What fails: a case's tools, a target's name, a case's scorer, as `tools:c1`, `target:c1`, `scorer:c1`."""


class Toy:
    name = SUITE

    def __init__(self, data: Path | None) -> None:
        self._data = data

    def cases(self, *, seed: int, limit: int | None) -> Iterable[Case]:
        if self._data is not None and not self._data.is_dir():
            raise DataAbsent(f"no data in {self._data}")
        names = [f"c{index}" for index in range(6)]
        for name in spread(names, limit):
            yield Case(suite=SUITE, case_id=name, cluster=name, query="?", fault="odd", expected={"answer": name})

    def tools(self, case: Case) -> Sequence[EvidenceTool]:
        if f"tools:{case.case_id}" in BROKEN:
            raise OSError("of no interest to anyone")
        return ()

    def score(self, case: Case, attempt: Attempt) -> Score:
        if f"scorer:{case.case_id}" in BROKEN:
            raise KeyError("of no interest to anyone")
        right = (attempt.conclusion or {}).get("text") == case.expected["answer"]
        return Score(values={"released": attempt.conclusion is not None, "correct": right, "answerable": True})


class ToyTarget:
    def __init__(self, name: str) -> None:
        self.name = name

    async def attempt(self, case: Case, tools: Sequence[EvidenceTool]) -> Attempt:
        assert case.expected == {}
        assert case.fault is None
        TRACE.append((self.name, case.case_id))
        if f"target:{case.case_id}" in BROKEN:
            raise RuntimeError("of no interest to anyone")
        conclusion = {"text": case.case_id if self.name == "zhizhi" else "another"}
        call = ToolCall(tool_name="probe", content=("a secret line",))
        return Attempt(release={"outcome": "SUCCESS", "draft": {"conclusion": conclusion}}, calls=(call,), seconds=0.5)


def make_suite(data: Path | None) -> Toy:
    return Toy(data)


def make_target(name: str, models: GivenModels | None, settings: HarnessSettings) -> Target:
    return ToyTarget(name)
