"""The draft of a cluster's diagnosis: what was seen, line by line, and what follows.

Source: contract, "Draft" and "EvidenceGuard".
"""

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any

from graph.models.offline.analyses import Analyses
from graph.models.offline.cluster.facts import Case, Finding, Seen, pod_rank
from graph.models.offline.cluster.verdict import Verdict

_SHOWN_WITHOUT_CAUSE = 4


@cache
def _texts() -> Mapping[str, Any]:
    text = files("graph.models.offline.cluster.rules").joinpath("texts.toml").read_text("utf-8")
    return tomllib.loads(text)


def phrase_of(cause: str, language: str) -> str:
    """Return how a cause is told; the key itself, in words, where the rules don't know it."""
    told = _texts()["cause"].get(cause)
    return str(told[language]) if told else cause.replace("_", " ")


class _Draft(Analyses):
    """The analyses of this diagnosis."""

    def observe(self, seen: Seen) -> str | None:
        """Add what a line says; None where no sentence is made for such a line."""
        template = _texts()[self.language].get(_sentence(seen))
        if template is None:
            return None
        names = [name for _, name, _, _ in Formatter().parse(template) if name]
        values = {name: seen.get(name) for name in names}
        if not all(values.values()):
            return None
        return self.add("OBSERVATION", template.format(**values), [seen])


def _sentence(seen: Seen) -> str:
    sort = seen.line.sort
    if sort == "service":
        return "service_entry"
    if sort != "resource":
        return {"log": "pattern"}.get(sort, sort)
    kind = seen.get("kind")
    if kind == "endpoints":
        return "endpoints" if seen.get("endpoints") else "resource_plain"
    if kind == "services":
        return "service"
    if seen.get("status"):
        return "resource"
    have, _, want = seen.get("ready").partition("/")
    return "ready" if have != want else "resource_plain"


def write_draft(case: Case, verdict: Verdict, language: str) -> str:
    """Return the draft as JSON text: concluded where the verdict found a cause, else with a null conclusion."""
    draft = _Draft(language)
    conclusion: dict[str, Any] | None = None
    plan: list[dict[str, Any]] = []
    advice: list[dict[str, Any]] = []
    if verdict.found is not None:
        conclusion, ids = _conclusion(draft, verdict.found, verdict.others)
        plan = [
            {"text": _do(verdict.found, language), "analysis_ids": ids},
            {"text": _say(language, "verify", verdict.found), "analysis_ids": ids},
        ]
        advice = [{"text": _say(language, "prevent", verdict.found), "analysis_ids": ids}]
    else:
        for pod in [one for one in case.objects("pods") if pod_rank(one)][:_SHOWN_WITHOUT_CAUSE]:
            draft.observe(pod)
    body: dict[str, Any] = {
        "conclusion": conclusion,
        "analyses": draft.analyses,
        "action_plan": plan,
        "recommendations": advice,
        "limitations": {"missing_info": [], "ruled_out": []},
    }
    return json.dumps(body, ensure_ascii=False)


def _conclusion(draft: _Draft, found: Finding, others: tuple[Finding, ...]) -> tuple[dict[str, Any], list[str]]:
    seen = [draft.observe(source) for source in found.sources]
    told = _say(draft.language, "inference", found)
    ids = [*(one for one in seen if one), draft.add("INFERENCE", told, found.sources)]
    shown = {source.call_id for source in found.sources}
    kept = [other for other in others if shown.issuperset(source.call_id for source in other.sources)]
    for other in [one for one in others if one not in kept]:
        extra = [draft.observe(source) for source in other.sources]
        ids += [one for one in extra if one]
        kept += [other] if all(extra) else []
    conclusion = {
        "text": _say(draft.language, "conclusion", found),
        "component": found.component,
        "cause": found.cause,
        "change_id": None,
        "first_failing": None,
        "affected": [],
        "alternatives": [
            {"component": one.component, "cause": one.cause, "change_id": None} for one in others if one in kept
        ],
        "analysis_ids": ids,
    }
    return conclusion, ids


def _say(language: str, key: str, found: Finding) -> str:
    phrase = phrase_of(found.cause, language)
    return str(_texts()[language][key]).format(component=found.component, phrase=phrase)


def _do(found: Finding, language: str) -> str:
    told = _texts()["cause"].get(found.cause) or {}
    return str(told.get(f"do_{language}") or _texts()[language]["verify"]).format(component=found.component)
