"""A real Alertmanager on loopback, from Debian's package `prometheus-alertmanager`, and what fires into it.

Documentation: https://prometheus.io/docs/alerting/latest/alertmanager/ and, for what lets a request in,
https://prometheus.io/docs/alerting/latest/https/.
"""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from examples.live import watching
from tests.live.servers.prometheus import needs


@contextmanager
def start_alertmanager(directory: Path, *, web_config: str = "") -> Iterator[str]:
    """Give the address of an Alertmanager that keeps its data under `directory`; it is ready, and ended afterwards.

    `web_config`: who is let in (YAML).
    """
    binary = shutil.which("alertmanager") or needs("prometheus-alertmanager", "prometheus-alertmanager")
    directory.mkdir(parents=True, exist_ok=True)
    options = []
    if web_config:
        (directory / "web.yml").write_text(web_config, encoding="utf-8")
        options = [f"--web.config.file={directory / 'web.yml'}"]
    with watching.alertmanager(directory, binary, options=options) as url:
        yield url


@contextmanager
def start_gauge(metric: str, value: float) -> Iterator["Gauge"]:
    """Serve one gauge on loopback, for a Prometheus to scrape, while the block runs."""
    gauge = Gauge(metric, value)
    thread = threading.Thread(target=gauge.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield gauge
    finally:
        gauge.server.shutdown()
        gauge.server.server_close()
        thread.join()


class Gauge:
    """A metric whose `value` a test may change; scraped at `port`."""

    def __init__(self, metric: str, value: float) -> None:
        self.value = value
        gauge = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = f"{metric} {gauge.value}\n".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Keep quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = int(self.server.server_address[1])
