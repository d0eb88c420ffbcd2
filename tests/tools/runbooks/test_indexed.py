"""An index is searched by words and by meaning; what fails is an error or a partial answer, never an absence."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.runbooks.embedders import CHOICE, DIMENSIONS, Concepts
from tests.tools.runbooks.shelving import shelved
from tools.base import IncidentContext, SourceFailure
from tools.runbooks import RunbookArguments, RunbookSearch
from tools.runbooks.embedding import EmbedderChoice
from tools.runbooks.indexed import EMBEDDER_FAILED, IndexedRunbooks
from tools.runbooks.indexing import update_index
from tools.runbooks.schema import vectors_file
from tools.runbooks.shelves import Shelf
from tools.vocabulary import Evidence, EvidenceStatus, Provenance, RelevanceLevel, SourceError

INCIDENT = IncidentContext.model_validate({"as_of": "2026-06-18T07:10:30Z"})
RUNBOOKS = {
    "disk.md": "# 磁盘\n\n## 写满\n\n日志目录占满磁盘时先清理\n\n## 配额\n\n为日志目录设置配额\n",
    "pool.md": "# Connection pools\n\nCallers wait for a connection when the connection pool is exhausted.\n",
    "tls.md": "# 证书\n\n到期前续签证书并重载网关\n",
    "lag.md": "# Consumer lag\n\nAdd consumers up to the number of partitions.\n",
    "heap.md": "# Heap\n\nTake a dump of the memory before a restart.\n",
    "notes.md": "# Notes\n\nWho sits where in the office, and where the coffee is.\n",
}


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    return shelved(tmp_path / "runbooks", RUNBOOKS)


@pytest.fixture
async def index(shelf: Path, tmp_path: Path) -> Path:
    await update_index(tmp_path / "index.db", [Shelf(shelf)], CHOICE, Concepts())
    return tmp_path / "index.db"


async def ask(library: IndexedRunbooks, query: str, limit: int | None = None) -> Evidence:
    tool = RunbookSearch(library)
    arguments = RunbookArguments(query=query, limit=limit)
    return await tool.collect(tool.normalize(arguments, INCIDENT), arguments, INCIDENT)


def damage(index: Path) -> None:
    raw = bytearray(index.read_bytes())
    raw[4096:] = b"\xff" * (len(raw) - 4096)
    index.write_bytes(raw)


async def test_an_answer_has_the_lines_of_the_plain_directory(index: Path) -> None:
    evidence = await ask(IndexedRunbooks(index, embedder=Concepts()), "磁盘写满 日志", limit=1)
    assert evidence.content == ("runbook file=disk.md section=写满 | 磁盘 > 写满", "  日志目录占满磁盘时先清理")
    assert (evidence.status, evidence.relevance) == (EvidenceStatus.EVIDENCE, RelevanceLevel.REFERENCE)
    assert evidence.provenance is Provenance.TEXT
    assert evidence.truncated
    assert evidence.summary == "runbooks files=6: 2 of 7 sections are relevant, in disk.md"


@pytest.mark.parametrize(
    ("query", "file"),
    [
        ("too many connections", "pool.md"),
        ("certificate expires tomorrow", "tls.md"),
        ("消费堆积", "lag.md"),
        ("the volume has no space", "disk.md"),
    ],
)
async def test_meaning_finds_what_no_word_does(index: Path, query: str, file: str) -> None:
    evidence = await ask(IndexedRunbooks(index, embedder=Concepts()), query)
    assert evidence.content[0].startswith(f"runbook file={file} ")


@pytest.mark.parametrize("query", ["printer toner", "打印机卡纸", "RabbitMQ shovel"])
async def test_nothing_relevant_is_no_evidence(index: Path, query: str) -> None:
    evidence = await ask(IndexedRunbooks(index, embedder=Concepts()), query)
    assert (evidence.status, evidence.content) == (EvidenceStatus.NO_EVIDENCE, ())
    assert evidence.summary == "runbooks files=6: none of 7 sections is relevant"


async def test_an_index_without_vectors_is_searched_by_words(shelf: Path, tmp_path: Path) -> None:
    index = tmp_path / "words.db"
    await update_index(index, [Shelf(shelf)], EmbedderChoice(), None)
    found = await ask(IndexedRunbooks(index), "connection pool exhausted")
    assert found.content[0].startswith("runbook file=pool.md ")
    assert (await ask(IndexedRunbooks(index), "office printer toner")).status is EvidenceStatus.NO_EVIDENCE


async def test_a_failing_embedder_leaves_a_partial_answer_by_words(index: Path) -> None:
    evidence = await ask(IndexedRunbooks(index, embedder=Concepts(fails_after=0)), "connection pool exhausted")
    assert evidence.content[0].startswith("runbook file=pool.md ")
    assert (evidence.notes, evidence.truncated) == ((EMBEDDER_FAILED,), True)


async def test_a_failing_embedder_is_no_absence(index: Path) -> None:
    with pytest.raises(SourceFailure) as caught:
        await ask(IndexedRunbooks(index, embedder=Concepts(fails_after=0)), "消费积压严重")
    assert caught.value.code is SourceError.BACKEND_UNAVAILABLE


async def test_a_vector_of_another_size_is_an_unreadable_source(index: Path) -> None:
    class Other(Concepts):
        async def query(self, text: str) -> list[float]:
            return [1.0, 2.0]

    with pytest.raises(SourceFailure) as caught:
        await ask(IndexedRunbooks(index, embedder=Other()), "打印机卡纸")
    assert caught.value.code is SourceError.SOURCE_UNREADABLE


async def test_a_missing_index_is_a_missing_source(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure) as caught:
        await ask(IndexedRunbooks(tmp_path / "absent.db"), "disk")
    assert caught.value.code is SourceError.SOURCE_MISSING


@pytest.mark.parametrize("content", [b"", b"nothing of ours", b"SQLite format 3\0" + b"\0" * 600])
async def test_a_damaged_index_is_an_unreadable_source(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "index.db").write_bytes(content)
    with pytest.raises(SourceFailure) as caught:
        await ask(IndexedRunbooks(tmp_path / "index.db"), "disk")
    assert caught.value.code is SourceError.SOURCE_UNREADABLE


async def test_an_index_whose_pages_are_damaged_is_an_unreadable_source(index: Path) -> None:
    damage(index)
    with pytest.raises(SourceFailure) as caught:
        await ask(IndexedRunbooks(index, embedder=Concepts()), "disk")
    assert caught.value.code is SourceError.SOURCE_UNREADABLE


async def test_an_index_without_its_vectors_is_a_missing_source(index: Path) -> None:
    library = IndexedRunbooks(index, embedder=Concepts())
    vectors_file(index, library.info().generation).unlink()
    await library.close()
    with pytest.raises(SourceFailure) as caught:
        await ask(library, "disk")
    assert caught.value.code is SourceError.SOURCE_MISSING


async def test_an_index_that_names_an_endpoint_needs_its_address(index: Path) -> None:
    with pytest.raises(SourceFailure) as caught:
        await ask(IndexedRunbooks(index), "打印机卡纸")
    assert caught.value.code is SourceError.BACKEND_UNAVAILABLE


async def test_a_pasted_query_greps_the_indexed_directory(index: Path, shelf: Path) -> None:
    tool = RunbookSearch(IndexedRunbooks(index, embedder=Concepts()))
    assert tool.paste({"query": "disk full"}) == f"grep -rniE 'disk|full' {shelf}/"


def test_several_processes_read_one_index(index: Path) -> None:
    code = (
        "import sys, asyncio\n"
        "from pathlib import Path\n"
        "from tools.runbooks.indexed import IndexedRunbooks\n"
        "from tests.tools.runbooks.embedders import Concepts\n"
        "found = asyncio.run(IndexedRunbooks(Path(sys.argv[1]), embedder=Concepts()).search('连接池'))\n"
        "print(found.hits[0].section.file)\n"
    )
    library = IndexedRunbooks(index, embedder=Concepts())
    assert asyncio.run(library.search("connection pool")).hits
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(index)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
        )
        for _ in range(2)
    ]
    assert [process.communicate()[0] for process in processes] == [b"pool.md\n"] * 2
    assert asyncio.run(library.search("connection pool")).hits


async def test_a_closed_library_opens_again_when_asked(index: Path) -> None:
    library = IndexedRunbooks(index, embedder=Concepts())
    first = await library.search("disk")
    await library.close()
    assert await library.search("disk") == first


def test_info_says_what_made_the_vectors(index: Path) -> None:
    info = IndexedRunbooks(index).info()
    assert (info.embedder, info.dimensions, info.files, info.chunks) == (CHOICE, DIMENSIONS, 6, 7)
    assert info.updated_at.endswith("Z")
