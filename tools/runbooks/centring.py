"""Vectors as they are compared: without the mean of their own script.

The cosines of multilingual models lie close together, and two texts of one language are nearer than two of one meaning.
What is left of a vector after the mean of its script (texts with Chinese, texts without) is taken away tells meanings
apart, across languages, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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
