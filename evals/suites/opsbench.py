"""Cloud-OpsBench: Kubernetes clusters frozen at the moment of a failure, with the answers of ten diagnostic tools.

Any checkout or excerpt of that benchmark's layout is taken: `<system>/<category>/<case>/metadata.json` beside
`tool_cache.json`, wherever below the directory. `metadata.json` and the expert paths are read here and by nothing else;
a target sees the namespace, the query and the vocabulary of causes. The scores are that benchmark's: a right answer has
taxonomy, object and root cause right; coverage and relevance are recall and precision of the questions against the
expert path that fits them best.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.cases import (
    ANSWERABLE,
    CONFIDENCE,
    CORRECT,
    RELEASED,
    SUFFICED_AFTER,
    Attempt,
    Case,
    DataAbsent,
    Locale,
    Score,
    ToolCall,
    Value,
)
from evals.data import benchmark_dir, digest_of, spread
from evals.suites.rootcausebench import confidence
from tools.base import EvidenceTool
from tools.cluster import FrozenCluster, cluster_tools
from tools.cluster.kinds import canonical_kind, workload_of

NAME = "cloud-opsbench"
TRUTH = "metadata.json"
CACHE = "tool_cache.json"
VOCABULARY = "candidates.json"
ANSWERS = 3
"""How many answers count for A@3: the conclusion and two alternatives."""
INVALID = frozenset(("ERROR", "INVALID_TOOL_ARGUMENTS", "UNSUPPORTED_TOOL"))

_OF_OBJECTS = ("GetResources", "DescribeResource")
_CALLING = re.compile(r"(\w+): (?:'([^']*)'|([^,}]+))")


class OpsBench:
    """The suite over the cases below a directory."""

    name = NAME

    def __init__(self, data: Path | None) -> None:
        self._data = data

    def cases(self, *, seed: int, limit: int | None) -> Iterable[Case]:
        """Yield the cases in order of their places. Raises DataAbsent."""
        root = benchmark_dir(self._data, NAME)
        found = sorted(path.parent for path in root.rglob(TRUTH) if (path.parent / CACHE).is_file())
        if not found:
            raise DataAbsent(f"no data for {NAME}: no directory below {root} holds a {TRUTH} and a {CACHE}")
        vocabulary = read_vocabulary(root, found)
        for directory in spread(found, limit):
            yield _case(directory, root, vocabulary)

    def tools(self, case: Case) -> Sequence[EvidenceTool]:
        """Return the ten tools over the case's frozen cluster."""
        return cluster_tools(FrozenCluster.load(Path(case.source["directory"]), namespace=case.source["namespace"]))

    def score(self, case: Case, attempt: Attempt) -> Score:
        """Return the benchmark's scores and the frame's."""
        answers = answers_of(attempt.conclusion)[:ANSWERS]
        right = [is_right(answer, case.expected, case.source["vocabulary"]) for answer in answers]
        paths = [[step_of(text) for text in path] for path in case.expected["paths"]]
        asked = [asked_step(call) for call in attempt.calls]
        walked = fit(asked, paths)
        values: dict[str, Value] = {
            RELEASED: bool(answers),
            CORRECT: bool(right) and right[0],
            ANSWERABLE: True,
            CONFIDENCE: confidence(attempt.release or {}),
            SUFFICED_AFTER: sufficed_after(attempt.executed, paths),
            "a_at_1": bool(right) and right[0],
            "a_at_3": any(right),
            "tcr": bool(answers),
            "steps": float(len(attempt.calls)),
            "rar": redundant_rate(attempt.calls),
            "iac": float(sum(call.status in INVALID for call in attempt.calls) + (not answers)),
            "coverage": walked.coverage,
            "relevance": walked.relevance,
            "in_order": walked.in_order,
            "any_order": walked.any_order,
        }
        return Score(values=values)


def read_vocabulary(root: Path, directories: Iterable[Path]) -> dict[str, Any]:
    """Return the causes that may be answered, each with the taxonomies and kinds of objects that it may have.

    From `candidates.json` where there is one, else from all labels of all cases below `root` together.
    """
    kept = root / VOCABULARY
    if kept.is_file():
        given: dict[str, Any] = json.loads(kept.read_text("utf-8"))
        return given
    found: dict[str, list[dict[str, str]]] = {}
    for directory in directories:
        result = json.loads((directory / TRUTH).read_text("utf-8")).get("result") or {}
        kind = str(result.get("fault_object") or "").partition("/")[0]
        entry = {"fault_taxonomy": str(result.get("fault_taxonomy") or ""), "object_kind": kind}
        entries = found.setdefault(str(result.get("root_cause") or ""), [])
        if entry not in entries:
            entries.append(entry)
    return dict(sorted(found.items()))


def _case(directory: Path, root: Path, vocabulary: Mapping[str, Any]) -> Case:
    truth = json.loads((directory / TRUTH).read_text("utf-8"))
    result, query = truth["result"], str(truth["query"])
    place = directory.relative_to(root).as_posix()
    locale: Locale = "en" if query.isascii() else "zh"
    return Case(
        suite=NAME,
        case_id=place,
        cluster=place,
        query=query,
        incident={"namespace": truth["namespace"], "vocabulary": dict(vocabulary)},
        locale=locale,
        fault=result["root_cause"],
        source={"directory": str(directory), "namespace": truth["namespace"], "vocabulary": dict(vocabulary)},
        source_digest=digest_of([path for path in directory.rglob("*") if path.is_file()], directory),
        expected={**result, "paths": _expert_paths(directory, truth)},
    )


def _expert_paths(directory: Path, truth: Mapping[str, Any]) -> list[list[str]]:
    """Return the experts' questions, `Tool::argument::…` each: as the metadata gives them, else from the traces."""
    process = truth.get("process") or {}
    if process:
        return [list(path) for path in process.values()]
    traces = [json.loads(path.read_text("utf-8")) for path in sorted(directory.glob("expert_path*.json"))]
    return [[_spoken(step) for step in trace.get("diagnostic_trace") or ()] for trace in traces]


def _spoken(step: Mapping[str, Any]) -> str:
    arguments = {name: one or other.strip() for name, one, other in _CALLING.findall(str(step.get("calling")))}
    step_ = _step(str(step.get("tool_name")), arguments)
    return "::".join((step_.tool, *step_.about))


@dataclass(frozen=True)
class Step:
    """A question as the benchmark compares it: the tool and what was asked of, a generated name as its application."""

    tool: str
    about: tuple[str, ...]

    def same(self, other: "Step") -> bool:
        """Return whether two steps ask the same. `cart-pvc`, an object of an application, is `cart`'s."""
        if self.tool != other.tool or len(self.about) != len(other.about):
            return False
        return all(
            one == two or one.startswith(f"{two}-") or two.startswith(f"{one}-")
            for one, two in zip(self.about, other.about, strict=True)
        )


def step_of(text: str) -> Step:
    """Return the step that an expert path names: `DescribeResource::pods::cart`, `GetAlerts::`."""
    tool, *about = text.split("::")
    given = [part for part in about if part]
    if tool in _OF_OBJECTS and given:
        given[0] = canonical_kind(given[0])
    return Step(tool, tuple(given[:1] if tool == "GetResources" else given))


_ORDER = {
    "GetAppYAML": ("app_name",),
    "CheckServiceConnectivity": ("service_name", "port"),
    "CheckNodeServiceStatus": ("node_name", "service_name"),
    "GetClusterConfiguration": (),
    "GetAlerts": (),
}


def asked_step(call: ToolCall) -> Step:
    """Return the step of a tool request, by its scope where it got one, else by its arguments."""
    return _step(call.tool_name, call.scope or call.arguments)


def _step(tool: str, arguments: Mapping[str, Any]) -> Step:
    if tool in _OF_OBJECTS:
        kind = canonical_kind(str(arguments.get("resource_type") or ""))
        name = workload_of(str(arguments.get("name") or ""), kind)
        return Step(tool, (kind, name) if tool == "DescribeResource" else (kind,))
    names = _ORDER.get(tool, ("service_name",))
    return Step(tool, tuple(str(arguments.get(name) or "") for name in names))


@dataclass(frozen=True)
class Fit:
    """How the questions of a run fit an expert path: recall, precision, and whether all of it was walked."""

    coverage: float = 0.0
    relevance: float = 0.0
    in_order: bool = False
    any_order: bool = False


def fit(asked: Sequence[Step], paths: Iterable[Sequence[Step]]) -> Fit:
    """Return the fit to the path of best F1; among equals to one that was walked in its order."""
    fits = [_fit(asked, path) for path in paths if path]
    if not asked or not fits:
        return Fit()
    return max(fits, key=lambda one: (_f1(one), one.in_order))


def _fit(asked: Sequence[Step], path: Sequence[Step]) -> Fit:
    wanted, made = list(dict.fromkeys(path)), list(dict.fromkeys(asked))
    covered = sum(any(step.same(one) for one in made) for step in wanted)
    relevant = sum(any(one.same(step) for step in wanted) for one in made)
    rest = iter(asked)
    in_order = all(any(step.same(one) for one in rest) for step in path)
    return Fit(
        coverage=covered / len(wanted),
        relevance=relevant / len(made) if made else 0.0,
        in_order=in_order,
        any_order=covered == len(wanted),
    )


def _f1(one: Fit) -> float:
    total = one.coverage + one.relevance
    return 2 * one.coverage * one.relevance / total if total else 0.0


def redundant_rate(calls: Sequence[ToolCall]) -> float:
    """Return the share of requests that repeat an earlier one: the same tool and scope, where there is none the same
    arguments; 0 where there are no requests."""
    keys = Counter(
        f"{call.tool_name}:{json.dumps(call.scope if call.scope is not None else call.arguments, sort_keys=True)}"
        for call in calls
    )
    return sum(count - 1 for count in keys.values()) / len(calls) if calls else 0.0


def sufficed_after(calls: Sequence[ToolCall], paths: Iterable[Sequence[Step]]) -> int | None:
    """Return after how many calls an expert's closing question had been answered; None where it never was."""
    closing = [path[-1] for path in paths if path]
    answered = (
        number
        for number, call in enumerate(calls, 1)
        if call.status == "READY" and any(asked_step(call).same(step) for step in closing)
    )
    return next(answered, None)


def answers_of(conclusion: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return (cause, component) of a published conclusion, then of its alternatives."""
    if conclusion is None:
        return []
    others = [one for one in conclusion.get("alternatives") or () if isinstance(one, Mapping)]
    return [(str(one.get("cause") or ""), str(one.get("component") or "")) for one in (conclusion, *others)]


def is_right(answer: tuple[str, str], truth: Mapping[str, Any], vocabulary: Mapping[str, Any]) -> bool:
    """Return whether taxonomy, object and root cause of an answer are right.

    Taxonomy and kind of object follow from the cause by the vocabulary, unless the component names its own kind
    (`node/worker-1`). A cause may be written with blanks or hyphens.
    """
    cause = re.sub(r"[\s_-]+", "_", answer[0].strip().casefold())
    kind, _, name = answer[1].strip().casefold().rpartition("/")
    entries = [entry for entry in vocabulary.get(cause) or () if not kind or entry["object_kind"] == kind]
    objects = {f"{entry['object_kind']}/{name}" for entry in entries}
    taxonomies = {str(entry["fault_taxonomy"]).casefold() for entry in entries}
    return (
        cause == str(truth["root_cause"]).casefold()
        and str(truth["fault_object"]).casefold() in objects
        and str(truth["fault_taxonomy"]).casefold() in taxonomies
    )


def make_suite(data: Path | None) -> OpsBench:
    """Return the suite over `data`."""
    return OpsBench(data)
