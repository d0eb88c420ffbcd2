"""Whether a service's port leads to ready pods, by what the cluster lists of it.

No connection is opened: from where this process runs it would prove nothing about the cluster's own network, and a tool
that asks must not knock on doors. A proxy through the API server would send requests to the application; so it isn't
used either. What was checked is said: `checked=endpoints`.
"""

from typing import Any

from tools.cluster.state import Told
from tools.live.kubernetes.objects import Object, at, each, name_of, one
from tools.live.kubernetes.reading import Reading
from tools.live.kubernetes.workloads import unknown

CHECKED = "endpoints"
MAX_RESULTS = 40


async def connectivity_of(reading: Reading, namespace: str, service: str, port: int) -> Told:
    """Return what lies behind a service's port: READY or NOT_READY for each endpoint, with the node that it runs on;
    NO_PORT, NO_ENDPOINTS or EXTERNAL where there is none to look at.

    Raises SourceFailure: UNKNOWN_SELECTOR with near names where the namespace has no such service.
    """
    found = await reading.object("services", namespace, service)
    if found is None:
        raise await unknown(reading, namespace, service)
    spoken = next((entry for entry in each(found, "spec", "ports") if entry.get("port") == port), None)
    if at(found, "spec", "type") == "ExternalName":
        return _told([{"result": "EXTERNAL", "detail": f"leads to {one(at(found, 'spec', 'externalName'))}"}])
    if spoken is None:
        has = ", ".join(_port_text(entry) for entry in each(found, "spec", "ports"))
        return _told([{"result": "NO_PORT", "detail": f"the service has {has or 'no port'}"}])
    listed = await reading.objects("endpointslices", namespace, labels=f"kubernetes.io/service-name={service}")
    results = [result for item in listed.items for result in _endpoints(item, spoken)]
    results.sort(key=lambda result: (result["result"] == "READY", str(result.get("node"))))
    if not results:
        selector = ",".join(f"{key}={value}" for key, value in (at(found, "spec", "selector") or {}).items())
        results = [{"result": "NO_ENDPOINTS", "detail": f"selector {selector or '<none>'}; {_port_text(spoken)}"}]
    return Told({"checked": CHECKED, "results": results[:MAX_RESULTS]}, cut=listed.cut or len(results) > MAX_RESULTS)


def _told(results: list[dict[str, Any]]) -> Told:
    return Told({"checked": CHECKED, "results": results})


def _port_text(entry: Object) -> str:
    target = entry.get("targetPort") or entry.get("port")
    return f"{one(entry.get('port'))}->{one(target)}/{one(entry.get('protocol') or 'TCP')}"


def _endpoints(slice_: Object, spoken: Object) -> list[dict[str, Any]]:
    """Return the endpoints of a slice that a service's port leads to: slices tell ports by the service's name of it."""
    ports = [
        entry.get("port") for entry in each(slice_, "ports") if (entry.get("name") or "") == (spoken.get("name") or "")
    ]
    found = []
    for endpoint in each(slice_, "endpoints"):
        ready = at(endpoint, "conditions", "ready")
        pod = one(at(endpoint, "targetRef", "name"))
        address = ",".join(map(str, endpoint.get("addresses") or ()))
        reached = ",".join(map(str, ports))
        result = "NO_ENDPOINTS" if not ports else "NOT_READY" if ready is False else "READY"
        detail = f"{pod or 'an address'} {one(address)}:{one(reached) or '-'} by {name_of(slice_)}"
        found.append({"node": endpoint.get("nodeName"), "result": result, "detail": detail})
    return found
