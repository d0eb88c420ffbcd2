"""Which pods and workloads a spoken name means, where nothing was listed before."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.base import SourceFailure
from tools.cluster.kinds import workload_of
from tools.live.kubernetes.api import Listed
from tools.live.kubernetes.objects import WORKLOADS, Object, at, name_of, one, selector_text
from tools.live.kubernetes.reading import Gathered, Reading, gathered
from tools.names import near
from tools.vocabulary import SourceError

_WITH_PODS = (*WORKLOADS, "jobs")
_OPERATORS = {"In": "in", "NotIn": "notin"}


@dataclass(frozen=True)
class Workload:
    """A workload that was found: its kind (plural), its namespace, and the object."""

    kind: str
    namespace: str
    object: Object

    @property
    def name(self) -> str:
        """Its name."""
        return name_of(self.object)


@dataclass(frozen=True)
class Held:
    """The workloads of a name; `missing`: why a kind of them couldn't be asked for."""

    workloads: list[Workload]
    missing: SourceError | None


async def workloads_named(reading: Reading, namespace: str, name: str) -> Held:
    """Return the workloads of a name; raises SourceFailure where no kind of them could be asked for."""
    asked = {kind: reading.object(kind, namespace, name) for kind in _WITH_PODS}
    found = await gathered({kind: _with_kind(kind, question) for kind, question in asked.items()})
    return Held([Workload(kind, namespace, item) for kind, item in found.found if item is not None], found.missing)


async def _with_kind(kind: str, question: Any) -> tuple[str, Object | None]:
    return kind, await question


async def pods_of(reading: Reading, namespace: str, name: str) -> Listed:
    """Return the pods that a workload's, a service's or a pod's name speaks of.

    Raises SourceFailure(UNKNOWN_SELECTOR) with near names where nothing in the namespace has the name.
    """
    for spoken in dict.fromkeys((name, workload_of(name, "pods"))):
        found = await _pods_named(reading, namespace, spoken)
        if found is not None:
            return found
    raise await unknown(reading, namespace, name)


async def _pods_named(reading: Reading, namespace: str, name: str) -> Listed | None:
    held = await workloads_named(reading, namespace, name)
    texts = (label_selector(at(item.object, "spec", "selector")) for item in held.workloads)
    selector = next(filter(None, texts), None)
    if selector is None:
        service = await reading.object("services", namespace, name)
        selector = selector_text(at(service, "spec", "selector")) or None
        if service is not None and selector is None:
            return Listed()
    if selector is not None:
        return await reading.objects("pods", namespace, labels=selector)
    pod = await reading.object("pods", namespace, name)
    if pod is None and held.missing is not None:
        raise SourceFailure(held.missing)
    return Listed([pod]) if pod is not None else None


def label_selector(selector: Any) -> str | None:
    """Return a workload's selector for a request, set-based terms included."""
    terms = [selector_text(at(selector, "matchLabels"))]
    for term in at(selector, "matchExpressions") or ():
        key, operator = one(at(term, "key")), one(at(term, "operator"))
        values = ",".join(map(str, at(term, "values") or ()))
        bare = {"Exists": key, "DoesNotExist": f"!{key}"}.get(operator)
        terms.append(bare or f"{key} {_OPERATORS.get(operator, 'in')} ({values})")
    return ",".join(filter(None, terms)) or None


async def names_in(reading: Reading, namespace: str) -> Gathered:
    """Return the names of workloads and services in a namespace, a list of them each, as far as they can be listed."""

    async def names(kind: str) -> list[str]:
        rows, _ = await reading.rows(kind, namespace)
        return [row["name"] for row in rows if row.get("name")]

    return await gathered({kind: names(kind) for kind in (*WORKLOADS, "services")})


async def unknown(reading: Reading, namespace: str, name: str, *, field: str = "service_name") -> SourceFailure:
    """Return the failure of a name that nothing in a namespace has, with near names; or that nobody could look."""
    listed = await names_in(reading, namespace)
    if listed.missing is not None and any(code is not SourceError.ACCESS_DENIED for code in listed.failed.values()):
        return SourceFailure(listed.missing)
    known = {one for names in listed.found for one in names}
    return SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(name, known), field=field)


async def app_in(reading: Reading, name: str) -> tuple[str, Held, Object | None]:
    """Return the first allowed namespace that has an application, its workloads, and the service of its name.

    Raises SourceFailure: UNKNOWN_SELECTOR with near names where none has it, the failure of one that couldn't be asked.
    """
    places = await gathered({place: _held(reading, place, name) for place in reading.namespaces})
    for place, held, service in places.found:
        if held.workloads or service is not None:
            return place, held, service
    missing = places.missing or next((held.missing for _, held, _ in places.found if held.missing), None)
    if missing is not None:
        raise SourceFailure(missing)
    nears = await asyncio.gather(*(unknown(reading, place, name) for place in reading.namespaces))
    names: Mapping[str, None] = dict.fromkeys(one for failure in nears for one in failure.near_names)
    raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=tuple(names), field="app_name")


async def _held(reading: Reading, namespace: str, name: str) -> tuple[str, Held, Object | None]:
    held, service = await asyncio.gather(
        workloads_named(reading, namespace, name), reading.object("services", namespace, name)
    )
    return namespace, held, service
