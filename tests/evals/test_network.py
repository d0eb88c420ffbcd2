"""What leaves the machine: nothing, unless a person asks for an upload with a key."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import wait_for_all_tracers
from langsmith.utils import get_env_var

from evals.plan import Plan
from evals.results import read_results
from evals.sitting import evaluate
from evals.upload import PATH, UploadRefused, upload, upload_key
from graph.models.offline import offline_models
from graph.settings import HarnessSettings
from tests.evals.rows import SUITE, abstained, results, row

ROOT = Path(__file__).parents[2]
HEARING_SECONDS = 60.0
KEY = "lsv2_very_secret"
TRUTH = {
    "root_cause_commit": "none",
    "first_failing_service": "payment",
    "blast_radius": [],
    "remediation": "rollback",
    "decoy_deploy_commits": [],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A benchmark of one incident of our own."""
    place = tmp_path / "data"
    shutil.copytree(ROOT / "examples" / "incidents" / "payment-timeout", place / "one")
    (place / "one" / "ground_truth.json").write_text(json.dumps(TRUTH))
    return place


@dataclass
class Guard:
    """What was asked of the network: every name that is resolved and every address that is connected to."""

    asked: list[object] = field(default_factory=list)
    heard: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> Guard:
    kept = Guard()

    def refuse(*arguments: Any, **_: Any) -> Any:
        kept.asked.append(arguments[-1])
        kept.heard.set()
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return kept


@pytest.fixture
def _tracing_wanted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An environment in which LangChain would trace every run, to an address where nobody listens."""
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", KEY)
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")
    forget: Any = get_env_var
    forget.cache_clear()
    yield
    forget.cache_clear()


@pytest.mark.usefixtures("_tracing_wanted")
async def test_no_request_leaves_though_the_environment_wants_tracing(data: Path, tmp_path: Path, guard: Guard) -> None:
    models: Any = {component.value: model for component, model in offline_models().items()}
    plan = Plan(suites=("rootcausebench",), baselines=("last-deploy",), data=data, version="0")
    found = await evaluate(plan, HarnessSettings(openai_api_key=None), tmp_path / "out", models=models)
    wait_for_all_tracers()
    assert [row.failure for row in found.rows] == [None, None]
    assert guard.asked == []
    # The same environment, without the evals' care: the guard hears what would have left.
    await RunnableLambda(str).ainvoke(1)
    assert await asyncio.to_thread(guard.heard.wait, HEARING_SECONDS)


class Listener(ThreadingHTTPServer):
    """A server that keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str, str | None, bytes]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Listener

    def _hear(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.requests.append((self.command, self.path, self.headers.get("x-api-key"), body))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = do_PATCH = _hear

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_command_and_its_workers_send_nothing_until_an_upload_is_asked_for(
    listener: Listener, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "HARNESS_", "LANG"))}
    environ = {
        **kept,
        "PYTHONPATH": str(ROOT),
        "LANGSMITH_ENDPOINT": listener.address,
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_API_KEY": KEY,
        "HTTP_PROXY": listener.address,
        "HTTPS_PROXY": listener.address,
        "NO_PROXY": "127.0.0.1",
    }
    command = [sys.executable, "-m", "app", "eval", "rootcausebench", "--data", str(data), "--baseline", "abstain"]
    done = subprocess.run(
        [*command, "--out", "out"], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, listener.requests) == (0, []), done.stderr
    assert KEY not in done.stdout + done.stderr
    monkeypatch.setenv("LANGSMITH_ENDPOINT", listener.address)
    assert upload(read_results(tmp_path / "out"), KEY) == 2
    assert [request[:3] for request in listener.requests] == [("POST", PATH, KEY)] * 2
    body = json.loads(listener.requests[0][3])
    assert (body["dataset_name"], len(body["results"])) == ("zhizhi-rootcausebench", 1)


@pytest.mark.parametrize("environ", [{}, {"LANGSMITH_API_KEY": " "}])
def test_an_upload_without_a_key_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(UploadRefused, match="needs LANGSMITH_API_KEY"):
        upload_key(environ)


def test_an_experiment_holds_scores_and_names_and_no_payload() -> None:
    sent: list[dict[str, Any]] = []

    def accept(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(202, json={})

    found = results([row("a", seconds=2.5), row("a", repetition=1), abstained("a", "abstain")])
    assert upload(found, KEY, transport=httpx.MockTransport(accept)) == 2
    first = sent[0]
    assert first["experiment_name"].startswith(f"{SUITE}-zhizhi-")
    assert [one["inputs"] for one in first["results"]] == [{"case_id": "a", "suite": SUITE}] * 2
    assert len({one["row_id"] for one in first["results"]}) == 2
    assert {"key": "correct", "score": 1.0} in first["results"][0]["evaluation_scores"]
    begin, end = first["experiment_start_time"], first["experiment_end_time"]
    assert all(begin <= one["start_time"] <= one["end_time"] <= end for one in first["results"])


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (httpx.Response(403, text=KEY), "LangSmith refused the upload with status 403"),
        (httpx.ConnectError("at some host"), "LangSmith can't be reached"),
    ],
)
def test_a_refused_upload_is_one_line_without_the_key(answer: httpx.Response | Exception, line: str) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(UploadRefused) as refused:
        upload(results([row("a")]), KEY, transport=httpx.MockTransport(refuse))
    assert str(refused.value) == line
