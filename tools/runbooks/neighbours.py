"""Nearest neighbours of a vector: an approximate index (HNSW) in a file beside the index, mapped into memory.

Vectors are centred first: each loses the mean of its own script (texts with Chinese, texts without). The cosines of
multilingual models lie close together, and two texts of one language are nearer than two of one meaning; what is left
after centring tells meanings apart, across languages, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

Matrix: TypeAlias = NDArray[np.float32]

_SHRINKING = 10
"""A mean of few texts is no background; it counts as if so many texts of mean 0 stood beside them."""

_HAN = re.compile(r"[\u3400-\u9fff]")
_TINY = 1e-12


def is_han(text: str) -> bool:
    """Return whether a text is written in Chinese, if only in part: one such character in twenty."""
    return len(_HAN.findall(text)) * 20 >= max(len(text), 1)


@dataclass(frozen=True)
class Centre:
    """The means of the vectors of texts without and with Chinese: a matrix of two rows."""

    means: Matrix

    @classmethod
    def of(cls, vectors: Matrix, han: NDArray[np.bool_]) -> "Centre":
        """Return the centre of `vectors` (a row a text), of which `han` tells the script."""
        unit = _unit(vectors)
        rows = [unit[han == script].sum(axis=0) / ((han == script).sum() + _SHRINKING) for script in (False, True)]
        return cls(np.stack(rows).astype(np.float32))

    def moved(self, vectors: Matrix, han: NDArray[np.bool_]) -> Matrix:
        """Return the vectors without the mean of their script, of length 1."""
        return _unit(_unit(vectors) - self.means[han.astype(np.intp)])

    def query(self, vector: Sequence[float], text: str) -> Matrix:
        """Return a query's vector, moved by the script of its text."""
        moved: Matrix = self.moved(np.asarray([vector], dtype=np.float32), np.asarray([is_han(text)]))[0]
        return moved


class Neighbours:
    """An approximate index of centred vectors under integer keys."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    @classmethod
    def empty(cls, dimensions: int) -> "Neighbours":
        """Return an index without vectors."""
        return cls(Index(ndim=dimensions, metric="cos", dtype="f16"))

    @classmethod
    def mapped(cls, file: Path) -> "Neighbours":
        """Return a stored index, mapped and read-only; raises FileNotFoundError."""
        if not file.is_file():
            raise FileNotFoundError
        return cls(Index.restore(str(file), view=True))

    @classmethod
    def loaded(cls, file: Path) -> "Neighbours":
        """Return a stored index in memory, to be changed; raises FileNotFoundError."""
        if not file.is_file():
            raise FileNotFoundError
        return cls(Index.restore(str(file)))

    def __len__(self) -> int:
        return len(self._engine)

    def keys(self) -> set[int]:
        """Return the keys of all vectors."""
        return {int(key) for key in np.asarray(self._engine.keys)}

    def add(self, keys: Sequence[int], vectors: Matrix) -> None:
        """Add vectors, a row a key."""
        if len(keys):
            self._engine.add(np.asarray(keys, dtype=np.uint64), vectors)

    def remove(self, keys: Sequence[int]) -> None:
        """Take vectors out."""
        if len(keys):
            self._engine.remove(np.asarray(keys, dtype=np.uint64))

    def save(self, file: Path) -> None:
        """Write the index to a file."""
        self._engine.save(str(file))

    def nearest(self, vector: Matrix, count: int) -> dict[int, float]:
        """Return the keys of about the nearest `count` vectors with their cosines, the nearest first."""
        if not len(self._engine):
            return {}
        found = self._engine.search(vector, count)
        return {int(key): 1.0 - float(distance) for key, distance in zip(found.keys, found.distances, strict=True)}

    def cosines(self, vector: Matrix, keys: Sequence[int]) -> dict[int, float]:
        """Return the exact cosines of the vectors under `keys`."""
        if not keys:
            return {}
        stored = np.asarray(self._engine.get(np.asarray(keys, dtype=np.uint64)), dtype=np.float32)
        return dict(zip(keys, (stored @ vector).tolist(), strict=True))


def packed(vectors: Sequence[Sequence[float]]) -> list[bytes]:
    """Return vectors of length 1 as stored: half-precision numbers, little-endian."""
    unit = _unit(np.asarray(vectors, dtype=np.float32)).astype("<f2")
    return [row.tobytes() for row in unit]


def unpacked(stored: Sequence[bytes]) -> Matrix:
    """Return stored vectors as a matrix, a row a vector."""
    return np.frombuffer(b"".join(stored), dtype="<f2").reshape(len(stored), -1).astype(np.float32)


def _unit(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, _TINY), dtype=np.float32)
