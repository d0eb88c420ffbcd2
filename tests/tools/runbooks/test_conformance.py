"""An index that embeds its queries at an endpoint keeps what every live backend has to keep."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from tests.tools.live.conformance import LIMIT, TOKEN, HttpConformance, ask, request_of, serving, whole
from tests.tools.runbooks.embedders import CHOICE, Concepts
from tools.base import EvidenceTool
from tools.live.source import Source
from tools.runbooks.indexed import EMBEDDER_FAILED
from tools.runbooks.indexing import update_index
from tools.runbooks.settings import RunbooksSettings
from tools.runbooks.shelves import Shelf
from tools.runbooks.tools import tools_of
from tools.vocabulary import Evidence

RUNBOOKS: Mapping[str, str] = {
    "lag.md": "# Consumer lag\n\nAdd consumers up to the number of partitions.\n",
    "tls.md": "# TLS certificates\n\nRenew them before they expire.\n",
    "pool.md": "# Connection pools\n\nCallers wait when the connection pool is exhausted.\n",
}
BY_MEANING = "消费积压严重"
"""Shares no word with any runbook: whether anything is relevant depends on the endpoint."""
BY_WORDS = "connection pool exhausted"
OF_NEITHER = "打印机卡纸"


async def embedding(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve `/embeddings` as the OpenAI API documents it, with the vectors that the index was made with.

    https://platform.openai.com/docs/api-reference/embeddings/create
    """
    while True:
        head, _, body = (await request_of(reader)).partition(b"\r\n\r\n")
        assert head.startswith(b"POST /v1/embeddings ")
        data = [
            {"object": "embedding", "index": place, "embedding": await Concepts().query(text)}
            for place, text in enumerate(json.loads(body)["input"])
        ]
        answer = json.dumps({"object": "list", "data": data}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))
        await writer.drain()


class TestRunbooksWithAnEndpoint(HttpConformance):
    """The tool over an index file whose vectors an endpoint made."""

    index: Path

    @pytest.fixture(autouse=True)
    async def _indexed(self, tmp_path: Path) -> None:
        shelf = tmp_path / "runbooks"
        shelf.mkdir()
        for name, text in RUNBOOKS.items():
            (shelf / name).write_text(text, encoding="utf-8")
        self.index = tmp_path / "index.db"
        await update_index(self.index, [Shelf(shelf)], CHOICE, Concepts())

    @override
    def arguments(self) -> dict[str, Any]:
        return {"query": BY_MEANING, "limit": 1}

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Source:
        settings = RunbooksSettings.model_validate(
            {
                "path": self.index,
                "embedding_url": f"{url}/v1",
                "embedding_token": TOKEN,
                "timeout_seconds": timeout_seconds,
                "max_bytes": LIMIT,
            }
        )
        return settings.open("runbooks")

    @override
    def tool_over(self, source: Any) -> EvidenceTool:
        (tool,) = tools_of({"runbooks": source})
        return tool

    @override
    async def found(self) -> Evidence:
        return await self._answer(BY_MEANING)

    @override
    async def empty(self) -> Evidence:
        return await self._answer(OF_NEITHER)

    @override
    async def unknown(self) -> Evidence:
        return await self._answer("zzzz qqqq")

    @override
    async def test_a_name_never_known_is_an_error_with_near_names(self) -> None:
        """A search names nothing: words that no runbook holds are an absence."""
        assert (await self.unknown()).content == ()

    @override
    async def partial(self) -> Evidence:
        async with serving(whole(b"{}", 503)) as url:
            source = self.source_at(url)
            evidence = await ask(self.tool_over(source), {"query": BY_WORDS, "limit": 1})
            await source.close()
        assert evidence.notes == (EMBEDDER_FAILED,)
        return evidence

    async def _answer(self, query: str) -> Evidence:
        async with serving(embedding) as url:
            source = self.source_at(url)
            evidence = await ask(self.tool_over(source), {"query": query, "limit": 1})
            await source.close()
        return evidence
