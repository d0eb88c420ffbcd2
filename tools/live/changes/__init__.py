"""Changes from where teams record them: commits, deployments, configuration releases, feature flags."""

from collections.abc import Mapping

from tools.base import EvidenceTool
from tools.live.changes.source import ChangeSource
from tools.live.changes.tools import LiveGetChangeTool, LiveListChangesTool

__all__ = ["tools_of"]


def tools_of(sources: Mapping[str, ChangeSource]) -> tuple[EvidenceTool, ...]:
    """Return `list_changes` and `get_change` over the opened sources, by the names that their user gave them; nothing
    where there are none."""
    return (LiveListChangesTool(sources), LiveGetChangeTool(sources)) if sources else ()
