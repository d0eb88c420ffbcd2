"""A cluster that is alive: the questions of the cluster's tools, answered from its API server."""

from typing_extensions import override

from tools.base import SourceFailure
from tools.cluster.kinds import GENERATED, workload_of
from tools.cluster.state import Absent, ClusterState, Told
from tools.live.kubernetes.alerts import alerts_of
from tools.live.kubernetes.api import LIST_CUT, MAX_ITEMS
from tools.live.kubernetes.connectivity import connectivity_of
from tools.live.kubernetes.dependencies import dependencies_of
from tools.live.kubernetes.details import describe
from tools.live.kubernetes.events import event_lines, event_rows
from tools.live.kubernetes.logs import error_logs, recent_logs
from tools.live.kubernetes.manifests import manifest_of
from tools.live.kubernetes.nodes import EVENTS_NOT_ALLOWED, NODE_EVENTS, configuration_of, node_service_of
from tools.live.kubernetes.objects import SINGULAR, Object, at, name_of, one
from tools.live.kubernetes.reading import Reading, Row
from tools.live.kubernetes.rollouts import rollout_lines
from tools.names import near
from tools.vocabulary import SourceError


class LiveCluster(ClusterState):
    """Answers from an API server, read-only, within the allowed namespaces.

    It knows no name before it asks, so that a question's scope depends on its words alone: a generated name is resolved
    when it is asked about.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.namespace = reading.namespaces[0]

    @override
    def names(self, kind: str, namespace: str | None) -> tuple[str, ...]:
        return ()

    @override
    def apps(self) -> tuple[str, ...]:
        return ()

    @override
    def app_named(self, spoken: str) -> str:
        """A pod's name with both generated parts speaks of its workload; a shorter one may be a name of its own."""
        bare = workload_of(spoken, "pods")
        return bare if spoken.count("-") - bare.count("-") == 2 else spoken

    @override
    async def table(self, kind: str, namespace: str | None, name: str | None, selector: str | None) -> Told | Absent:
        if kind == "events":
            return await self._events(namespace, name, selector)
        rows, cut = await self._reading.rows(kind, namespace, name=name, labels=selector)
        if name and not rows and not selector:
            return await self._row_of(kind, namespace, name)
        return _listed(rows, cut)

    async def _row_of(self, kind: str, namespace: str | None, name: str) -> Told | Absent:
        """Return the row of the one object that was generated for a workload of that name, else the absence."""
        rows, _ = await self._reading.rows(kind, namespace)
        own = [row for row in rows if kind in GENERATED and workload_of(row.get("name", ""), kind) == name]
        return _listed(own, False) if own else _absent(kind, name, rows)

    async def _events(self, namespace: str | None, name: str | None, selector: str | None) -> Told | Absent:
        place = self._reading.place("events", namespace) or ""
        if selector:
            raise SourceFailure(SourceError.QUERY_REJECTED, field="label_selector")
        listed = await self._reading.events(place, fields=f"metadata.name={name}" if name else None)
        if name and not listed.items:
            return Absent("events", name)
        if listed.cut:
            # A list is in no order of time: where there are too many, the warnings are worth a question of their own.
            warnings = await self._reading.events(place, fields="type=Warning")
            listed.items = [*warnings.items, *(event for event in listed.items if event.get("type") != "Warning")]
        return _listed(event_rows(listed.items, self._reading.api.now), listed.cut)

    @override
    async def description(self, kind: str, namespace: str | None, name: str) -> Told | Absent:
        place = self._reading.place(kind, namespace)
        if kind in ("secrets", "events"):
            return await self._row_described(kind, place, name)
        found = await self._reading.object(kind, place, name)
        if found is not None:
            return await self._described(kind, place, found)
        rows, _ = await self._reading.rows(kind, place)
        own = [row["name"] for row in rows if kind in GENERATED and workload_of(row.get("name", ""), kind) == name]
        other = await self._reading.object(kind, place, own[0]) if len(own) == 1 else None
        return await self._described(kind, place, other) if other is not None else _absent(kind, name, rows, own)

    async def _row_described(self, kind: str, place: str | None, name: str) -> Told | Absent:
        """Of a secret only its row is known: what is in it is never asked for."""
        answer = await self.table(kind, place, name, None)
        if isinstance(answer, Absent):
            return answer
        rows = answer.raw if isinstance(answer.raw, list) else []
        lines = [f"{key.capitalize()}: {value}" for row in rows for key, value in row.items()]
        return Told("\n".join([f"Name: {name}", *(line for line in lines if not line.startswith("Name:"))]))

    async def _described(self, kind: str, place: str | None, found: Object) -> Told:
        lines = list(describe(kind, self._discreet(kind, found)))
        notes: list[str] = []
        missing: SourceError | None = None
        for part, question in (
            ("rollouts", rollout_lines(self._reading, kind, place, found)),
            ("used_by", self._users(kind, place, name_of(found))),
            ("endpoints", self._endpoints(kind, place, name_of(found))),
            ("events", self._own_events(kind, place, found)),
        ):
            try:
                lines += await question
            except SourceFailure as failure:
                notes.append(f"SOURCE_FAILED:{part}")
                missing = missing or failure.code
        if place is None and NODE_EVENTS not in self._reading.namespaces:
            notes.append(EVENTS_NOT_ALLOWED)
        return Told("\n".join(lines), tuple(notes), missing=missing, name=name_of(found))

    def _discreet(self, kind: str, found: Object) -> Object:
        """Leave out of a volume which claim of a namespace that isn't allowed holds it."""
        place = at(found, "spec", "claimRef", "namespace")
        if kind != "persistentvolumes" or place is None or place in self._reading.namespaces:
            return found
        return {**found, "spec": {**found["spec"], "claimRef": {"namespace": "<another_namespace>", "name": "-"}}}

    async def _users(self, kind: str, place: str | None, name: str) -> list[str]:
        """Tell which pods use a claim; raises SourceFailure(ANSWER_TOO_LARGE) where one may stand behind the bound."""
        if kind != "persistentvolumeclaims":
            return []
        listed = await self._reading.objects("pods", place, most=MAX_ITEMS)
        users = [name_of(pod) for pod in listed.items if _uses(pod, name)]
        if listed.cut and not users:
            raise SourceFailure(SourceError.ANSWER_TOO_LARGE)
        return [f"Used By:       {', '.join(users) or '<none>'}"]

    async def _endpoints(self, kind: str, place: str | None, name: str) -> list[str]:
        """Tell where a service leads, as the API server lists its endpoints."""
        if kind != "services":
            return []
        rows, _ = await self._reading.rows("endpoints", place, name=name)
        return [f"Endpoints:  {row.get('endpoints', '<none>')}" for row in rows]

    async def _own_events(self, kind: str, place: str | None, found: Object) -> list[str]:
        """Return the section of an object's events; of kinds without a namespace they lie in one that may be barred."""
        where = place or NODE_EVENTS
        if where not in self._reading.namespaces:
            return []
        singular = SINGULAR.get(kind, one(found.get("kind")))
        fields = f"involvedObject.kind={singular},involvedObject.name={name_of(found)}"
        listed = await self._reading.events(where, fields=fields)
        return list(event_lines(listed.items, self._reading.api.now))

    @override
    async def manifest(self, app: str) -> Told:
        return await manifest_of(self._reading, app)

    @override
    async def dependencies(self, service: str) -> Told:
        return await dependencies_of(self._reading, service)

    @override
    async def connectivity(self, namespace: str, service: str, port: int) -> Told:
        return await connectivity_of(self._reading, self._reading.allowed(namespace, "namespace"), service, port)

    @override
    async def alerts(self) -> Told:
        return await alerts_of(self._reading)

    @override
    async def recent_logs(self, namespace: str, service: str) -> Told:
        return await recent_logs(self._reading, namespace, service)

    @override
    async def error_logs(self, namespace: str, service: str) -> Told:
        return await error_logs(self._reading, namespace, service)

    @override
    async def configuration(self) -> Told:
        return await configuration_of(self._reading)

    @override
    async def node_service(self, node: str, component: str) -> Told:
        return await node_service_of(self._reading, node, component)


def _listed(rows: list[Row], cut: bool) -> Told:
    return Told(list(rows), notes=(LIST_CUT,) if cut else (), cut=cut)


def _absent(kind: str, name: str, rows: list[Row], own: list[str] | None = None) -> Absent:
    known = [row["name"] for row in rows if row.get("name")]
    return Absent(kind, name, tuple([*(own or []), *near(name, known)][:5]))


def _uses(pod: Object, claim: str) -> bool:
    volumes = at(pod, "spec", "volumes") or ()
    return any(at(volume, "persistentVolumeClaim", "claimName") == claim for volume in volumes)
