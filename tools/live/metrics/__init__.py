"""Metrics from servers of Prometheus' HTTP API."""

from collections.abc import Mapping

from tools.base import EvidenceTool
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.tools import LiveMetricsTool, PromqlTool

__all__ = ["tools_of"]


def tools_of(sources: Mapping[str, Prometheus]) -> tuple[EvidenceTool, ...]:
    """Return `query_metrics` and `query_promql` over the opened sources; nothing where there are none."""
    return (LiveMetricsTool(sources), PromqlTool(sources)) if sources else ()
