"""What is said of settings that can't be used: one clear line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


class SettingsError(Exception):
    """The settings can't be used. Its text is one clear line: what was wrong, where, and what would be right."""


def first_line(error: "ValidationError", *, below: Sequence[str] = ()) -> str:
    """Name the first bad setting in both spellings; a value is never repeated, since it may be a secret.

    `below`: the names of the groups that the settings at fault lie in.
    """
    path = [*below, *(str(part) for part in _first(error)["loc"])]
    if not path:
        return f"invalid settings: {first_words(error)}"
    variable = path[0] if path[0].isupper() else "HARNESS_" + "_".join(path).upper()
    dotted = ".".join(["harness", *(part.lower().replace("_", "-") for part in path)])
    return f"invalid setting {variable} ({dotted}): {first_words(error)}"


def first_words(error: "ValidationError") -> str:
    """Say what is wrong with the first bad value, in plain words and without the value."""
    first = _first(error)
    plain = {"extra_forbidden": "there is no such setting", "missing": "it is needed, and isn't set"}
    return plain.get(first["type"], first["msg"].removeprefix("Value error, "))


def _first(error: "ValidationError") -> "ErrorDetails":
    return error.errors(include_url=False, include_context=False, include_input=False)[0]
