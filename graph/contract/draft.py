"""The diagnosis draft: what a model hands over when it has finished collecting.

Source: contract, "Draft". Parsing checks the JSON shape and nothing else; a blank id, an unknown kind or a broken
reference is a draft that can be read, and the EvidenceGuard's to refuse, so that it may be repaired.
"""

import json
import unicodedata
from typing import Any, Never

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from graph.contract.replied import unfenced, without_repeats
from graph.contract.vocabulary import MissingInfo

MAX_DRAFT_CHARACTERS = 200_000
"""A longer text is no draft. A complete report with quotes takes some 10,000 characters."""
MAX_ITEMS = 100
"""The length of any list in a draft."""
MAX_STRING_CHARACTERS = 20_000
"""The length of any string in a draft."""

_TEXT_CONTROLS = frozenset("\t\n\r")
_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class DraftUnreadable(Exception):
    """The text is no draft. Carries no word of the text: it's the model's, and may be hostile or confidential."""

    def __init__(self) -> None:
        super().__init__("DRAFT_UNREADABLE")


class _Part(BaseModel):
    """Base of a draft's parts: immutable, strict types, unknown keys refused, null the same as an absent key."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        return {key: value for key, value in data.items() if value is not None or key not in optional}


class _StringList(_Part):
    @field_validator("*", mode="before")
    @classmethod
    def _list_to_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value


class Alternative(_Part):
    """Another explanation that the evidence leaves open. `component` is blank where the model gave none."""

    component: str = ""
    cause: str = ""
    change_id: str | None = None


class Conclusion(_StringList):
    """The root cause that the draft claims. Strings are blank where the model gave none: the guard refuses that.

    `change_id`: the commit, deploy or flag that did it, or None. `first_failing`: the component that failed first.
    """

    text: str = ""
    component: str = ""
    cause: str = ""
    change_id: str | None = None
    first_failing: str | None = None
    affected: tuple[str, ...] = Field(default=(), max_length=MAX_ITEMS)
    alternatives: tuple[Alternative, ...] = Field(default=(), max_length=MAX_ITEMS)
    analysis_ids: tuple[str, ...] = Field(default=(), max_length=MAX_ITEMS)


class Analysis(_StringList):
    """One sentence of the diagnosis with its proof. `kind` is a string here: whether it's supported is the guard's."""

    analysis_id: str = ""
    kind: str = ""
    text: str = ""
    quotes: tuple[str, ...] = Field(default=(), max_length=MAX_ITEMS)
    tool_call_ids: tuple[str, ...] = Field(default=(), max_length=MAX_ITEMS)


class StatementItem(_StringList):
    """An action or a recommendation, and the analyses that it rests on."""

    text: str = ""
    analysis_ids: tuple[str, ...] = Field(default=(), max_length=MAX_ITEMS)


class DraftLimitations(_StringList):
    """What the query would have had to name, and which analyses rule an explanation out (their ids)."""

    missing_info: tuple[MissingInfo, ...] = Field(default=(), max_length=MAX_ITEMS)
    ruled_out: tuple[str, ...] = Field(default=(), max_length=MAX_ITEMS)

    @field_validator("missing_info", mode="before")
    @classmethod
    def _unknown_is_other(cls, value: Any) -> Any:
        if not isinstance(value, tuple | list) or not all(isinstance(item, str) for item in value):
            return value
        known = {member.value: member for member in MissingInfo}
        return tuple(dict.fromkeys(known.get(item.strip().lower(), MissingInfo.OTHER) for item in value))


class Draft(_StringList):
    """A diagnosis as the model wrote it, unchanged.

    `conclusion` is None for a run that found no cause: valid completion, and said outright, since the key is required.
    """

    conclusion: Conclusion | None
    analyses: tuple[Analysis, ...] = Field(default=(), max_length=MAX_ITEMS)
    action_plan: tuple[StatementItem, ...] = Field(default=(), max_length=MAX_ITEMS)
    recommendations: tuple[StatementItem, ...] = Field(default=(), max_length=MAX_ITEMS)
    limitations: DraftLimitations = DraftLimitations()


def parse_draft(text: str) -> Draft:
    """Return the draft that a model's reply holds.

    The reply is one JSON object, alone or inside one code fence. Every key but `conclusion` may be absent or null: a
    string is then blank, a list empty (contract, "Draft": the shape only; what may not be blank is the guard's).

    Raises DraftUnreadable: no JSON object, unknown or duplicate keys, numbers or booleans anywhere, NaN, lone
    surrogates, control or bidi characters, or more than the bounds above.
    """
    draft = _readable(text) if len(text) <= MAX_DRAFT_CHARACTERS else None
    if draft is None:
        # Raised outside of any `except`: the parser's own error, as context, would carry the model's text.
        raise DraftUnreadable
    return draft


def _readable(text: str) -> Draft | None:
    try:
        data = json.loads(
            unfenced(text),
            object_pairs_hook=without_repeats,
            parse_constant=_refuse,
            parse_float=_refuse,
            parse_int=_refuse,
        )
        return Draft.model_validate(data) if _bounded(data) else None
    except (ValueError, RecursionError, ValidationError):
        return None


def _refuse(_: str) -> Never:
    raise ValueError


def _bounded(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_STRING_CHARACTERS and not any(map(_unprintable, value))
    if isinstance(value, list):
        return len(value) <= MAX_ITEMS and all(map(_bounded, value))
    if isinstance(value, dict):
        return all(map(_bounded, value.values()))
    return value is None


def _unprintable(character: str) -> bool:
    if character in _TEXT_CONTROLS:
        return False
    return character in _BIDI_CONTROLS or unicodedata.category(character) in ("Cc", "Cs")
