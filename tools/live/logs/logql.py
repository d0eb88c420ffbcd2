"""LogQL, written so that nothing in a question can be read as anything but data.

Source: Grafana Loki documentation, "LogQL: Log query language" (log queries, metric queries, matching IP and text).
Strings are in double quotes with Go's escapes, patterns are RE2 with every character of the asked text escaped.
"""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta

from tools.live.logs.records import SEVERITIES, SPELLINGS, UNLEVELLED
from tools.live.logs.source import LogQuestion, Phrase

TOLD_LEVEL, BARE_LEVEL = "told_level", "bare_level"
"""Labels that `LEVELS_IN_LINES` takes out of a line."""
LEVELS_IN_LINES = (
    rf"| regexp `(?i)\b(?:level|lvl|severity)\"?\s*[=:]\s*\"?(?P<{TOLD_LEVEL}>[a-z]+)` "
    rf"| regexp `\b(?P<{BARE_LEVEL}>FATAL|CRITICAL|ERROR|SEVERE|WARN|WARNING|INFO|DEBUG|TRACE)\b`"
)
"""For streams whose severity no label tells: `level=…` or `"level":"…"` in the line, else a level in capitals."""

_NUMBERS = {
    severity: tuple(str(number) for number in range(21 - 4 * place, 25 - 4 * place))
    + ((str(60 - 10 * place),) if place < 4 else ())
    for place, severity in enumerate(SEVERITIES)
}
_LOOSE = {
    " ": r"(?:\s|\\[nrt])+",
    '"': r"\\*\"",
    "\\": r"\\+",
    "/": r"\\*/",
    "<": r"(?:<|\\u003c)",
    ">": r"(?:>|\\u003e)",
    "&": r"(?:&|\\u0026)",
    "'": r"(?:'|\\u0027)",
}
"""How a character may stand in a line that is JSON, where its text isn't escaped and where it is."""


def quoted(text: str) -> str:
    """Return a LogQL string literal."""
    return json.dumps(text, ensure_ascii=False)


def pattern_of(text: str) -> str:
    """Return an RE2 pattern that finds a text in plain and in JSON-escaped lines; a blank is any white space."""
    return "".join(map(_loosely, " ".join(text.split())))


def pattern_of_phrase(phrase: Phrase) -> str:
    """Return an RE2 pattern of a phrase: its runs in their order, anything between them, case ignored."""
    return "(?is)" + ".*".join(map(pattern_of, phrase.runs))


def spelled(severity: str) -> str:
    """Return an RE2 pattern of all spellings of a severity."""
    return f"(?:{'|'.join(SPELLINGS[severity])})[0-9]?|{'|'.join(_NUMBERS[severity])}"


def selector(matchers: str, label: str, services: Sequence[str]) -> str:
    """Return a stream selector: `matchers` (canonical, may be empty) and a label with one of the services, or any."""
    if len(services) == 1:
        matcher = f"{label}={quoted(services[0])}"
    elif services:
        matcher = f"{label}=~{quoted('|'.join(re.escape(name) for name in services))}"
    else:
        matcher = f'{label}=~".+"'
    return "{" + ", ".join(part for part in (matchers, matcher) if part) + "}"


def pipeline(question: LogQuestion, levels: Sequence[str], *, in_lines: bool) -> str:
    """Return the stages after the selector: line filters first, which are cheap, then the severity's.

    `levels`: the labels that name the severity, the first known spelling among them counts.
    """
    stages = []
    if question.contains is not None:
        stages.append(f"|~ {quoted('(?i)' + pattern_of(question.contains))}")
    if question.words:
        words = "|".join(pattern_of(word) for word in question.words)
        whole = rf"(?i)\b(?:{words})\b"
        stages.append(f"|~ {quoted(whole)}")
    if question.phrase is not None:
        stages.append(f"|~ {quoted(pattern_of_phrase(question.phrase))}")
    stages += [f"!~ {quoted(pattern_of_phrase(phrase))}" for phrase in question.without]
    if in_lines:
        stages.append(LEVELS_IN_LINES)
    if question.severities is not None:
        stages.append(f"| {_of_severities(question.severities, levels)}")
    return " ".join(stages)


def counted(query: str, step: timedelta, labels: Iterable[str]) -> str:
    """Return a metric query: how many lines of a log query each step holds, by labels."""
    milliseconds = max(1, round(step.total_seconds() * 1000))
    span = f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"
    return f"sum by ({', '.join(labels)}) (count_over_time({query} [{span}]))"


def _loosely(character: str) -> str:
    if character in _LOOSE:
        return _LOOSE[character]
    if character.isascii():
        return re.escape(character)
    units = character.encode("utf-16-be", "replace")
    escaped = "".join(rf"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))
    return f"(?:{character}|{escaped})"


def _of_severities(severities: Iterable[str], levels: Sequence[str]) -> str:
    asked = set(severities)
    named = "|".join(spelled(severity) for severity in SEVERITIES if severity in asked)
    known = "|".join(spelled(severity) for severity in SEVERITIES)
    unknown = [f"{label}!~{quoted(f'(?i)(?:{known})')}" for label in levels]
    options = [
        " and ".join([*unknown[:place], f"{label}=~{quoted(f'(?i)(?:{named})')}"])
        for place, label in enumerate(levels)
        if named
    ]
    if UNLEVELLED in asked:
        options.append(" and ".join(unknown))
    return " or ".join(f"({option})" for option in options)
