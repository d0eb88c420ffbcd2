"""What a Milvus collection stores of a section, and what its client's failures mean."""

from dataclasses import dataclass
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.base import SourceFailure
from tools.runbooks.embedding import EmbedderChoice
from tools.runbooks.milvus_schema import (
    PROPERTY,
    choice_of,
    described,
    failure_of,
    identity,
    row_of,
    section_of,
    tokens_of,
)
from tools.runbooks.sections import CASE, Section
from tools.vocabulary import SourceError

CHOICE = EmbedderChoice(kind="endpoint", model="bge-m3", query_prefix="q: ")
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=30)


@given(texts, st.lists(texts, max_size=3), st.lists(texts, min_size=1, max_size=5))
def test_a_section_comes_back_as_it_was_stored(file: str, headings: list[str], lines: list[str]) -> None:
    section = Section(file, tuple(headings), tuple(lines), CASE)
    assert section_of(row_of(section, [1.0], han=False)) == section


def test_what_is_too_long_is_cut_within_the_servers_bounds() -> None:
    row = row_of(Section("磁" * 3_000, ("盘" * 9_000, "写满"), ("日" * 40_000,)), [1.0], han=True)
    assert len(row["file"].encode()) <= 4_096
    assert len(row["headings"].encode()) <= 16_384
    assert len(row["body"].encode()) <= 65_535
    assert len(row["words"].encode()) <= 65_535
    assert section_of(row).headings == ("写满",)


def test_words_become_tokens_that_no_analyzer_takes_apart() -> None:
    tokens = tokens_of(["磁盘", "disk", "磁盘"])
    assert tokens[0] == tokens[2] != tokens[1]
    assert all(token.isascii() and token.isalnum() and token.islower() for token in tokens)


def test_each_part_of_a_section_belongs_to_its_identity() -> None:
    section = Section("a.md", ("A",), ("x",))
    others = [Section("b.md", ("A",), ("x",)), Section("a.md", ("B",), ("x",)), Section("a.md", ("A",), ("y",))]
    assert len({identity(one) for one in (section, *others, Section("a.md", ("A",), ("x",), CASE))}) == 5


@pytest.mark.parametrize(
    "collection", [{"properties": {PROPERTY: described(CHOICE)}}, {"properties": {}, "description": described(CHOICE)}]
)
def test_a_collection_says_what_made_its_vectors(collection: dict[str, object]) -> None:
    assert choice_of(collection) == CHOICE


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "no json", '{"zhizhi": 2}', '{"zhizhi": 1, "embedder": {"kind": "x"}}']
)
def test_a_collection_of_somebody_else_is_unreadable(text: str) -> None:
    with pytest.raises(SourceFailure) as caught:
        choice_of({"description": text, "properties": {}})
    assert caught.value.code is SourceError.SOURCE_UNREADABLE


class Status(Enum):
    UNAUTHENTICATED = 16
    DEADLINE_EXCEEDED = 4
    UNAVAILABLE = 14


@dataclass
class Rpc(Exception):
    """Names its status as grpc's exceptions do."""

    status: Status

    def code(self) -> Status:
        return self.status


@dataclass
class Numbered(Exception):
    """Holds a number as the client's own exceptions do."""

    code: int


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Numbered(100), SourceError.SOURCE_MISSING),
        (Numbered(1400), SourceError.ACCESS_DENIED),
        (Numbered(2), SourceError.BACKEND_UNAVAILABLE),
        (Numbered(1100), SourceError.QUERY_REJECTED),
        (Rpc(Status.UNAUTHENTICATED), SourceError.ACCESS_DENIED),
        (Rpc(Status.DEADLINE_EXCEEDED), SourceError.BACKEND_TIMEOUT),
        (Rpc(Status.UNAVAILABLE), SourceError.BACKEND_UNAVAILABLE),
        (ConnectionError(), SourceError.BACKEND_UNAVAILABLE),
    ],
)
def test_a_failure_of_the_client_has_its_code(error: Exception, code: SourceError) -> None:
    assert failure_of(error) is code
