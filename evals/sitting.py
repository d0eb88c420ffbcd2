"""One sitting: run the plan, summarize, write `results.json`, `report.md` and the plots."""

import resource
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from evals.cells import Attempts
from evals.plan import BadPlan, Plan, check_plan, code_digest, model_name, prompt_digests, settings_shown, versions
from evals.plots import draw_plots
from evals.report import REPORT_FILE, report
from evals.results import Manifest, Results, write_results
from evals.runner import OnRow, Ran, Runner, quiet
from evals.summary import results_of
from graph.models.registry import GivenModels
from graph.settings import HarnessSettings
from prompts.loader import prompts_in

DEPLOYED = "as deployed"


async def evaluate(
    plan: Plan,
    settings: HarnessSettings,
    out: Path,
    *,
    concurrency: int = 1,
    models: GivenModels | None = None,
    on_row: OnRow = quiet,
) -> Results:
    """Run the plan and return its results; each finished cell is kept in `out`, and not done again there.

    `models` stands in for the configured ones. Raises BadPlan for what can't be run or written. Cells that fail raise
    nothing: their rows have a `failure`.
    """
    check_plan(plan, settings)
    started, began = time.monotonic(), datetime.now(UTC)
    with ExitStack() as held:
        if plan.prompts is not None:
            _read_prompts(plan.prompts, held)
        attempts = _open_attempts(plan, out)
        held.callback(attempts.close)
        runner = Runner(plan, settings, attempts, concurrency=concurrency, models=models, on_row=on_row)
        ran = await runner.run()
        manifest = _manifest(plan, settings, ran, began, time.monotonic() - started)
    return results_of(manifest, ran.rows)


def publish(results: Results, out: Path) -> None:
    """Write `results.json`, `report.md` and the plots into `out`. Raises BadPlan where it can't be written."""
    try:
        write_results(results, out)
        plots = draw_plots(results, out)
        (out / REPORT_FILE).write_text(report(results, plots=plots), encoding="utf-8")
    except OSError as error:
        raise BadPlan(f"{error.filename or out} can't be written: {error.strerror}") from None


def _read_prompts(directory: Path, held: ExitStack) -> None:
    try:
        held.enter_context(prompts_in(directory))
    except FileNotFoundError as missing:
        raise BadPlan(f"--prompts {directory} lacks {missing}") from None


def _open_attempts(plan: Plan, out: Path) -> Attempts:
    try:
        for directory in filter(None, (out, plan.records)):
            directory.mkdir(parents=True, exist_ok=True)
        return Attempts(out)
    except OSError as error:
        raise BadPlan(f"{error.filename} can't be used for output: {error.strerror}") from None


def _manifest(plan: Plan, settings: HarnessSettings, ran: Ran, began: datetime, seconds: float) -> Manifest:
    names = (DEPLOYED,) if plan.url else tuple(dict.fromkeys(model_name(model, settings) for model in plan.models))
    return Manifest(
        versions={"python": sys.version.split()[0], **versions(plan.version)},
        settings=settings_shown(settings),
        models=names,
        suites=plan.suites,
        targets=tuple(dict.fromkeys(row.target for row in ran.rows)),
        repeat=plan.repeat,
        limit=plan.limit,
        limits=plan.limits,
        seed=plan.seed,
        prompts=prompt_digests(),
        data=ran.data,
        code=code_digest(),
        url=plan.url,
        absent=ran.absent,
        started_at=began.isoformat(timespec="seconds"),
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
        wall_seconds=round(seconds, 1),
        peak_memory_mb=round(_peak_memory(), 1),
        resumed=ran.resumed,
    )


def _peak_memory() -> float:
    """Return the resident memory, in MB, of the largest process of this sitting."""
    kilobytes = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return kilobytes / (1024 * 1024 if sys.platform == "darwin" else 1024)
