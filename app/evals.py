"""The command line's `eval`: run suites, compare two results, turn a run's record into a case.

`zhizhi eval SUITE…` runs; `zhizhi eval diff A B` and `zhizhi eval add RECORD` stand beside it. Exit codes: 0 when
everything ran and held, 1 when a target, a scorer or a gate failed or a pair got worse, 2 for bad input.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text
from typer.core import TyperGroup
from typing_extensions import override

from app import __version__
from app.inputs import BadInput
from app.terminal import console_for, plain, write_out

if TYPE_CHECKING:
    from typer._click import Context

    from evals.gates import Gates
    from evals.plan import Plan
    from evals.results import Results, Row
    from evals.runner import OnRow

RAN_ALL, SOMETHING_FAILED = 0, 1
USUAL_OUT = Path("eval-results")
NO_BASELINE = "none"


class _RunsByDefault(TyperGroup):
    """A group whose command `run` needn't be named."""

    @override
    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else ["run", *args])


commands = typer.Typer(
    cls=_RunsByDefault,
    rich_markup_mode=None,
    help="Evaluate: SUITE… runs suites; `diff A B` compares two results; `add RECORD` turns a run into a case.",
)


@commands.command("run")
def run(
    suites: Annotated[list[str] | None, typer.Argument(metavar="SUITE…", show_default=False)] = None,
    model: Annotated[list[str] | None, typer.Option(help="offline, or a model of the endpoint; repeatable.")] = None,
    prompts: Annotated[Path | None, typer.Option(metavar="DIR", help="Read the prompts from DIR.")] = None,
    baseline: Annotated[
        list[str] | None, typer.Option(help="A baseline to run beside it, repeatable; none for none. [default: all]")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Evaluate the graph API deployed there.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each case.")] = 1,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Cases at once. [default: the processors]")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Cases a suite, spread over all. [default: all]")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of generators and resampling. [default: 7]")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the suites' data lies.")] = None,
    records: Annotated[Path | None, typer.Option(metavar="DIR", help="Write each run's record into DIR.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results go, and are resumed from.")] = USUAL_OUT,
    upload: Annotated[bool, typer.Option("--upload", help="Upload to LangSmith; needs LANGSMITH_API_KEY.")] = False,
    gate: Annotated[
        bool, typer.Option("--gate", help="Fail on evals/gates.yaml; without SUITE, on its slice.")
    ] = False,
) -> int:
    """Run suites beside baselines; write results.json, report.md and plots."""
    with _one_line():
        from evals.gates import read_gates
        from evals.plan import Plan
        from evals.targets import BASELINES

        gates = read_gates() if gate else None
        sliced = gates if not suites else None
        chosen = tuple(dict.fromkeys(suites or (sliced.slice if sliced else ())))
        if not chosen:
            raise BadInput(f"name a suite: {', '.join(_suites())}; or --gate for the slice of every suite")
        usual = sliced.baselines if sliced else BASELINES
        plan = Plan(
            suites=chosen,
            models=tuple(dict.fromkeys(model or ("",))),
            baselines=usual if baseline is None else tuple(name for name in baseline if name != NO_BASELINE),
            url=url,
            prompts=prompts,
            data=data,
            records=records,
            repeat=repeat,
            limit=limit,
            limits=sliced.slice if sliced and limit is None else {},
            seed=seed if seed is not None else (gates.seed if gates else 7),
            version=__version__,
        )
        results = _evaluate(plan, out, concurrency or os.cpu_count() or 1, upload=upload)
    return _tell(results, out, gates, named=bool(suites))


@commands.command()
def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="results.json, or its directory, of before.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The same of after.")],
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML to FILE.")] = None,
) -> int:
    """Compare two results pair by pair, as Markdown on stdout; exit code 1 where a pair got worse."""
    with _one_line():
        from evals.compare import compare, got_worse, markdown
        from evals.compare import junit as junit_of
        from evals.results import read_results

        first, second = read_results(before), read_results(after)
        pairs = compare(first, second)
        if junit is not None:
            try:
                junit.write_text(junit_of(pairs), encoding="utf-8")
            except OSError as error:
                raise BadInput(f"{junit} can't be written: {error.strerror}") from None
    write_out(markdown(first, second, pairs))
    return SOMETHING_FAILED if got_worse(pairs) else RAN_ALL


@commands.command()
def add(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="A run's record, from diagnose --record.")],
    expect: Annotated[
        list[str],
        typer.Option(help="change=ID, change=none, component=NAME, first_failing=NAME (repeatable); or unproven."),
    ],
    into: Annotated[Path, typer.Option(metavar="DIR", help="The directory of the suite recorded.")] = Path(
        "eval-cases"
    ),
) -> int:
    """Turn the record of a run into a case of the suite recorded."""
    with _one_line():
        from evals.adding import add_case

        path = add_case(record, expect, into)
    write_out(f"{path}\n")
    return RAN_ALL


def _suites() -> list[str]:
    from evals.suites import MODULES

    return list(MODULES)


def _evaluate(plan: "Plan", out: Path, concurrency: int, *, upload: bool) -> "Results":
    from evals.sitting import evaluate, publish
    from evals.upload import upload as send
    from evals.upload import upload_key
    from graph.settings import load_settings

    key = upload_key() if upload else None
    # Whatever the environment says: what is evaluated is traced nowhere.
    os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"
    with _progress() as on_row:
        results = asyncio.run(evaluate(plan, load_settings(), out, concurrency=concurrency, on_row=on_row))
    publish(results, out)
    if key is not None:
        _say(f"uploaded {send(results, key)} experiments")
    return results


def _tell(results: "Results", out: Path, gates: "Gates | None", *, named: bool) -> int:
    """Print what a person has to know, and return the exit code. A suite that was named must have its data."""
    from evals.gates import judge

    for why in results.manifest.absent.values():
        _say(why)
    failed = sum(row.failure is not None for row in results.rows)
    if failed:
        _say(f"{failed} of {len(results.rows)} runs failed; {out / 'report.md'} names them")
    judged = judge(gates.gates, results) if gates else []
    for one in judged:
        write_out(plain(one.line()) + "\n")
    write_out(f"{out / 'report.md'}\n")
    bad = failed or any(one.fails for one in judged) or (named and results.manifest.absent) or not results.rows
    return SOMETHING_FAILED if bad else RAN_ALL


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn what's wrong with the input into one line. The readers load late: help and typing errors are quick."""
    try:
        from evals.adding import NotACase
        from evals.gates import GatesUnreadable
        from evals.plan import BadPlan
        from evals.results import ResultsUnreadable
        from evals.suites import UnknownSuite
        from evals.upload import UploadRefused
        from graph.setting_errors import SettingsError
    except ModuleNotFoundError as missing:
        raise BadInput(f"the evals need {missing.name}: install zhizhi[evals]") from None
    try:
        yield
    except (NotACase, GatesUnreadable, BadPlan, ResultsUnreadable, UnknownSuite, UploadRefused, SettingsError) as error:
        raise BadInput(str(error)) from None


@contextmanager
def _progress() -> "Iterator[OnRow]":
    """Show a bar on standard error where it's a terminal."""
    console = console_for(sys.stderr)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("evaluating", total=None, failed=0)
        failures = 0

        def on_row(done: int, total: int, row: "Row") -> None:
            nonlocal failures
            failures += row.failure is not None
            bar.update(task, completed=done, total=total, failed=failures, description=plain(row.suite))

        yield on_row


def _say(line: str) -> None:
    console_for(sys.stderr).print(Text(f"zhizhi: {plain(line)}"), soft_wrap=True)
