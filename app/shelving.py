"""What `zhizhi runbooks` does: fill an index, search it as the tool does, tell what it holds."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from app.inputs import BadInput
from app.terminal import console_for, plain, write_out
from graph.setting_errors import first_words
from graph.settings import load_settings
from tools.base import IncidentContext, SourceFailure
from tools.hygiene import clean_evidence
from tools.runbooks.embedding import MissingExtraError, embedder_for
from tools.runbooks.indexed import IndexedRunbooks
from tools.runbooks.indexing import IndexInUseError, update_index
from tools.runbooks.milvus_schema import OtherEmbedderError
from tools.runbooks.schema import IndexFormatError
from tools.runbooks.search import RunbookArguments
from tools.runbooks.settings import EmbeddingSettings, MilvusSettings, RunbooksSettings
from tools.runbooks.shelves import Progress as Told
from tools.runbooks.shelves import Shelf
from tools.runbooks.tools import RunbookSource, tools_of
from tools.vocabulary import SourceError

USUAL_INDEX = Path(".zhizhi") / "runbooks.db"
NOTHING_RELEVANT = 1
_MISSING = "nothing is indexed there yet; zhizhi runbooks index DIR… does it"
_SHOWN_BYTES = 64 * 1024


def target(name: str | None, file: Path | None, embedder: str | None) -> EmbeddingSettings:
    """Return the settings to work with: of the named source, of the only one, or the usual index file."""
    known = {key: one for key, one in load_settings().sources.items() if isinstance(one, EmbeddingSettings)}
    if name is not None and name not in known:
        raise BadInput(f"no source of runbooks is called {name}; configured: {', '.join(known) or 'none'}")
    fit = [one for key, one in known.items() if name in {None, key} and (file is None or one.type == "runbooks")]
    if len(fit) > 1:
        raise BadInput(f"several sources hold runbooks; choose one with --source: {', '.join(known)}")
    settings = fit[0] if fit else RunbooksSettings(path=USUAL_INDEX)
    said: dict[str, Any] = {"path": file} if file is not None else {}
    said |= {"embedder": embedder} if embedder is not None else {}
    try:
        return type(settings).model_validate({**settings.model_dump(), **said})
    except ValidationError as error:
        raise BadInput(first_words(error)) from None


async def indexed(settings: EmbeddingSettings, shelves: list[Shelf]) -> str:
    """Index the shelves and return what was done, in one line."""
    embedder = embedder_for(settings.choice(), settings.embedding_access())
    try:
        with _progress() as told:
            if isinstance(settings, MilvusSettings) and embedder is not None:
                from tools.runbooks.milvus_indexing import update_collection

                filled = await update_collection(settings.access(), shelves, settings.choice(), embedder, told)
                return (
                    f"{settings.collection}: {filled.sections} sections ({filled.added} added, {filled.removed} gone)"
                    f"{_unread(filled.unreadable)}"
                )
            path = _path(settings)
            report = await update_index(path, shelves, settings.choice(), embedder, told)
    except SourceFailure as failure:
        raise BadInput(f"indexing stopped: {failure.code}; the next run goes on where this one stopped") from None
    finally:
        if embedder is not None:
            await embedder.close()
    info = report.info
    return (
        f"{path}: {info.chunks} sections of {info.files} files ({report.changed} new or changed, {report.removed} gone,"
        f" {report.unchanged} unchanged), {report.embedded} embedded{_unread(info.unreadable)}"
    )


def _unread(files: int) -> str:
    return f"; {files} files could not be read" if files else ""


async def searched(settings: EmbeddingSettings, query: str, limit: int) -> int:
    opened = settings.open("runbooks")
    assert isinstance(opened, RunbookSource)  # noqa: S101 # both types of settings open one
    (tool,) = tools_of({"runbooks": opened})
    incident = IncidentContext(as_of=datetime.now(UTC))
    arguments = RunbookArguments(query=query, limit=limit)
    try:
        scope = tool.normalize(arguments, incident)
    except ValueError:
        raise BadInput("QUERY holds no word to search for") from None
    try:
        found = clean_evidence(await tool.collect(scope, arguments, incident), max_bytes=_SHOWN_BYTES)
    finally:
        await opened.close()
    write_out("".join(f"{_printed(line)}\n" for line in (*found.content, found.summary, *found.notes)))
    return 0 if found.content else NOTHING_RELEVANT


def _printed(line: str) -> str:
    """Return a line that can't steer a terminal, with its indentation."""
    text = line.lstrip(" ")
    return " " * (len(line) - len(text)) + plain(text)


async def status_line(settings: EmbeddingSettings) -> str:
    if isinstance(settings, MilvusSettings):
        opened = settings.open("runbooks")
        try:
            return f"{settings.collection}: {(await opened.probe()).sample}"
        finally:
            await opened.close()
    library = IndexedRunbooks(_path(settings))
    info = library.info()
    await library.close()
    made = info.embedder.model or info.embedder.kind
    vectors = f"vectors of {made} ({info.dimensions} dimensions)" if info.dimensions else "no vectors"
    return (
        f"{_path(settings)}: {info.chunks} sections of {info.files} files, {vectors}, updated {info.updated_at}"
        f"{_unread(info.unreadable)}"
    )


def _path(settings: EmbeddingSettings) -> Path:
    assert isinstance(settings, RunbooksSettings)  # noqa: S101 # the other type was told apart before
    return settings.path


@contextmanager
def one_line(settings: EmbeddingSettings) -> Iterator[None]:
    """Turn what can go wrong into one line for a person."""
    place = settings.path if isinstance(settings, RunbooksSettings) else "the collection"
    try:
        yield
    except NotADirectoryError as error:
        raise BadInput(f"no directory: {error}") from None
    except IndexInUseError:
        raise BadInput(f"another process is indexing into {place}") from None
    except IndexFormatError:
        raise BadInput(f"{place} is no index of this version; remove it, or name another file with --out") from None
    except OtherEmbedderError:
        raise BadInput("the collection was made with another embedder; name another collection") from None
    except MissingExtraError as error:
        raise BadInput(str(error)) from None
    except SourceFailure as failure:
        hint = _MISSING if failure.code is SourceError.SOURCE_MISSING else failure.code
        raise BadInput(f"{place}: {hint}") from None
    except OSError as error:
        raise BadInput(f"{place}: {error.strerror or 'it can not be read or written'}") from None


@contextmanager
def _progress() -> Iterator[Told]:
    """Show on standard error how far each stage is, where that is a terminal."""
    console = console_for(sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def told(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage)
            bar.update(tasks[stage], completed=done, total=total)

        yield told
