"""Traces from live backends: Jaeger (and what answers like it) and SkyWalking."""

from collections.abc import Mapping

from tools.base import EvidenceTool
from tools.live.source import Source

__all__ = ["tools_of"]


def tools_of(sources: Mapping[str, Source]) -> tuple[EvidenceTool, ...]:
    """Return `query_traces` over the opened trace backends, by name; nothing where there are none."""
    from tools.live.traces.source import TraceSource
    from tools.live.traces.tools import LiveTracesTool

    traced = {name: source for name, source in sources.items() if isinstance(source, TraceSource)}
    return (LiveTracesTool(traced),) if traced else ()
