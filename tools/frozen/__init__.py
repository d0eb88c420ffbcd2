"""Evidence tools over a frozen incident directory, read through DuckDB. The layout: `docs/incident-format.md`."""

from pathlib import Path

from tools.base import EvidenceTool
from tools.frozen.alerts import AlertsTool
from tools.frozen.change_records import CHANGE_LOADERS
from tools.frozen.changes import GetChangeTool, ListChangesTool
from tools.frozen.database import Database
from tools.frozen.extent import latest_moment
from tools.frozen.layout import RUNBOOKS, IncidentDirectoryError, check_directory, read_alert
from tools.frozen.logs import load_logs
from tools.frozen.metrics import MetricsTool, load_metrics
from tools.frozen.search import SearchTool
from tools.frozen.signatures import SignaturesTool
from tools.frozen.spans import load_spans
from tools.frozen.traces import TracesTool
from tools.runbooks import RunbookDirectory, RunbookSearch

__all__ = ["IncidentDirectoryError", "frozen_tools", "latest_moment", "read_alert"]


def frozen_tools(directory: Path) -> tuple[EvidenceTool, ...]:
    """Return the evidence tools of the incident in `directory`; search_runbooks where it has a `runbooks` folder.

    Blocking I/O (it looks which files are there). Files are read when they are asked about, and again when they change.
    Raises IncidentDirectoryError, one clear line, where the path holds no incident.
    """
    check_directory(directory)
    metrics = Database(directory, {"metrics": load_metrics})
    logs = Database(directory, {"logs": load_logs})
    traces = Database(directory, {"traces": load_spans})
    changes = Database(directory, CHANGE_LOADERS)
    telemetry = (("metrics", metrics), ("logs", logs), ("spans", traces))
    recorded = (("deploys", changes), ("flags", changes))
    tools: list[EvidenceTool] = [
        AlertsTool(directory, (*telemetry, *recorded)),
        MetricsTool(metrics),
        SignaturesTool(logs),
        SearchTool(logs),
        TracesTool(traces),
        ListChangesTool(changes, telemetry),
        GetChangeTool(changes),
    ]
    if (directory / RUNBOOKS).is_dir():
        tools.append(RunbookSearch(RunbookDirectory(directory / RUNBOOKS)))
    return tuple(tools)
