"""Latency and memory of searching runbooks at 1,000, 10,000 and 100,000 chunks, beside the bare engines.

Bare are the two engines that the index is made of, asked one after another over the same files: SQLite's full-text
index for the ten best by BM25 of any of the query's words, and usearch for the ten nearest vectors, with the texts of
what both found. Text and vectors are made up (words by Zipf's law, vectors in clusters): embedding 100,000 real texts
takes an hour, and what a query's own embedding takes (about 25 ms in process) is on neither side. Run it as

    python -m tests.benchmarks.retrieval [chunks …]

A script, not a test: what it prints depends on the machine, the ratios less.
"""

import asyncio
import hashlib
import multiprocessing
import random
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from usearch.index import Index

from tools.runbooks.embedding import Embedder, EmbedderChoice, Vectors
from tools.runbooks.graph import read_centre
from tools.runbooks.indexed import IndexedRunbooks
from tools.runbooks.indexing import update_index
from tools.runbooks.schema import opened, read_info, vectors_file
from tools.runbooks.shelves import Shelf
from tools.runbooks.words import asked_words

SIZES = (1_000, 10_000, 100_000)
QUERIES = 300
_WARMING = 20
DIMENSIONS = 384
_SECTIONS = 20
_SECTION_WORDS = 70
_TOPICS = 500
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qi ro su ta ve wi xo yu za".split()  # noqa: SIM905
_HAN = "连接超时磁盘内存重启节点副本延迟告警日志缓存队列证书密钥网关路由发布回滚限流熔断线程容器镜像调度索引"


class MadeUp(Embedder):
    """Vectors by the digest of a text: near one of some topics, the same for the same text."""

    def __init__(self) -> None:
        self._topics = np.random.default_rng(1).normal(size=(_TOPICS, DIMENSIONS))

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text."""
        return [self._vector(text) for text in texts]

    async def query(self, text: str) -> list[float]:
        """Return a vector beside that of a passage of the same text."""
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        dice = np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))
        vector = self._topics[dice.integers(_TOPICS)] + 0.7 * dice.normal(size=DIMENSIONS)
        found: list[float] = vector.tolist()
        return found


def main() -> None:
    """Measure the sizes named on the command line, else all; print a Markdown table."""
    sizes = [int(given) for given in sys.argv[1:]] or list(SIZES)
    sys.stdout.write(
        "| chunks | side | median ms | p95 ms | memory for it, MB | beside bare |\n|---|---|---:|---:|---:|---:|\n"
    )
    for size in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            _measure(size, Path(scratch))


def _measure(size: int, scratch: Path) -> None:
    _write_runbooks(scratch / "runbooks", size)
    index = scratch / "index.db"
    seconds = _indexed(scratch / "runbooks", index)
    # In processes of their own, so that one side's memory isn't the other's.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        took = pool.apply(_raced, (index,))
        memory = {side: pool.apply(_memory_of, (side, index)) for side in SIDES}
    for side, times in took.items():
        ratio = statistics.median(times) / statistics.median(took["bare engines"])
        p95 = statistics.quantiles(times, n=20)[-1]
        row = f"{statistics.median(times):.2f} | {p95:.2f} | {memory[side]:.0f} | {ratio:.2f}×"
        sys.stdout.write(f"| {size:,} | {side} | {row} |\n")
    stored = sum(file.stat().st_size for file in index.parent.glob("index.db*")) / 1e6
    sys.stdout.write(f"| {size:,} | indexing: {size / seconds:,.0f} chunks/s, {stored:.0f} MB on disk | | | | |\n")
    sys.stdout.flush()


def _write_runbooks(directory: Path, chunks: int) -> None:
    dice = random.Random(7)  # noqa: S311
    words = ["".join(dice.choices(_SYLLABLES, k=dice.randint(2, 4))) for _ in range(30_000)]
    words += ["".join(dice.sample(_HAN, 2)) for _ in range(2_000)]
    dice.shuffle(words)
    weights = list(accumulate(1 / (place + 10) for place in range(len(words))))
    directory.mkdir()
    for number in range(chunks // _SECTIONS):
        text = []
        for _ in range(_SECTIONS):
            drawn = dice.choices(words, cum_weights=weights, k=_SECTION_WORDS)
            text.append(f"## {' '.join(drawn[:4])}\n\n{' '.join(drawn[4:])}\n")
        (directory / f"{number}.md").write_text("\n".join(text), encoding="utf-8")


def _indexed(directory: Path, index: Path) -> float:
    begin = time.perf_counter()
    asyncio.run(update_index(index, [Shelf(directory)], EmbedderChoice(kind="endpoint", model="made up"), MadeUp()))
    return time.perf_counter() - begin


def _queries(index: Path) -> list[tuple[str, list[float]]]:
    """Return queries of five words of a chunk and one of another, each with a vector near the chunk's."""
    database = opened(index)
    dice = random.Random(11)  # noqa: S311
    embedder = MadeUp()
    count = read_info(database).chunks
    found = []
    for _ in range(QUERIES):
        (body,) = database.execute("SELECT body FROM chunk WHERE id = ?", (dice.randint(1, count),)).fetchone()
        (other,) = database.execute("SELECT body FROM chunk WHERE id = ?", (dice.randint(1, count),)).fetchone()
        query = " ".join([*dice.sample(body.split(), 5), dice.choice(other.split())])
        found.append((query, asyncio.run(embedder.query(query))))
    return found


def _raced(index: Path) -> dict[str, list[float]]:
    """Return the milliseconds of each query on each side, asked in turn, so that both meet the same machine."""
    asks = {side: opening(index) for side, opening in SIDES.items()}
    took: dict[str, list[float]] = {side: [] for side in asks}
    for number, (query, vector) in enumerate(_queries(index)):
        for side, ask in asks.items():
            begin = time.perf_counter()
            ask(query, vector)
            if number >= _WARMING:
                took[side].append((time.perf_counter() - begin) * 1_000)
    return took


def _memory_of(side: str, index: Path) -> float:
    """Return by how many MB the process grows that opens a side and asks it every query."""
    queries = _queries(index)
    before = _memory()
    ask = SIDES[side](index)
    for query, vector in queries:
        ask(query, vector)
    return _memory() - before


def _memory() -> float:
    """Return what of this process is in memory now, in MB, pages of mapped files included."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def _ours(index: Path) -> Callable[[str, list[float]], object]:
    library = IndexedRunbooks(index)
    return library.look_up


def _bare(index: Path) -> Callable[[str, list[float]], object]:
    database = opened(index)
    info, centre = read_info(database), read_centre(database)
    assert centre is not None
    engine = Index.restore(str(vectors_file(index, info.generation)), view=True)
    assert engine is not None

    def ask(query: str, vector: list[float]) -> object:
        match = " OR ".join(f'"{word}"' for word in asked_words(query))
        keys = [key for (key,) in database.execute(_BY_WORDS, (match,))]
        found = engine.search(centre.query(vector, query), 10)
        near = ",".join(str(int(key)) for key in found.keys)
        return _texts(database, f"id IN ({','.join(map(str, keys))}) OR vector IN ({near})")

    return ask


_BY_WORDS = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"


def _texts(database: sqlite3.Connection, condition: str) -> list[tuple[str, str]]:
    return database.execute(f"SELECT headings, body FROM chunk WHERE {condition}").fetchall()  # noqa: S608


SIDES: dict[str, Callable[[Path], Callable[[str, list[float]], object]]] = {
    "bare engines": _bare,
    "search_runbooks": _ours,
}


if __name__ == "__main__":
    main()
