"""The JSON that a model replies with: alone or in one surrounding code fence (contract, "Draft")."""

import re
from typing import Any

_FENCE = re.compile(r"\A\s*```[A-Za-z0-9_-]*[ \t]*\r?\n(?P<body>.*?)\r?\n?[ \t]*```\s*\Z", re.DOTALL)


def unfenced(text: str) -> str:
    """Return a reply without the one code fence around it, or as it is where there's none."""
    fenced = _FENCE.match(text)
    return fenced["body"] if fenced else text


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object (an `object_pairs_hook`); raises ValueError for a key named twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is named twice")
    return found
