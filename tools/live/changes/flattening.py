"""A JSON document as `path.to.value: text` pairs, so that two of them can be compared key by key."""

from collections.abc import Iterator
from typing import Any

MAX_PAIRS = 5_000
MAX_VALUE = 2_000
_NAMES = ("name", "key", "mountPath", "containerPort", "topologyKey")


def flat(document: Any) -> dict[str, str]:
    """Return the document's plain values by their paths. An element of a list goes by its name, where it has one, and
    a pair of name and value (an environment variable, a parameter) is one pair here."""
    pairs: dict[str, str] = {}
    for path, value in _walk(document, ""):
        if len(pairs) >= MAX_PAIRS:
            break
        pairs[path] = value
    return pairs


def _walk(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if isinstance(value.get("name"), str) and set(value) == {"name", "value"}:
            yield path, _plain(value["value"])
            return
        for key, inner in value.items():
            if key != "name" or not path.endswith(f".{inner}"):
                yield from _walk(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, f"{path}.{_label(inner, index)}" if path else _label(inner, index))
    elif value is not None:
        yield path, _plain(value)


def _label(element: Any, index: int) -> str:
    said = next((element[name] for name in _NAMES if element.get(name)), None) if isinstance(element, dict) else None
    return str(index if said is None else said)


def _plain(value: Any) -> str:
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return shown[:MAX_VALUE]
