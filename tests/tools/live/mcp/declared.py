"""A declaration of the test server's tools, and what serves it."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.tools.live.conformance import INCIDENT
from tools.base import IncidentContext

SERVER = Path(__file__).parents[3] / "live" / "servers" / "mcp_server.py"
METRICS_DIGEST = "sha256:583cbd9490e04d018133415135396bab804a3e14ef094a7f4963490f61a392c2"
EVENTS_DIGEST = "sha256:3fd09efdcbd43dceed01bb011321367fd90f9970bd737fa97b5b29cc28b34202"
DECLARATION = f"""
[[tool]]
tool = "query_prometheus"
name = "grafana_metrics"
digest = "{METRICS_DIGEST}"
description = "Asks Grafana's Prometheus."
kind = "metrics"
provenance = "MEASURED"
relevance = "DIRECT"
display = ["stepSeconds"]
window = ["startTime", "endTime"]
exact = ["expr"]
empty = ["no data.*"]
summary = "{{expr}}: {{lines}} lines"
arguments.expr = {{ description = "PromQL" }}
arguments.startTime = {{ description = "start", required = false }}
arguments.endTime = {{ description = "end", required = false }}
arguments.stepSeconds = {{ type = "integer", description = "step", required = false }}

[[tool]]
tool = "events_list"
digest = "{EVENTS_DIGEST}"
description = "Lists events."
kind = "resources"
provenance = "TEXT"
relevance = "DIRECT"
component = "namespace"
unknown = ['(?i).*namespaces? .* not found']
arguments.namespace = {{ description = "namespace" }}
"""
QUESTION = {"expr": "up", "startTime": None, "endTime": None, "stepSeconds": None}
AT: IncidentContext = INCIDENT


def written(directory: Path, text: str = DECLARATION) -> Path:
    """Write the declaration into a directory."""
    path = directory / "monitoring.toml"
    path.write_text(text, encoding="utf-8")
    return path


@asynccontextmanager
async def over_http(**environment: str) -> AsyncIterator[str]:
    """Run the server over streamable HTTP on a free loopback port; gives its endpoint."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(SERVER),
        "http",
        str(port),
        env={**os.environ, **environment},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        await asyncio.wait_for(_ready(process), 60)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


async def _ready(process: asyncio.subprocess.Process) -> None:
    assert process.stderr is not None
    async for line in process.stderr:
        if b"Uvicorn running" in line:
            return
    raise AssertionError("the server ended before it was ready")
