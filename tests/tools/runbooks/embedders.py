"""Embedders of the tests' own: what they know of meaning can be read here."""

import hashlib
from collections.abc import Sequence

from typing_extensions import override

from tools.base import SourceFailure
from tools.runbooks.embedding import Embedder, EmbedderChoice, Vectors
from tools.vocabulary import SourceError

CHOICE = EmbedderChoice(kind="endpoint", model="concepts")

_OWN = 64

CONCEPTS = (
    ("disk", "磁盘", "volume", "storage full"),
    ("connection pool", "连接池", "connections"),
    ("certificate", "证书", "tls"),
    ("consumer lag", "消费堆积", "backlog", "积压"),
    ("memory", "内存", "heap"),
    ("rollback", "回滚", "previous version"),
)


DIMENSIONS = 1 + len(CONCEPTS) + _OWN


class Concepts(Embedder):
    """A vector of `DIMENSIONS` numbers: one for each concept that a text may speak of, and some that say nothing.

    `asked` holds every text that was embedded as a passage. `fails_after` is after how many calls it fails.
    """

    def __init__(self, *, fails_after: int | None = None) -> None:
        self.asked: list[str] = []
        self.closed = False
        self._left = fails_after

    @override
    async def passages(self, texts: Sequence[str]) -> Vectors:
        self._may_fail()
        self.asked.extend(texts)
        return [_vector(text) for text in texts]

    @override
    async def query(self, text: str) -> list[float]:
        self._may_fail()
        return _vector(text)

    @override
    async def close(self) -> None:
        self.closed = True

    def _may_fail(self) -> None:
        if self._left is not None:
            if self._left == 0:
                raise SourceFailure(SourceError.BACKEND_UNAVAILABLE)
            self._left -= 1


def _vector(text: str) -> list[float]:
    folded = text.casefold()
    own = hashlib.sha512(text.encode()).digest()
    concepts = [float(any(word in folded for word in concept)) for concept in CONCEPTS]
    # As with a real model: something that all texts share, and something that no other text has.
    return [0.2, *concepts, *((byte / 255 - 0.5) / 4 for byte in own)]
