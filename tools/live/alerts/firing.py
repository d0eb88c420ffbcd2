"""What every source of alerts answers: what fires now."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from typing_extensions import override

from tools.base import SourceFailure
from tools.live.alerts.records import Alert
from tools.live.source import Probe, Source
from tools.live.transport import Transport
from tools.vocabulary import SourceError


@dataclass(frozen=True)
class Firing:
    """The alerts that fire at `now`, the server's clock (aware, UTC; None where it tells none).

    `services`: those that the source knows besides, from rules that don't fire. `broken`: how many entries couldn't be
    read. `warned`: the source said itself that the answer isn't whole.
    """

    alerts: Sequence[Alert]
    now: datetime | None
    services: frozenset[str] = field(default_factory=frozenset)
    broken: int = 0
    warned: bool = False

    @property
    def moment(self) -> datetime:
        """The server's clock, else ours."""
        return self.now or datetime.now(UTC)


class AlertSource(Source):
    """A backend that tells which alerts fire now."""

    command: ClassVar[str]
    """What a person runs to see them, with all their labels."""

    def __init__(self, name: str, transport: Transport, service_labels: tuple[str, ...]) -> None:
        self.name = name
        self._transport = transport
        self._service_labels = service_labels

    @abstractmethod
    async def firing(self) -> Firing:
        """Return what fires now, silenced and inhibited ones included, resolved ones not; raises SourceFailure."""

    @override
    async def probe(self) -> Probe:
        firing = await self.firing()
        return Probe(firing.now, f"{len(firing.alerts)} alerts firing")

    @override
    async def close(self) -> None:
        await self._transport.close()


def unreadable(alerts: Sequence[Alert], broken: int) -> None:
    """Raise SourceFailure(SOURCE_UNREADABLE) where entries came and none could be read: that is no absence."""
    if broken and not alerts:
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
