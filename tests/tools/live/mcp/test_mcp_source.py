"""Declared tools of a real MCP server answer as evidence tools do, and nothing else of the server is ever called."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from tests.tools.live.conformance import TOKEN, Conformance, ask, assert_tells_nothing, serving, whole
from tests.tools.live.mcp.declared import AT, DECLARATION, QUESTION, SERVER, over_http, written
from tools.base import EvidenceTool, SourceFailure
from tools.live.mcp.settings import McpSettings
from tools.live.mcp.source import McpSource
from tools.live.mcp.tools import tools_of
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, SourceError


def settings_for(directory: Path, declaration: str = DECLARATION, **more: Any) -> McpSettings:
    """A server that is started here and speaks over its standard streams, unless `more` says otherwise."""
    started = {"command": sys.executable, "arguments": (str(SERVER), "stdio")} if "url" not in more else {}
    given = {"declaration": written(directory, declaration), "timeout_seconds": 60, **started, **more}
    return McpSettings.model_validate(given)


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[McpSource]:
    opened = McpSource("monitoring", settings_for(tmp_path, environment=("MARKER",)))
    yield opened
    await opened.close()


def tool_of(source: McpSource, name: str = "grafana_metrics") -> EvidenceTool:
    return {tool.name: tool for tool in tools_of({"monitoring": source})}[name]


@pytest.mark.usefixtures("source")
class TestConformance(Conformance):
    """What a server can't tell of itself (near names) is left out."""

    @pytest.fixture(autouse=True)
    def _opened(self, source: McpSource) -> None:
        self.source = source

    @override
    def arguments(self) -> dict[str, Any]:
        return {"namespace": "shop"}

    async def _told(self, tool: str, **changed: Any) -> Evidence:
        question = {**QUESTION, **changed} if tool == "grafana_metrics" else {**self.arguments(), **changed}
        return await ask(tool_of(self.source, tool), question, AT)

    @override
    async def found(self) -> Evidence:
        return await self._told("events_list")

    @override
    async def empty(self) -> Evidence:
        return await self._told("grafana_metrics", expr="nothing")

    @override
    async def unknown(self) -> Evidence:
        return await self._told("events_list", namespace="shpo")

    @override
    async def partial(self) -> Evidence:
        return await self._told("events_list", namespace="crowded")

    @override
    async def test_a_name_never_known_is_an_error_with_near_names(self) -> None:
        with pytest.raises(SourceFailure) as caught:
            await self.unknown()
        assert caught.value.code is SourceError.UNKNOWN_SELECTOR


async def test_a_declared_tool_is_asked_within_the_window_of_the_incident(source: McpSource) -> None:
    tool = tool_of(source)
    assert (tool.kind, tool.description) == (EvidenceKind.METRICS, "Asks Grafana's Prometheus.")
    evidence = await ask(tool, QUESTION, AT)
    assert evidence.status is EvidenceStatus.EVIDENCE
    assert evidence.provenance is Provenance.MEASURED
    assert '  "from": "2026-09-08T04:02:00Z"' in evidence.content
    assert '  "step": 60' in evidence.content
    assert evidence.summary == "up: 5 lines"


async def test_the_same_question_in_another_spelling_has_the_same_scope(source: McpSource) -> None:
    tool = tool_of(source)

    def scope(**changed: Any) -> Any:
        return tool.normalize(tool.arguments.model_validate({**QUESTION, **changed}), AT)

    assert scope(startTime="04:02", endTime="07:17", stepSeconds=15) == scope()
    assert scope(expr="UP") != scope()


async def test_the_declared_way_to_look_empty_is_an_absence(source: McpSource) -> None:
    evidence = await ask(tool_of(source), {**QUESTION, "expr": "nothing"}, AT)
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert evidence.summary == "nothing: 0 lines"


async def test_an_error_of_the_tool_is_an_error_without_its_text(source: McpSource) -> None:
    with pytest.raises(SourceFailure) as caught:
        await ask(tool_of(source), {**QUESTION, "expr": "boom"}, AT)
    assert caught.value.code is SourceError.BACKEND_UNAVAILABLE
    assert_tells_nothing(caught.value)


async def test_secrets_in_an_answer_are_masked(source: McpSource) -> None:
    evidence = await ask(tool_of(source, "events_list"), {"namespace": "shop"}, AT)
    assert evidence.components == ("shop",)
    assert "BackOff" in str(evidence.content)
    assert "hunter2" not in str(evidence.content)


async def test_one_session_serves_many_questions(source: McpSource) -> None:
    first = await source._session.opened()
    await ask(tool_of(source), QUESTION, AT)
    await ask(tool_of(source, "events_list"), {"namespace": "shop"}, AT)
    assert await source._session.opened() is first


async def test_a_session_that_ended_is_opened_again(source: McpSource) -> None:
    await ask(tool_of(source), QUESTION, AT)
    await source.close()
    assert (await ask(tool_of(source), QUESTION, AT)).status is EvidenceStatus.EVIDENCE


async def test_the_doctor_hears_that_the_tools_are_as_declared(source: McpSource) -> None:
    assert (await source.probe()).sample == "2 tools as declared"


@pytest.mark.parametrize("called", ["pods_delete", "unannotated"])
async def test_only_what_the_server_calls_reading_is_asked(tmp_path: Path, called: str) -> None:
    declaration = DECLARATION.replace('tool = "events_list"', f'tool = "{called}"')
    if called == "pods_delete":
        with pytest.raises(ValueError, match="a tool that can delete is no source of evidence"):
            settings_for(tmp_path, declaration)
        return
    source = McpSource("monitoring", settings_for(tmp_path, declaration))
    with pytest.raises(SourceFailure) as caught:
        await ask(tool_of(source, called), {"namespace": "shop"}, AT)
    await source.close()
    assert caught.value.code is SourceError.BACKEND_UNAVAILABLE


async def test_a_changed_schema_is_an_unavailable_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANGED", "1")
    source = McpSource("monitoring", settings_for(tmp_path, environment=("CHANGED",)))
    with pytest.raises(SourceFailure) as caught:
        await ask(tool_of(source, "events_list"), {"namespace": "shop"}, AT)
    with pytest.raises(SourceFailure):
        await source.probe()
    assert (await ask(tool_of(source), QUESTION, AT)).status is EvidenceStatus.EVIDENCE
    await source.close()
    assert caught.value.code is SourceError.BACKEND_UNAVAILABLE
    assert caught.value.detail == "events_list is not as it was declared"


async def test_a_server_over_http_is_asked_with_the_token_of_a_file(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN, encoding="utf-8")
    async with over_http() as url:
        source = McpSource(
            "monitoring", settings_for(tmp_path, url=url, token_file=token, max_bytes=64 * 1024, timeout_seconds=5)
        )
        assert (await ask(tool_of(source), QUESTION, AT)).status is EvidenceStatus.EVIDENCE
        with pytest.raises(SourceFailure) as caught:
            await ask(tool_of(source), {**QUESTION, "expr": "flood"}, AT)
        await source.close()
    assert caught.value.code in {SourceError.BACKEND_UNAVAILABLE, SourceError.BACKEND_TIMEOUT}


async def test_a_cancelled_question_is_left_at_the_server(
    source: McpSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setenv("MARKER", str(pipe))
    task = asyncio.ensure_future(ask(tool_of(source), {**QUESTION, "expr": "hang"}, AT))
    assert await asyncio.to_thread(pipe.read_text) == "began"
    left = asyncio.ensure_future(asyncio.to_thread(pipe.read_text))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await left == "left"
    assert (await ask(tool_of(source), QUESTION, AT)).status is EvidenceStatus.EVIDENCE


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, SourceError.ACCESS_DENIED),
        (403, SourceError.ACCESS_DENIED),
        (500, SourceError.BACKEND_UNAVAILABLE),
        (302, SourceError.BACKEND_UNAVAILABLE),
    ],
)
async def test_a_server_that_refuses_is_told_apart(tmp_path: Path, status: int, code: SourceError) -> None:
    async with serving(whole(b"{}", status)) as url:
        source = McpSource("monitoring", settings_for(tmp_path, url=url, token=TOKEN, timeout_seconds=5))
        with pytest.raises(SourceFailure) as caught:
            await ask(tool_of(source), QUESTION, AT)
        await source.close()
    assert caught.value.code is code
    assert_tells_nothing(caught.value)


async def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    async with serving(whole(b"{}")) as url:
        gone = url
    for given in ({"url": gone}, {"command": "/nonexistent/server", "arguments": ()}):
        source = McpSource("monitoring", settings_for(tmp_path, timeout_seconds=5, **given))
        with pytest.raises(SourceFailure) as caught:
            await ask(tool_of(source), QUESTION, AT)
        await source.close()
        assert caught.value.code is SourceError.BACKEND_UNAVAILABLE
