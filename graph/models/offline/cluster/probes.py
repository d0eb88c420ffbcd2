"""Probes that can't succeed: the wrong port, the wrong protocol, too little time."""

import re
from collections.abc import Iterator

from graph.models.offline.cluster.facts import Case, Finding, Seen, pod_rank, seconds

_FAILED = re.compile(r"(?P<kind>Liveness|Readiness|Startup) probe (?:failed|errored)", re.IGNORECASE)
_PROTOCOL = re.compile(
    r"malformed HTTP|transport connection broken|HTTP response to HTTPS client|tls: first record|server preface"
    r"|frame too large|unexpected content-type|does not speak|unimplemented|HTTP/0\.9|EOF$|bad handshake"
    r"|unknown service|http2: |statuscode: (400|415|426|505)|no such file or directory|executable file not found",
    re.IGNORECASE,
)
_HASTY = 15.0
"""Seconds: who may be killed so soon after its start has too little time; the defaults leave 30."""
_CAUSES = {"liveness": "liveness_probe_incorrect_{}", "readiness": "readiness_probe_incorrect_{}"}


def read_port_conflicts(case: Case) -> Iterator[Finding]:
    """Yield the applications that aren't well and two of whose containers listen on the same port."""
    for pod in case.objects("pods"):
        app = pod.get("app")
        if not pod_rank(pod):
            continue
        taken: dict[str, Seen] = {}
        for container in {one.get("container"): one for one in case.of("container", app=app)}.values():
            for port in {piece for piece in _ports(container) if piece.isdigit()}:
                other = taken.setdefault(port, container)
                if other is not container:
                    yield Finding("service_sidecar_port_conflict", app, (pod, other, container))


def read_probes(case: Case) -> Iterator[Finding]:
    """Yield the probes that can't succeed, of containers whose probes do fail; liveness before readiness."""
    for kind, cause in _CAUSES.items():
        for event in case.of("event", reason="Unhealthy"):
            told = _FAILED.search(event.line.whole_text)
            if told and told["kind"].casefold() == kind and _still_ill(case, event.get("app")):
                yield from _why(case, kind, cause, event)


def _still_ill(case: Case, app: str) -> bool:
    pod = case.pod_of(app)
    have, _, want = pod.get("ready").partition("/") if pod else ("", "", "")
    return pod is not None and (have != want or bool(pod.line.number("restarts")))


def _why(case: Case, kind: str, cause: str, event: Seen) -> Iterator[Finding]:
    app = event.get("app")
    for probe in case.of("probe", app=app, kind=kind):
        container = next((one for one in case.of("container", app=app, container=probe.get("container"))), None)
        ports = _ports(container)
        sources = tuple(one for one in (event, probe, container) if one is not None)
        if probe.get("port") and (probe.get("port") not in ports if ports else _asks_elsewhere(case, app, probe)):
            yield Finding(cause.format("port"), app, sources)
        elif _PROTOCOL.search(event.line.whole_text) or _speaks_otherwise(case, app, probe):
            yield Finding(cause.format("protocol"), app, sources)
        elif kind == "liveness" and _hasty(probe) and _killed(case, app):
            yield Finding(cause.format("timing"), app, sources)


def _ports(container: Seen | None) -> set[str]:
    """Return a container's ports by number and by name; empty where it declares none."""
    spoken = container.get("ports").split(",") if container else []
    numbers = {part.strip("_").partition("/")[0] for part in spoken if part}
    return {piece for number in numbers for piece in number.split(":")} - {"<none>", ""}


def _speaks_otherwise(case: Case, app: str, probe: Seen) -> bool:
    """The other probe of the same container asks the same port in another way, and doesn't fail."""
    others = [one for one in _succeeding(case, app, probe) if one.get("port") == probe.get("port")]
    return any(one.get("handler") != probe.get("handler") for one in others)


def _asks_elsewhere(case: Case, app: str, probe: Seen) -> bool:
    """The other probe of the same container asks another port, and doesn't fail."""
    return any(one.get("port") != probe.get("port") for one in _succeeding(case, app, probe))


def _succeeding(case: Case, app: str, probe: Seen) -> list[Seen]:
    failing = {
        told["kind"].casefold()
        for event in case.of("event", reason="Unhealthy", app=app)
        if (told := _FAILED.search(event.line.whole_text))
    }
    others = case.of("probe", app=app, container=probe.get("container"))
    return [one for one in others if one.get("kind") not in {probe.get("kind"), *failing}]


def _hasty(probe: Seen) -> bool:
    delay, period = seconds(probe.get("delay")), seconds(probe.get("period"))
    failures = probe.line.number("failures")
    if delay is None or period is None or failures is None:
        return False
    return delay + period * failures <= _HASTY


def _killed(case: Case, app: str) -> bool:
    """The kubelet, not the application, ended the container."""
    if any("liveness probe" in seen.line.whole_text for seen in case.of("event", reason="Killing", app=app)):
        return True
    return any(seen.get("exit_code") in ("137", "143") for seen in case.of("container", app=app))
