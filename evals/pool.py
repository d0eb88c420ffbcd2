"""Several cells at a time: as tasks of this process, or each in a worker process."""

import asyncio
import multiprocessing
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from evals.cases import Attempt, Result
from evals.cells import Cell, Done, done_with
from evals.plan import Plan
from evals.worker import start_worker, work

WORKER_DIED = "WORKER_DIED"


async def several(
    cells: Sequence[Cell], run: Callable[[Cell], Coroutine[Any, Any, Done]], at_once: int
) -> AsyncGenerator[Done, None]:
    """Run cells, `at_once` at a time, and yield each as it's done; leaving early cancels what runs."""
    waiting = iter(cells)
    running: set[asyncio.Task[Done]] = set()
    try:
        while True:
            while len(running) < at_once and (cell := next(waiting, None)) is not None:
                running.add(asyncio.create_task(run(cell)))
            if not running:
                return
            finished, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class Pool:
    """Worker processes. One that dies takes its cell with it, which is counted as failed; a new pool goes on."""

    def __init__(self, plan: Plan, processes: int) -> None:
        self._plan = plan
        self._processes = processes
        self._executor = self._make()

    def _make(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._processes, mp_context=spawn, initializer=start_worker, initargs=(self._plan,))

    async def run(self, cell: Cell) -> Done:
        """Run a cell in a worker process."""
        executor = self._executor
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, work, cell)
        except BrokenProcessPool:
            if self._executor is executor:
                self._executor = self._make()
        failed = Result(
            case=cell.case, target=cell.label, repetition=cell.repetition, attempt=Attempt(failure=WORKER_DIED)
        )
        return done_with(failed, cell.digest)

    def close(self) -> None:
        """Let the workers end with what they're doing; nothing new begins."""
        self._executor.shutdown(wait=False, cancel_futures=True)
