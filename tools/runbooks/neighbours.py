"""Nearest neighbours of a vector: an approximate index (HNSW) in a file beside the index, mapped into memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from usearch.index import Index

from tools.runbooks.centring import Matrix


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
        """Add vectors, a row a key. The same vectors make the same index, which several threads wouldn't."""
        if len(keys):
            self._engine.add(np.asarray(keys, dtype=np.uint64), vectors, threads=1)

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
