"""Runbooks in a collection of Milvus, or of Milvus Lite: the same search for who outgrows one machine.

Milvus finds by words (its BM25 function) and by meaning (HNSW); relevance is counted here, as for an index file. Words
are stored as tokens of letters and digits, one a word, so that no analyzer of a server takes Chinese words apart
otherwise than our own segmentation. The nearest neighbours of each script are asked for apart: vectors are stored as
they are, and those of the query's own language would crowd out the others before they are centred.
"""

import asyncio
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from typing_extensions import override

from tools.base import SourceFailure
from tools.live.source import HttpAccess
from tools.runbooks.centring import Centre, Matrix
from tools.runbooks.embedding import Embedder, EmbedderChoice, MissingExtraError, embedder_for, optional
from tools.runbooks.fusion import AskedWords, Candidate, ranked
from tools.runbooks.library import MAX_SECTIONS, Found, Hit, Library
from tools.runbooks.milvus_schema import SHOWN, MilvusAccess, choice_of, failure_of, quiet, section_of, tokens_of
from tools.runbooks.sections import Section
from tools.runbooks.words import asked_words
from tools.vocabulary import SourceError

CANDIDATES = 20
MAX_WORDS = 24
"""How many words of a query are looked for."""

_SAMPLE = 400
_FRESH_SECONDS = 300.0
"""How long counts and centre of a collection are taken as known."""

Answered = TypeVar("Answered")

_SCRIPTS = ("han == false", "han == true")


@dataclass(frozen=True)
class _Known:
    """What is known of the collection: its embedder, how much it holds, and the centre of a sample of its vectors."""

    at: float
    choice: EmbedderChoice
    chunks: int
    centre: Centre


class MilvusRunbooks(Library):
    """Runbooks in a collection that `tools.runbooks.milvus_indexing` filled."""

    def __init__(
        self, access: MilvusAccess, embedding: HttpAccess | None = None, *, embedder: Embedder | None = None
    ) -> None:
        """Connects to nothing yet. `embedding` reaches the embedding endpoint where the collection was made with one;
        `embedder` stands in for the one that the collection names."""
        self._access = access
        self._embedding = embedding
        self._given = embedder
        self._made: Embedder | None = None
        self._client: tuple[asyncio.AbstractEventLoop, Any] | None = None
        self._known: _Known | None = None

    @override
    async def search(self, query: str) -> Found:
        """Return what is relevant to a query.

        Raises SourceFailure: SOURCE_MISSING without the collection, ACCESS_DENIED, BACKEND_TIMEOUT,
        BACKEND_UNAVAILABLE, QUERY_REJECTED; the embedder's failures.
        """
        known = await self._asked(self._knowing())
        vector = await self._embedder(known.choice).query(query)
        return await self._asked(self._search(query, vector, known))

    @override
    def place(self) -> str:
        return "runbooks/"

    @override
    async def close(self) -> None:
        if self._client is not None and self._client[0] is asyncio.get_running_loop():
            await self._client[1].close()
        self._client = None
        if self._made is not None:
            await self._made.close()

    async def _asked(self, answer: Awaitable[Answered]) -> Answered:
        """Return what is awaited within the bound; raises SourceFailure for whatever the client raises."""
        code: SourceError | None = None
        try:
            async with asyncio.timeout(self._access.timeout_seconds):
                return await answer
        except TimeoutError:
            code = SourceError.BACKEND_TIMEOUT
        except MissingExtraError:
            code = SourceError.BACKEND_UNAVAILABLE
        except SourceFailure:
            raise
        # The client raises exceptions of its own, of grpc and of its parsing.
        except Exception as error:  # noqa: BLE001
            code = failure_of(error)
        raise SourceFailure(code)

    async def _search(self, query: str, vector: Sequence[float], known: _Known) -> Found:
        words = asked_words(query)[:MAX_WORDS]
        tokens = tokens_of(words)
        counts, by_words, *by_meaning = await asyncio.gather(
            asyncio.gather(*(self._count(f'TEXT_MATCH(words, "{token}")') for token in tokens)),
            self._find("sparse", " ".join(tokens), ""),
            *(self._find("vector", list(vector), script) for script in _SCRIPTS),
        )
        asked = AskedWords(dict(zip(tokens, counts, strict=True)), known.chunks)
        # Servers and Milvus Lite give BM25 with different signs.
        bm25 = {hit["id"]: abs(hit["distance"]) for hit in by_words}
        entities = {hit["id"]: hit["entity"] for found in (by_words, *by_meaning) for hit in found}
        candidates = _candidates(entities, bm25, known.centre, known.centre.query(vector, query))
        best = ranked(candidates, asked)
        sections: dict[int | str, Section] = {key: section_of(entities[str(key)]) for _, key in best[:MAX_SECTIONS]}
        hits = tuple(Hit(sections[key], score) for score, key in best[:MAX_SECTIONS])
        return Found(hits, len(best), known.chunks, files=None)

    async def _find(self, field: str, sought: str | list[float], condition: str) -> list[dict[str, Any]]:
        client = self._connected()
        found = await client.search(
            self._access.collection,
            data=[sought],
            anns_field=field,
            limit=CANDIDATES,
            filter=condition,
            output_fields=[*SHOWN, "words", "han", "vector"],
            timeout=self._access.timeout_seconds,
        )
        return [dict(hit) for hit in found[0]]

    async def _count(self, condition: str) -> int:
        rows = await self._query(condition, ["count(*)"])
        return int(rows[0]["count(*)"])

    async def _query(self, condition: str, fields: list[str], **bounds: int) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = await self._connected().query(
            self._access.collection,
            filter=condition,
            output_fields=fields,
            timeout=self._access.timeout_seconds,
            **bounds,
        )
        return rows

    async def _knowing(self) -> _Known:
        if self._known is None or time.monotonic() - self._known.at > _FRESH_SECONDS:
            description = await self._connected().describe_collection(
                self._access.collection, timeout=self._access.timeout_seconds
            )
            samples = [await self._query(script, ["vector"], limit=_SAMPLE) for script in _SCRIPTS]
            self._known = _Known(
                at=time.monotonic(),
                choice=choice_of(description),
                chunks=await self._count(""),
                centre=_centre_of(samples),
            )
        return self._known

    def _connected(self) -> Any:
        """Return the client of this event loop."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._client[0] is not loop:
            pymilvus = optional("pymilvus", extra="milvus")
            quiet()
            client = pymilvus.AsyncMilvusClient(
                self._access.url, token=self._access.secret(), timeout=self._access.timeout_seconds
            )
            self._client = (loop, client)
        return self._client[1]

    def _embedder(self, choice: EmbedderChoice) -> Embedder:
        if self._given is not None:
            return self._given
        if self._made is None:
            try:
                self._made = embedder_for(choice, self._embedding)
            except (MissingExtraError, ValueError):
                raise SourceFailure(SourceError.BACKEND_UNAVAILABLE) from None
        if self._made is None:
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        return self._made


def _candidates(
    entities: Mapping[str, Mapping[str, Any]], bm25: Mapping[str, float], centre: Centre, query: Matrix
) -> list[Candidate]:
    if not entities:
        return []
    vectors = np.asarray([entity["vector"] for entity in entities.values()], dtype=np.float32)
    moved = centre.moved(vectors, np.asarray([entity["han"] for entity in entities.values()], dtype=np.bool_))
    cosines: list[float] = (moved @ query).tolist()
    return [
        Candidate(key, str(entity["words"]), bm25.get(key, 0.0), cosine)
        for (key, entity), cosine in zip(entities.items(), cosines, strict=True)
    ]


def _centre_of(samples: Sequence[list[dict[str, Any]]]) -> Centre:
    rows = [(row["vector"], script) for script, found in enumerate(samples) for row in found]
    if not rows:
        raise SourceFailure(SourceError.SOURCE_MISSING)
    vectors = np.asarray([vector for vector, _ in rows], dtype=np.float32)
    return Centre.of(vectors, np.asarray([bool(script) for _, script in rows]))
