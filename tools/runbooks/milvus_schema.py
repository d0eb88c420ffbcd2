"""How runbooks lie in a Milvus collection, and what its client's failures mean."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.base import SourceFailure
from tools.runbooks.embedding import EmbedderChoice, optional
from tools.runbooks.sections import Section
from tools.vocabulary import SourceError

FORMAT = 1
PROPERTY = "zhizhi.index"
"""The property of a collection that says what made its vectors."""

SHOWN = ("file", "kind", "headings", "body")
MAX_TOKENS = 3_800
TITLE_WEIGHT = 4
"""A word in a title counts as four in the text: it is stored four times."""

_COLLECTION_NOT_FOUND = 100
_DENIED = frozenset({1400, 1401, 1402, 1403, 1404, 1405})
_UNREACHED = frozenset({1, 2})
_GRPC = {
    "UNAUTHENTICATED": SourceError.ACCESS_DENIED,
    "PERMISSION_DENIED": SourceError.ACCESS_DENIED,
    "DEADLINE_EXCEEDED": SourceError.BACKEND_TIMEOUT,
    "INVALID_ARGUMENT": SourceError.QUERY_REJECTED,
}


@dataclass(frozen=True)
class MilvusAccess:
    """Where a collection is and how it lets us in; none of it is ever shown.

    `secret` returns the token, empty where there is none; it is asked at each connection, so that a renewed file works,
    and raises SourceFailure(ACCESS_DENIED).
    """

    url: str
    collection: str
    secret: Callable[[], str] = str
    timeout_seconds: float = 10.0


class OtherEmbedderError(Exception):
    """Raised where a collection's vectors are of another model, so that its sections can't stand beside new ones."""


def quiet() -> None:
    """Keep the client from logging what it raises: addresses and texts of others stand in it."""
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)


def schema_of(client: Any, choice: EmbedderChoice, dimensions: int) -> tuple[Any, Any]:
    """Return the schema and the index parameters of a collection."""
    types = optional("pymilvus", extra="milvus")
    kinds = types.DataType
    schema = client.create_schema(enable_dynamic_field=False, description=described(choice))
    schema.add_field("id", kinds.VARCHAR, is_primary=True, max_length=64)
    schema.add_field("file", kinds.VARCHAR, max_length=4_096)
    schema.add_field("kind", kinds.VARCHAR, max_length=16)
    schema.add_field("headings", kinds.VARCHAR, max_length=16_384)
    schema.add_field("body", kinds.VARCHAR, max_length=65_535)
    analyzer = {"tokenizer": "standard"}
    schema.add_field(
        "words", kinds.VARCHAR, max_length=65_535, enable_analyzer=True, enable_match=True, analyzer_params=analyzer
    )
    schema.add_field("han", kinds.BOOL)
    schema.add_field("vector", kinds.FLOAT_VECTOR, dim=dimensions)
    schema.add_field("sparse", kinds.SPARSE_FLOAT_VECTOR)
    schema.add_function(
        types.Function(
            name="bm25",
            function_type=types.FunctionType.BM25,
            input_field_names=["words"],
            output_field_names=["sparse"],
        )
    )
    parameters = client.prepare_index_params()
    graph = {"M": 16, "efConstruction": 128}
    parameters.add_index("vector", index_type="HNSW", metric_type="COSINE", params=graph)
    parameters.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    return schema, parameters


def row_of(section: Section, vector: list[float], *, han: bool) -> dict[str, Any]:
    """Return a section as a row of the collection."""
    words = [*section.title_words * TITLE_WEIGHT, *section.body_words]
    return {
        "id": identity(section),
        "file": _within(section.file, 4_096),
        "kind": section.kind,
        "headings": _within_list(section.headings, 16_384),
        "body": _within("\n".join(section.lines), 65_535),
        "words": " ".join(tokens_of(words[:MAX_TOKENS])),
        "han": han,
        "vector": vector,
    }


def identity(section: Section) -> str:
    """Return the key of a section: the digest of all that is stored of it."""
    parts = [section.file, section.kind, *section.headings, "", *section.lines]
    return hashlib.sha256("\n".join(parts).encode(errors="replace")).hexdigest()


def section_of(row: Mapping[str, Any]) -> Section:
    """Return the section that a row holds."""
    headings = tuple(str(heading) for heading in json.loads(row["headings"]))
    return Section(str(row["file"]), headings, tuple(str(row["body"]).split("\n")), str(row["kind"]))


def tokens_of(words: Iterable[str]) -> list[str]:
    """Return a token of letters and digits for each word, the same for the same word."""
    return ["w" + hashlib.sha256(word.encode()).hexdigest()[:15] for word in words]


def described(choice: EmbedderChoice) -> str:
    """Return what a collection says of itself whose vectors `choice` makes."""
    return json.dumps({"zhizhi": FORMAT, "embedder": choice.model_dump()}, sort_keys=True)


def choice_of(collection: Mapping[str, Any]) -> EmbedderChoice:
    """Return what made the vectors of a collection, by its properties or its description.

    Raises SourceFailure(SOURCE_UNREADABLE) where neither says it.
    """
    # Milvus Lite forgets descriptions, and servers before 2.4 properties.
    for text in (collection.get("properties", {}).get(PROPERTY), collection.get("description")):
        try:
            told = json.loads(text or "null")
            if told and told["zhizhi"] == FORMAT:
                return EmbedderChoice.model_validate(told["embedder"])
        except (KeyError, TypeError, ValueError):
            continue
    raise SourceFailure(SourceError.SOURCE_UNREADABLE)


def failure_of(error: Exception) -> SourceError:
    """Return the code of what the client raised: an exception of its own with a number, or one of grpc."""
    status = getattr(error, "code", None)
    if callable(status):
        return _GRPC.get(getattr(status(), "name", ""), SourceError.BACKEND_UNAVAILABLE)
    if status == _COLLECTION_NOT_FOUND:
        return SourceError.SOURCE_MISSING
    if status in _DENIED:
        return SourceError.ACCESS_DENIED
    if not isinstance(status, int) or status in _UNREACHED:
        return SourceError.BACKEND_UNAVAILABLE
    return SourceError.QUERY_REJECTED


def _within(text: str, limit: int) -> str:
    """Return the text, cut to at most `limit` bytes of UTF-8, which is how the server counts."""
    return text.encode(errors="replace")[:limit].decode(errors="ignore")


def _within_list(texts: tuple[str, ...], limit: int) -> str:
    kept = texts
    while len(json.dumps(kept, ensure_ascii=False).encode(errors="replace")) > limit:
        kept = kept[1:]
    return json.dumps(kept, ensure_ascii=False)
