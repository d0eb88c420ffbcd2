"""The offline repair of a draft: it can take away what isn't proven, it can't prove it.

Source: spec "Deterministic Draft and evidence validation"; contract, "Release" (a repair may end without a conclusion).
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from graph.models.offline.chat import OfflineChatModel

_PATH = re.compile(r"(?P<list>analyses|action_plan|recommendations)\[(?P<index>\d+)\]")
_OPTIONAL = re.compile(r"(conclusion|limitations)\.(?P<list>affected|alternatives|ruled_out)\[(?P<index>\d+)\]")


class OfflineEvidenceRepair(OfflineChatModel):
    """Drops the parts that the guard refused; a conclusion that doesn't stand without them goes, too."""

    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
        """Return the repaired draft as JSON for the `{"draft", "violations", "evidence"}` of the last message."""
        body = json.loads(str(messages[-1].content))
        paths = [str(violation.get("path") or "") for violation in body.get("violations") or ()]
        return AIMessage(content=json.dumps(repaired(body.get("draft") or {}, paths), ensure_ascii=False))


def repaired(draft: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """Return a draft without the parts that `paths` name, such as `analyses[1].quotes[0]` or `conclusion.affected[0]`.

    A path to the conclusion itself, or one that can't be read, takes the conclusion away.
    """
    doomed: dict[str, set[int]] = {}
    hopeless = False
    for path in paths:
        found = _OPTIONAL.match(path) or _PATH.match(path)
        if found:
            doomed.setdefault(found["list"], set()).add(int(found["index"]))
        elif path == "conclusion.first_failing":
            doomed.setdefault(path, set())
        else:
            hopeless = True
    kept = {
        name: _without(draft.get(name), doomed.get(name)) for name in ("analyses", "action_plan", "recommendations")
    }
    known = {item.get("analysis_id") for item in kept["analyses"]}
    conclusion = None if hopeless else _conclusion(draft.get("conclusion"), doomed, known)
    limits = draft.get("limitations") or {}
    return {
        "conclusion": conclusion,
        "analyses": kept["analyses"],
        "action_plan": _grounded(kept["action_plan"], known) if conclusion else [],
        "recommendations": _grounded(kept["recommendations"], known) if conclusion else [],
        "limitations": {
            "missing_info": limits.get("missing_info") or [],
            "ruled_out": [one for one in _without(limits.get("ruled_out"), doomed.get("ruled_out")) if one in known],
        },
    }


def _without(items: Any, indexes: set[int] | None) -> list[Any]:
    return [item for index, item in enumerate(items or ()) if not indexes or index not in indexes]


def _grounded(items: list[Any], known: set[Any]) -> list[Any]:
    grounded = [
        {**item, "analysis_ids": [one for one in item.get("analysis_ids") or () if one in known]} for item in items
    ]
    return [item for item in grounded if item["analysis_ids"]]


def _conclusion(conclusion: Any, doomed: dict[str, set[int]], known: set[Any]) -> dict[str, Any] | None:
    """Return the conclusion on what is left of its analyses, or None where nothing is: the guards judge it again."""
    if not isinstance(conclusion, dict):
        return None
    left = [one for one in conclusion.get("analysis_ids") or () if one in known]
    if not left:
        return None
    result = {**conclusion, "analysis_ids": left}
    for name in ("affected", "alternatives"):
        result[name] = _without(conclusion.get(name), doomed.get(name))
    if "conclusion.first_failing" in doomed:
        result["first_failing"] = None
    return result
