"""docs/conformance.md says of every type of source how it was tried, and what it names is there."""

import re
from pathlib import Path

import pytest

from tools.live.registry import TYPES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([\w-]+)` \| `([\w/.]+)` \|", PAGE, re.MULTILINE))


def test_every_type_stands_in_the_table() -> None:
    assert list(ROWS) == list(TYPES)


@pytest.mark.parametrize("kind", [kind for kind in ROWS if kind != "milvus"])
def test_the_suite_that_is_named_holds_a_conformance_class(kind: str) -> None:
    source = (ROOT / ROWS[kind]).read_text(encoding="utf-8")
    assert re.search(r"^class \w+\(\w*Conformance\):", source, re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[\w/.]+)`", PAGE))))
def test_every_path_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).is_file()
