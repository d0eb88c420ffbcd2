"""Whether a source that keeps what services say of themselves knows a service.

For sources whose silence about one means something (no alert): a name that metrics or logs know is no typo. Source:
decided contract, "Answers of tools".
"""

from collections.abc import Mapping

from tools.base import IncidentContext
from tools.live.fanout import ask_all
from tools.live.logs.everywhere import asked_of
from tools.live.logs.source import LogSource
from tools.live.metrics.discovery import find_service
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.sampling import Frame
from tools.live.source import Source
from tools.live.vouching import ServiceCheck
from tools.windows import LOOK_AHEAD, LOOK_BACK


def service_check(sources: Mapping[str, Source]) -> ServiceCheck | None:
    """Return the check over the sources of metrics and logs among `sources`, None where there are none."""
    telling = {name: source for name, source in sources.items() if isinstance(source, Prometheus | LogSource)}
    if not telling:
        return None

    async def check(service: str, incident: IncidentContext) -> None:
        async def ask(source: Prometheus | LogSource) -> None:
            start, end = incident.as_of - LOOK_BACK, incident.as_of + LOOK_AHEAD
            if isinstance(source, Prometheus):
                await find_service(source, service, Frame.of(start, end).read)
            else:
                await asked_of({source.name: source}, service, end)

        await ask_all(telling, ask)

    return check
