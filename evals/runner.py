"""Runs a plan: lists the cells, does those that aren't done yet, several at a time, and keeps each as it's done.

Models that compute in this process run in worker processes, one cell at a time each; models behind an address run as
tasks of this process, which mostly waits. The queue holds digests and cases, the rows are small: memory stays flat.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from langsmith.run_helpers import tracing_context

from evals.cases import Case, DataAbsent, SelfRunningSuite, Suite
from evals.cells import Attempts, Cell, Done, done_with
from evals.plan import (
    Plan,
    asks_no_endpoint,
    code_digest,
    digest_json,
    model_name,
    prompt_digests,
    settings_for,
    settings_shown,
    versions,
)
from evals.pool import Pool, several
from evals.results import Row
from evals.suites import load_suite
from evals.targets import MODEL_FREE
from evals.worker import Bench
from graph.models.registry import GivenModels, choose_models
from graph.settings import HarnessSettings


class OnRow(Protocol):
    """Told of each row: how many are done, of how many as far as is known, and the row."""

    def __call__(self, done: int, total: int, row: Row) -> None:
        """Take the news."""
        ...


def quiet(done: int, total: int, row: Row) -> None:
    """Tell nobody."""


@dataclass
class Ran:
    """What a sitting did. `rows` are all of the plan's, in its order; `absent`: suites without data, and why."""

    rows: list[Row] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    resumed: int = 0


@dataclass
class Runner:
    """One sitting. `models` stands in for the configured ones, and keeps everything in this process."""

    plan: Plan
    settings: HarnessSettings
    attempts: Attempts
    concurrency: int = 1
    models: GivenModels | None = None
    on_row: OnRow = quiet
    _done: int = 0
    _total: int = 0

    async def run(self) -> Ran:
        """Run the plan; raises what `load_suite` raises, and nothing for cells that fail: their rows say so."""
        ran = Ran()
        queue: list[Cell] = []
        themselves: list[SelfRunningSuite] = []
        basis = self._basis()
        for name in self.plan.suites:
            suite = load_suite(name, self.plan.data)
            if not isinstance(suite, Suite):
                themselves.append(suite)
                continue
            try:
                cases = await asyncio.to_thread(self._cases, suite)
            except DataAbsent as absent:
                ran.absent[name] = str(absent)
                continue
            ran.data[name] = digest_json([case.model_dump(mode="json") for case in cases])
            queue.extend(self._cells(cases, basis))
        await self._run_cells(queue, ran)
        for own in themselves:
            await self._run_itself(own, basis, ran)
        return ran

    def _cases(self, suite: Suite) -> list[Case]:
        return list(suite.cases(seed=self.plan.seed, limit=self.plan.limit_of(suite.name)))

    def _basis(self) -> dict[str, object]:
        """What decides every cell beside its case, target and model."""
        return {
            "code": code_digest(),
            "prompts": prompt_digests(),
            "versions": versions(self.plan.version),
            "settings": settings_shown(self.settings),
            "endpoint": self.settings.openai_base_url,
            "url": self.plan.url,
            "seed": self.plan.seed,
        }

    def _cells(self, cases: Sequence[Case], basis: dict[str, object]) -> list[Cell]:
        ground = digest_json(basis)
        cells = []
        for case in cases:
            about = digest_json(case.model_dump(mode="json"))
            for target, model in self.plan.entrants():
                named = "" if target in MODEL_FREE else model_name(model, self.settings)
                label = f"{target}@{named}" if len(self.plan.models) > 1 and named else target
                for repetition in range(self.plan.repeat):
                    digest = digest_json([ground, about, target, named, repetition])
                    cells.append(
                        Cell(case=case, target=target, model=model, label=label, repetition=repetition, digest=digest)
                    )
        return cells

    async def _run_cells(self, queue: list[Cell], ran: Ran) -> None:
        todo = [cell for cell in queue if cell.digest not in self.attempts.rows]
        ran.resumed += len(queue) - len(todo)
        self._done, self._total = self._done + len(queue) - len(todo), self._total + len(queue)
        inside = [cell for cell in todo if self._computes_here(cell)]
        outside = [cell for cell in todo if not self._computes_here(cell)]
        made: dict[str, Row] = {}
        for stream in (self._in_processes(inside), self._in_tasks(outside)):
            async with aclosing(stream) as finished:
                async for done in finished:
                    made[done.row.digest] = self._keep(done)
        ran.rows.extend(made.get(cell.digest) or self.attempts.rows[cell.digest] for cell in queue)

    def _computes_here(self, cell: Cell) -> bool:
        remote = self.plan.url is not None and cell.target not in MODEL_FREE
        return self.models is None and not remote and asks_no_endpoint(cell.model, self.settings)

    def _keep(self, done: Done) -> Row:
        self.attempts.add(done)
        self._tell(done.row)
        return done.row

    def _tell(self, row: Row) -> None:
        self._done += 1
        self._total = max(self._total, self._done)
        self.on_row(self._done, self._total, row)

    async def _in_tasks(self, cells: Sequence[Cell]) -> AsyncGenerator[Done, None]:
        bench = Bench(self.plan, self.settings, self.models)
        async with aclosing(several(cells, bench.run, self.concurrency)) as finished:
            async for done in finished:
                yield done

    async def _in_processes(self, cells: Sequence[Cell]) -> AsyncGenerator[Done, None]:
        if not cells:
            return
        pool = Pool(self.plan, min(self.concurrency, len(cells)))
        try:
            async with aclosing(several(cells, pool.run, self.concurrency)) as finished:
                async for done in finished:
                    yield done
        finally:
            pool.close()

    async def _run_itself(self, suite: SelfRunningSuite, basis: dict[str, object], ran: Ran) -> None:
        """A suite that drives itself is done as a whole or not at all: its rows carry its digest and their number."""
        model = self.plan.models[0]
        limit = self.plan.limit_of(suite.name)
        whole = digest_json([basis, suite.name, model_name(model, self.settings), limit])
        ran.data[suite.name] = whole
        kept = _complete(self.attempts.rows, whole)
        if kept is not None:
            ran.rows.extend(kept)
            ran.resumed += len(kept)
            return
        settings = settings_for(model, self.settings)
        models = self.models if self.models is not None else _configured(settings)
        made: list[Done] = []
        try:
            with tracing_context(enabled=False):
                async for result in suite.run(seed=self.plan.seed, limit=limit, models=models):
                    made.append(done_with(result, ""))
                    self._tell(made[-1].row)
        except DataAbsent as absent:
            ran.absent[suite.name] = str(absent)
            return
        for index, done in enumerate(made):
            row = done.row.model_copy(update={"digest": f"{whole}:{index}/{len(made)}"})
            self.attempts.add(done.model_copy(update={"row": row}))
            ran.rows.append(row)


def _complete(rows: dict[str, Row], whole: str) -> list[Row] | None:
    """Return the rows of a self-running suite where all are there, in order."""
    own = {digest: row for digest, row in rows.items() if digest.startswith(f"{whole}:")}
    if not own:
        return None
    count = int(next(iter(own)).rpartition("/")[2])
    names = [f"{whole}:{index}/{count}" for index in range(count)]
    return [own[name] for name in names] if all(name in own for name in names) else None


def _configured(settings: HarnessSettings) -> GivenModels:
    return {component.value: model for component, model in choose_models(None, settings)[0].items()}
