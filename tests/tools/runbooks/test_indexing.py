"""The index holds what lies in the directories: what is unchanged is left alone, what is gone goes, readers see a whole
index, and an interrupted run is gone on with."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.tools.runbooks.embedders import CHOICE, DIMENSIONS, Concepts
from tools.base import SourceFailure
from tools.runbooks.embedding import Embedder, EmbedderChoice
from tools.runbooks.indexed import IndexedRunbooks
from tools.runbooks.indexing import IndexInUseError, IndexReport, update_index
from tools.runbooks.schema import IndexFormatError
from tools.runbooks.sections import CASE
from tools.runbooks.shelves import Shelf, Stage
from tools.vocabulary import SourceError

WORDS_ALONE = EmbedderChoice()


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    directory = tmp_path / "runbooks"
    (directory / "deep").mkdir(parents=True)
    (directory / "disk.md").write_text("# Disk\n\n## Full\n\nfree the disk\n\n## Quota\n\nset a disk quota\n")
    (directory / "deep" / "pool.html").write_text("<h1>Pool</h1><p>the connection pool is exhausted</p>")
    return directory


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "made" / "runbooks.db"


async def update(
    index: Path, *directories: Path, embedder: Embedder | None = None, cases: tuple[Path, ...] = ()
) -> IndexReport:
    shelves = [*(Shelf(one) for one in directories), *(Shelf(one, CASE) for one in cases)]
    return await update_index(index, shelves, CHOICE if embedder else WORDS_ALONE, embedder)


async def files(index: Path, query: str, embedder: Embedder | None = None) -> list[str]:
    library = IndexedRunbooks(index, embedder=embedder)
    found = await library.search(query)
    await library.close()
    return [hit.section.file for hit in found.hits]


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def put(file: Path, content: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(content)


def content_of(file: Path) -> bytes:
    return file.read_bytes()


async def test_what_is_unchanged_is_neither_read_nor_embedded_again(shelf: Path, index: Path) -> None:
    first = Concepts()
    report = await update(index, shelf, embedder=first)
    assert (report.changed, report.unchanged, report.removed, report.embedded) == (2, 0, 0, 3)
    assert (report.info.files, report.info.chunks, report.info.dimensions) == (2, 3, DIMENSIONS)

    (shelf / "disk.md").write_text(
        "# Disk\n\n## Full\n\nfree the disk\n\n## Inodes\n\nremove small files of the disk\n"
    )
    second = Concepts()
    report = await update(index, shelf, embedder=second)
    assert (report.changed, report.unchanged, report.removed, report.embedded) == (1, 1, 0, 1)
    assert second.asked == ["Disk > Inodes\nremove small files of the disk"]
    assert await files(index, "set a quota of the disk inodes", Concepts()) == ["disk.md", "disk.md"]


async def test_what_is_gone_goes_with_its_vectors(shelf: Path, index: Path) -> None:
    await update(index, shelf, embedder=Concepts())
    (shelf / "deep" / "pool.html").unlink()
    report = await update(index, shelf, embedder=Concepts())
    assert (report.removed, report.info.files, report.info.chunks) == (1, 1, 2)
    assert await files(index, "connection pool exhausted", Concepts()) == []
    with closing(sqlite3.connect(index)) as database:
        assert database.execute("SELECT count(*) FROM vector").fetchone() == (2,)
        assert database.execute("SELECT count(*) FROM words").fetchone() == (2,)


async def test_the_index_holds_exactly_the_directories_of_the_last_run(
    shelf: Path, index: Path, tmp_path: Path
) -> None:
    other = tmp_path / "team-b"
    other.mkdir()
    (other / "tls.md").write_text("# TLS\n\nrenew the certificate\n")
    await update(index, shelf, other)
    assert await files(index, "renew the certificate") == ["team-b/tls.md"]
    await update(index, shelf)
    assert await files(index, "renew the certificate") == []
    assert await files(index, "free the disk") == ["disk.md"]


async def test_a_past_case_says_that_it_is_one(shelf: Path, index: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases"
    cases.mkdir()
    (cases / "may.md").write_text("# May outage\n\nthe certificate had expired\n")
    await update(index, shelf, cases=(cases,))
    found = await IndexedRunbooks(index).search("certificate expired outage")
    assert [(hit.section.file, hit.section.kind) for hit in found.hits] == [("cases/may.md", CASE)]


async def test_an_interrupted_run_is_gone_on_with(tmp_path: Path, index: Path) -> None:
    directory = tmp_path / "many"
    directory.mkdir()
    for number in range(100):
        (directory / f"{number}.md").write_text(f"# Runbook {number}\n\ndisk number {number}\n")
    broken = Concepts(fails_after=2)
    with pytest.raises(SourceFailure):
        await update(index, directory, embedder=broken)
    assert index.name not in names(index.parent)
    second = Concepts()
    report = await update(index, directory, embedder=second)
    assert len(broken.asked) == 64
    assert report.embedded == len(second.asked) == 36
    assert not set(broken.asked) & set(second.asked)
    assert report.info.chunks == 100


async def test_a_reader_sees_the_old_index_until_the_new_one_is_whole(shelf: Path, index: Path) -> None:
    await update(index, shelf, embedder=Concepts())
    library = IndexedRunbooks(index, embedder=Concepts())
    before = await library.search("disk full")
    (shelf / "disk.md").write_text("# Certificates\n\nrenew the certificate\n")

    with pytest.raises(SourceFailure):
        await update(index, shelf, embedder=Concepts(fails_after=0))
    assert await library.search("disk full") == before

    await update(index, shelf, embedder=Concepts())
    assert (await library.search("disk full")).hits == ()
    assert [hit.section.title for hit in (await library.search("renew the certificate")).hits] == ["Certificates"]


async def test_two_processes_do_not_write_one_index(shelf: Path, index: Path) -> None:
    class Waiting(Concepts):
        async def passages(self, texts: object) -> list[list[float]]:
            with pytest.raises(IndexInUseError):
                await update(index, shelf)
            raise SourceFailure(SourceError.BACKEND_UNAVAILABLE)

    with pytest.raises(SourceFailure):
        await update(index, shelf, embedder=Waiting())
    assert (await update(index, shelf)).info.chunks == 3


async def test_another_embedder_makes_the_index_anew(shelf: Path, index: Path) -> None:
    await update(index, shelf)
    report = await update(index, shelf, embedder=Concepts())
    assert (report.changed, report.embedded, report.info.embedder) == (2, 3, CHOICE)
    report = await update(index, shelf)
    assert (report.info.dimensions, report.info.embedder) == (0, WORDS_ALONE)


@pytest.mark.parametrize("content", [b"no database", b"", b"SQLite format 3\0" + b"x" * 200])
async def test_a_file_that_is_no_index_is_not_written_over(shelf: Path, index: Path, content: bytes) -> None:
    put(index, content)
    with pytest.raises(IndexFormatError):
        await update(index, shelf)
    assert content_of(index) == content


async def test_an_unreadable_file_is_counted_and_the_rest_is_indexed(shelf: Path, index: Path) -> None:
    (shelf / "broken.pdf").write_bytes(b"%PDF-")
    (shelf / "odd.md").write_bytes(b"\xff\xff\xff")
    (shelf / "empty.md").write_text("")
    report = await update(index, shelf)
    assert (report.info.files, report.info.unreadable, report.info.chunks) == (5, 2, 3)
    assert (await update(index, shelf)).info.unreadable == 2


async def test_a_directory_that_is_none_is_named(index: Path, tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="absent"):
        await update(index, tmp_path / "absent")


async def test_secrets_and_hostile_text_are_in_neither_the_index_nor_what_is_embedded(
    index: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.md").write_text("# Disk\u202e\n\nconnect with password=hunter2 to the \x1b[31mdisk\n")
    embedder = Concepts()
    await update(index, tmp_path / "bad", embedder=embedder)
    assert "hunter2" not in "".join(embedder.asked)
    assert "\x1b" not in "".join(embedder.asked)
    assert b"hunter2" not in content_of(index)


async def test_progress_tells_each_stage_to_its_end(shelf: Path, index: Path) -> None:
    told: list[tuple[Stage, int, int]] = []
    await update_index(index, [Shelf(shelf)], CHOICE, Concepts(), lambda *one: told.append(one))
    assert ("reading", 2, 2) in told
    assert told[-1] == ("embedding", 3, 3)


async def test_only_the_vectors_of_this_and_the_last_state_are_kept(shelf: Path, index: Path) -> None:
    for number in range(4):
        (shelf / "more.md").write_text(f"# More {number}\n\ndisk\n")
        await update(index, shelf, embedder=Concepts())
    assert len(list(index.parent.glob("*.vectors"))) == 2
    assert not list(index.parent.glob("*.partial*"))


async def test_many_readers_and_a_writer_do_not_disturb_each_other(shelf: Path, index: Path) -> None:
    await update(index, shelf, embedder=Concepts())
    library = IndexedRunbooks(index, embedder=Concepts())

    async def read() -> set[int]:
        return {len((await library.search("disk full")).hits) for _ in range(20)}

    async def write() -> None:
        for number in range(5):
            (shelf / "disk.md").write_text(f"# Disk\n\n## Full\n\nfree the disk {number}\n\n## Quota\n\ndisk quota\n")
            await update(index, shelf, embedder=Concepts())

    *seen, _ = await asyncio.gather(read(), read(), read(), write())
    assert seen == [{2}, {2}, {2}]
