"""A cluster as the tools ask it: frozen in a file now, alive behind the same questions later."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

from tools.cluster.kinds import workload_of
from tools.vocabulary import SourceError

Raw: TypeAlias = str | dict[str, Any] | list[Any]
"""What the cluster's own client answers: a table, a description, a manifest, or JSON. A table may come as its rows,
each by the names of its columns (`tools.cluster.tables.column_name`)."""


@dataclass(frozen=True)
class Told:
    """An answer with remarks on it. `notes` are codes, as in `Evidence.notes`; `cut`: there was more than was read.

    `missing`: why a part of the answer couldn't be had; such an answer proves no absence. `namespace`: where it was
    found, where that isn't where it was looked for first; `name`: of which object, where it was asked for by another.
    """

    raw: Raw
    notes: tuple[str, ...] = ()
    cut: bool = False
    missing: SourceError | None = None
    namespace: str | None = None
    name: str | None = None


Answer: TypeAlias = Raw | Told


@dataclass(frozen=True)
class Absent:
    """The object that was asked for by its name isn't there, in a place that is known. `near`: names that are."""

    kind: str
    name: str
    near: tuple[str, ...] = ()


class ClusterState(ABC):
    """The read-only questions that the cluster's tools ask.

    Kinds are canonical plurals (`tools.cluster.kinds`), `namespace` None for kinds that lie in none. Every question
    raises SourceFailure where it can't be answered: UNKNOWN_SELECTOR for a name that the cluster has never known,
    QUERY_REJECTED or SOURCE_MISSING where it holds no answer. An empty answer is a blank text or an empty collection.
    """

    namespace: str
    """The namespace of questions that name none."""

    @abstractmethod
    def names(self, kind: str, namespace: str | None) -> tuple[str, ...]:
        """Return the names of the objects of a kind, as far as they are known without asking."""

    @abstractmethod
    def apps(self) -> tuple[str, ...]:
        """Return the names of the applications, as far as they are known without asking."""

    def app_named(self, spoken: str) -> str:
        """Return the application that a name stands for: itself, or the known one that a pod's name speaks of."""
        known = self.apps()
        workloads = (spoken, workload_of(spoken, "pods"), workload_of(spoken, "replicasets"))
        return next((one for one in workloads if one in known), spoken)

    @abstractmethod
    async def table(self, kind: str, namespace: str | None, name: str | None, selector: str | None) -> Answer | Absent:
        """Return the table of a kind, of one object, or of those that a label selector takes.

        It has all columns that can be had, the wide ones and the labels: how a list is displayed makes no new question,
        so whoever asked for less couldn't come back for the rest.
        """

    @abstractmethod
    async def description(self, kind: str, namespace: str | None, name: str) -> Answer | Absent:
        """Return the long description of one object with its events."""

    @abstractmethod
    async def manifest(self, app: str) -> Answer:
        """Return what was applied for an application: a YAML stream."""

    @abstractmethod
    async def dependencies(self, service: str) -> Answer:
        """Return who calls a service and whom it calls."""

    @abstractmethod
    async def connectivity(self, namespace: str, service: str, port: int) -> Answer:
        """Return the report of a TCP probe of a service's port."""

    @abstractmethod
    async def alerts(self) -> Answer:
        """Return the open alerts of the cluster."""

    @abstractmethod
    async def recent_logs(self, namespace: str, service: str) -> Answer:
        """Return the newest log lines of a service, oldest first."""

    @abstractmethod
    async def error_logs(self, namespace: str, service: str) -> Answer:
        """Return the patterns of a service's error lines with counts and samples."""

    @abstractmethod
    async def configuration(self) -> Answer:
        """Return all nodes with status, taints, labels, conditions and allocatable resources."""

    @abstractmethod
    async def node_service(self, node: str, component: str) -> Answer:
        """Return the state of a component (`kubelet`, `containerd`, …) on a node, with its newest log lines."""
