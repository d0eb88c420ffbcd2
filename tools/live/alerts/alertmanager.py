"""Alertmanager, API v2: https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml"""

from typing import ClassVar

from typing_extensions import override

from tools.base import SourceFailure
from tools.live.alerts.firing import AlertSource, Firing, unreadable
from tools.live.alerts.records import read_alerts
from tools.live.source import Probe
from tools.vocabulary import SourceError

_ALL = {"active": "true", "silenced": "true", "inhibited": "true", "unprocessed": "true"}


class Alertmanager(AlertSource):
    """One Alertmanager. It forgets what is resolved: it can't tell what fired earlier."""

    command: ClassVar[str] = 'amtool alert query -o extended --alertmanager.url="$ALERTMANAGER_URL"'

    @override
    async def firing(self) -> Firing:
        answer = await self._transport.answer("GET", "/api/v2/alerts", params=_ALL)
        given = answer.json()
        if not isinstance(given, list):
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        alerts, broken = read_alerts(given, self._service_labels, now=answer.date)
        unreadable(alerts, broken)
        return Firing([one for one in alerts if not one.resolved], answer.date, broken=broken)

    @override
    async def probe(self) -> Probe:
        """Ask its status, too: an Alertmanager that is not ready yet holds no alerts."""
        status = await self._transport.json("GET", "/api/v2/status")
        if not isinstance(status, dict):
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        return await super().probe()
