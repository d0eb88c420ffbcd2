"""Who calls whom, as far as what was applied says so: addresses of services in environments and configuration.

Nothing here is measured on the network; whoever asks is told so (`FROM_CONFIGURATION`).
"""

import re
from collections.abc import Iterator, Mapping

from tools.base import SourceFailure
from tools.cluster.state import Told
from tools.live.kubernetes.api import LIST_CUT
from tools.live.kubernetes.manifests import config_names
from tools.live.kubernetes.objects import WORKLOADS, Object, at, each, name_of, selects
from tools.live.kubernetes.reading import Reading, gathered
from tools.names import near
from tools.vocabulary import SourceError

FROM_CONFIGURATION = "FROM_CONFIGURATION"
MAX_CONFIG_MAPS = 40
MAX_DEPTH = 5
_ADDRESS_NAME = re.compile(r"ADDR|HOST|URL|URI|ENDPOINT|SERVER|SERVICE|TARGET|UPSTREAM|BROKER|NODES", re.IGNORECASE)
_ADDRESSED = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.:-]*)://(?:[^\s/@]*@)?)?"
    r"(?P<host>[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)(?P<rest>(?:\.[a-z0-9-]+)*)(?P<port>:\d{2,5})?",
    re.IGNORECASE,
)

Calls = Mapping[str, set[str]]


async def dependencies_of(reading: Reading, service: str) -> Told:
    """Return the report on a service's callers and callees in the first allowed namespace that has it.

    Raises SourceFailure: UNKNOWN_SELECTOR with near names where none has it.
    """
    known: set[str] = set()
    missing: SourceError | None = None
    for place in reading.namespaces:
        try:
            calls, names, told = await _calls(reading, place)
        except SourceFailure as failure:
            missing = missing or failure.code
            continue
        if service in names:
            return Told(_report(service, calls), notes=told.notes, cut=told.cut, missing=told.missing, namespace=place)
        known |= names
        missing = missing or told.missing
    if missing is not None:
        raise SourceFailure(missing)
    raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(service, known), field="service_name")


async def _calls(reading: Reading, place: str) -> tuple[Calls, set[str], Told]:
    """Return who calls whom in a namespace, all names in it, and what couldn't be read of it."""
    kinds = (*WORKLOADS, "services")
    parts = await gathered({kind: reading.objects(kind, place) for kind in kinds})
    workloads = [item for listed in parts.found for item in listed.items if "template" in (item.get("spec") or {})]
    services = [item for listed in parts.found for item in listed.items if "template" not in (item.get("spec") or {})]
    texts, unread = await _configuration(reading, place, workloads)
    names = {name_of(item) for item in services}
    calls: dict[str, set[str]] = {}
    for workload in workloads:
        callee = {host for host in _named_in(workload, texts, place) if host in names}
        for caller in _services_of(workload, services):
            calls.setdefault(caller, set()).update(callee - {caller})
    cut = unread.cut or any(listed.cut for listed in parts.found)
    notes = (FROM_CONFIGURATION, *parts.notes, *unread.notes, *((LIST_CUT,) if cut else ()))
    missing = parts.missing or unread.missing
    return calls, names | {name_of(item) for item in workloads}, Told("", notes, cut=cut, missing=missing)


async def _configuration(
    reading: Reading, place: str, workloads: list[Object]
) -> tuple[dict[str, dict[str, str]], Told]:
    """Return the texts of the config maps that workloads refer to, by name, and what of them couldn't be read."""
    specs = [at(workload, "spec", "template", "spec") for workload in workloads]
    names = config_names(specs)
    asked = {name: reading.object("configmaps", place, name) for name in names[:MAX_CONFIG_MAPS]}
    found = await gathered(asked, needed=False)
    held = [item for item in found.found if item is not None]
    texts = {name_of(item): {str(key): str(text) for key, text in (at(item, "data") or {}).items()} for item in held}
    notes = ("SOURCE_FAILED:configmaps",) if found.failed else ()
    return texts, Told("", notes, cut=len(names) > MAX_CONFIG_MAPS, missing=found.missing)


def _services_of(workload: Object, services: list[Object]) -> list[str]:
    """Return the names that callers know a workload by: the services that lead to it, else its own."""
    labels = at(workload, "spec", "template", "metadata", "labels")
    led = [name_of(item) for item in services if selects(at(item, "spec", "selector"), labels)]
    return [name_of(workload)] if name_of(workload) in led or not led else led


def _named_in(workload: Object, texts: Mapping[str, Mapping[str, str]], place: str) -> Iterator[str]:
    spec = at(workload, "spec", "template", "spec")
    for key in ("containers", "initContainers"):
        for container in each(spec, key):
            for entry in each(container, "env"):
                yield from _hosts(str(entry.get("name")), str(entry.get("value") or ""), place)
            for word in (*(container.get("args") or ()), *(container.get("command") or ())):
                yield from _hosts("", str(word), place)
    for name in config_names([spec]):
        for key, text in texts.get(name, {}).items():
            yield from _hosts(key, text, place)


def _hosts(name: str, text: str, place: str) -> Iterator[str]:
    """Yield what in a text may be a service's address in the namespace: with a scheme, a port or a cluster's domain; a
    bare word only where the variable's name speaks of an address."""
    for found in _ADDRESSED.finditer(text[:20_000]):
        rest = found["rest"].strip(".").split(".") if found["rest"] else []
        if rest and rest[0] != place:
            continue
        whole = found[0] == text.strip() and bool(_ADDRESS_NAME.search(name))
        if found["scheme"] or found["port"] or rest or whole:
            yield found["host"].lower()


def _report(service: str, calls: Calls) -> str:
    """Return the report in the words that the cluster's tools read: callers, then the tree of callees."""
    callers = sorted(name for name, callees in calls.items() if service in callees)
    tree = list(_branches(service, calls, (service,), ""))
    lines = [f"[Service]: {service}", f"[Upstream (Called By)]: {', '.join(callers) or '(None)'}"]
    return "\n".join([*lines, "[Downstream (Calls)]:", service, *(tree or ["(None - Leaf Service)"])])


def _branches(name: str, calls: Calls, path: tuple[str, ...], indent: str) -> Iterator[str]:
    callees = sorted(calls.get(name, set()) - set(path))
    for at_, callee in enumerate(callees):
        last = at_ == len(callees) - 1
        yield f"{indent}{'└──' if last else '├──'} {callee}"
        if len(path) < MAX_DEPTH:
            yield from _branches(callee, calls, (*path, callee), indent + ("    " if last else "│   "))
