"""`langgraph dev`, offline, as a client sees it through `langgraph_sdk`."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from evals.cases import Case
from evals.targets.remote import Remote
from graph.cancellation import cancel_remote

ROOT = Path(__file__).resolve().parents[2]
INCIDENT = ROOT / "examples" / "incidents" / "payment-timeout"
READY_SECONDS = 90.0
STEP_SECONDS = 60.0
POLL_SECONDS = 0.2
INPUT = {
    "messages": [{"role": "user", "content": "支付大量超时，是什么原因？"}],
    "incident": json.loads((INCIDENT / "alert.json").read_text(encoding="utf-8")),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server in a directory of its own, which is killed at the end."""
    home = tmp_path_factory.mktemp("server")
    shutil.copy(Path(__file__).with_name("halting_graph.py"), home)
    graphs = {"diagnosis": "graph.agent:graph", "halting": "halting_graph:graph"}
    (home / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1"]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--n-jobs-per-worker", "4"],
            cwd=home,
            env=_environment(home),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _until(lambda: _is_ready(address, process, home / "log"), READY_SECONDS)
        yield address
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "HARNESS_", "LANG"))}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "HARNESS_INCIDENT_DIR": str(INCIDENT),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGSMITH_TRACING": "false",
    }


def _is_ready(address: str, process: "subprocess.Popen[bytes]", log: Path) -> bool:
    if process.poll() is not None:
        pytest.fail(f"the server has left with {process.returncode}:\n{log.read_text(errors='replace')[-4000:]}")
    try:
        with urlopen(f"{address}/ok", timeout=2) as answer:  # noqa: S310 (our own http address)
            return bool(answer.status == 200)
    except (URLError, TimeoutError, ConnectionError):
        return False


def _until(reached: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"not reached in {seconds} s"
        time.sleep(POLL_SECONDS)


@pytest.fixture
async def client(server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server, timeout=STEP_SECONDS) as connected:
        yield connected


async def test_a_run_leaves_one_release_and_its_counters_in_the_state(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    output = await client.runs.wait(thread["thread_id"], "diagnosis", input=INPUT)
    assert isinstance(output, dict)
    assert set(output) == {"messages", "release"}
    assert output["release"]["outcome"] == "SUCCESS"
    state = await client.threads.get_state(thread["thread_id"])
    values = state["values"]
    assert isinstance(values, dict)
    assert state["next"] == []
    assert values["release"] == output["release"]
    assert values["collection_state"] in {"COLLECTING", "SATURATED"}
    assert values["limits"]["stop_after_consecutive_no_gain"] == 2
    assert [event["type"] for event in values["trace"]].count("RELEASE") == 1


async def test_a_second_run_in_the_thread_streams_and_starts_fresh(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    first = await client.runs.wait(thread["thread_id"], "diagnosis", input=INPUT)
    custom: list[Any] = []
    values: list[Any] = []
    async for part in client.runs.stream(
        thread["thread_id"], "diagnosis", input=INPUT, stream_mode=["custom", "values"]
    ):
        {"custom": custom, "values": values}.get(part.event, []).append(part.data)
    assert isinstance(first, dict)
    last = values[-1]
    assert last["release"]["outcome"] == first["release"]["outcome"]
    assert last["release"]["run_id"] != first["release"]["run_id"]
    trace = [event["event"] for event in custom if event["stream"] == "trace"]
    assert {event["run_id"] for event in trace} == {last["release"]["run_id"]}
    assert [event["type"] for event in trace][-1] == "RELEASE"
    asked = [event["call_id"] for event in custom if event.get("kind") == "ASKED"]
    assert asked[0] == "r2c1"
    assert all(call_id.startswith("r2c") for call_id in asked)
    assert len(last["messages"]) == 4


async def test_an_edited_run_goes_on_to_its_release(client: LangGraphClient) -> None:
    thread_id = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread_id, "diagnosis", input=INPUT)
    history = await client.threads.get_history(thread_id, limit=100)
    waiting = next(shot for shot in history if shot["next"] == ["evaluate_gain"])
    edited = await client.threads.update_state(
        thread_id, {"limits": {"stop_after_consecutive_no_gain": 1}}, checkpoint=waiting["checkpoint"]
    )
    state = await client.threads.get_state(thread_id, checkpoint=edited["checkpoint"])
    assert state["next"] == ["evaluate_gain"]
    output = await client.runs.wait(thread_id, "diagnosis", input=None, checkpoint=edited["checkpoint"])
    assert isinstance(output, dict)
    assert output["release"]["outcome"] in {"SUCCESS", "FALLBACK"}


async def test_a_cancelled_run_publishes_nothing_and_the_thread_goes_on(client: LangGraphClient) -> None:
    thread_id = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread_id, "halting", input={"messages": INPUT["messages"]})
    deadline = time.monotonic() + STEP_SECONDS
    while (await client.threads.get_state(thread_id))["next"] != ["classify"]:
        assert time.monotonic() < deadline
        await asyncio.sleep(POLL_SECONDS)
    release = await cancel_remote(client, thread_id, run["run_id"])
    assert (await client.runs.get(thread_id, run["run_id"]))["status"] == "interrupted"
    state = await client.threads.get_state(thread_id)
    assert release["outcome"] == "CANCELLED"
    assert isinstance(state["values"], dict)
    assert state["values"]["release"] == release
    assert state["next"] == []
    output = await client.runs.wait(thread_id, "halting", input=INPUT)
    assert isinstance(output, dict)
    assert output["release"]["outcome"] == "SUCCESS"


async def test_the_evals_ask_a_deployed_graph_and_get_what_a_local_run_leaves(server: str) -> None:
    case = Case(suite="s", case_id="c", cluster="c", query=INPUT["messages"][0]["content"], incident=INPUT["incident"])
    found = await Remote(server).attempt(case, ())
    assert found.failure is None
    assert found.conclusion is not None
    assert found.model_calls > 1
    assert {call.status for call in found.executed} == {"READY"}
    assert found.calls[0].scope is not None
    assert found.calls[0].gained is True
    assert found.trace[-1]["type"] == "RELEASE"
