"""What was rolled out of a workload: its ReplicaSets, or its ControllerRevisions, the newest first."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from tools.base import SourceFailure
from tools.live.kubernetes.api import MAX_ITEMS
from tools.live.kubernetes.objects import Object, age, at, each, name_of, one
from tools.live.kubernetes.pods import aligned
from tools.live.kubernetes.reading import Reading
from tools.live.kubernetes.workloads import label_selector
from tools.live.reading import moment
from tools.vocabulary import SourceError

MAX_ROLLOUTS = 10
_REVISION = "deployment.kubernetes.io/revision"
_CAUSE = "kubernetes.io/change-cause"


async def rollout_lines(reading: Reading, kind: str, namespace: str | None, workload: Object) -> list[str]:
    """Return the table `Rollouts` of a workload's description, with the ReplicaSets that it speaks of; empty for kinds
    that have no revisions. Raises SourceFailure where they can't be listed, or are too many to know the newest."""
    if kind not in ("deployments", "statefulsets", "daemonsets"):
        return []
    recorded, labels = "controllerrevisions", None
    if kind == "deployments":
        # A namespace holds ten ReplicaSets of each Deployment: those of all are soon more than are read.
        recorded, labels = "replicasets", label_selector(at(workload, "spec", "selector"))
    listed = await reading.objects(recorded, namespace, labels=labels, most=MAX_ITEMS)
    if listed.cut:
        raise SourceFailure(SourceError.ANSWER_TOO_LARGE)
    own = [found for found in listed.items if _is_owned(found, workload)]
    own.sort(key=_revision, reverse=True)
    rows = [_row(found, reading.api.now) for found in own[:MAX_ROLLOUTS]]
    if not rows:
        return []
    heads = ["Revision", "Name", "Age", "At", "Desired", "Ready", "Images"]
    newest = [f"NewReplicaSet:   {name_of(own[0])}"] if kind == "deployments" else []
    return [*newest, "Rollouts:", *aligned([heads, *rows])]


def _is_owned(found: Object, workload: Object) -> bool:
    uid = at(workload, "metadata", "uid")
    return any(uid and owner.get("uid") == uid for owner in each(found, "metadata", "ownerReferences"))


def _revision(found: Object) -> int:
    said = found.get("revision") or at(found, "metadata", "annotations", _REVISION)
    return int(said) if str(said).isdigit() else 0


def _row(found: Object, now: datetime) -> list[str]:
    made = moment(at(found, "metadata", "creationTimestamp"))
    spec = found.get("spec") or at(found, "data", "spec") or {}
    images = [*_images(spec), *_cause(found)]
    amounts = [at(found, "spec", "replicas"), at(found, "status", "readyReplicas") or (0 if "spec" in found else None)]
    return [
        str(_revision(found)),
        name_of(found),
        age(made, now),
        made.strftime("%Y-%m-%dT%H:%M:%SZ") if made else "-",
        *("-" if amount is None else one(amount) for amount in amounts),
        ",".join(images) or "-",
    ]


def _images(spec: Mapping[str, object]) -> Iterator[str]:
    for container in each(spec, "template", "spec", "containers"):
        yield one(container.get("image"))


def _cause(found: Object) -> Iterator[str]:
    said = at(found, "metadata", "annotations", _CAUSE)
    if said:
        yield f"(cause: {one(said, 120)})"
