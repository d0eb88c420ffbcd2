"""Expert replay: what experts asked, asked again through the gate by a model that calls each non-empty answer a gain.

An expert never asks for nothing, so a stop before the last step of a path is the contract's mistake, not the expert's.
Whether two questions are the same is told here from the experts' own spelling and from what they were answered, apart
from the tools' normalization. Budgets are out of the way: how many paths are longer than the defaults is a score apart.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from typing_extensions import override

from evals.cases import CORRECT, Attempt, Case, DataAbsent, Result, Score, ToolCall
from evals.data import benchmark_dir, digest_of, spread
from evals.suites.behaviour.persona import Heard, Persona, request
from evals.targets import ZHIZHI
from evals.targets.zhizhi import Zhizhi
from graph.contract.vocabulary import InvocationStatus, RejectionCode, TraceEventType
from graph.models.registry import GivenModels
from graph.settings import BudgetSettings, HarnessSettings, load_settings
from tools.cluster import FrozenCluster, cluster_tools

NAME = "expert-replay"
DATA = "cloud-opsbench"
AMPLE = 1_000
NO_CONCLUSION = '{"conclusion": null}'
STOPS = frozenset({RejectionCode.STOP_REQUIRED, RejectionCode.CONTROLLED_STOP, RejectionCode.BUDGET_LIMIT_REACHED})
DISPLAY = frozenset({"show_labels", "output_wide", "output_yaml", "output", "lines"})
"""Arguments that change how an answer looks, not what was asked."""
BLANK = frozenset({"", '""', "[]", "{}"})
"""An expert's record of an answer without anything in it."""

_CALLING = re.compile(r"tool_name='(?P<tool>\w+)' arguments=\{(?P<arguments>.*)\}", re.DOTALL)
_ARGUMENT = re.compile(r"(\w+): ('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|None|True|False|-?\d+)(?:, |$)")
_LITERALS = {"None": None, "True": True, "False": False}
_KINDS = {
    "po": "pod", "svc": "service", "deploy": "deployment", "ep": "endpoint", "no": "node", "ns": "namespace",
    "pvc": "persistentvolumeclaim", "pv": "persistentvolume", "rs": "replicaset", "ds": "daemonset",
    "sts": "statefulset", "ev": "event", "cm": "configmap", "sa": "serviceaccount", "quota": "resourcequota",
    "netpol": "networkpolicy", "sc": "storageclass", "ing": "ingress", "hpa": "horizontalpodautoscaler",
}  # fmt: skip


class UnreadablePath(ValueError):
    """An expert path isn't of the known layout."""


@dataclass(frozen=True)
class Step:
    """One question of an expert, and what the expert was answered."""

    tool: str
    arguments: Mapping[str, Any]
    output: str

    @property
    def question(self) -> tuple[str, ...]:
        """What tells questions apart: display options, defaults and the spelling of a kind don't."""
        told = {key: _plain(key, value) for key, value in self.arguments.items() if key not in DISPLAY}
        return (self.tool, *(f"{key}={value}" for key, value in sorted(told.items()) if value))


def _plain(key: str, value: Any) -> str:
    text = "" if value in (None, False) else str(value).strip().casefold()
    if key == "namespace" and text == "default":
        return ""
    if key != "resource_type":
        return text
    return _KINDS.get(text) or _KINDS.get(text.removesuffix("s")) or text.removesuffix("s")


class Expert(Persona):
    """Plays a path: its next question, every observation a gain; when it's told to stop or through, no conclusion."""

    path: tuple[Step, ...]

    @override
    def say(self, heard: Heard) -> AIMessage:
        if heard.told_to_stop or heard.asked >= len(self.path):
            return AIMessage(NO_CONCLUSION)
        step = self.path[heard.asked]
        return request(heard, (step.tool, step.arguments))


class ExpertReplay:
    """The suite over every `expert_path*.json` of the benchmark."""

    name = NAME

    def __init__(self, data: Path | None) -> None:
        self._data = data

    async def run(self, *, seed: int, limit: int | None, models: GivenModels | None) -> AsyncIterator[Result]:
        """Yield one result a path. The experts are the models: `models`, `seed` change nothing. Raises DataAbsent."""
        root = benchmark_dir(self._data, DATA)
        paths = sorted(root.glob("**/expert_path*.json"))
        if not paths:
            raise DataAbsent(f"no data for {NAME}: no expert_path*.json below {root}")
        settings = load_settings()
        for path in spread(paths, limit):
            yield await _replayed(path, root, settings)


async def _replayed(path: Path, root: Path, settings: HarnessSettings) -> Result:
    case = _case(path, root)
    try:
        steps = read_path(path)
    except UnreadablePath:
        return Result(case=case, target=ZHIZHI, attempt=Attempt(failure="EXPERT_PATH_UNREADABLE"))
    namespace = case.source["namespace"]
    tools = cluster_tools(FrozenCluster.load(path.parent, namespace=namespace))
    zhizhi = Zhizhi(ZHIZHI, Expert(path=steps), _ample(settings))
    attempt = await zhizhi.attempt(case.asked(), tools)
    if attempt.failure is not None:
        return Result(case=case, target=ZHIZHI, attempt=attempt)
    score = score_replay(steps, attempt, settings)
    explained = attempt.model_copy(update={"trace": (*attempt.trace, *_explained(steps, attempt))})
    return Result(case=case, target=ZHIZHI, attempt=explained, score=score)


def _case(path: Path, root: Path) -> Case:
    metadata = json.loads((path.parent / "metadata.json").read_text(encoding="utf-8"))
    where = path.relative_to(root)
    return Case(
        suite=NAME,
        case_id=where.with_suffix("").as_posix(),
        cluster=where.parent.as_posix(),
        query=metadata["query"],
        incident={"summary": metadata["query"]},
        locale="en",
        fault=metadata["result"]["root_cause"],
        source={"namespace": metadata["namespace"]},
        source_digest=digest_of([path, path.parent / "tool_cache.json"], path.parent),
    )


def _ample(settings: HarnessSettings) -> HarnessSettings:
    ample = BudgetSettings(
        max_model_calls=AMPLE,
        max_tool_calls=AMPLE,
        max_tool_requests=AMPLE,
        max_tokens=AMPLE**3,
        max_observation_bytes=AMPLE**3,
        max_seconds=settings.budget.max_seconds,
    )
    return settings.model_copy(update={"budget": ample})


def read_path(path: Path) -> tuple[Step, ...]:
    """Return the steps of an expert path. Raises UnreadablePath."""
    try:
        trace = json.loads(path.read_text(encoding="utf-8"))["diagnostic_trace"]
        return tuple(_step(entry["calling"], entry["output"]) for entry in trace)
    except (ValueError, LookupError, TypeError) as error:
        raise UnreadablePath(path.name) from error


def _step(calling: str, output: Any) -> Step:
    found = _CALLING.fullmatch(calling)
    if found is None:
        raise UnreadablePath(calling)
    text, end = found["arguments"], 0
    arguments: dict[str, Any] = {}
    while end < len(text):
        argument = _ARGUMENT.match(text, end)
        if argument is None:
            raise UnreadablePath(calling)
        arguments[argument[1]] = _literal(argument[2])
        end = argument.end()
    return Step(found["tool"], arguments, output if isinstance(output, str) else json.dumps(output, sort_keys=True))


def _literal(text: str) -> Any:
    if text in _LITERALS:
        return _LITERALS[text]
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "'\"" else int(text)


def score_replay(steps: Sequence[Step], attempt: Attempt, settings: HarnessSettings) -> Score:
    """Return how a replay went. Step n is the attempt's call n: each message holds one call."""
    calls = attempt.calls[: len(steps)]
    stopped = is_stopped(steps, attempt)
    wrong = sum(_is_refused(call) and not _asked_before(steps, n) for n, call in enumerate(calls))
    missed = sum(
        call.status == InvocationStatus.READY and _answered_before(steps, calls, n) for n, call in enumerate(calls)
    )
    unanswered = sum(call.status == InvocationStatus.ERROR for call in calls)
    rejected = sum(not call.executed and not _is_refused(call) and call.status not in STOPS for call in calls)
    budget = settings.budget
    return Score(
        values={
            CORRECT: not stopped and not wrong and not missed,
            "stopped_early": stopped,
            "stopped_unexplained": stopped and not is_explained(steps, attempt, settings),
            "wrongly_refused": float(wrong),
            "repeats_missed": float(missed),
            "repeats_refused": float(sum(map(_is_refused, calls)) - wrong),
            "steps": float(len(steps)),
            "empty_answers": float(sum(call.evidence_status == "NO_EVIDENCE" for call in calls)),
            "unanswered": float(unanswered),
            "otherwise_rejected": float(rejected),
            "beyond_default_budget": len(steps) > min(budget.max_tool_calls, budget.max_model_calls),
        }
    )


def is_stopped(steps: Sequence[Step], attempt: Attempt) -> bool:
    """Whether the path was stopped before its last step had been judged on its own merits."""
    return sum(call.status not in STOPS for call in attempt.calls) < len(steps)


def is_explained(steps: Sequence[Step], attempt: Attempt, settings: HarnessSettings) -> bool:
    """Whether as many steps as saturate a collection brought the expert nothing right before the stop, by the expert's
    own record: repeats, or blank answers."""
    judged = sum(call.status not in STOPS for call in attempt.calls)
    last = range(judged - settings.chat.stop_after_consecutive_no_gain, judged)
    return all(n >= 0 and (_asked_before(steps, n) or steps[n].output.strip() in BLANK) for n in last)


def _is_refused(call: ToolCall) -> bool:
    return call.status == RejectionCode.DUPLICATE_SCOPE


def _asked_before(steps: Sequence[Step], n: int) -> bool:
    """Whether an earlier step asked the same, or of the same tool something that was answered the same."""
    return any(
        earlier.question == steps[n].question or (earlier.tool, earlier.output) == (steps[n].tool, steps[n].output)
        for earlier in steps[:n]
    )


def _answered_before(steps: Sequence[Step], calls: Sequence[ToolCall], n: int) -> bool:
    ready = (step for step, call in zip(steps[:n], calls, strict=False) if call.status == InvocationStatus.READY)
    return any(earlier.question == steps[n].question for earlier in ready)


def _explained(steps: Sequence[Step], attempt: Attempt) -> list[dict[str, Any]]:
    """Say of a path that was stopped where, why, and what its last answers were."""
    if not is_stopped(steps, attempt):
        return []
    reasons = [event for event in attempt.trace if event["type"] == TraceEventType.STOP_REASON_SET]
    played = [f"{call.tool_name}:{call.evidence_status or call.status}" for call in attempt.calls]
    reason = reasons[0].get("stop_reason") if reasons else None
    return [{"type": "REPLAY_STOPPED", "at_step": len(played), "of": len(steps), "reason": reason, "calls": played}]


def make_suite(data: Path | None) -> ExpertReplay:
    """Return the suite over `data`."""
    return ExpertReplay(data)
