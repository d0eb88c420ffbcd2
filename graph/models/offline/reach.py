"""Who calls whom, as far as spans and error texts tell, and how far a change's effects reach along the calls."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from graph.models.offline.facts import Case


@dataclass(frozen=True)
class Reach:
    """The calls between services: pairs of (caller, callee), and every service that is seen."""

    calls: frozenset[tuple[str, str]]
    services: frozenset[str]
    ours: frozenset[str] = frozenset()
    """Those that tell of themselves: who is only ever called may be anybody."""

    def of(self, service: str, kind: str) -> frozenset[str]:
        """Return the services where a change of `service` may show: `own`, `callers`, `callees` or `any`.

        `consumers`: anywhere, too; whoever asks has to see to it that several fail alike.
        """
        if kind in ("any", "consumers"):
            return self.services | {service}
        if kind == "callers":
            return frozenset({service, *self.callers(service)})
        if kind == "callees":
            return frozenset({service, *(callee for caller, callee in self.calls if caller == service)})
        return frozenset({service})

    def masked(self, text: str) -> str:
        """Return a text with every service name blanked: what a service is called says nothing of what is wrong."""
        return _pattern(self.ours).sub("\u25a1", text) if self.ours else text

    def callers(self, service: str) -> frozenset[str]:
        """Return the services that call `service` directly."""
        return frozenset(caller for caller, callee in self.calls if callee == service)

    def upstream_of(self, service: str) -> frozenset[str]:
        """Return every service that calls `service`, directly or through others."""
        found: set[str] = set()
        edge = {service}
        while edge:
            edge = {caller for one in edge for caller in self.callers(one)} - found - {service}
            found |= edge
        return frozenset(found)


@lru_cache(maxsize=64)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE)


def read_reach(case: Case) -> Reach:
    """Return the calls that spans show; an error text that names another service counts as a call to it."""
    services = {one.service for one in case.series} | {one.service for one in case.signatures}
    services |= {one.service for one in case.spans} | {one.service for one in case.changes if one.service}
    ours = frozenset(services - {""})
    services |= {name for edge in case.edges for name in (edge.caller, edge.callee)}
    services.discard("")
    calls = {(edge.caller, edge.callee) for edge in case.edges if edge.caller and edge.caller != edge.callee}
    calls |= set(_named_in_errors(case, services))
    return Reach(frozenset(calls), frozenset(services), ours)


def _named_in_errors(case: Case, services: Iterable[str]) -> Iterable[tuple[str, str]]:
    patterns = {name: re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE) for name in services}
    for signature in case.signatures:
        for name, pattern in patterns.items():
            if name != signature.service and pattern.search(signature.text):
                yield signature.service, name
