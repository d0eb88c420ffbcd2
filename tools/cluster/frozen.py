"""A cluster frozen in `tool_cache.json`: each answer under `Tool:{json arguments}`, however it was spelled."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.base import SourceFailure
from tools.cluster.kinds import CLUSTER_SCOPED, GENERATED, KINDS, canonical_kind, workload_of
from tools.cluster.state import Absent, ClusterState, Raw
from tools.cluster.tables import read_table, with_labels
from tools.names import near
from tools.vocabulary import SourceError

_KEY = re.compile(r"(?P<tool>[A-Za-z]+):(?P<arguments>\{.*\})", re.DOTALL)
_OLD_CONNECTIVITY = re.compile(r"CheckServiceConnectivity-(?P<place>.+)-(?P<port>\d+)")
_NOT_FOUND = re.compile(r"\s*Error from server \(NotFound\)")
_ERROR = re.compile(r"\s*Error\b")

Key = tuple[str, ...]
_WORKLOADS = ("deployments", "statefulsets", "daemonsets")


class ClusterUnreadable(Exception):
    """A frozen cluster can't be read. The text is one clear line that names the file."""


class FrozenCluster(ClusterState):
    """Answers from a cache of answers; what the cache doesn't hold is an error, never an absence."""

    def __init__(self, answers: Mapping[str, Raw], *, namespace: str, logs: Mapping[str, Raw] | None = None) -> None:
        """Take the cache's answers by key, the default namespace, and raw log lines by service where there are some."""
        self.namespace = namespace
        self._logs = logs or {}
        self._answers: dict[Key, Raw] = {}
        for key, answer in answers.items():
            for name in _keys(key, namespace):
                self._answers.setdefault(name, answer)
        self._lists = {key[1:3]: _names_in(answer) for key, answer in self._answers.items() if _is_list(key)}

    @classmethod
    def load(cls, directory: Path, *, namespace: str) -> "FrozenCluster":
        """Read the cluster in `directory` (blocking): `tool_cache.json`, and `raw_data/logs.json` where it's there.

        Raises ClusterUnreadable.
        """
        answers = _json_object(directory / "tool_cache.json")
        logs = directory / "raw_data" / "logs.json"
        return cls(answers, namespace=namespace, logs=_json_object(logs) if logs.is_file() else None)

    def names(self, kind: str, namespace: str | None) -> tuple[str, ...]:
        return self._lists.get((kind, namespace or ""), ())

    def apps(self) -> tuple[str, ...]:
        asked = {key[1] for key in self._answers if key[0] in ("GetAppYAML", "GetServiceDependencies")}
        logged = {key[2] for key in self._answers if key[0] in ("GetErrorLogs", "GetRecentLogs")}
        workloads = {name for kind in _WORKLOADS for name in self.names(kind, self.namespace)}
        pods = {workload_of(name, "pods") for name in self.names("pods", self.namespace)}
        return tuple(sorted(asked | logged | workloads | pods))

    async def table(self, kind: str, namespace: str | None, name: str | None, selector: str | None) -> Raw | Absent:
        place = (kind, namespace or "", name or "")
        answer = self._widest(place, selector or "")
        if answer is not None:
            return self._absent_or(answer, kind, namespace, name)
        if selector:
            return self._selected(place, selector)
        return self._never_asked(kind, namespace, name)

    def _widest(self, place: tuple[str, ...], selector: str) -> Raw | None:
        """Return the widest table that is held of a question, with the labels where these are held, too."""
        held = [self._answers.get(("GetResources", *place, selector, view)) for view in ("wide", "", "labels")]
        answer = next((one for one in held if one is not None), None)
        labelled = held[-1]
        return with_labels(answer, labelled) if isinstance(answer, str) and isinstance(labelled, str) else answer

    def _selected(self, place: tuple[str, ...], selector: str) -> Raw:
        """Select from the list with labels: the same question, asked of the same state."""
        listed = self._widest(place, "")
        rows = read_table(listed) if isinstance(listed, str) else []
        if not isinstance(listed, str) or not all("labels" in row for row in rows):
            raise SourceFailure(SourceError.QUERY_REJECTED, field="label_selector")
        wanted = set(selector.split(","))
        chosen = {row["name"] for row in rows if wanted <= set(row["labels"].split(","))}
        header, *lines = listed.splitlines() or [""]
        kept = [line for line in lines if line.split(maxsplit=1)[:1] and line.split()[0] in chosen]
        return "\n".join([header, *kept]) if kept else ""

    async def description(self, kind: str, namespace: str | None, name: str) -> Raw | Absent:
        answer = self._answers.get(("DescribeResource", kind, namespace or "", name))
        if answer is not None:
            return self._absent_or(answer, kind, namespace, name)
        return self._never_asked(kind, namespace, name)

    def _absent_or(self, answer: Raw, kind: str, namespace: str | None, name: str | None) -> Raw | Absent:
        if isinstance(answer, str) and _NOT_FOUND.match(answer):
            return Absent(kind, name or "", near(name or "", self.names(kind, namespace)))
        if isinstance(answer, str) and _ERROR.match(answer):
            raise SourceFailure(SourceError.QUERY_REJECTED)
        return answer

    def _never_asked(self, kind: str, namespace: str | None, name: str | None) -> Absent:
        if kind not in KINDS:
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(kind, KINDS), field="resource_type")
        known = sorted({place for held, place in self._lists if held == kind})
        namespaces = {*self.names("namespaces", None), *known} - {""}
        if namespace and namespace not in namespaces:
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(namespace, namespaces), field="namespace")
        names = self._lists.get((kind, namespace or ""))
        if name is None or names is None or name in names:
            raise SourceFailure(SourceError.QUERY_REJECTED)
        return Absent(kind, name, near(name, names))

    async def manifest(self, app: str) -> Raw:
        return self._of("GetAppYAML", app, field="app_name")

    async def dependencies(self, service: str) -> Raw:
        return self._of("GetServiceDependencies", service, field="service_name")

    def _of(self, tool: str, name: str, *, field: str) -> Raw:
        answer = self._answers.get((tool, name))
        if answer is None:
            known = {key[1] for key in self._answers if key[0] == tool}
            raise self._unknown(name, known, field)
        if isinstance(answer, str) and _ERROR.match(answer):
            raise SourceFailure(SourceError.QUERY_REJECTED)
        return answer

    def _unknown(self, name: str, known: set[str], field: str) -> SourceFailure:
        """A name that the cluster knows, but not this source, has no answer here; any other name is a typo."""
        if name in self.apps():
            return SourceFailure(SourceError.SOURCE_MISSING, near_names=near(name, known), field=field)
        return SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(name, known), field=field)

    async def connectivity(self, namespace: str, service: str, port: int) -> Raw:
        answer = self._answers.get(("CheckServiceConnectivity", namespace, service, str(port)))
        if answer is not None:
            return answer
        probes = {key[2:4] for key in self._answers if key[:2] == ("CheckServiceConnectivity", namespace)}
        services = {probed for probed, _ in probes}
        if service in services:
            ports = tuple(sorted(known for probed, known in probes if probed == service))
            raise SourceFailure(SourceError.QUERY_REJECTED, near_names=ports, field="port")
        raise self._unknown(service, services, "service_name")

    async def alerts(self) -> Raw:
        return self._single("GetAlerts")

    async def configuration(self) -> Raw:
        return self._single("GetClusterConfiguration")

    def _single(self, tool: str) -> Raw:
        answer = self._answers.get((tool,))
        if answer is None:
            raise SourceFailure(SourceError.SOURCE_MISSING)
        return answer

    async def recent_logs(self, namespace: str, service: str) -> Raw:
        answer = self._answers.get(("GetRecentLogs", namespace, service))
        if answer is not None:
            return answer
        if service in self._logs and namespace == self.namespace:
            return self._logs[service]
        if not self._logs:
            raise SourceFailure(SourceError.SOURCE_MISSING)
        raise self._unknown(service, set(self._logs), "service_name")

    async def error_logs(self, namespace: str, service: str) -> Raw:
        answer = self._answers.get(("GetErrorLogs", namespace, service))
        if answer is None:
            known = {key[2] for key in self._answers if key[:2] == ("GetErrorLogs", namespace)}
            raise self._unknown(service, known, "service_name")
        return answer

    async def node_service(self, node: str, component: str) -> Raw:
        answer = self._answers.get(("CheckNodeServiceStatus", node, component))
        if answer is not None:
            return answer
        held = {key[1:3] for key in self._answers if key[0] == "CheckNodeServiceStatus"}
        nodes = {name for name, _ in held}
        if node not in nodes:
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=near(node, nodes), field="node_name")
        components = tuple(sorted(known for name, known in held if name == node))
        raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=components, field="service_name")


def _json_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ClusterUnreadable(f"{path} holds no JSON object")
    return value


def _is_list(key: Key) -> bool:
    return key[0] == "GetResources" and not any(key[3:])


def _names_in(answer: Raw) -> tuple[str, ...]:
    rows: Iterable[Mapping[str, str]] = read_table(answer) if isinstance(answer, str) else ()
    return tuple(row["name"] for row in rows if row.get("name"))


def _keys(key: str, namespace: str) -> Iterator[Key]:
    """Yield the canonical keys under which an answer is found."""
    old = _OLD_CONNECTIVITY.fullmatch(key)
    if old and old["place"].startswith(f"{namespace}-"):
        yield ("CheckServiceConnectivity", namespace, old["place"].removeprefix(f"{namespace}-"), old["port"])
    found = _KEY.fullmatch(key)
    if found is None:
        return
    try:
        arguments = json.loads(found["arguments"])
    except ValueError:
        return
    if isinstance(arguments, dict):
        yield _key(found["tool"], arguments, namespace)


_ORDER = {
    "GetAppYAML": ("app_name",),
    "GetServiceDependencies": ("service_name",),
    "CheckServiceConnectivity": ("namespace", "service_name", "port"),
    "GetRecentLogs": ("namespace", "service_name"),
    "GetErrorLogs": ("namespace", "service_name"),
    "CheckNodeServiceStatus": ("node_name", "service_name"),
}


def _key(tool: str, arguments: Mapping[str, Any], namespace: str) -> Key:
    given = {"namespace": namespace, **{name: value for name, value in arguments.items() if value is not None}}
    if tool in ("GetResources", "DescribeResource"):
        kind = canonical_kind(str(given.get("resource_type") or ""))
        place = "" if kind in CLUSTER_SCOPED else str(given["namespace"])
        start = (tool, kind, place, str(given.get("name") or ""))
        if tool == "DescribeResource":
            return start
        yaml = given.get("output_yaml") or given.get("output") == "yaml"
        view = "yaml" if yaml else "wide" if given.get("output_wide") else "labels" if given.get("show_labels") else ""
        return (*start, str(given.get("label_selector") or ""), view)
    return (tool, *(str(given.get(name) or "") for name in _ORDER.get(tool, ())))


def full_name(state: ClusterState, kind: str, namespace: str | None, name: str) -> str:
    """Return the object's own name where `name` is of the one workload that it was generated for, else `name`."""
    known = state.names(kind, namespace)
    if kind not in GENERATED or name in known:
        return name
    generated = [one for one in known if workload_of(one, kind) == name]
    return generated[0] if len(generated) == 1 else name
