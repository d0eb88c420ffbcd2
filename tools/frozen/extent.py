"""How far the records of a frozen incident reach: its own time where nobody named one."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tools.base import SourceFailure
from tools.frozen.database import Database, Loaded, Loader, Rows
from tools.frozen.logs import load_logs
from tools.frozen.metrics import load_metrics
from tools.frozen.spans import load_spans

_TELEMETRY: tuple[tuple[str, str, Loader], ...] = (
    ("metrics", "metrics", load_metrics),
    ("traces", "spans", load_spans),
    ("logs", "logs", load_logs),
)
"""Part, table and loader of each source of times, those that machines write first."""


async def latest_moment(directory: Path, zone: str) -> datetime | None:
    """Return the time (aware, UTC) of the newest metric sample, else span, else log record; None where there is none.

    Times that name no zone are read in `zone` (IANA). A source that can't be read says nothing.
    """
    for part, table, loader in _TELEMETRY:
        try:
            found = await Database(directory, {part: loader}).ask(zone, _newest(table))
        except SourceFailure:
            continue
        if found is not None:
            return found.replace(tzinfo=UTC)
    return None


def _newest(table: str) -> Callable[[Rows, Loaded], datetime | None]:
    def work(rows: Rows, _: Loaded) -> datetime | None:
        moment = rows.all(f"SELECT max(moment) FROM {table}")[0][0]  # noqa: S608 - a name of this module
        return moment if isinstance(moment, datetime) else None

    return work
