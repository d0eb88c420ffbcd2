"""The evidence tools over all configured sources of logs."""

from collections.abc import Mapping

from tools.base import EvidenceTool
from tools.live.logs.search import LiveSearchTool
from tools.live.logs.signatures import LiveSignaturesTool
from tools.live.logs.source import LogSource


def tools_of(sources: Mapping[str, LogSource]) -> tuple[EvidenceTool, ...]:
    """Return the tools that ask these sources, by the names that the user gave them; none where there's no source."""
    return (LiveSignaturesTool(sources), LiveSearchTool(sources)) if sources else ()
