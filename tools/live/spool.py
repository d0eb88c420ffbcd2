"""Records fetched from live backends, told in the words of a frozen incident.

The records go into an incident directory of their own, which lives as long as the question, and the frozen side's
loader and answer read them there: one way of telling, whatever backend answered.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tools.frozen.database import Database, Loaded, Loader, Rows

Answer = TypeVar("Answer")
Record = Mapping[str, Any]

_FILES = {
    "logs": "logs.ndjson",
    "metrics": "metrics.ndjson",
    "traces": "traces.ndjson",
    "commits": "context/commits.ndjson",
    "deploys": "context/deploys.ndjson",
    "flags": "context/flags.ndjson",
}


async def spooled(
    records: Mapping[str, Iterable[Record]],
    loaders: Mapping[str, Loader],
    work: Callable[[Rows, Loaded], Answer],
    *,
    zone: str = "UTC",
) -> Answer:
    """Return what `work` says of the records, loaded into tables by `loaders`.

    `records`: by part of an incident (`logs`, `metrics`, `traces`, `commits`, `deploys`, `flags`), in the form of
    docs/incident-format.md; a part without records is an empty table. `zone` is of times that name none. Raises
    SourceFailure as the frozen side does; a cancelled caller waits only until the interrupted query has ended.
    """
    writing = asyncio.ensure_future(asyncio.to_thread(_written, records))
    try:
        directory = await asyncio.shield(writing)
        database = Database(directory, dict(loaders))
        try:
            return await database.ask(zone, work)
        finally:
            await asyncio.to_thread(database.close)
    finally:
        # A thread can't be cancelled, and what it writes must not outlive the question.
        await asyncio.wait([writing])
        if writing.exception() is None:
            await asyncio.to_thread(shutil.rmtree, writing.result(), ignore_errors=True)


def _written(records: Mapping[str, Iterable[Record]]) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="zhizhi-live-"))
    for part, rows in records.items():
        path = directory / _FILES[part]
        path.parent.mkdir(exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
    return directory
