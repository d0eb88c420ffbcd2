"""What was applied for an application: its workloads, the services that lead to it, its claims and configuration."""

import asyncio
from collections.abc import Iterator
from typing import Any

import yaml

from tools.cluster.state import Told
from tools.live.kubernetes.details import MAX_CONFIG_LINES
from tools.live.kubernetes.objects import Object, at, each, name_of, one, selects
from tools.live.kubernetes.pods import masked
from tools.live.kubernetes.reading import Reading, gathered
from tools.live.kubernetes.workloads import Workload, app_in
from tools.masking import mask_field

MAX_CONFIG_MAPS = 4
MAX_CLAIMS = 6
_METADATA = ("name", "namespace", "labels")
_KIND = {"deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet", "jobs": "Job"}


async def manifest_of(reading: Reading, app: str) -> Told:
    """Return the YAML stream of an application, and in which allowed namespace it was found.

    Secrets aren't asked for; the value of a variable whose name speaks of one is masked. Raises SourceFailure.
    """
    place, named, service = await app_in(reading, app)
    held = named.workloads
    labels = [at(workload.object, "spec", "template", "metadata", "labels") for workload in held]
    specs = [at(workload.object, "spec", "template", "spec") for workload in held]
    services = reading.objects("services", place)
    claims = _each_of(reading, "persistentvolumeclaims", place, _claims(specs)[:MAX_CLAIMS])
    configs = _each_of(reading, "configmaps", place, config_names(specs)[:MAX_CONFIG_MAPS])
    parts = await gathered({"services": _listed(services), "claims": claims, "configmaps": configs}, needed=False)
    documents = [_workload(workload) for workload in held]
    found: list[tuple[str, Object]] = [pair for part in parts.found for pair in part]
    for kind, document in found:
        leads = (
            kind != "Service"
            or name_of(document) == app
            or any(selects(at(document, "spec", "selector"), item) for item in labels)
        )
        if leads:
            documents.append(_document(kind, document))
    if service is not None and not any(name_of(item) == app and item["kind"] == "Service" for item in documents):
        documents.append(_document("Service", service))
    documents += [_document("PersistentVolume", volume) for volume in await _volumes(reading, found)]
    text = yaml.safe_dump_all(documents, sort_keys=False, width=10_000, allow_unicode=True)
    return Told(text, notes=parts.notes, missing=parts.missing or named.missing, namespace=place)


async def _listed(services: Any) -> list[tuple[str, Object]]:
    return [("Service", item) for item in (await services).items]


async def _each_of(reading: Reading, kind: str, place: str, names: list[str]) -> list[tuple[str, Object]]:
    found = await asyncio.gather(*(reading.object(kind, place, name) for name in names))
    singular = {"persistentvolumeclaims": "PersistentVolumeClaim", "configmaps": "ConfigMap"}[kind]
    return [(singular, item) for item in found if item is not None]


async def _volumes(reading: Reading, found: list[tuple[str, Object]]) -> list[Object]:
    """Return the volumes that claims name; none where volumes may not be read: they're no part of what was applied."""
    names = [str(name) for kind, item in found if kind.endswith("Claim") and (name := at(item, "spec", "volumeName"))]
    asked = await gathered({name: reading.object("persistentvolumes", None, name) for name in names}, needed=False)
    return [item for item in asked.found if item is not None]


def _claims(specs: list[Any]) -> list[str]:
    volumes = (volume for spec in specs for volume in each(spec, "volumes"))
    return list(
        dict.fromkeys(str(name) for item in volumes if (name := at(item, "persistentVolumeClaim", "claimName")))
    )


def config_names(specs: list[Any]) -> list[str]:
    """Return the names of the config maps that pod specs refer to."""
    return list(dict.fromkeys(name for spec in specs for name in _config_names(spec)))


def _config_names(spec: Any) -> Iterator[str]:
    for volume in each(spec, "volumes"):
        yield from filter(None, [at(volume, "configMap", "name")])
    for key in ("containers", "initContainers"):
        for container in each(spec, key):
            yield from filter(None, (at(source, "configMapRef", "name") for source in each(container, "envFrom")))
            entries = each(container, "env")
            yield from filter(None, (at(entry, "valueFrom", "configMapKeyRef", "name") for entry in entries))


def _document(kind: str, found: Object) -> dict[str, Any]:
    document = {"apiVersion": found.get("apiVersion") or "v1", "kind": kind, **_pruned(found)}
    if kind == "ConfigMap":
        document["data"] = {str(key): _short(str(key), value) for key, value in (at(found, "data") or {}).items()}
    return document


def _short(key: str, value: Any) -> str:
    rows = mask_field(key, str(value)).splitlines()
    return "\n".join(one(row, 200) if len(rows) == 1 else row[:200] for row in rows[:MAX_CONFIG_LINES])


def _workload(workload: Workload) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": _KIND[workload.kind], **_pruned(workload.object)}


def _pruned(found: Object) -> dict[str, Any]:
    """Return an object without what the server added; variables' values masked by their names."""
    metadata = {key: value for key in _METADATA if (value := at(found, "metadata", key))}
    return {"metadata": metadata, "spec": masked(found.get("spec") or {})}
