"""Writing the file of nearest neighbours of an index, from the one before where little changed."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tools.runbooks.centring import Centre, Matrix, unpacked
from tools.runbooks.neighbours import Neighbours

_SMALL = 5_000
"""Up to so many vectors the file is always made anew, in a second or two."""

_MUCH = 5
"""Beyond that, it is made anew once a fifth of its vectors came or went: an approximate index of many changes finds
less, and the centre moves."""

_BATCH = 10_000


def write_graph(database: sqlite3.Connection, old: Path, new: Path) -> int:
    """Write `new` for the vectors of the database, and their centre into the database; returns their dimensions (0: no
    vectors). Where little changed, `old` is read and changed, under the centre that it was made with."""
    present = {key for (key,) in database.execute("SELECT id FROM vector")}
    if not present:
        return 0
    centre, graph = read_centre(database), _opened(old)
    if centre is not None and graph is not None and len(present) > _SMALL:
        stored = graph.keys()
        gone, come = stored - present, present - stored
        if (len(gone) + len(come)) * _MUCH < len(present):
            graph.remove(sorted(gone))
            return _filled(database, graph, centre, sorted(come), new)
    keys = sorted(present)
    centre = _centre_of(database, keys)
    with database:
        database.execute("INSERT OR REPLACE INTO meta VALUES ('centre', ?)", (centre.means.astype("<f4").tobytes(),))
    return _filled(database, Neighbours.empty(centre.means.shape[1]), centre, keys, new)


def read_centre(database: sqlite3.Connection) -> Centre | None:
    """Return the centre of an index's vectors, None where it has none yet."""
    row = database.execute("SELECT value FROM meta WHERE key = 'centre'").fetchone()
    return Centre(np.frombuffer(row[0], dtype="<f4").reshape(2, -1).astype(np.float32)) if row else None


def _opened(file: Path) -> Neighbours | None:
    try:
        return Neighbours.loaded(file)
    except FileNotFoundError:
        return None


def _centre_of(database: sqlite3.Connection, keys: Sequence[int]) -> Centre:
    """Return the centre of an even sample of the vectors."""
    step = max(len(keys) // _BATCH, 1)
    matrix, han = _read(database, keys[::step])
    return Centre.of(matrix, han)


def _filled(database: sqlite3.Connection, graph: Neighbours, centre: Centre, keys: Sequence[int], file: Path) -> int:
    for begin in range(0, len(keys), _BATCH):
        batch = keys[begin : begin + _BATCH]
        matrix, han = _read(database, batch)
        graph.add(batch, centre.moved(matrix, han))
    graph.save(file)
    return int(centre.means.shape[1])


def _read(
    database: sqlite3.Connection, keys: Sequence[int]
) -> "tuple[Matrix, np.ndarray[tuple[int], np.dtype[np.bool_]]]":
    rows = [row for key in keys for row in database.execute("SELECT data, han FROM vector WHERE id = ?", (key,))]
    return unpacked([data for data, _ in rows]), np.asarray([bool(han) for _, han in rows])
