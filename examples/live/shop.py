"""The services of a small shop, each a process of its own; nothing but the standard library.

    python shop.py bank --port 9001
    python shop.py payment --port 9002 --calls http://127.0.0.1:9001/charge --config payment.yml --log payment.log
    python shop.py order --port 9003 --calls http://127.0.0.1:9002/pay --config order.yml --log order.log
    python shop.py customers --calls http://127.0.0.1:9003/order --rate 8

`order` calls `payment`, which calls `bank`, which takes its time. A service reads from its configuration how long it
waits (`read-timeout: 3000ms`; it takes a new one up at once), answers 502 or 504 where what it calls fails, writes its
log as NDJSON, and shows its metrics at `/metrics`, under the names of OpenTelemetry's semantic conventions for HTTP.
"""

import argparse
import json
import random
import re
import threading
import time
from collections import defaultdict
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit
from uuid import uuid4

BUCKETS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0)
"""Upper bounds of the histograms, in seconds."""
SERVER = "http_server_request_duration_seconds"
CLIENT = "http_client_request_duration_seconds"
BANK_SECONDS = (0.25, 0.7)
"""How long the bank takes for a charge: hardly ever as little as 300 ms."""
ROUTES = {"bank": "/charge", "payment": "/pay", "order": "/order"}
PATIENCE = 10.0
"""How long a customer waits, in seconds."""
_READ_TIMEOUT = re.compile(r"^\s*read-timeout:\s*(\d+)ms\s*$", re.MULTILINE)


def read_timeout(config: Path) -> float:
    """Return how many seconds a service waits for what it calls, as its configuration says; raises ValueError."""
    found = _READ_TIMEOUT.search(config.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{config}: no read-timeout")
    return int(found[1]) / 1000


class Histograms:
    """Durations by metric and labels, counted from the process's start; shown in Prometheus' text format."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._sums: dict[tuple[str, str], float] = defaultdict(float)

    def observe(self, metric: str, seconds: float, **labels: str) -> None:
        """Count one duration."""
        key = (metric, ",".join(f'{name}="{value}"' for name, value in sorted(labels.items())))
        place = sum(seconds > bound for bound in BUCKETS)
        with self._lock:
            self._counts[key][place] += 1
            self._sums[key] += seconds

    def text(self) -> str:
        """Return all histograms as Prometheus scrapes them."""
        lines: list[str] = []
        with self._lock:
            for metric in sorted({metric for metric, _ in self._counts}):
                lines.append(f"# TYPE {metric} histogram")
                for key in sorted(self._counts):
                    if key[0] == metric:
                        lines += _samples(metric, key[1], self._counts[key], self._sums[key])
        return "\n".join([*lines, ""])


def _samples(metric: str, labels: str, counts: list[int], total: float) -> list[str]:
    bounds = [*map(str, BUCKETS), "+Inf"]
    lines = [f'{metric}_bucket{{{labels},le="{le}"}} {sum(counts[: at + 1])}' for at, le in enumerate(bounds)]
    return [*lines, f"{metric}_sum{{{labels}}} {total:.6f}", f"{metric}_count{{{labels}}} {sum(counts)}"]


class Failed(Exception):
    """A call that failed: `status` is what we answer, `error_type` what the metrics say."""

    def __init__(self, status: int, error_type: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.error_type = error_type


class Service:
    """One service: how it does its work, and what it tells of it."""

    def __init__(self, name: str, calls: str | None, config: Path | None, log: TextIO | None) -> None:
        self.name = name
        self.route = ROUTES[name]
        self.metrics = Histograms()
        self._calls = urlsplit(calls) if calls else None
        self._config = config
        self._log = log
        self._writing = threading.Lock()

    def tell(self, level: str, message: str, trace_id: str) -> None:
        """Write one log record."""
        if self._log is None:
            return
        record = {
            "@timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "service.name": self.name,
            "log.level": level,
            "message": message,
            "trace_id": trace_id,
        }
        with self._writing:
            self._log.write(json.dumps(record) + "\n")
            self._log.flush()

    def work(self, trace_id: str) -> int:
        """Do what a request asks for and return the status of the answer."""
        if self._calls is None:
            time.sleep(random.uniform(*BANK_SECONDS))  # noqa: S311 - no secret
            return 200
        try:
            self._call(trace_id)
        except Failed as failure:
            self.tell("ERROR", str(failure), trace_id)
            return failure.status
        self.tell("INFO", f"{self.route} done", trace_id)
        return 200

    def _call(self, trace_id: str) -> None:
        """Call the service behind; raises Failed where it doesn't answer in time, or says that it failed."""
        calls = self._calls
        assert calls is not None  # noqa: S101 - only services that call come here
        callee = next(name for name, route in ROUTES.items() if route == calls.path)
        timeout = read_timeout(self._config) if self._config else PATIENCE
        begun = time.perf_counter()
        told = {"server_address": callee}
        failure: Failed | None = None
        try:
            status = request(calls.hostname or "", calls.port or 0, calls.path, timeout, trace_id)
            told["http_response_status_code"] = str(status)
            if status >= 500:
                failure = Failed(502, str(status), f"call to {callee} failed: status {status}")
        except TimeoutError:
            waited = f"{timeout * 1000:.0f}ms"
            failure = Failed(504, "timeout", f"call to {callee} failed: read timed out after {waited}")
        except (OSError, HTTPException):
            failure = Failed(502, "connection", f"call to {callee} failed: connection lost")
        told |= {"error_type": failure.error_type} if failure else {}
        self.metrics.observe(CLIENT, time.perf_counter() - begun, **told)
        if failure is not None:
            raise failure


def request(host: str, port: int, path: str, timeout: float, trace_id: str) -> int:
    """Ask once and return the status; raises TimeoutError, OSError, HTTPException."""
    connection = HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request("POST", path, headers={"X-Trace-Id": trace_id, "Content-Length": "0"})
        return connection.getresponse().status
    finally:
        connection.close()


def handler_of(service: Service) -> type[BaseHTTPRequestHandler]:
    """Return what answers the requests to a service."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Show the metrics, or that we're alive."""
            self._answer(200, service.metrics.text() if self.path == "/metrics" else "alive\n")

        def do_POST(self) -> None:
            """Do the service's work and count it."""
            begun = time.perf_counter()
            status = service.work(self.headers.get("X-Trace-Id") or uuid4().hex)
            service.metrics.observe(
                SERVER,
                time.perf_counter() - begun,
                http_request_method="POST",
                http_response_status_code=str(status),
                http_route=service.route,
            )
            self._answer(status, "")

        def _answer(self, status: int, text: str) -> None:
            body = text.encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # who asked has given up waiting

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet: a service writes its own log."""

    return Handler


class Server(ThreadingHTTPServer):
    """A server whose requests don't keep its process alive."""

    daemon_threads = True
    request_queue_size = 64
    allow_reuse_address = True


def customers(calls: str, rate: float) -> None:
    """Send `rate` requests a second, each by a customer who waits for the answer and doesn't complain."""
    to = urlsplit(calls)

    def one() -> None:
        try:
            request(to.hostname or "", to.port or 0, to.path, PATIENCE, uuid4().hex)
        except (OSError, HTTPException):
            return

    while True:
        threading.Thread(target=one, daemon=True).start()
        time.sleep(random.expovariate(rate))


def main() -> None:
    """Run one service, or the customers, until the process is ended."""
    parser = argparse.ArgumentParser(description="One service of the shop, or its customers.")
    parser.add_argument("name", choices=[*ROUTES, "customers"])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--calls", help="address of the service that it calls")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--rate", type=float, default=8.0, help="requests a second")
    given = parser.parse_args()
    if given.name == "customers":
        customers(given.calls, given.rate)
        return
    log = given.log.open("a", encoding="utf-8") if given.log else None
    service = Service(given.name, given.calls, given.config, log)
    with Server(("127.0.0.1", given.port), handler_of(service)) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
