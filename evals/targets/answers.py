"""A bare agent's last words in the shape of a Release, read as leniently as anyone could.

An agent publishes whatever it says last. A JSON object with a conclusion is a release of it; one whose conclusion is
null is an abstention. Words that hold no such object, which a user would see as they are, count as no conclusion, to
the agent's advantage; `prose` tells that they were there.
"""

import json
from typing import Any

from evals.targets.naive import ABSTAINED
from graph.contract.draft import DraftUnreadable, parse_draft

_PARTS = ("conclusion", "analyses", "action_plan", "recommendations")
_CLAIMS = ("text", "component", "cause", "change_id")


def release_of(text: str, made: set[str]) -> dict[str, Any]:
    """Return the release of a last answer. `made`: ids of the calls that were made and answered."""
    draft = read_answer(text)
    if draft is None:
        return {**ABSTAINED, "text": text, "prose": bool(text.strip())}
    if not any((draft.get("conclusion") or {}).get(claim) for claim in _CLAIMS):
        return ABSTAINED
    cited = dict.fromkeys(
        str(call_id) for analysis in _analyses(draft) for call_id in analysis.get("tool_call_ids") or ()
    )
    sources = [{"tool_call_id": call_id} for call_id in cited if call_id in made]
    return {"outcome": "SUCCESS", "fallback_type": None, "draft": draft, "verified_sources": sources}


def read_answer(text: str) -> dict[str, Any] | None:
    """Return the draft that a text holds, as JSON, or None. Words around the object are passed over."""
    try:
        draft: dict[str, Any] = parse_draft(text).model_dump(mode="json")
    except DraftUnreadable:
        return _embedded(text)
    return draft


def _embedded(text: str) -> dict[str, Any] | None:
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and "conclusion" in value:
            return _tidied(value)
        start = text.find("{", start + 1)
    return None


def _tidied(value: dict[str, Any]) -> dict[str, Any]:
    conclusion = value["conclusion"]
    if isinstance(conclusion, str) and conclusion.strip():
        conclusion = {"text": conclusion}
    kept = {name: value.get(name) or [] for name in _PARTS}
    return {**kept, "conclusion": conclusion if isinstance(conclusion, dict) else None}


def _analyses(draft: dict[str, Any]) -> list[dict[str, Any]]:
    analyses = draft.get("analyses")
    return [one for one in analyses if isinstance(one, dict)] if isinstance(analyses, list) else []
