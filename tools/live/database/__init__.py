"""Read-only SQL over the enterprise's own tables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tools.base import EvidenceTool

if TYPE_CHECKING:
    from tools.live.database.source import DatabaseSource

__all__ = ["tools_of"]


def tools_of(sources: Mapping[str, "DatabaseSource"]) -> tuple[EvidenceTool, ...]:
    """Return the evidence tools over opened databases, at least one, by name."""
    from tools.live.database.tools import DatabaseTool

    return (DatabaseTool(sources),)
