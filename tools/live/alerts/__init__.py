"""Alerts from Alertmanager, or from the rules of Prometheus."""

from collections.abc import Mapping

from tools.base import EvidenceTool
from tools.live.alerts.firing import AlertSource
from tools.live.alerts.tools import KnownServices, LiveAlertsTool

__all__ = ["KnownServices", "tools_of"]


def tools_of(
    sources: Mapping[str, AlertSource], known_services: KnownServices | None = None
) -> tuple[EvidenceTool, ...]:
    """Return `get_alerts` over the opened sources; nothing where there are none.

    `known_services` gives the services that other kinds of sources know: their silence here is an absence.
    """
    return (LiveAlertsTool(sources, known_services),) if sources else ()
