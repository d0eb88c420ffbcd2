"""Whether some other kind of source knows a service, for sources whose own silence about one means something.

Source: decided contract, "Answers of tools": a name that any source of the incident knows is no typo.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from tools.base import IncidentContext, SourceFailure
from tools.live.fanout import outcome
from tools.names import near
from tools.vocabulary import SourceError

ServiceCheck: TypeAlias = Callable[[str, IncidentContext], Awaitable[None]]
"""Returns where a source knows the service of a folded name around the incident; raises SourceFailure: UNKNOWN_SELECTOR
with near names where none does, another code where that can't be told."""


async def require_vouched(
    check: ServiceCheck | None, service: str, incident: IncidentContext, *, known: Iterable[str]
) -> None:
    """Return where another kind of source knows a folded name that isn't among `known`, the names of one's own.

    Raises SourceFailure with the near names of all: UNKNOWN_SELECTOR where nobody knows it, or there's nobody to ask
    (`check` is None); another code where it can't be told.
    """
    unknown = SourceFailure(SourceError.UNKNOWN_SELECTOR)
    answer = unknown if check is None else await outcome(check(service, incident))
    if isinstance(answer, SourceFailure):
        names = dict.fromkeys((*near(service, known), *answer.near_names))
        raise SourceFailure(answer.code, near_names=tuple(names), field="service")
