"""Several cells at a time, in tasks and in processes."""

import asyncio
import multiprocessing
from contextlib import aclosing
from pathlib import Path

import pytest

from evals.cases import Attempt, Case, Result
from evals.cells import Cell, Done, done_with
from evals.plan import Plan
from evals.pool import WORKER_DIED, Pool, several

CASE = Case(suite="recorded", case_id="c", cluster="c", query="?")


def cell(number: int) -> Cell:
    return Cell(case=CASE, target="abstain", model="", label="abstain", repetition=number, digest=str(number))


def done(one: Cell) -> Done:
    return done_with(Result(case=one.case, target=one.label, attempt=Attempt()), one.digest)


@pytest.mark.parametrize("at_once", [1, 3, 10])
async def test_as_many_cells_run_at_once_as_asked_and_no_more(at_once: int) -> None:
    running, peak = 0, 0

    async def run(one: Cell) -> Done:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1
        return done(one)

    finished = [one.row.digest async for one in several([cell(i) for i in range(6)], run, at_once)]
    assert sorted(finished) == [str(i) for i in range(6)]
    assert peak == min(at_once, 6)


async def test_leaving_early_cancels_what_runs() -> None:
    cancelled: list[str] = []

    async def run(one: Cell) -> Done:
        if one.repetition == 0:
            return done(one)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(one.digest)
            raise
        raise AssertionError

    async with aclosing(several([cell(i) for i in range(5)], run, 3)) as finished:
        async for one in finished:
            assert one.row.digest == "0"
            await asyncio.sleep(0)
            break
    assert set(cancelled) <= {"1", "2", "3"}
    assert len(cancelled) >= 2


async def test_a_worker_that_dies_fails_its_cell_and_another_takes_over(tmp_path: Path) -> None:
    pool = Pool(Plan(suites=("recorded",), data=tmp_path), 1)
    try:
        doomed = asyncio.ensure_future(pool.run(cell(0)))
        while not multiprocessing.active_children():  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(0)
        for process in multiprocessing.active_children():
            process.kill()
        assert (await doomed).row.failure == WORKER_DIED
        alive = await pool.run(cell(1))
        assert alive.row.failure == "TOOLS:KeyError"  # this case names no file, which the worker lived to see
    finally:
        pool.close()
