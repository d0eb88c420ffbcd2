"""Where the command line keeps what a run writes: a private directory a run, dropped when its evidence has expired."""

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore


@dataclass(frozen=True)
class Persistence:
    """A run's checkpointer (the thread's state) and store (the ledger of canonical invocation records)."""

    checkpointer: BaseCheckpointSaver[str]
    store: BaseStore


def state_home() -> Path:
    """Return `$XDG_STATE_HOME/zhizhi`, or `~/.local/state/zhizhi`; a relative XDG path counts as unset (XDG's rule)."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "zhizhi"


def new_run_directory(keep_seconds: float) -> Path:
    """Make a directory for one run, readable by its owner alone, and drop those older than `keep_seconds`.

    Two runs at once share no file, so neither waits for the other's locks. Raises OSError where it can't be made.
    """
    runs = state_home() / "runs"
    runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    state_home().chmod(0o700)
    oldest = time.time() - keep_seconds
    for old in runs.iterdir():
        with suppress(FileNotFoundError):  # another run may be dropping it, too
            if old.stat().st_mtime < oldest:
                shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()), dir=runs))


@asynccontextmanager
async def open_persistence(keep_seconds: float, note: Callable[[str], None]) -> AsyncIterator[Persistence]:
    """Yield SQLite persistence for one run, or one in memory where the state directory can't be written.

    `note` is told in one line when it's the latter: the diagnosis is the same, and nothing of it is kept.
    """
    async with AsyncExitStack() as stack:
        try:
            opened = await _open_sqlite(stack, new_run_directory(keep_seconds))
        except (OSError, RuntimeError, sqlite3.Error) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "it can't be opened"
            note(f"this run's state can't be kept ({reason}); it stays in memory")
            opened = Persistence(InMemorySaver(), InMemoryStore())
        yield opened


async def _open_sqlite(stack: AsyncExitStack, directory: Path) -> Persistence:
    saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(directory / "checkpoints.sqlite")))
    store = await stack.enter_async_context(AsyncSqliteStore.from_conn_string(str(directory / "ledger.sqlite")))
    await saver.setup()
    await store.setup()
    return Persistence(saver, store)
