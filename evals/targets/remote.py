"""The same suite against a deployed graph API, through langgraph's RemoteGraph.

The deployment answers with its own model, prompts, settings and evidence sources; the case's tools stay unused. What it
streams is the same trace that a local run leaves, so the same figures come out of it.
"""

import time
from collections.abc import Sequence
from typing import Any

from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client

from evals.cases import Attempt, Case
from evals.targets import ZHIZHI
from evals.targets.reading import attempt_of
from evals.targets.zhizhi import inputs_of
from tools.base import EvidenceTool

ASSISTANT = "diagnosis"
"""The graph's name in `langgraph.json`."""


class Remote:
    """A target that asks the graph served at `url`; each case runs without a thread, so nothing is kept there."""

    name = ZHIZHI

    def __init__(self, url: str) -> None:
        self._url = url

    async def attempt(self, case: Case, tools: Sequence[EvidenceTool]) -> Attempt:
        """Return what the deployment streamed. A server that is away or refuses raises, and is counted."""
        events: list[dict[str, Any]] = []
        release: dict[str, Any] | None = None
        started = time.monotonic()
        async with get_client(url=self._url) as client:
            stream: Any = RemoteGraph(ASSISTANT, client=client).astream(
                inputs_of(case), context={"locale": case.locale}, stream_mode=["custom", "values"], version="v2"
            )
            async for part in stream:
                if part["type"] == "custom":
                    events.append(part["data"])
                elif part["data"].get("release"):
                    release = part["data"]["release"]
        return attempt_of(release, events, (), time.monotonic() - started)
