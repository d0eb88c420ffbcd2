"""The command line: `zhizhi diagnose`, `doctor`, `demo`, `graph`, `tools`. Wiring only; each loads what it needs.

Exit codes: 0 for SUCCESS and FALLBACK, 1 for FAILED, 130 for CANCELLED, 2 for bad input with one line on stderr.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from typer.exceptions import TyperException

from app import CANCELLED, __version__
from app.demo import SCENES
from app.evals import commands as eval_commands
from app.inputs import NO_SOURCES, BadInput, Question, read_question
from app.live import Live, TraceFile
from app.runbooks import commands as runbook_commands
from app.terminal import OutputFailure, plain, prepare_streams, show, write_out
from app.words import Locale, words_for
from graph.setting_errors import SettingsError

if TYPE_CHECKING:
    from graph.contract.release import Release
    from graph.settings import HarnessSettings

BAD_INPUT = 2
EXIT_CODES = {"SUCCESS": 0, "FALLBACK": 0, "FAILED": 1, "CANCELLED": CANCELLED}

commands = typer.Typer(
    name="zhizhi",
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Zhizhi 知止 diagnoses an incident, and publishes no cause that it can't prove.",
    epilog="From a checkout, `./zhizhi test` runs the tests.",
)

commands.add_typer(eval_commands, name="eval")
commands.add_typer(runbook_commands, name="runbooks")

IncidentDir = Annotated[
    Path | None,
    typer.Option(
        "--incident",
        metavar="DIR",
        show_default=False,
        help="The frozen incident's directory (docs/incident-format.md). Without it the configured live sources are "
        "asked (docs/sources.md), and without any the incident that HARNESS_INCIDENT_DIR names.",
    ),
]
LocaleOption = Annotated[Locale, typer.Option("--locale", help="The language of the report.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        write_out(f"zhizhi {__version__}\n")
        raise typer.Exit


@commands.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Take the options that stand before a command; without a command, say what there is."""
    if context.invoked_subcommand is None:
        write_out(context.get_help() + "\n")


@commands.command()
def diagnose(
    query: Annotated[str, typer.Argument(help="What went wrong, in your own words.", show_default=False)],
    incident: IncidentDir = None,
    alert: Annotated[
        Path | None,
        typer.Option(
            "--alert", metavar="FILE", help="The alert that fired, as Alertmanager sends it; - reads standard input."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the Release as JSON on stdout, and nothing else.")] = (
        False
    ),
    locale: LocaleOption = "zh",
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Write the trace's payload-free events to FILE as NDJSON."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record", metavar="FILE", help="Write to FILE what `zhizhi verify` needs to prove the run again."
        ),
    ] = None,
) -> int:
    """Diagnose an incident: progress on stderr, then the report on stdout."""
    settings = _settings()
    incident = incident or settings.frozen_incident()
    question = read_question(query, incident, locale, alert=alert)
    if incident is None and not settings.sources:
        raise BadInput(NO_SOURCES)
    release = _investigate(question, settings, trace=trace, record=record)
    if as_json:
        write_out(_release_json(release) + "\n")
    else:
        _report(release, locale)
    return EXIT_CODES[release.outcome]


@commands.command()
def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Run records to prove.", show_default=False)],
) -> int:
    """Prove run records again, with no model and no network; the first thing that differs is named. Exit 0, or 1."""
    settings = _settings()
    from app.records import prove_records

    return prove_records(files, settings)


@commands.command()
def demo(locale: LocaleOption = "zh") -> int:
    """Diagnose two bundled incidents with the embedded offline model: one provable, one not."""
    # The embedded model, whatever endpoint is configured: nothing here needs a key or costs anything.
    settings = _settings().model_copy(update={"openai_api_key": None, "openai_base_url": None})
    codes = []
    for scene in SCENES:
        show(Text(), Text(scene.shows[locale], "bold cyan"))
        release = _investigate(scene.question(locale), settings)
        _report(release, locale)
        codes.append(EXIT_CODES[release.outcome])
        if codes[-1] == CANCELLED:
            break
    return max(codes)


@commands.command()
def doctor(locale: LocaleOption = "zh") -> int:
    """Check each configured live source: reachable, let in, clocks agree, a sample query. Exit 0 where all are well."""
    settings = _settings()
    from app.doctor import check_sources

    return check_sources(settings, words_for(locale))


@commands.command(context_settings={"allow_interspersed_args": False})
def declare(
    target: Annotated[
        list[str], typer.Argument(metavar="URL|COMMAND…", help="An MCP server's endpoint, or what starts one.")
    ],
    token_file: Annotated[Path | None, typer.Option("--token-file", metavar="FILE", help="Lets us in.")] = None,
) -> None:
    """Print a declaration of an MCP server's reading tools to start from (docs/tools.md)."""
    from app.declare import declare as declaration

    write_out(declaration(target, token_file))


@commands.command()
def graph() -> None:
    """Print the graph as a Mermaid drawing."""
    _settings()
    from app.catalog import draw_graph

    write_out(draw_graph())


@commands.command()
def tools(incident: IncidentDir = None) -> None:
    """Print the evidence tools with their arguments and scope tables: of an incident, else of the live sources."""
    settings = _settings()
    from app.catalog import describe_tools

    write_out(describe_tools(incident or settings.frozen_incident(), settings))


def _settings() -> "HarnessSettings":
    """Read the settings before the graph is loaded, which needs them valid. Raises SettingsError."""
    from graph.settings import load_settings

    return load_settings()


def _investigate(
    question: Question, settings: "HarnessSettings", *, trace: Path | None = None, record: Path | None = None
) -> "Release":
    try:
        file = TraceFile(trace) if trace is not None else None
    except OSError as error:
        raise BadInput(f"trace file {trace} can't be written: {error.strerror}") from None

    from app.records import RecordFile
    from app.session import investigate

    kept = RecordFile(record, settings) if record is not None else None

    with Live(words_for(question.locale)) as live:

        def on_event(event: dict[str, Any]) -> None:
            live(event)
            if file is not None:
                file(event)

        work = investigate(
            question, settings, on_event=on_event, on_stopping=live.stopping, note=live.note, record=kept
        )
        release = asyncio.run(work)
        if file is not None and (failure := file.close()):
            live.note(f"the trace in {trace} is incomplete: {failure}")
    return release


def _report(release: "Release", locale: Locale) -> None:
    from app.report import render_report

    show(render_report(release, words_for(locale)))


def _release_json(release: "Release") -> str:
    """Return the Release as JSON in one line, in ASCII where standard output can't write more."""
    ascii_only = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    return json.dumps(release.model_dump(mode="json"), ensure_ascii=ascii_only)


def main() -> None:
    """Run the command line on `sys.argv` and leave with the contract's exit code; bad input is one line on stderr."""
    prepare_streams()
    try:
        code = commands(prog_name="zhizhi", standalone_mode=False)
    except TyperException as error:
        code = _refuse(error.format_message())
    except (BadInput, OutputFailure, SettingsError) as error:
        code = _refuse(str(error))
    except (KeyboardInterrupt, asyncio.CancelledError):
        code = CANCELLED
    sys.exit(code or 0)


def _refuse(line: str) -> int:
    sys.stderr.write(f"zhizhi: {plain(line)}\n")
    return BAD_INPUT
