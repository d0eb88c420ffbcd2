"""The state of an API server from recorded answers of `kubectl`: its tables, what was applied, and its nodes.

The recording's form is told at `tools/cluster/frozen.py`; it is read here on its own. Rows are served as they were
printed; the objects behind them hold what the recorded manifests say.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import yaml

from tests.live.servers.kubernetes import ClusterStore, Object
from tests.live.servers.kubernetes_tables import NOW

KINDS = ("pods", "services", "deployments", "replicasets", "endpoints", "persistentvolumeclaims", "persistentvolumes")
_PLURAL = {
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "Service": "services",
    "ConfigMap": "configmaps",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "PersistentVolume": "persistentvolumes",
}
_EVENT = re.compile(
    r"(?P<age>\d+[smh]\S*)\s+(?P<type>Normal|Warning)\s+(?P<reason>\w+)\s+(?P<about>\S+/\S+)\s+(?P<message>.*)"
)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def recorded_store(answers: Mapping[str, Any], namespace: str) -> ClusterStore:
    """Return what an API server would hold of recorded answers."""
    store = ClusterStore()
    store.add("namespaces", {"metadata": {"name": namespace}})
    held: dict[tuple[str, str], Object] = {}
    for kind, document in _applied(answers):
        place = {} if kind == "persistentvolumes" else {"namespace": namespace}
        name = document["metadata"]["name"]
        held[kind, name] = {
            **document,
            "metadata": {"name": name, "labels": document["metadata"].get("labels"), **place},
        }
    for kind in KINDS:
        for row, labels in _rows(answers, kind, namespace):
            name = row.pop("NAME")
            told = held.setdefault((kind, name), {"metadata": {"name": name}})
            place = {} if kind == "persistentvolumes" else {"namespace": namespace}
            told["metadata"] = {"name": name, "labels": labels, **place}
            told["row"] = [(heading, value, 0) for heading, value in row.items()]
    for (kind, _), found in held.items():
        if "row" in found or kind == "configmaps":
            store.add(kind, found)
    store.add("nodes", *(_node(node) for node in answers["GetClusterConfiguration:{}"]["nodes"]))
    store.add("events", *_events(answers, namespace))
    return store


def _answer(answers: Mapping[str, Any], kind: str, namespace: str, **view: bool) -> str:
    key = {"resource_type": kind, "name": "", "namespace": namespace, **view}
    return str(answers.get(f"GetResources:{json.dumps(key, separators=(',', ':'))}") or "")


def _rows(answers: Mapping[str, Any], kind: str, namespace: str) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Yield the rows of a recorded table by their headings, each with its labels."""
    labelled = {
        row["NAME"]: row.get("LABELS", "") for row in _table(_answer(answers, kind, namespace, show_labels=True))
    }
    for row in _table(_answer(answers, kind, namespace, output_wide=True) or _answer(answers, kind, namespace)):
        pairs = [pair.partition("=") for pair in labelled.get(row["NAME"], "").split(",") if "=" in pair]
        yield row, {key: value for key, _, value in pairs}


def _table(text: str) -> Iterator[dict[str, str]]:
    lines = text.splitlines()
    if not lines or not lines[0].startswith("NAME"):
        return
    heads = [(found[0], found.start()) for found in re.finditer(r"\S+(?: \S+)*", lines[0])]
    ends = [start for _, start in heads[1:]] + [10_000]
    for line in filter(str.strip, lines[1:]):
        yield {head: line[start:end].strip() for (head, start), end in zip(heads, ends, strict=True)}


def _applied(answers: Mapping[str, Any]) -> Iterator[tuple[str, Object]]:
    for key, text in answers.items():
        if not key.startswith("GetAppYAML:") or not isinstance(text, str):
            continue
        try:
            documents = list(yaml.safe_load_all(text))
        except yaml.YAMLError:
            continue
        for document in documents:
            if isinstance(document, dict) and document.get("kind") in _PLURAL:
                yield _PLURAL[document["kind"]], document


def _node(told: Object) -> Object:
    ready, _, cordoned = told["status"].partition(",")
    conditions = [{"type": key, "status": value} for key, value in told["conditions"].items()]
    taints = []
    for text in told["taints"]:
        pair, _, effect = text.rpartition(":")
        key, _, value = pair.partition("=")
        taints.append({"key": key, "effect": effect, **({"value": value} if value else {})})
    return {
        "metadata": {"name": told["name"], "labels": told["labels"]},
        "spec": {"taints": taints, **({"unschedulable": True} if cordoned else {})},
        "status": {
            "conditions": [
                *conditions,
                {"type": "Ready", "status": {"Ready": "True", "NotReady": "False"}.get(ready, "Unknown")},
            ],
            "allocatable": told["allocatable_resources"],
            "nodeInfo": {"kubeletVersion": "", "containerRuntimeVersion": ""},
        },
    }


def _events(answers: Mapping[str, Any], namespace: str) -> Iterator[Object]:
    for number, line in enumerate(_answer(answers, "events", namespace).splitlines()):
        found = _EVENT.match(line)
        if found is None:
            continue
        sort, _, name = found["about"].partition("/")
        seconds = sum(int(amount) * _SECONDS[unit] for amount, unit in re.findall(r"(\d+)([smhd])", found["age"]))
        at = (NOW - timedelta(seconds=seconds)).isoformat()
        yield {
            "metadata": {"name": f"event-{number}", "namespace": namespace},
            "involvedObject": {"kind": sort.capitalize(), "name": name},
            "lastTimestamp": at,
            **{key: found[key].strip() for key in ("type", "reason", "message")},
        }
