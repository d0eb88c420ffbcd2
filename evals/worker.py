"""One cell at a time: build suite, tools and target, run, score. Runs in the caller's process or in a worker's.

Whatever fails is counted under a code: TOOLS, TARGET or SCORER with the exception's class, never its text.
"""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from langsmith.run_helpers import tracing_context

from evals.cases import Attempt, Case, ModelledSuite, Result, Score, Suite, Target
from evals.cells import Cell, Done, done_with
from evals.plan import Plan, settings_for
from evals.suites import load_suite
from evals.targets import ZHIZHI, load_target
from graph.models.registry import GivenModels
from graph.settings import HarnessSettings, load_settings
from prompts.loader import prompts_in
from tools.base import EvidenceTool


class Bench:
    """What runs cells: the plan's suites, loaded once, and a target for each cell.

    `models` stands in for the configured models (tests, personas); None for what the plan and the settings say.
    """

    def __init__(self, plan: Plan, settings: HarnessSettings, models: GivenModels | None = None) -> None:
        self._plan = plan
        self._settings = settings
        self._models = models
        self._suites: dict[str, Suite] = {}

    async def run(self, cell: Cell) -> Done:
        """Return the finished cell, failed or not; a cancellation goes through."""
        with tracing_context(enabled=False):
            attempt = await self._attempt(cell)
            result = Result(case=cell.case, target=cell.label, repetition=cell.repetition, attempt=attempt)
            if attempt.failure is None:
                result = result.model_copy(update=await self._score(cell.case, attempt))
        return done_with(result, cell.digest)

    async def _attempt(self, cell: Cell) -> Attempt:
        stage = "TOOLS"
        try:
            suite = self._suite(cell.case.suite)
            tools: Sequence[EvidenceTool] = await asyncio.to_thread(suite.tools, cell.case)
            stage = "TARGET"
            return await self._target(cell, suite).attempt(cell.case.asked(), tools)
        except Exception as error:  # noqa: BLE001 - a target may be anyone's: its failure is counted, and the rest goes on
            return Attempt(failure=f"{stage}:{type(error).__name__}")

    async def _score(self, case: Case, attempt: Attempt) -> dict[str, Any]:
        try:
            score: Score = await asyncio.to_thread(self._suite(case.suite).score, case, attempt)
        except Exception as error:  # noqa: BLE001 - a scorer that fails is counted, and the rest goes on
            return {"scorer_failure": type(error).__name__}
        return {"score": score}

    def _suite(self, name: str) -> Suite:
        if name not in self._suites:
            suite = load_suite(name, self._plan.data)
            if not isinstance(suite, Suite):
                raise TypeError(f"{name} runs itself")
            self._suites[name] = suite
        return self._suites[name]

    def _target(self, cell: Cell, suite: Suite) -> Target:
        if cell.target == ZHIZHI and self._plan.url:
            from evals.targets.remote import Remote

            return Remote(self._plan.url)
        models = suite.models(cell.case) if isinstance(suite, ModelledSuite) else self._models
        settings = settings_for(cell.model, self._settings)
        if cell.target == ZHIZHI and self._plan.records:
            from evals.targets.zhizhi import Zhizhi

            return Zhizhi(ZHIZHI, models, settings, records=self._plan.records)
        return load_target(cell.target, models, settings)


_bench: Bench | None = None
_held = ExitStack()


def start_worker(plan: Plan) -> None:
    """Prepare a worker process: the settings from its environment, the plan's prompts, no word to any tracer.

    Ctrl-C is the parent's to answer.
    """
    global _bench
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["LANGSMITH_TRACING"] = "false"
    if plan.prompts is not None:
        _held.enter_context(prompts_in(plan.prompts))
    _bench = Bench(plan, load_settings())


def work(cell: Cell) -> Done:
    """Run one cell in a worker process that `start_worker` prepared."""
    if _bench is None:
        raise RuntimeError("the worker was not started")
    return asyncio.run(_bench.run(cell))
