"""`zhizhi doctor` says of each source what is wrong and what to do, and shows no credential."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from app.doctor import check_sources
from app.inputs import BadInput
from app.words import words_for
from graph.settings import HarnessSettings
from tests.tools.live.conformance import TOKEN, serving, whole
from tools.live.alerts.settings import AlertmanagerSettings
from tools.live.changes.settings import GitSettings
from tools.live.kubernetes.settings import KubernetesSettings
from tools.live.source import SourceSettings

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def refusing() -> Iterator[str]:
    """The address of a server that lets nobody in."""
    loop = asyncio.new_event_loop()
    ready: asyncio.Future[str] = loop.create_future()
    done = asyncio.Event()

    async def serve() -> None:
        async with serving(whole(b"{}", 403)) as url:
            ready.set_result(url)
            await done.wait()

    async def address() -> str:
        return await ready

    thread = Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    yield asyncio.run_coroutine_threadsafe(address(), loop).result(10)
    loop.call_soon_threadsafe(done.set)
    thread.join()
    loop.close()


def checked(sources: dict[str, SourceSettings], capsys: Captured) -> tuple[int, str]:
    code = check_sources(HarnessSettings(sources=sources), words_for("en"))
    return code, capsys.readouterr().out


def test_a_source_that_can_be_asked_is_well(capsys: Captured) -> None:
    clone = Path(__file__).parents[2]
    if not (clone / ".git").exists():
        pytest.skip("no git history here")
    code, told = checked({"git": GitSettings(path=clone)}, capsys)
    assert code == 0
    assert told.startswith("✓ git  reachable  let in")


def test_what_is_wrong_is_told_with_what_to_do_and_without_the_credential(refusing: str, capsys: Captured) -> None:
    sources: dict[str, SourceSettings] = {
        "main": AlertmanagerSettings.model_validate({"url": refusing, "token": TOKEN}),
        "gone": AlertmanagerSettings(url="http://127.0.0.1:9"),
    }
    code, told = checked(sources, capsys)
    assert code == 1
    assert "✗ main (alertmanager)  reachable  not let in  ACCESS_DENIED" in told
    assert "✗ gone (alertmanager)  not reachable  BACKEND_UNAVAILABLE" in told
    assert "check HARNESS_SOURCE_GONE_URL" in told
    assert TOKEN not in told


def test_sources_that_cannot_stand_beside_each_other_are_one_line() -> None:
    cluster = KubernetesSettings(url="https://kubernetes.example", namespaces=("shop",))
    with pytest.raises(BadInput, match=r"^[^\n]+$"):
        check_sources(HarnessSettings(sources={"one": cluster, "two": cluster}), words_for("en"))
