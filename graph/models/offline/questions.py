"""A question of an investigation, and which ones need not be asked again; contract, "The envelope and the gate"."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graph.models.offline.transcript import Transcript

_PASSING = ("BACKEND_TIMEOUT", "BACKEND_UNAVAILABLE", "INTERRUPTED")
_WITHOUT_EFFECT = ("INVALID_PROGRESS_PROTOCOL", "PARALLEL_TOOL_REQUEST")


@dataclass(frozen=True)
class Question:
    """One tool call to make; arguments that aren't given are null."""

    tool: str
    arguments: Mapping[str, Any]

    @property
    def key(self) -> str:
        """A text that is the same for the same question; display options don't count."""
        known = {key: value for key, value in self.arguments.items() if value is not None and value is not True}
        return f"{self.tool} {json.dumps(known, sort_keys=True, ensure_ascii=False, default=str)}"


def budget_is_left(transcript: Transcript) -> bool:
    """Return whether no request has been answered with the end of a budget."""
    return not any(answer.get("code") == "BUDGET_LIMIT_REACHED" for answer in transcript.answers)


def closed_questions(transcript: Transcript) -> set[str]:
    """Return the keys of the questions that were answered, or refused for good.

    The first error that may pass leaves its question open; from the second one on, of whatever tool, nothing is asked
    again: several sources that fail don't come back within a run, and asking each twice only uses up its budget. A
    request that had no effect leaves its question open.
    """
    closed: set[str] = set()
    failed: list[str] = []
    for request, answer in zip(transcript.requests, transcript.answers, strict=True):
        key = Question(request.tool, request.arguments).key
        code = answer.get("code")
        if code in _WITHOUT_EFFECT:
            continue
        if code in _PASSING:
            failed.append(key)
        else:
            closed.add(key)
    return closed | set(failed) if len(failed) > 1 else closed
