"""Seals, signatures and differences of JSON values: what tells where a stored record was changed.

A seal mirrors a value, with a short digest in each leaf's place: it names the leaf that no longer is what was written.
Anyone can make seals; only a signature (HMAC-SHA256) proves who did. Source: design, decision 3.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SEAL_DIGITS = 16
MAX_SHOWN_CHARS = 200


@dataclass(frozen=True)
class Difference:
    """The first thing in a record that isn't as it has to be: where (a JSON path), what was expected, what is there."""

    path: str
    expected: str
    found: str

    def __str__(self) -> str:
        """Return it in one line."""
        return f"{self.path}: expected {self.expected}, found {self.found}"


def canonical_bytes(value: Any) -> bytes:
    """Return the one spelling of a JSON value: keys sorted, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def seal(value: Any) -> Any:
    """Return the mirror of a JSON value that holds a digest in each leaf's place; an empty container is a leaf."""
    if isinstance(value, dict) and value:
        return {key: seal(item) for key, item in value.items()}
    if isinstance(value, list) and value:
        return [seal(item) for item in value]
    return hashlib.sha256(canonical_bytes(value)).hexdigest()[:SEAL_DIGITS]


def first_broken(value: Any, seals: Any, path: str) -> Difference | None:
    """Return the first place where `value` isn't what `seals` were made of, or None."""
    broken = first_difference(seals, seal(value), path)
    if broken is None:
        return None
    return Difference(broken.path, "what was written, by its seal", "something else")


def sign(record: Mapping[str, Any], key: bytes) -> str:
    """Return the HMAC-SHA256 (hex) of a record, its signature left out."""
    signed = {name: value for name, value in record.items() if name != "signature"}
    return hmac.new(key, canonical_bytes(signed), hashlib.sha256).hexdigest()


def is_signed_by(record: Mapping[str, Any], key: bytes) -> bool:
    """Return whether the record's signature is the one of `key`."""
    return hmac.compare_digest(str(record.get("signature")).encode(), sign(record, key).encode())


def first_difference(expected: Any, found: Any, path: str) -> Difference | None:
    """Return the first place where two JSON values differ, objects in the order of the expected keys, or None.

    Numbers are compared as they're spelled: 1, 1.0 and true are three values.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        return _in_object(expected, found, path)
    if isinstance(expected, list) and isinstance(found, list):
        return _in_array(expected, found, path)
    if canonical_bytes(expected) == canonical_bytes(found):
        return None
    return Difference(path, _shown(expected), _shown(found))


def _in_object(expected: dict[str, Any], found: dict[str, Any], path: str) -> Difference | None:
    for key, value in expected.items():
        if key not in found:
            return Difference(f"{path}.{key}", _shown(value), "nothing")
        if difference := first_difference(value, found[key], f"{path}.{key}"):
            return difference
    surplus = next((key for key in found if key not in expected), None)
    return None if surplus is None else Difference(f"{path}.{surplus}", "nothing", _shown(found[surplus]))


def _in_array(expected: list[Any], found: list[Any], path: str) -> Difference | None:
    for number, value in enumerate(expected):
        if number >= len(found):
            return Difference(f"{path}[{number}]", _shown(value), "nothing")
        if difference := first_difference(value, found[number], f"{path}[{number}]"):
            return difference
    if len(found) > len(expected):
        return Difference(f"{path}[{len(expected)}]", "nothing", _shown(found[len(expected)]))
    return None


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"
