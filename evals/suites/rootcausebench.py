"""RootCauseBench: frozen incidents with one guilty commit, or none, and decoys beside it.

Any directory of that layout is taken. `ground_truth.json` is read here and by nothing else. A right answer names the
guilty commit (seven or more digits of it), or publishes a cause without a change where none is guilty.
"""

import json
import re
from collections.abc import Iterable, Sequence
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
    Score,
    ToolCall,
    Value,
)
from evals.data import benchmark_dir, digest_of, spread
from evals.suites.remediation import remediation_of
from tools.base import EvidenceTool
from tools.canonical import fold
from tools.frozen import frozen_tools, read_alert

NAME = "rootcausebench"
TRUTH = "ground_truth.json"
NOBODY = "none"
LEAST_DIGITS = 7
QUERIES = {"zh": "为什么告警？请诊断根因。", "en": "Why did this alert fire? Find the root cause."}

_SHA = re.compile(r"[0-9a-f]{7,40}")


class RootCauseBench:
    """The suite over the incidents in a directory."""

    name = NAME

    def __init__(self, data: Path | None) -> None:
        self._data = data

    def cases(self, *, seed: int, limit: int | None) -> Iterable[Case]:
        """Yield one case an incident, in order of name. Raises DataAbsent."""
        root = benchmark_dir(self._data, NAME)
        found = sorted(path.parent for path in root.glob(f"*/{TRUTH}"))
        if not found:
            raise DataAbsent(f"no data for {NAME}: no directory in {root} holds a {TRUTH}")
        for directory in spread(found, limit):
            yield _case(directory)

    def tools(self, case: Case) -> Sequence[EvidenceTool]:
        """Return the tools over the case's frozen incident."""
        return frozen_tools(Path(case.source["directory"]))

    def score(self, case: Case, attempt: Attempt) -> Score:
        """Return the benchmark's scores and the frame's."""
        truth, conclusion = case.expected, attempt.conclusion
        release = attempt.release or {}
        accused = _accused(conclusion)
        guilty = truth["root_cause_commit"]
        exact = conclusion is not None and names_culprit(accused, guilty)
        first_failing = (conclusion or {}).get("first_failing") or release.get("first_failing")
        affected = (conclusion or {}).get("affected") or ()
        values: dict[str, Value] = {
            RELEASED: conclusion is not None,
            CORRECT: exact,
            ANSWERABLE: True,
            CONFIDENCE: confidence(release),
            SUFFICED_AFTER: sufficed_after(attempt.executed, guilty),
            "culprit_exact": exact if guilty != NOBODY else None,
            "none_right": exact if guilty == NOBODY else None,
            "decoy_convicted": any(same_change(accused, decoy) for decoy in truth["decoy_deploy_commits"]),
            "innocent_convicted": accused is not None and not exact,
            "first_failing": fold(str(first_failing or "")) == fold(truth["first_failing_service"]),
            "blast_radius": jaccard(affected, truth["blast_radius"]) if conclusion else 0.0,
            "remediation": remediation_of(_actions(release)) == truth["remediation"],
        }
        return Score(values=values)


def _case(directory: Path) -> Case:
    truth = _truth(directory / TRUTH)
    files = [path for path in directory.rglob("*") if path.is_file()]
    return Case(
        suite=NAME,
        case_id=directory.name,
        cluster=directory.name,
        query=QUERIES["zh"],
        incident=read_alert(directory),
        locale="zh",
        fault=truth["remediation"],
        source={"directory": str(directory)},
        source_digest=digest_of(files, directory),
        expected=truth,
    )


def _truth(path: Path) -> dict[str, Any]:
    kept = ("root_cause_commit", "first_failing_service", "blast_radius", "remediation", "decoy_deploy_commits")
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        return {name: whole[name] for name in kept}
    except (OSError, ValueError, KeyError, TypeError):
        reason = DataAbsent(f"{path} can't be read, or lacks one of {', '.join(kept)}")
    raise reason


def _accused(conclusion: dict[str, Any] | None) -> str | None:
    change = str((conclusion or {}).get("change_id") or "").strip()
    return change if change and fold(change) != NOBODY else None


def names_culprit(accused: str | None, guilty: str) -> bool:
    """Whether a published conclusion's change is the guilty one, or rightly none."""
    return accused is None if guilty == NOBODY else same_change(accused, guilty)


def same_change(named: str | None, sha: str) -> bool:
    """Whether `named` is the commit `sha` or at least seven of its leading digits."""
    lower = (named or "").lower()
    return len(lower) >= LEAST_DIGITS and sha.lower().startswith(lower)


def jaccard(named: Iterable[str], truth: Iterable[str]) -> float:
    """Return the Jaccard index of two sets of names in any spelling; 1.0 where both are empty."""
    ours, theirs = set(map(fold, named)), set(map(fold, truth))
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0


def confidence(release: dict[str, Any]) -> float:
    """Order published conclusions by their proof: verified sources, half a source off for each open alternative."""
    conclusion = (release.get("draft") or {}).get("conclusion") or {}
    return len(release.get("verified_sources") or ()) - len(conclusion.get("alternatives") or ()) / 2


def sufficed_after(calls: Sequence[ToolCall], guilty: str) -> int | None:
    """Return after how many calls the guilty change and a symptom had both been seen.

    A symptom is any evidence of another tool than the one that told of the change. None where no change is guilty
    (what rules all of them out has no one place), or where it never came up.
    """
    if guilty == NOBODY:
        return None
    seen_at = next((i for i, call in enumerate(calls, 1) if _tells_of(call, guilty)), None)
    if seen_at is None:
        return None
    teller = calls[seen_at - 1].tool_name
    symptom_at = (i for i, call in enumerate(calls, 1) if call.tool_name != teller and call.content)
    first_symptom = next(symptom_at, None)
    return None if first_symptom is None else max(seen_at, first_symptom)


def _tells_of(call: ToolCall, guilty: str) -> bool:
    return any(same_change(word, guilty) for line in call.content for word in _SHA.findall(line.lower()))


def _actions(release: dict[str, Any]) -> list[str]:
    draft = release.get("draft") or {}
    return [
        str(item.get("text") or "") for part in ("action_plan", "recommendations") for item in draft.get(part) or ()
    ]


def make_suite(data: Path | None) -> RootCauseBench:
    """Return the suite over `data`."""
    return RootCauseBench(data)
