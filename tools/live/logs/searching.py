"""Search conditions in the language that CLS and SLS share: quoted terms, `field:"term"`, AND, OR, NOT.

Sources: https://cloud.tencent.com/document/product/614/47044 (CQL) and https://help.aliyun.com/zh/sls/query-syntax. A
quoted text is cut into words as the index was; a condition finds records with all of its words, so parts of words
aren't found. What is put into quotes is data: quotes, backslashes and wildcards in it are escaped.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tools.live.logs.records import UNLEVELLED, severity_of
from tools.live.logs.source import LogQuestion, Phrase

_SPECIAL = str.maketrans({special: f"\\{special}" for special in '\\"*?'})
MAX_LEVELS = 12
"""How many spellings of levels one condition tells apart; where there are more, whoever reads the records does."""
MAX_TERM = 400
"""How much of one text is asked for; what follows is left to whoever reads the records."""


@dataclass(frozen=True)
class Condition:
    """A search condition. `about`: it finds something close to what was asked, not exactly that."""

    text: str
    about: bool = False


def quoted(text: str) -> str:
    """Return a text as one quoted term, whatever it holds; line breaks and control characters become blanks."""
    plain = "".join(character if character.isprintable() else " " for character in text[:MAX_TERM])
    return f'"{" ".join(plain.split()).translate(_SPECIAL)}"'


def named(field: str) -> str:
    """Return a field's name as it stands before a colon."""
    return field if field.replace("_", "a").replace(".", "a").isalnum() else f'"{field}"'


def condition_of(
    question: LogQuestion, *, service: str, level: str, levels: Iterable[str] | None, most: int
) -> Condition | None:
    """Return the condition of a question, None where no record can meet it.

    `service` and `level` are the fields' names. `levels`: how the source spells its levels, as far as records of the
    question's severities have to be told apart; None where they needn't be. `most`: how many terms a condition may
    have; words and phrases beyond that are left out, which makes it one that is `about` what was asked.
    """
    wanted: list[str] = []
    refused: list[str] = []
    if question.services:
        wanted.append(_any(f"{named(service)}:{quoted(name)}" for name in question.services))
    if question.severities is not None and levels is not None:
        inside, outside = _levels(question.severities, levels)
        if UNLEVELLED in question.severities:
            refused += _told(level, outside)
        elif not inside:
            return None
        elif terms := _told(level, inside):
            wanted.append(_any(terms))
    if question.contains and _has_words(question.contains):
        wanted.append(quoted(question.contains))
    if question.phrase:
        wanted += [quoted(run) for run in question.phrase.runs]
    room = most - sum(part.count(" OR ") + 1 for part in wanted) - len(refused)
    words, cut = _words(question.words, room)
    if words:
        wanted.append(_any(words))
    excluded, left_out = _without(question.without, room - len(words))
    text = " ".join([" AND ".join(wanted) or "*", *(f"NOT ({one})" for one in [*refused, *excluded])])
    return Condition(text, about=bool(question.contains) or cut or left_out)


def _has_words(text: str) -> bool:
    """Whether a text holds anything but separators, which aren't in any index."""
    return any(map(str.isalnum, text))


def _levels(severities: frozenset[str], levels: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return which of the spelled levels are of the severities, and which are of others."""
    told = sorted({one for one in levels if one.strip()})
    inside = [one for one in told if severity_of(one) in severities]
    return inside, [one for one in told if one not in inside]


def _told(level: str, spellings: list[str]) -> list[str]:
    """Return levels as terms, none where there are too many."""
    return [f"{named(level)}:{quoted(one)}" for one in spellings] if len(spellings) <= MAX_LEVELS else []


def _any(terms: Iterable[str]) -> str:
    told = list(terms)
    return told[0] if len(told) == 1 else f"({' OR '.join(told)})"


def _words(words: tuple[str, ...], room: int) -> tuple[list[str], bool]:
    """Return words as terms, as many as there is room for, one that begins others standing for them, too."""
    begins = {word: [other for other in words if other != word and other.startswith(word)] for word in words}
    covered = {other for others in begins.values() for other in others}
    terms = [f"{word}*" if others else quoted(word) for word, others in begins.items() if word not in covered]
    merged = any(begins.values())
    return terms[: max(0, room)], merged or len(terms) > room


def _without(phrases: tuple[Phrase, ...], room: int) -> tuple[list[str], bool]:
    """Return phrases as terms to be excluded, as many as there is room for."""
    told: list[str] = []
    for phrase in phrases:
        room -= len(phrase.runs)
        if room < 0:
            return told, True
        told.append(" AND ".join(quoted(run) for run in phrase.runs))
    return told, False


def counting(fields: Mapping[str, str], clock: str, slices: int, start_ms: int, length_ms: int, origin: str) -> str:
    """Return SQL that counts by `fields` (alias to column) and slices of the window; `clock` is the time in ms.

    Nothing in it comes from a question but numbers; columns come from the settings, whose form is checked.
    """
    keys = "".join(f"coalesce(CAST({column(name)} AS varchar), '') AS {alias}, " for alias, name in fields.items())
    slice_ = f"(({clock}) - {start_ms}) * {slices} / {length_ms} AS z_slice"
    groups = ", ".join([*fields, "z_slice"])
    return (
        f"SELECT {keys}{slice_}, count(*) AS z_records, min({clock}) AS z_first, max({clock}) AS z_last"
        f"{origin} GROUP BY {groups}"
    )


def column(field: str) -> str:
    """Return a field's name as a column."""
    return '"' + field.replace('"', '""') + '"'
