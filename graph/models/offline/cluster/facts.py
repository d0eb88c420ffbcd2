"""The evidence of a cluster's case, by the sort of its lines."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from graph.models.offline.lines import Line
from graph.models.offline.transcript import Observation

_FRESH_RESTART = 60 * 60
CRASHING = 3
"""The rank of a pod whose container ends by itself."""


@dataclass(frozen=True)
class Seen:
    """A line and the call that it came with."""

    call_id: str
    line: Line

    def get(self, key: str) -> str:
        """Return a field of the line, blank where it's absent."""
        return self.line.get(key)


@dataclass(frozen=True)
class Finding:
    """A cause that evidence speaks for. `sure`: it decides; else it's a hint. `sources` are the lines that say so."""

    cause: str
    component: str
    sources: tuple[Seen, ...]
    sure: bool = True


@dataclass
class Case:
    """What is known: all lines in order, the namespace that somebody named, and the words of the user."""

    given_namespace: str | None
    query: str = ""
    lines: list[Seen] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    """The tools whose scope held nothing, in order."""

    def of(self, sort: str, **where: str) -> Iterator[Seen]:
        """Yield the lines of a sort whose fields equal `where`."""
        for seen in self.lines:
            if seen.line.sort == sort and all(seen.get(key) == value for key, value in where.items()):
                yield seen

    @property
    def namespace(self) -> str:
        """The namespace that was named, else the one that evidence shows, else blank."""
        return self.given_namespace or next((seen.get("namespace") for seen in self.lines if seen.get("namespace")), "")

    def objects(self, kind: str) -> list[Seen]:
        """Return the rows of a kind's table, each object once (its newest row)."""
        return list({seen.get("name"): seen for seen in self.of("resource", kind=kind)}.values())

    def listed(self, kind: str) -> bool:
        """Return whether a kind has been listed."""
        return any(True for _ in self.of("resource", kind=kind))

    def pod_of(self, app: str) -> Seen | None:
        """Return the row of an application's pod, one that isn't well before others."""
        pods = [pod for pod in self.objects("pods") if pod.get("app") == app]
        return min(pods, key=lambda pod: pod_rank(pod) or 99, default=None)

    def node_of(self, app: str) -> str:
        """Return the node of an application's pod, blank where it isn't known."""
        pod = self.pod_of(app)
        return pod.get("node").replace("<none>", "") if pod else ""


def read_case(observations: Iterable[Observation], *, namespace: str | None, query: str) -> Case:
    """Return the case that observations tell."""
    case = Case(given_namespace=namespace, query=query)
    for observation in observations:
        if not observation.has_evidence:
            case.empty.append(observation.tool)
        case.lines.extend(Seen(observation.call_id, line) for line in observation.lines)
    return case


def pod_rank(pod: Seen) -> int:
    """Return how unwell a pod is, 0 where it's well: 1 can't begin, 2 begins, 3 crashes, 4 isn't ready, 5 restarted.

    Whoever can't begin stands nearer to the cause than who crashes for want of another.
    """
    status, ready = pod.get("status"), pod.get("ready")
    have, _, want = ready.partition("/")
    if status in ("Completed", "Succeeded", "Terminating"):
        return 0
    if status == "Running":
        if have != want:
            return 4
        return 5 if _restarted_lately(pod) else 0
    begun = status.startswith("Init") or status in ("ContainerCreating", "PodInitializing")
    placed = status == "Pending" and pod.get("node") not in ("", "<none>")
    if begun or placed:
        return 2
    return 3 if re.search("Crash|Error$|OOMKilled|RunContainerError", status) and "Pull" not in status else 1


def _restarted_lately(pod: Seen) -> bool:
    last = seconds(pod.get("last_restart"))
    return (pod.line.number("restarts") or 0) > 0 and (last is None or last < _FRESH_RESTART)


_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}


def seconds(text: str) -> float | None:
    """Return an age as kubectl writes it (`2m9s`, `3d13h`) in seconds, None where it's none."""
    total, digits = 0.0, ""
    for character in text:
        if character.isdigit() or character == ".":
            digits += character
        elif character in _UNITS and digits:
            total, digits = total + float(digits) * _UNITS[character], ""
        else:
            return None
    return total if text and not digits else None


def ill_pods(case: Case) -> list[Seen]:
    """Return the pods that aren't well, the worst first; one of each application."""
    ill = sorted((pod for pod in case.objects("pods") if pod_rank(pod)), key=pod_rank)
    return list({pod.get("app"): pod for pod in reversed(ill)}.values())[::-1]


def pairs(text: str) -> Mapping[str, str]:
    """Return labels as they are written: `app=cart,tier=db`."""
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)
