"""The sentences of a draft: templates by language, filled from evidence lines."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Formatter

_CJK = re.compile(r"[\u3400-\u9fff]")


def language_of(query: str) -> str:
    """Return `zh` or `en`: the language of what a person wrote; Chinese where nobody wrote anything."""
    return "zh" if not query.strip() or _CJK.search(query) else "en"


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(files("graph.models.offline.rules").joinpath("texts.toml").read_text("utf-8"))


def say(language: str, key: str, **fields: str) -> str:
    """Return the sentence `key` in `language` with its fields filled; raises KeyError where a field is missing."""
    return _texts()[language][key].format(**fields)


def fields_of(key: str) -> frozenset[str]:
    """Return the names of the fields that the sentence `key` needs."""
    return frozenset(name for _, name, _, _ in Formatter().parse(_texts()["zh"][key]) if name)
