"""Which remedy an action's text asks for, by the rules in `remediation.toml`.

The first action that names a remedy counts, and in it the first one named: a plan that lists every remedy there is
must not score by it.
"""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

GAP = "[^.;。；]{0,60}?"


def remediation_of(actions: Iterable[str]) -> str | None:
    """Return the category of the first remedy that `actions` name, in their order; None where they name none."""
    return next((category for action in actions if (category := _category(action))), None)


def _category(action: str) -> str | None:
    found = [
        (match.start(), rank, category)
        for rank, (category, pattern) in enumerate(_rules())
        if (match := pattern.search(action))
    ]
    return min(found)[2] if found else None


@cache
def _rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    table = tomllib.loads(files("evals.suites").joinpath("remediation.toml").read_text(encoding="utf-8"))
    rules = []
    for category, patterns in table["categories"].items():
        whole = "|".join(patterns).replace("~", GAP)
        for verb, words in table["verbs"].items():
            whole = whole.replace(verb, words)
        rules.append((category, re.compile(whole, re.IGNORECASE)))
    return tuple(rules)
